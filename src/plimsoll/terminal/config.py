"""`plimsoll config`: show, check, explain and change settings.

    show ─ all settings     check ─ errors     explain ─ one key     set ─ one key     path

Output goes to standard output, notices to standard error, so that `show --json` can be piped.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from plimsoll.config import (
    FILE_NAME,
    LoadedSettings,
    Setting,
    Settings,
    all_keys,
    check_settings,
    current_key,
    find_setting,
    load_settings,
    plimsoll_home,
    read_text,
    scalar_text,
    set_value,
    setting_at,
    without_secrets,
)
from plimsoll.messages.printable import plain
from plimsoll.terminal.explanation import explain as explain_resolution
from plimsoll.terminal.explanation import values_per_model
from plimsoll.terminal.prose import show_notice, show_sentence


def complete_key(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys that start with what was typed."""
    return [
        CompletionItem(setting.key, help=setting.description)
        for setting in all_keys()
        if setting.key.startswith(incomplete)
    ]


@click.group()
def config() -> None:
    """Show, check, explain and change settings."""


@config.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of YAML.")
def show(as_json: bool) -> None:
    """Print the effective settings and their sources.

    Every value that is not a default is shown with the place that sets it.
    """
    loaded = load_settings()
    _show_notices(loaded.notices)
    values = _visible(loaded.settings.model_dump(mode="json"), ())
    if as_json:
        click.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_as_yaml(loaded, values, ())))


@config.command()
@click.pass_context
def check(ctx: click.Context) -> None:
    """Check the file, the environment, the engine and the plugins. Lists every error and exits with 2."""
    report = check_settings(plugin_problems=_plugin_problems)
    _show_notices(report.notices)
    if report.loaded is None:
        for problem in report.problems:
            click.echo(plain(str(problem)), err=True)
        ctx.exit(2)
    kinds = [values[0].source.kind for values in report.loaded.given.values()]
    in_file = sum(
        any(value.source.kind == "file" for value in values) for values in report.loaded.given.values()
    )
    found = f"{in_file} setting{'' if in_file == 1 else 's'}"
    if not report.path.exists():
        found = "no such file, using defaults"
    elsewhere = kinds.count("variable")
    extra = f", {elsewhere} from the environment" if elsewhere else ""
    click.echo(f"{report.path}: {found}{extra}, no errors")


@config.command()
@click.argument("key", shell_complete=complete_key)
def explain(key: str) -> None:
    """Show the description, range, value and source of KEY. For model.name, also show which model answers and why.

    KEY may also be a section, such as compression: then every key of it is listed with its value.
    """
    today = current_key(key)
    if _explain_section(today):
        return
    setting = find_setting(today)
    if today != key:
        click.echo(f"{key} is an older spelling of {today}.", err=True)
    loaded = load_settings()
    width = 12
    click.echo(f"{today} = {_text(setting, loaded.value(today))}")
    show_sentence(setting.description, indent="  ")
    for name, text in _facts(loaded, setting, today):
        click.echo(f"  {name + ':':<{width}}{text}")
    for own, text in values_per_model(loaded, today):
        click.echo(f"  {own} = {text}")
    for position, line in enumerate(explain_resolution(today, loaded.settings, os.environ, plimsoll_home())):
        click.echo(f"  {'' if position else 'now:':<{width}}{plain(line)}")


@config.command("set")
@click.argument("key", shell_complete=complete_key)
@click.argument("value")
def set_command(key: str, value: str) -> None:
    """Set KEY to VALUE in config.yaml. Everything else in the file stays unchanged."""
    today = current_key(key)
    setting = find_setting(today)
    path = plimsoll_home() / FILE_NAME
    parsed = read_text(setting, value)
    _show_notices(set_value(path, key, parsed))
    click.echo(f"{path}: {today} = {_text(setting, parsed)}")
    report = check_settings(plugin_problems=_plugin_problems)
    _show_notices(str(problem) for problem in report.problems)
    if report.loaded and report.loaded.source(today).kind != "file":
        holds = _text(setting, report.loaded.value(today))
        _show_notices([f"{report.loaded.source(today)} overrides it here: {holds}."])


@config.command()
def path() -> None:
    """Print the path of the file, even if it does not exist."""
    click.echo(str(plimsoll_home() / FILE_NAME))


def _explain_section(name: str) -> bool:
    """List the keys of a section; False if there is no such section."""
    found = [setting for setting in all_keys() if setting.key.startswith(f"{name}.")]
    if not found:
        return False
    loaded = load_settings()
    for number, setting in enumerate(found):
        if number:
            click.echo()
        source = loaded.source(setting.key)
        where = "" if source.kind == "default" else f"  # {source}"
        is_pattern = "<" in setting.key  # one key for each name that a user chooses
        value = "" if is_pattern else f" = {_text(setting, loaded.value(setting.key))}{where}"
        click.echo(f"{setting.key}{value}")
        show_sentence(setting.description, indent="  ")
    click.echo()
    show_sentence("`plimsoll config explain KEY` shows the range, the source and the variable of one key.")
    return True


def _plugin_problems(settings: Settings) -> tuple[str, ...]:
    # These load every package, which most commands here do not need.
    from plimsoll.assembly import plugin_problems
    from plimsoll.plugins.prompt_file import prompt_file_problems

    return (
        *prompt_file_problems(settings.compression.prompt_file),
        *plugin_problems(settings, os.environ, plimsoll_home(), Path.cwd()),
    )


def _facts(loaded: LoadedSettings, setting: Setting, key: str) -> Iterator[tuple[str, str]]:
    yield "allowed", setting.allowed
    yield "default", scalar_text(setting.default)
    source = loaded.source(key)
    yield "set by", str(source)
    lower = [f"{_text(setting, value.value)} ({value.source})" for value in loaded.overridden(key)]
    if source.kind != "default":
        lower.append(f"{scalar_text(setting.default)} (default)")
    if lower:
        yield "overrides", ", ".join(lower)
    if setting.variable:
        yield "variable", setting.variable


def _text(setting: Setting, value: Any) -> str:
    """A value on one line, without secrets."""
    return scalar_text(without_secrets(setting, value))


def _visible(values: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    """The tree of values without secrets."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        setting = setting_at((*above, name))
        found[name] = _visible(value, (*above, name)) if setting is None else without_secrets(setting, value)
    return found


def _as_yaml(loaded: LoadedSettings, values: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    margin = "  " * len(above)
    for name, value in values.items():
        path = (*above, name)
        if setting_at(path) is None and value:
            yield f"{margin}{scalar_text(name)}:"
            yield from _as_yaml(loaded, value, path)
        elif setting_at(path) is None:
            yield f"{margin}{scalar_text(name)}: {{}}"
        else:
            source = loaded.source(".".join(path))
            comment = "" if source.kind == "default" else f"  # {source}"
            yield f"{margin}{scalar_text(name)}: {scalar_text(value)}{comment}"


def _show_notices(notices: Iterable[str]) -> None:
    for notice in notices:
        show_notice(plain(notice))

"""Loads and validates settings from all sources; each value knows its source.

    defaults ◄─ config.yaml ◄─ environment ◄─ flags      later wins
                     └──────── every value checked, all problems reported at once

Overridden values are checked too, so a mistake in the file shows up before the variable is
removed.
"""

import difflib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from plimsoll.config.document import Document, read_document
from plimsoll.config.layers import from_environment, from_file, from_flags, misspelled_variables, unknown_key
from plimsoll.config.legacy import renamed, settle
from plimsoll.config.per_model import GENERAL
from plimsoll.config.scalars import display_value, error_value
from plimsoll.config.schema import Setting, Settings, path_of, setting_at
from plimsoll.config.values import DEFAULT, ConfigProblem, GivenValue, KeyPath, ValueSource, setting_error
from plimsoll.errors import SettingError

BUILT_IN_ENGINES = ("compressor", "lcm")

FILE_NAME = "config.yaml"
_SWITCHES = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Validated settings with notices and the source of each value."""

    settings: Settings
    path: Path
    notices: tuple[str, ...]
    given: Mapping[str, tuple[GivenValue, ...]]  # by key, the effective one first

    def source(self, key: str) -> ValueSource:
        """The source of the effective value."""
        find_setting(key)
        return self.given[key][0].source if key in self.given else DEFAULT

    def overridden(self, key: str) -> tuple[GivenValue, ...]:
        """The key's values from lower sources, highest first."""
        find_setting(key)
        return self.given.get(key, ())[1:]

    def value(self, key: str) -> Any:
        """The effective value; the default for a name that is not configured."""
        setting = find_setting(key)
        found: Any = self.settings
        for name in path_of(key):
            if isinstance(found, Mapping) and name not in found:
                return setting.default
            found = found[name] if isinstance(found, Mapping) else getattr(found, name)
        return found


@dataclass(frozen=True, slots=True)
class ConfigReport:
    """The outcome of a check; `loaded` is None if there is a problem."""

    path: Path
    problems: tuple[ConfigProblem, ...]
    notices: tuple[str, ...]
    loaded: LoadedSettings | None


def plimsoll_home(environ: Mapping[str, str] | None = None) -> Path:
    """The configuration directory: $PLIMSOLL_HOME, or ~/.plimsoll."""
    variables = os.environ if environ is None else environ
    if variables.get("PLIMSOLL_HOME"):
        return Path(variables["PLIMSOLL_HOME"]).expanduser()
    return Path(variables.get("HOME") or Path.home()) / ".plimsoll"


def load_settings(
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> LoadedSettings:
    """The effective settings; raises a `SettingError` that lists every problem."""
    variables = os.environ if environ is None else environ
    path = (home or plimsoll_home(variables)) / FILE_NAME
    report = examine(read_document(path), variables, flags or {})
    if report.loaded is None:
        raise setting_error(report.problems)
    return report.loaded


def check_settings(
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    known_engines: Collection[str] = BUILT_IN_ENGINES,
    plugin_problems: Callable[[Settings], Sequence[str]] | None = None,
) -> ConfigReport:
    """Check the whole configuration, including the engine's name.

    `plugin_problems` loads the engine and the plugins that the settings name, and replaces `known_engines`.
    """
    variables = os.environ if environ is None else environ
    path = (home or plimsoll_home(variables)) / FILE_NAME
    report = examine(read_document(path), variables, flags or {})
    loaded = report.loaded
    if loaded is not None and plugin_problems is not None:
        return _with_plugins(report, loaded, plugin_problems(loaded.settings))
    if loaded is None or loaded.settings.context.engine in known_engines:
        return report
    engine = loaded.settings.context.engine
    near = difflib.get_close_matches(engine, known_engines, n=1)
    sentence = f"context.engine is {display_value(engine)}; there is no engine with that name. " + (
        f"Did you mean {near[0]}?" if near else f"Installed: {', '.join(sorted(known_engines))}."
    )
    problem = ConfigProblem(str(loaded.source("context.engine")), ("context", "engine"), sentence)
    return ConfigReport(report.path, (problem,), report.notices, None)


def _with_plugins(report: ConfigReport, loaded: LoadedSettings, sentences: Sequence[str]) -> ConfigReport:
    """The report with the plugins' problems, each at the key that it is about."""
    problems = []
    for sentence in sentences:
        key = "plugins.enabled" if sentence.startswith("plugins.enabled") else "context.engine"
        problems.append(ConfigProblem(str(loaded.source(key)), path_of(key), sentence))
    return replace(report, problems=tuple(problems), loaded=None) if problems else report


def find_setting(key: str) -> Setting:
    """The setting for a dotted key; raises a `SettingError` with a suggestion if there is none."""
    setting = setting_at(path_of(key))
    if setting is None:
        raise SettingError(unknown_key(path_of(key)))
    return setting


def examine(document: Document, environ: Mapping[str, str], flags: Mapping[str, Any]) -> ConfigReport:
    """Validate all sources against the schema, and keys against each other. Reads nothing."""
    found = [*from_file(document), *from_environment(environ), *from_flags(flags)]
    valid: list[GivenValue] = []
    problems: list[ConfigProblem] = []
    for value in found:
        wrong = value if isinstance(value, ConfigProblem) else _problem_of(value)
        if wrong is not None:
            problems.append(wrong)
        elif isinstance(value, GivenValue):
            valid.append(value)
    kept, notices = settle(valid)
    by_key: dict[str, tuple[GivenValue, ...]] = {}
    for value in kept:
        by_key[value.key] = (value, *by_key.get(value.key, ()))
    notices += misspelled_variables(environ)
    settings, conflicts = _compose(by_key, problems)
    problems += conflicts
    if settings is None or problems:
        return ConfigReport(document.path, tuple(problems), tuple(notices), None)
    settings = _with_flags_first(settings, by_key)
    loaded = LoadedSettings(settings, document.path, tuple(notices), by_key)
    return ConfigReport(document.path, (), tuple(notices), loaded)


def _with_flags_first(settings: Settings, by_key: Mapping[str, tuple[GivenValue, ...]]) -> Settings:
    """The settings without per-model values that a flag overrides."""
    flagged = {
        field: None
        for field, path in GENERAL.items()
        if (values := by_key.get(".".join(path))) and values[0].source.kind == "flag"
    }
    if not flagged or not settings.models:
        return settings
    models = {pattern: overrides.model_copy(update=flagged) for pattern, overrides in settings.models.items()}
    return settings.model_copy(update={"models": models})


def _problem_of(entry: GivenValue) -> ConfigProblem | None:
    """The problem with a single value, or None."""
    setting = setting_at(entry.path)
    assert setting is not None  # the layers yield only known keys
    try:
        Settings.model_validate(_tree([entry]))
    except ValidationError as error:
        own = [e for e in error.errors(include_url=False) if e["loc"][: len(entry.path)] == entry.path]
    else:
        return None
    if not own:  # it conflicts with the default of another key, which another source may set
        return None
    reason = own[0]["msg"] if own[0]["type"] == "endpoint" else f"it must be {setting.allowed}"
    key, value = _innermost(entry, own[0]["loc"])
    sentence = f"{key} is {error_value(setting, value)}; {reason}{_advice(setting, value)}."
    return ConfigProblem(str(entry.source), entry.path, sentence)


def _innermost(value: GivenValue, place: Sequence[int | str]) -> tuple[str, Any]:
    """The key and value to name; for a list or map, those of the invalid entry."""
    found: Any = value.value
    names = []
    for name in place[len(value.path) :]:
        is_there = name in found if isinstance(found, dict) else isinstance(found, list)
        if not is_there:
            break
        found = found[name]
        names.append(str(name))
    return ".".join((value.spelled, *names)), found


def _advice(setting: Setting, value: Any) -> str:
    if not isinstance(value, str):
        return ""
    near = difflib.get_close_matches(value, setting.choices, n=1)
    if near:
        return f" (did you mean {near[0]}?)"
    if setting.allowed == "true or false" and value.lower() in _SWITCHES:
        return f"; write {_SWITCHES[value.lower()]}"
    quoted_number = value.lower() in ("true", "false") or value.replace(".", "", 1).isdigit()
    return "; write it without quotes" if quoted_number and not setting.is_text else ""


def _compose(
    by_key: Mapping[str, tuple[GivenValue, ...]], problems: Sequence[ConfigProblem]
) -> tuple[Settings | None, list[ConfigProblem]]:
    """The settings, or the conflicts between keys that are valid by themselves."""
    winners = {values[0].path: values[0] for values in by_key.values()}
    try:
        return Settings.model_validate(_tree(winners.values())), []
    except ValidationError as error:
        conflicts = []
        for detail in error.errors(include_url=False):
            section: KeyPath = tuple(str(name) for name in detail["loc"])
            # An invalid key of this section may explain the error.
            if not any(p.path[: len(section)] == section for p in problems):
                key = detail.get("ctx", {}).get("key")
                conflicts.append(_conflict(winners, section, key, detail["msg"]))
        return None, conflicts


def _conflict(
    winners: Mapping[KeyPath, GivenValue], section: KeyPath, key: str | None, reason: str
) -> ConfigProblem:
    """Why the keys of a section conflict, reported for one key or, if no single key is the cause, for the section."""
    if key is None:
        first = next(value for path, value in winners.items() if path[: len(section)] == section)
        return ConfigProblem(str(first.source), section, f"{'.'.join(section)} is incomplete; {reason}.")
    path = (*section, key)
    return ConfigProblem(
        str(winners[path].source),
        path,
        f"{winners[path].spelled} is {display_value(winners[path].value)}; {reason}.",
    )


def _tree(values: Iterable[GivenValue]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for value in values:
        branch = tree
        for name in value.path[:-1]:
            branch = branch.setdefault(name, {})
        branch[value.path[-1]] = value.value
    return tree


def current_key(key: str) -> str:
    """The current spelling of a dotted key."""
    return ".".join(renamed(path_of(key)))

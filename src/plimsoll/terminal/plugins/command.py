"""`plimsoll plugins`: a screen in a terminal; list, use, info, new, check, trust and untrust anywhere.

plimsoll plugins                    Provider Plugins → Context Engine
plimsoll plugins use NAME           the same without a screen
"""

import json
import sys
import tempfile
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from rich.console import Console

from plimsoll.errors import PluginError, UserError
from plimsoll.installation import install_command
from plimsoll.messages.printable import plain
from plimsoll.plugins import TrustFile, plugin_at
from plimsoll.terminal.plugins.engine_choice import EngineChoice
from plimsoll.terminal.plugins.listing import as_json, plugin_details, plugin_list
from plimsoll.terminal.plugins.menu import Menu
from plimsoll.terminal.plugins.scaffold import write_plugin
from plimsoll.terminal.plugins.screen import run_screen
from plimsoll.terminal.standard_output import PIPED_WIDTH

BROKEN = 1


def complete_engine(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Engines that start with what was typed."""
    return [
        CompletionItem(engine.name, help=engine.description)
        for engine in EngineChoice().catalogue.engines
        if engine.name.startswith(incomplete)
    ]


@click.group(invoke_without_command=True)
@click.pass_context
def plugins(ctx: click.Context) -> None:
    """Manage plugins and choose the context engine. Without a subcommand, opens a screen or prints the list."""
    if ctx.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        run_screen(Menu(EngineChoice()))
    else:
        _show_list()


@plugins.command("list")
@click.option("--json", "in_json", is_flag=True, help="Print JSON.")
def list_command(in_json: bool) -> None:
    """List engines and plugins: ● in use, ○ available, × unusable. Loads only plugins that the settings name."""
    choice = EngineChoice()
    if in_json:
        click.echo(json.dumps(as_json(choice.tried, choice.active), indent=2, ensure_ascii=False))
    else:
        _show_list()


@plugins.command()
@click.argument("name", shell_complete=complete_engine)
def use(name: str) -> None:
    """Make NAME the context engine. Loads it first, then sets context.engine in config.yaml."""
    for sentence in EngineChoice().use(name):
        click.echo(plain(sentence))


@plugins.command()
@click.argument("name", shell_complete=complete_engine)
def info(name: str) -> None:
    """Show details of a plugin or an engine. Its code runs only if the settings name it."""
    choice = EngineChoice()
    found = choice.tried
    named = [entry for entry in (*found.engines, *found.general) if entry.name == name]
    if not named:
        raise PluginError(f"There is no engine or plugin called {name!r}. `plimsoll plugins list` shows all.")
    using = found.serving(choice.active)
    for item in dict.fromkeys(named):
        click.echo(plain(item.name))
        for fact, text in plugin_details(item, using):
            click.echo(f"  {fact + ':':<13}{plain(text)}")


@plugins.command()
@click.argument("name")
def new(name: str) -> None:
    """Create a small, working engine called NAME to start from."""
    folder = write_plugin(name, EngineChoice().home)
    click.echo(f"{folder / '__init__.py'} was created; edit it.")
    click.echo(f"`plimsoll plugins check {name}` tests it, `plimsoll plugins use {name}` activates it.")


@plugins.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--examples", default=100, show_default=True, type=click.IntRange(1), help="Conversations to try."
)
def check(path: Path, examples: int) -> int:
    """Run the engine contract on the plugin in PATH. This runs its code. Exits with 1 if a property fails.

    PATH is a folder, or the name of an engine.
    """
    try:
        from plimsoll.terminal.plugins.contract_check import contract_results
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UserError(f"`plugins check` needs hypothesis: {install_command('testing')}") from None
    with tempfile.TemporaryDirectory(prefix="plimsoll-check-") as home:
        found = contract_results(_folder(path), examples, Path(home))
    for verdict in found:
        click.echo(plain(str(verdict)))
    kept = sum(verdict.kept for verdict in found)
    click.echo(f"{kept} of {len(found)} properties hold in {examples} conversations")
    return 0 if kept == len(found) else BROKEN


@plugins.command()
@click.argument("path", type=click.Path(path_type=Path))
def trust(path: Path) -> None:
    """Trust the project plugin in PATH until one of its files changes."""
    choice = EngineChoice()
    plugin_at(path, {})
    TrustFile.under(choice.home).trust(path)
    click.echo(f"{path.resolve()} is trusted until one of its files changes.")


@plugins.command()
@click.argument("path", type=click.Path(path_type=Path))
def untrust(path: Path) -> None:
    """Revoke the trust in PATH."""
    if not TrustFile.under(EngineChoice().home).untrust(path):
        raise PluginError(f"{path.resolve()} was not trusted.")
    click.echo(f"{path.resolve()} is no longer trusted.")


def _folder(path: Path) -> Path:
    """The named folder, or the folder of the named engine."""
    named = [
        engine
        for engine in EngineChoice().catalogue.engines
        if engine.name == str(path) and not engine.obstacle
    ]
    folders = [Path(entry.source) for entry in named if Path(entry.source).is_dir()]
    return path if path.exists() or not folders else folders[0]


def _show_list() -> None:
    choice = EngineChoice()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
    console.print(plugin_list(choice.tried, choice.active))

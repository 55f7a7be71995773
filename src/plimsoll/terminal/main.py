"""The `plimsoll` command: imports only the chosen subcommand, and prints errors as messages.

    plimsoll ─┬─ tour         plimsoll/terminal/tour/
              ├─ chat         plimsoll/terminal/chat/
              ├─ sessions     plimsoll/terminal/sessions/
              ├─ inspect      plimsoll/terminal/inspect.py
              ├─ compress     plimsoll/terminal/compress.py
              ├─ bulk         plimsoll/terminal/bulk.py
              ├─ convert      plimsoll/terminal/convert.py
              ├─ repair       plimsoll/terminal/repair.py
              ├─ handoff      plimsoll/terminal/handoff.py
              ├─ recall       plimsoll/terminal/recall.py
              ├─ cost         plimsoll/terminal/cost.py
              ├─ bench        plimsoll/terminal/bench.py
              ├─ models       plimsoll/terminal/models.py
              ├─ gateway      plimsoll/terminal/gateway.py
              ├─ config       plimsoll/terminal/config.py
              ├─ plugins      plimsoll/terminal/plugins/
              ├─ lcm          plimsoll/terminal/lcm.py
              └─ completion   here

`--help` and `--version` import only click. A user's mistake is one sentence and exit code 2; any other exception is a
bug and keeps its traceback.
"""

import difflib
import errno
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import IO, Any, NoReturn

import click
from click.shell_completion import CompletionItem, get_completion_class

from plimsoll import __version__
from plimsoll.errors import Conflict, UserError, advice_on
from plimsoll.terminal.interruption import CommandInterrupted

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
PIPE_CLOSED = 141  # 128 + SIGPIPE
UNWRITABLE = 2
# Errors of a write to a stream without a file name: full disk, quota, broken device, closed descriptor.
_OUTPUT_FAILS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})

# name -> (module:attribute, one line for --help)
COMMANDS: Mapping[str, tuple[str, str]] = {
    "tour": ("plimsoll.terminal.tour.command:tour", "Watch one compaction; needs no key and no network."),
    "chat": (
        "plimsoll.terminal.chat.command:chat",
        "Chat with a model that has tools.",
    ),
    "sessions": (
        "plimsoll.terminal.sessions.command:sessions",
        "Show, search, export and manage stored conversations.",
    ),
    "inspect": (
        "plimsoll.terminal.inspect:inspect",
        "Show a conversation and its compactions in the browser.",
    ),
    "compress": (
        "plimsoll.terminal.compress:compress",
        "Compact a conversation and show what was kept.",
    ),
    "bulk": (
        "plimsoll.terminal.bulk:bulk",
        "Compact datasets of conversations on all cores.",
    ),
    "convert": (
        "plimsoll.terminal.convert:convert",
        "Write a session so that another agent continues it.",
    ),
    "repair": (
        "plimsoll.terminal.repair:repair",
        "Say why a provider refuses a conversation, and repair it.",
    ),
    "handoff": (
        "plimsoll.terminal.handoff:handoff",
        "Write the state of the work, for a person or another agent.",
    ),
    "recall": ("plimsoll.terminal.recall:recall", "Restore a cleared tool result."),
    "cost": ("plimsoll.terminal.cost:cost", "Show what a conversation costs under each caching strategy."),
    "bench": ("plimsoll.terminal.bench:bench", "Measure what a compaction keeps of your own sessions."),
    "models": (
        "plimsoll.terminal.models:models",
        "List known models, fetch the embedded model, test a model.",
    ),
    "gateway": (
        "plimsoll.terminal.gateway:gateway",
        "Serve the APIs of OpenAI, Anthropic and Gemini.",
    ),
    "config": ("plimsoll.terminal.config:config", "Show, check, explain and change settings."),
    "plugins": (
        "plimsoll.terminal.plugins.command:plugins",
        "Choose the context engine; list, check and trust plugins.",
    ),
    "lcm": ("plimsoll.terminal.lcm:lcm", "Check and repair the lossless engine's data."),
}


class CommandLineError(click.ClickException):
    """A `UserError` as shown to the user: `plimsoll: <sentence>`, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        from plimsoll.messages.printable import plain  # it may quote a file or a key of somebody else
        from plimsoll.terminal.prose import show_sentence

        sentence = f"plimsoll: {plain(self.message)}"
        if file is None:
            show_sentence(sentence, err=True)
        else:
            click.echo(sentence, file=file)


class LazyGroup(click.Group):
    """A group whose subcommands are named in `COMMANDS` and imported only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name][0]} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
        if near and near[0] != name and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}. Did you mean {near[0]}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._line(ctx, name)) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=self._line(ctx, name)) for name in names), *options]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (UserError, Conflict) as error:
            raise CommandLineError(str(error)) from error

    def _line(self, ctx: click.Context, name: str) -> str:
        if name in COMMANDS:
            return COMMANDS[name][1]
        command = super().get_command(ctx, name)
        return command.get_short_help_str(limit=80) if command else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def plimsoll() -> None:
    """Keep long LLM-agent conversations within their model's context window."""


@plimsoll.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for your shell.

    \b
    bash   eval "$(plimsoll completion bash)"       in ~/.bashrc
    zsh    eval "$(plimsoll completion zsh)"        in ~/.zshrc
    fish   plimsoll completion fish | source        in ~/.config/fish/config.fish
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(complete(plimsoll, {}, "plimsoll", "_PLIMSOLL_COMPLETE").source())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    try:
        result = plimsoll.main(arguments, prog_name="plimsoll", standalone_mode=False)
        if sys.stdout is not None:  # None if the shell closed it
            sys.stdout.flush()  # a closed pipe raises here, not while the interpreter exits
        code = result if isinstance(result, int) else 0
    except click.ClickException as error:
        try:
            error.show()
        except OSError:  # standard error is full; only the exit code is left
            _to_nowhere(sys.stderr)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        with suppress(OSError):
            done = f" {error.done}" if isinstance(error, CommandInterrupted) else ""
            click.echo(f"plimsoll: Stopped.{done}", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it; nothing more can be written, not even by the interpreter.
        _to_nowhere(sys.stdout)
        code = PIPE_CLOSED
    except OSError as error:
        if error.errno not in _OUTPUT_FAILS or error.filename is not None:
            raise
        code = _unwritable(error)
    sys.exit(code)


def _unwritable(error: OSError) -> int:
    """Report that the output cannot be written, on whichever stream still works."""
    _to_nowhere(sys.stdout)
    try:
        click.echo(f"plimsoll: The output cannot be written: {error.strerror}. {advice_on(error)}", err=True)
    except OSError:  # standard error is full
        _to_nowhere(sys.stderr)
    return UNWRITABLE


def _to_nowhere(stream: IO[Any] | None) -> None:
    """Discard buffered output: the interpreter would fail to write it at exit."""
    with suppress(OSError, ValueError):
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()

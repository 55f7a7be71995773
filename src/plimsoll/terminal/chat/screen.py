"""Displays a turn while it runs.

    Screen        for pipes and files: the answer on standard output, everything else on standard error
    LiveScreen    for a terminal: Markdown block by block; only unfinished blocks are redrawn

Text of a model or a tool is shown as text, never as terminal control sequences.
"""

import asyncio
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from plimsoll.agent import (
    Compacted,
    Event,
    Notice,
    ReasoningReceived,
    RetryWaiting,
    SummaryProgress,
    TextReceived,
    ToolCalled,
    ToolReturned,
)
from plimsoll.messages.printable import plain
from plimsoll.terminal.chat.folded_outputs import FoldedOutputs, diff_size
from plimsoll.terminal.chat.keys import EscapeKey
from plimsoll.terminal.chat.markdown import newest_part, split_blocks
from plimsoll.terminal.chat.rendered_markdown import AnswerMarkdown
from plimsoll.terminal.chat.status_lines import (
    compaction_line,
    fitted,
    retry_line,
    running_line,
    summary_line,
    tool_line,
)

QUIET, BAD = "dim", "red"
REFUSED = "not run"
_FRAMES = 10  # maximum per second


class Screen:
    """Shows the answer as it arrives on `out`, and everything else on `notices`."""

    def __init__(self, out: Console, notices: Console) -> None:
        self.out, self.notices = out, notices
        self._calls: dict[str, str] = {}
        self._refused: set[str] = set()  # calls that the user did not allow
        self._is_open = False  # a line of the answer is incomplete
        self.on_escape: Callable[[], None] = lambda: None  # continue without waiting for the summary

    def show(self, thing: RenderableType) -> None:
        """Show output that the user asked for."""
        self.out.print(thing, highlight=False)

    def note(self, sentence: str, style: str = QUIET) -> None:
        """Show a notice."""
        said = plain(sentence)
        # A file has no width limit. A link or path that is longer than a line is left to the terminal, which knows
        # that its lines belong together: it can be clicked and copied.
        is_long = any(cell_len(word) > self.notices.width for word in said.split())
        self.notices.print(Text(said, style), soft_wrap=is_long or not self.notices.is_terminal)

    def emit(self, event: Event) -> None:
        """Show an event of the turn."""
        if isinstance(event, TextReceived):
            self.say(plain(event.text))
        elif isinstance(event, ToolCalled):
            self.end_text()
            self._calls[event.call_id] = event.line
        elif isinstance(event, ToolReturned):
            call = self._calls.pop(event.call_id, "")
            if event.call_id in self._refused:  # the user knows why
                self._refused.discard(event.call_id)
                line = tool_line(call, REFUSED, event.seconds, self.notices.width)
                self.notices.print(Text(line, "yellow"), no_wrap=True, crop=True)
                return
            outcome = diff_size(event.output) or event.line
            line = tool_line(call, outcome, event.seconds, self.notices.width)
            self.notices.print(Text(line, BAD if event.is_error else "cyan"), no_wrap=True, crop=True)
            self.fold(call, event.output)
        elif isinstance(event, Compacted):
            self.note(compaction_line(event.event))
        elif isinstance(event, RetryWaiting) and not self.is_interactive:
            self.note(retry_line(event.status))
        elif isinstance(event, Notice):
            self.end_text()  # a notice about the reply follows it
            self.note(event.sentence, "yellow")

    def fold(self, call: str, output: str) -> None:
        """Keep the output of a call; it is shown only if the user asks for it."""

    def unfold(self) -> bool:
        """Show one more folded output; False if there is none."""
        return False

    def progress(self, line: str) -> None:
        """Show the last line that a running command printed."""

    asked_about = ""  # the diff that the user was last asked about

    def refuse(self, call_id: str) -> None:
        """Note that the user did not allow a call."""
        self._refused.add(call_id)

    is_interactive = False  # a user can be asked

    def write_control(self, sequence: str) -> None:
        """Send a control sequence to the terminal; a file gets none."""
        if self.out.is_terminal:
            self.out.file.write(sequence)
            self.out.file.flush()

    def keep_typed(self) -> None:
        """Keep what was typed during a turn that was stopped; it is not sent."""

    def take_typed(self) -> str:
        """Text typed during the turn, for the next prompt."""
        return ""

    def say(self, text: str) -> None:
        """Show a piece of the answer."""
        self.out.file.write(text)
        self.out.file.flush()
        self._is_open = (self._is_open and not text) or (bool(text) and not text.endswith("\n"))

    def end_text(self) -> None:
        """End the current text; what follows is separate."""
        if self._is_open:
            self.out.file.write("\n")
            self.out.file.flush()
        self._is_open = False

    def begin(self, waiting: str = "thinking") -> None:
        """Start a turn."""

    def end(self) -> None:
        """End the turn, however it ended."""
        self.end_text()
        self._calls.clear()

    @contextmanager
    def busy(self, doing: str) -> Iterator[None]:
        """Show what is being waited for outside a turn."""
        self.note(doing)
        yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the output while the user answers a question."""
        self.end_text()
        yield


class LiveScreen(Screen):
    """For a terminal."""

    is_interactive = True

    def __init__(self, console: Console, code_theme: str = "ansi_dark") -> None:
        super().__init__(console, console)
        self._code_theme = code_theme
        self._pending = ""
        self._waiting = "thinking"
        self._spinner = Spinner("dots", style=QUIET)
        self._live: Live | None = None
        self._drawing: asyncio.Task[None] | None = None
        self._echo: list[Any] | None = None  # the terminal's settings before a turn
        self._has_said = False
        self._summary = ""  # progress of the summary that the turn waits for
        self._since = 0.0  # start of the running call
        self._printed = ""  # the last line that it printed
        self.folded = FoldedOutputs()
        self._keys = EscapeKey()

    def begin(self, waiting: str = "thinking") -> None:
        self._waiting = waiting
        self._has_said = False
        self._next_call()
        self._live = Live(
            console=self.out, get_renderable=self._unfinished, auto_refresh=False, transient=True
        )
        self._live.start()
        # Drawn here and not in a separate thread: two concurrent drawings erase each other's lines.
        self._drawing = asyncio.ensure_future(self._draw())
        self._echo = _without_echo(self.out)

    def end(self) -> None:
        super().end()
        self._stop()
        if self._has_said:  # an empty line below an answer
            self.out.print()

    def _stop(self) -> None:
        self._end_summary()
        if self._drawing:
            self._drawing.cancel()
        if self._live:
            self._live.stop()
        if self._echo is not None:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._echo)
        self._live = self._drawing = self._echo = None

    async def _draw(self) -> None:
        while self._live:
            self._live.refresh()
            await asyncio.sleep(1 / _FRAMES)

    @contextmanager
    def busy(self, doing: str) -> Iterator[None]:
        self.begin(doing.rstrip("."))
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.end_text()
        was_live = self._live is not None
        self._stop()
        # Text typed before the question is not an answer to it; it is kept for the next prompt.
        self._keys.keep_pending()
        try:
            yield
        finally:
            if was_live:
                self.begin(self._waiting)

    def emit(self, event: Event) -> None:
        if isinstance(event, ReasoningReceived | TextReceived | ToolCalled):
            self._waiting = "thinking"
        elif isinstance(event, RetryWaiting):
            self._waiting = retry_line(event.status)
        if isinstance(event, ToolCalled | ToolReturned):
            self._next_call()
        if isinstance(event, SummaryProgress):
            self._summary = summary_line(event.characters)
            self._keys.start(self.on_escape)
        elif isinstance(event, Compacted):
            self._end_summary()
        super().emit(event)

    def fold(self, call: str, output: str) -> None:
        if output == self.asked_about:  # the diff was shown with the question
            self.asked_about = ""
            return
        shown = self.folded.add(call, output)
        for line, style in shown:
            self.out.print(Text(fitted(f"  {line}", self.out.width), style), no_wrap=True, crop=True)

    def unfold(self) -> bool:
        found = self.folded.next()
        if found is None:
            return False
        call, output = found
        self.out.print(Text(fitted(f"● {plain(call)}", self.out.width), "cyan"), no_wrap=True, crop=True)
        self.out.print(Text(plain(output)), soft_wrap=True)
        return True

    def progress(self, line: str) -> None:
        self._printed = " ".join(plain(line).split())

    def _next_call(self) -> None:
        self._since, self._printed = time.monotonic(), ""

    def keep_typed(self) -> None:
        self._keys.keep_pending()

    def take_typed(self) -> str:
        return self._keys.take_typed()

    def _end_summary(self) -> None:
        self._summary = ""
        self._keys.stop()

    def say(self, text: str) -> None:
        finished, self._pending = split_blocks(self._pending + text)
        self._print_blocks(finished)

    def end_text(self) -> None:
        finished, self._pending = self._pending, ""
        self._print_blocks(finished)

    def _print_blocks(self, text: str) -> None:
        if not text.strip():
            return
        if self._has_said:
            self.out.print()
        self.out.print(AnswerMarkdown(text, code_theme=self._code_theme, hyperlinks=False))
        self._has_said = True

    def _unfinished(self) -> RenderableType:
        """The unfinished output: a few lines that are redrawn."""
        if self._pending:
            # Only what can be visible is wrapped: a long paragraph is drawn as fast as a short one.
            newest = newest_part(self._pending.rstrip("\n"), self.out.width * self.out.height)
            lines = Text(newest).wrap(self.out, self.out.width)
            shown = Text("\n").join(lines[-max(1, self.out.height - 4) :])
            return Group(Text(""), shown) if self._has_said else shown
        elapsed = time.monotonic() - self._since
        running, *waiting = [*map(plain, self._calls.values()), ""]
        doing = running_line(running or self._waiting, elapsed, self._printed, self.out.width - 3)
        self._spinner.update(text=Text(self._summary or doing, QUIET))
        later = (Text(f"◌ {fitted(line, self.out.width - 4)}", QUIET) for line in waiting if line)
        return Group(self._spinner, *later)


def _without_echo(console: Console) -> list[Any] | None:
    """Switch echo off during a turn; typed text appears at the next prompt. Returns the settings before it."""
    if not (console.is_terminal and sys.stdin.isatty()):
        return None
    before = termios.tcgetattr(sys.stdin)
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    quiet[3] |= termios.NOFLSH  # Ctrl-C discards no typed text
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    return before

"""The keys at the prompt.

    Ctrl-C      clears the line (Up restores it); on an empty line it asks, and a second time leaves
    Alt-Enter   begins a new line
    Ctrl-V      attaches the image on the clipboard
    a paste     stays one message; a long one is folded
    Ctrl-O      unfolds the output of a tool
    Shift-Tab   switches the edit mode: ask, accept, plan

The Ctrl-C question disappears after a while and after any other key.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from plimsoll.errors import UserError
from plimsoll.terminal.chat.attachments import Attachments
from plimsoll.terminal.chat.clipboard import pasted_image

TOGETHER = 0.03  # seconds; Alt-Enter arrives as Escape and Enter at once, and two presses take longer
ESCAPE_SECONDS = 0.05  # after which Escape is a key of its own in vi mode
LEAVE = "Press Ctrl-C again to leave; the session is kept."
NO_IMAGE = "There is no image on the clipboard. To attach a file, type @ and its path."
NOTHING_FOLDED = "There is no more folded output in this chat."
HINT_SECONDS = 3.0


@dataclass(slots=True)
class Hint:
    """One sentence in place of the status line, for a while or until a key is pressed."""

    seconds: float = HINT_SECONDS
    text: str = ""
    before: str = ""  # the previous hint, until the current key
    _timer: asyncio.TimerHandle | None = None

    def show(self, text: str) -> None:
        """Show the sentence; it goes away by itself."""
        self.clear()
        self.text = text
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._expire, get_app().invalidate)

    def clear(self) -> None:
        """Remove the sentence."""
        self.text = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def key_pressed(self, _sender: object = None) -> None:
        """Remove the sentence, because a key was pressed."""
        self.before = self.text
        self.clear()

    def _expire(self, redraw: Callable[[], None]) -> None:
        self.clear()
        redraw()


@dataclass(slots=True)
class KeyTimes:
    """The time between the last two keys."""

    gap: float = 0.0
    _last: float = 0.0

    def key_pressed(self, _sender: object = None) -> None:
        """Note the time of a key."""
        now = time.monotonic()
        self.gap, self._last = now - self._last, now


@dataclass(frozen=True, slots=True)
class LineActions:
    """The chat actions of keys."""

    attachments: Callable[[], Attachments]
    unfold: Callable[[], bool]  # show one more output; False if there is none
    next_mode: Callable[[], str]  # switch the edit mode; returns its description


def line_keys(
    actions: LineActions, hint: Hint, environ: Mapping[str, str], times: KeyTimes | None = None
) -> KeyBindings:
    """The bindings of the prompt."""
    keys = KeyBindings()
    attachments = actions.attachments

    @keys.add("c-o")
    def _unfold(event: KeyPressEvent) -> None:
        async def show() -> None:
            if not await run_in_terminal(actions.unfold):
                hint.show(NOTHING_FOLDED)

        event.app.create_background_task(show())

    @keys.add("s-tab")
    def _mode(_event: KeyPressEvent) -> None:
        hint.show(actions.next_mode())

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        is_vi = event.app.editing_mode is EditingMode.VI
        if (
            is_vi and times is not None and times.gap > TOGETHER
        ):  # Escape ends the typing, Enter sends the line
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _interrupt(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            keep_in_history(buffer)
        elif hint.before == LEAVE:
            event.app.exit(exception=EOFError)
        else:
            hint.show(LEAVE)

    @keys.add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        event.current_buffer.insert_text(attachments().fold(text))

    @keys.add("c-v")
    def _image(event: KeyPressEvent) -> None:
        async def attach() -> None:
            try:
                png = await pasted_image(environ)
            except UserError as error:
                hint.show(str(error))
                return
            if png is None:
                hint.show(NO_IMAGE)
            else:
                event.current_buffer.insert_text(f"{attachments().add_image(png)} ")

        event.app.create_background_task(attach())

    return keys


def keep_in_history(buffer: Buffer) -> None:
    """Clear the line; the Up key restores it."""
    buffer.append_to_history()
    buffer.reset()
    buffer.load_history_if_not_yet_loaded()  # otherwise Up does nothing until the line is drawn again

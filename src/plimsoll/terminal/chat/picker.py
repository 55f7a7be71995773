"""Choose from a list in the terminal: `/resume` without an id.

    Resume a session (type to filter, ↑ ↓ move, Enter opens, Esc keeps this one)
    › 20261115-094512-quiet-harbour  2 h ago  Fix the failing tests · 41 messages, 21K tokens
      20261114-171003-bright-anchor  1 d ago  Move the parser · 118 messages, 96K tokens

The list fits the terminal's rows and leaves nothing on the screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from rich.cells import cell_len

from plimsoll.terminal.chat.status_lines import fitted

MAX_ROWS = 10
_AROUND = 6  # rows of the terminal left for the heading and earlier output
HOW = "type to filter · ↑ ↓ move · Enter opens · Esc cancels"


@dataclass(frozen=True, slots=True)
class Choice:
    """One row: its value, its text, and more text that is shown only where all of it fits."""

    value: str
    line: str
    more: str = ""

    def shown(self, width: int) -> str:
        """The row on a line of this width."""
        whole = self.line + self.more
        return whole if cell_len(whole) <= width else fitted(self.line, width)


@dataclass(slots=True)
class ChoiceList:
    """The rows, the filter and the current row. Independent of the terminal."""

    choices: Sequence[Choice]
    filter: str = ""
    place: int = 0

    @property
    def matching(self) -> list[Choice]:
        """The rows that contain every word of the filter."""
        words = self.filter.lower().split()
        return [choice for choice in self.choices if all(word in choice.line.lower() for word in words)]

    def move(self, steps: int) -> None:
        """Move up or down, within the list."""
        self.place = max(0, min(self.place + steps, len(self.matching) - 1))

    def type(self, text: str) -> None:
        """Add to the filter."""
        self.filter += text
        self.place = 0

    def erase(self) -> None:
        """Remove the last character of the filter."""
        self.filter = self.filter[:-1]
        self.place = 0

    @property
    def chosen(self) -> str | None:
        """The value of the current row."""
        matching = self.matching
        return matching[self.place].value if matching else None

    def lines(self, width: int, rows: int) -> list[tuple[bool, str]]:
        """The visible rows, each with whether it is the current one."""
        matching = self.matching
        first = max(0, min(self.place - rows // 2, len(matching) - rows))
        shown = enumerate(matching[first : first + rows], start=first)
        return [(number == self.place, item.shown(width - 3)) for number, item in shown]


@dataclass(slots=True)
class _Picker:
    title: str
    choices: ChoiceList
    app: Application[str | None] = field(init=False)

    def draw(self) -> StyleAndTextTuples:
        size = self.app.output.get_size()
        heading = f"{self.title}: {self.choices.filter}" if self.choices.filter else self.title
        drawn: StyleAndTextTuples = [("bold", f"{fitted(heading, size.columns - 1)}\n")]
        rows = max(1, min(MAX_ROWS, size.rows - _AROUND))
        lines = self.choices.lines(size.columns, rows)
        for is_here, line in lines:
            drawn.append(("bold" if is_here else "", f"{'›' if is_here else ' '} {line}\n"))
        if not lines:
            drawn.append(("", "  nothing matches\n"))
        drawn.append(("ansibrightblack", fitted(HOW, size.columns - 1)))
        return drawn


async def pick(title: str, choices: Sequence[Choice]) -> str | None:
    """The value of the row that the user chooses; None if they cancel."""
    picker = _Picker(title, ChoiceList(choices))
    picker.app = Application(
        Layout(Window(FormattedTextControl(picker.draw, focusable=True, show_cursor=False))),
        key_bindings=_keys(picker.choices),
        erase_when_done=True,
    )
    picker.app.ttimeoutlen = 0.05  # Escape alone is a key here; do not wait for a sequence
    return await picker.app.run_async(handle_sigint=False)


def _keys(choices: ChoiceList) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("up")
    @keys.add("c-p")
    def _up(_event: KeyPressEvent) -> None:
        choices.move(-1)

    @keys.add("down")
    @keys.add("c-n")
    def _down(_event: KeyPressEvent) -> None:
        choices.move(1)

    @keys.add("enter")
    def _choose(event: KeyPressEvent) -> None:
        event.app.exit(result=choices.chosen)

    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    def _cancel(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    @keys.add("backspace")
    def _erase(_event: KeyPressEvent) -> None:
        choices.erase()

    @keys.add(Keys.Any)
    def _type(event: KeyPressEvent) -> None:
        if event.data.isprintable():
            choices.type(event.data)

    return keys

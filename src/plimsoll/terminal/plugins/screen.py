"""The screen of `plimsoll plugins`: draws the current menu page after every key.

     Plugins › Provider Plugins › Context Engine

     › ● compressor
         Clears old tool results and summarises the middle.
       ○ keep-ends

     ↑ ↓ move · Enter choose · Esc back

The current item is marked with signs and bold text, never by colour alone.
"""

import textwrap

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.styles import Style

from plimsoll.terminal.plugins.menu import Menu

_STYLE = Style.from_dict({"way": "bold", "chosen": "bold"})
_MARGIN = 9  # columns left of the text below an item, and one to its right


def run_screen(menu: Menu) -> None:
    """Show the menu until the user leaves it."""
    lines = FormattedTextControl(
        lambda: _body(menu, app.output.get_size().columns),
        focusable=True,
        show_cursor=False,
        get_cursor_position=lambda: Point(0, _line_of_choice(menu, app.output.get_size().columns)),
    )
    app: Application[None] = Application(
        Layout(
            HSplit(
                [
                    Window(FormattedTextControl(lambda: _way(menu)), height=2, wrap_lines=False),
                    Window(lines, wrap_lines=False),
                    Window(
                        FormattedTextControl(
                            lambda: message_lines(menu.message, app.output.get_size().columns)
                        ),
                        dont_extend_height=True,
                    ),
                    Window(FormattedTextControl(lambda: f" {menu.page.how}"), height=1),
                ]
            )
        ),
        key_bindings=_keys(menu),
        style=_STYLE,
        full_screen=True,
    )
    app.ttimeoutlen = 0.05  # Escape alone is a key here; do not wait for a sequence
    app.run()


def _way(menu: Menu) -> StyleAndTextTuples:
    return [("class:way", " " + " › ".join(page.name for page in menu.way))]


def message_lines(message: str, width: int) -> str:
    """The message below the menu, wrapped between words; names stay whole, so that they can be copied."""
    lines = textwrap.wrap(message, max(20, width - 2), break_on_hyphens=False)
    return "\n".join(f" {line}" for line in lines)


def _body(menu: Menu, width: int) -> StyleAndTextTuples:
    drawn: StyleAndTextTuples = []
    for place, item in enumerate(menu.items()):
        is_here = place == menu.page.place
        drawn.append(("class:chosen" if is_here else "", f" {'›' if is_here else ' '} {item.title}\n"))
        drawn += [("", f"       {line}\n") for about in item.about for line in _folded(about, width)]
    return drawn or [("", "   nothing yet\n")]


def _line_of_choice(menu: Menu, width: int) -> int:
    items = menu.items()[: menu.page.place]
    return sum(1 + sum(len(_folded(about, width)) for about in item.about) for item in items)


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(20, width - _MARGIN), break_on_hyphens=False) or [""]


def _keys(menu: Menu) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("up")
    @keys.add("k")
    def _(_event: KeyPressEvent) -> None:
        menu.move(-1)

    @keys.add("down")
    @keys.add("j")
    def _(_event: KeyPressEvent) -> None:
        menu.move(1)

    @keys.add("enter")
    @keys.add("right")
    def _(_event: KeyPressEvent) -> None:
        menu.enter()

    @keys.add("escape", eager=True)
    @keys.add("left")
    def _(event: KeyPressEvent) -> None:
        if not menu.back():
            event.app.exit()

    @keys.add("q")
    @keys.add("c-c")
    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        event.app.exit()

    return keys

"""A conversation as one self-contained HTML file: no scripts, no external fonts or images.

Markdown in messages is rendered; HTML is shown as text, and images are not loaded.
"""

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from plimsoll.messages import Message, arguments_text, call_name, part_text, parts_of, tool_calls
from plimsoll.messages.printable import plain

_LONG = 12  # tool results with more lines are folded


def html(messages: Iterator[Message], title: str) -> Iterator[str]:
    """The page, piece by piece."""
    # Imported here: only an export needs it.
    from markdown_it import MarkdownIt

    render = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render
    name = escape(plain(title) or "Conversation")
    style = files("plimsoll.terminal.sessions").joinpath("page.css").read_text("utf-8")
    yield f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}</title>\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<style>\n{style}</style>\n<h1>{name}</h1>\n"
    for number, message in enumerate(messages, 1):
        role = escape(str(message.get("role", "")))
        yield f'<section class="{role}" id="m{number}">\n<h2>{number} · {role}</h2>\n'
        for part in parts_of(message):
            text = plain(part_text(part) or "")
            if not text:
                yield f"<p class=part>({escape(str(part.get('type', 'part')))})</p>\n"
            elif role == "tool":
                yield _verbatim(text)
            else:
                yield render(text)
        for call in tool_calls(message):
            yield f"<p><code>{escape(call_name(call))}</code></p>\n{_verbatim(plain(arguments_text(call)))}"
        yield "</section>\n"
    yield "</html>\n"


def _verbatim(text: str) -> str:
    lines = text.count("\n") + 1
    block = f"<pre>{escape(text)}</pre>\n"
    if lines < _LONG:
        return block
    return f"<details><summary>{lines:,} lines</summary>\n{block}</details>\n"

"""A conversation as a Markdown document, for people to read.

## 2 · assistant

`read_file`

```json
{"path": "notes.txt"}
```

Tool results and arguments are in fences that are longer than any fence inside them. No text controls a terminal.
"""

from collections.abc import Iterable, Iterator

from plimsoll.messages import Message, arguments_text, call_name, part_text, parts_of, tool_calls
from plimsoll.messages.printable import one_line, plain


def markdown(messages: Iterable[Message], title: str) -> Iterator[str]:
    """The document, piece by piece."""
    yield from map(plain, _pieces(messages, one_line(title)))


def _pieces(messages: Iterable[Message], title: str) -> Iterator[str]:
    yield f"# {title or 'Conversation'}\n"
    for number, message in enumerate(messages, 1):
        yield f"\n## {number} · {message.get('role', '')}\n\n"
        for part in parts_of(message):
            text = part_text(part)
            if text and message.get("role") == "tool":
                yield f"{_fenced(text)}\n\n"
            else:
                yield f"{text or '*(' + str(part.get('type', 'part')) + ')*'}\n\n"
        for call in tool_calls(message):
            yield f"`{call_name(call)}`\n\n{_fenced(arguments_text(call), 'json')}\n\n"


def _fenced(text: str, language: str = "") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"

"""What a typed line brings along: files, images, long pastes, the output of commands.

    "Why? @src/app.py [image 1]"  ─►  text, then the file and the image
    "!pytest -x"                  ─►  runs now; its output goes along with the next message

Only lines that a person types at a terminal are read this way. Text from a pipe may come from anywhere, and must not
be able to name files or run commands.
"""

import base64
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from plimsoll.errors import UserError
from plimsoll.messages import Part
from plimsoll.tools import ToolContext
from plimsoll.tools.files import ReadFile

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
LONG_PASTE = 10  # lines from which a paste is folded at the prompt
LONG_TEXT = 2_000  # characters likewise
MOST_KEPT = 100  # pastes, and images, of one chat
T = TypeVar("T")
_MENTION = re.compile(r'(?<![\w@/])@(?:"([^"]+)"|([^\s"]+))')
_TRAILING = ".,;:!?)]}'"


@dataclass(slots=True)
class Attachments:
    """Pastes and images by the mark that stands for them in the line, and what commands printed.

    Marks are numbered over the whole chat, so that a line that is sent again means the same.
    """

    pastes: dict[str, str] = field(default_factory=dict)
    images: dict[str, bytes] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    _pasted: int = 0
    _shown: int = 0

    def fold(self, text: str) -> str:
        """What stands in the line for a paste: a path as a mention, a long text as a mark, anything else as it is."""
        path = _pasted_path(text)
        if path is not None:
            return f"{mention(path)} "
        lines = text.count("\n") + 1
        if lines < LONG_PASTE and len(text) < LONG_TEXT:
            return text
        self._pasted += 1
        return _kept(self.pastes, f"[paste {self._pasted}: {lines:,} lines]", text)

    def add_image(self, png: bytes) -> str:
        """What stands in the line for an image from the clipboard."""
        self._shown += 1
        return _kept(self.images, f"[image {self._shown}]", png)

    def add_output(self, command: str, output: str) -> None:
        """Note a command and its output for the next message."""
        self.outputs.append(f"I ran `{command}`:\n\n{output}")

    async def content(self, line: str, context: ToolContext) -> str | list[Part]:
        """The content of the message; a file that cannot be attached is a `UserError`."""
        parts: list[Part] = []
        texts = [*self.outputs, self.unfolded(line)]
        for path in mentioned(line, context.workplace.root):
            found = await ReadFile().run({"path": str(path)}, context)
            if found.is_error:
                raise UserError(f"{found.text.removeprefix('Error: ')}. Nothing was sent.")
            texts.append(found.text)
            parts += found.parts
        for mark, png in self.images.items():
            if mark in line:
                url = f"data:image/png;base64,{base64.b64encode(png).decode()}"
                parts.append({"type": "image_url", "image_url": {"url": url}})
        text = "\n\n".join(texts)
        return [{"type": "text", "text": text}, *parts] if parts else text

    def sent(self) -> None:
        """The message is in the conversation, and what commands printed went along with it."""
        self.outputs.clear()

    def unfolded(self, line: str) -> str:
        """The line with its pastes in full."""
        for mark, text in self.pastes.items():
            line = line.replace(mark, text)
        return line


def _kept(known: dict[str, T], mark: str, value: T) -> str:
    """Keep a value under its mark; the oldest one leaves where there are many."""
    while len(known) >= MOST_KEPT:
        del known[next(iter(known))]
    known[mark] = value
    return mark


def mentioned(line: str, root: Path) -> list[Path]:
    """The files that a line names: `@path`, and images by their path alone. Other words with an @ stay words."""
    named = [
        quoted or bare
        for quoted, bare in _MENTION.findall(line)
        if quoted or _existing(bare, root) or _existing(bare.rstrip(_TRAILING), root)
    ]
    named = [one if _existing(one, root) else one.rstrip(_TRAILING) for one in named]
    try:
        words = shlex.split(line)
    except ValueError:  # an apostrophe is no open quote
        words = line.split()
    named += [word for word in words if word.lower().endswith(IMAGES) and _existing(word, root)]
    return list(dict.fromkeys(_path(one, root) for one in named))


def mention(path: Path) -> str:
    """A path as it is written in a line."""
    return f'@"{path}"' if re.search(r"\s", str(path)) else f"@{path}"


def _existing(name: str, root: Path) -> bool:
    try:
        return bool(name) and _path(name, root).exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _path(name: str, root: Path) -> Path:
    return root / Path(name).expanduser()


def _pasted_path(text: str) -> Path | None:
    """The image that a pasted text names: terminals paste the path of a file that is dropped on them."""
    text = text.strip()
    if not text or "\n" in text or not text.strip("'\"").lower().endswith(IMAGES):
        return None
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    else:
        try:
            text = " ".join(shlex.split(text))
        except ValueError:
            return None
    path = Path(text).expanduser()
    return path if path.is_absolute() and path.is_file() else None

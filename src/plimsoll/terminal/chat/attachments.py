"""What a typed line attaches: files, images, long pastes, the output of commands.

    "Why? @src/app.py [image 1]"  ─►  text, then the file and the image
    "!pytest -x"                  ─►  runs now; its output is sent with the next message

Only lines that a user types at a terminal are read this way. Text from a pipe may come from anywhere and must not be
able to attach files or run commands.
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
LONG_TEXT = 2_000  # characters from which a paste is folded
MAX_KEPT = 100  # pastes, and images, per chat
T = TypeVar("T")
_MENTION = re.compile(r'(?<![\w@/])@(?:"([^"]+)(?:"|$)|([^\s"]+))')
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
_TRAILING = ".,;:!?)]}'"
_OPENING = "([{"


@dataclass(slots=True)
class Attachments:
    """Pastes and images by their placeholder in the line, and the output of commands.

    Placeholders are numbered over the whole chat, so that a repeated line means the same.
    """

    pastes: dict[str, str] = field(default_factory=dict)
    images: dict[str, bytes] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    _pasted: int = 0
    _shown: int = 0

    def fold(self, text: str) -> str:
        """The text in the line for a paste: a path as a mention, a long text as a placeholder, others unchanged."""
        path = _pasted_path(text)
        if path is not None:
            return f"{mention(path)} "
        lines = text.count("\n") + 1
        if lines < LONG_PASTE and len(text) < LONG_TEXT:
            return text
        self._pasted += 1
        return _kept(self.pastes, f"[paste {self._pasted}: {lines:,} lines]", text)

    def add_image(self, png: bytes) -> str:
        """The placeholder for an image from the clipboard."""
        self._shown += 1
        return _kept(self.images, f"[image {self._shown}]", png)

    def add_output(self, command: str, output: str) -> None:
        """Keep a command and its output for the next message."""
        self.outputs.append(f"I ran `{command}`:\n\n{output}")

    async def content(self, line: str, context: ToolContext) -> str | list[Part]:
        """The content of the message; raises `UserError` if a file cannot be attached."""
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
        """Forget the output of commands, which was sent with the message."""
        self.outputs.clear()

    def unfolded(self, line: str) -> str:
        """The line with its pastes in full."""
        for mark, text in self.pastes.items():
            line = line.replace(mark, text)
        return line


def _kept(known: dict[str, T], mark: str, value: T) -> str:
    """Keep a value under its placeholder; drops the oldest if there are too many."""
    while len(known) >= MAX_KEPT:
        del known[next(iter(known))]
    known[mark] = value
    return mark


def mentioned(line: str, root: Path) -> list[Path]:
    """The files that a line names: `@path`, and images by their path. Other words with an @ stay words."""
    named = [
        quoted or bare
        for quoted, bare in _MENTION.findall(line)
        if quoted or _existing(bare, root) or _existing(bare.rstrip(_TRAILING), root)
    ]
    named = [name if _existing(name, root) else name.rstrip(_TRAILING) for name in named]
    try:
        words = shlex.split(line)
    except ValueError:  # an apostrophe is not an open quote
        words = line.split()
    words = [word.strip(_OPENING).rstrip(_TRAILING) for word in words]
    named += [word for word in words if word.lower().endswith(IMAGES) and _existing(word, root)]
    return list(dict.fromkeys(_path(name, root) for name in named))


def missing_files(line: str, root: Path) -> list[str]:
    """The names with an @ that end like a file's name, but are no file: the line sends them as words."""
    names = [
        bare.rstrip(_TRAILING) for _, bare in _MENTION.findall(line) if bare and not _existing(bare, root)
    ]
    return list(dict.fromkeys(name for name in names if _SUFFIX.search(name) and not _existing(name, root)))


def mention(path: Path) -> str:
    """A path as a mention in a line."""
    return f'@"{path}"' if re.search(r"\s", str(path)) else f"@{path}"


def _existing(name: str, root: Path) -> bool:
    try:
        return bool(name) and _path(name, root).exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _path(name: str, root: Path) -> Path:
    return root / Path(name).expanduser()


def _pasted_path(text: str) -> Path | None:
    """The image whose path was pasted: terminals paste the path of a dropped file."""
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

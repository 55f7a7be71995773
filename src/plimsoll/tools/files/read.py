"""Reads files in pages, lists directories, shows small images.

    src/app.py: lines 1-200 of 543
    …
    [next: offset=201]

Every byte of a text can be reached: lines by `offset`, the rest of a long line by `column`.
"""

import asyncio
import base64
import os
import stat
from pathlib import Path

from plimsoll.tools.definitions import definition_of
from plimsoll.tools.files.lines import FilePage, read_page
from plimsoll.tools.files.suggestions import missing
from plimsoll.tools.files.text import SAMPLE, Encoding, encoding_of
from plimsoll.tools.tool import Arguments, Tool, ToolContext, ToolResult, failed
from plimsoll.tools.workspace import Workspace

_LINES = 2_000  # of one page
_WIDEST = 2_000  # characters of a line if several are shown
_MAX_ENTRIES = 500  # of a listed directory
_LARGEST_IMAGE = 3_700_000  # bytes; providers accept 5 MB of base64
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)  # fmt: skip


class ReadFile(Tool):
    """Reads files, lists directories, shows images."""

    is_safe_in_parallel = True

    def __init__(self) -> None:
        super().__init__(definition_of("read_file"))

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_read, arguments, context)


def _read(arguments: Arguments, context: ToolContext) -> ToolResult:
    place = context.workplace
    if "\0" in arguments["path"]:
        return failed("the path contains a NUL character")
    path = place.resolve(arguments["path"])
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return ToolResult(_listing(path, place))
        if not stat.S_ISREG(mode):
            # Opening a pipe or a device could block forever.
            return failed(f"{place.shown(path)} is not a regular file")
        with path.open("rb") as file:
            sample = file.read(SAMPLE)
        return _shown(path, sample, arguments, context)
    except FileNotFoundError:
        return failed(missing(path, place))
    except OSError as error:
        return failed(f"{place.shown(path)} cannot be read: {error.strerror}")


def _shown(path: Path, sample: bytes, arguments: Arguments, context: ToolContext) -> ToolResult:
    name, size = context.workplace.shown(path), path.stat().st_size
    kind = _image_type(sample)
    if kind is not None:
        return _image(path, name, size, kind)
    encoding = encoding_of(sample)
    if encoding is None:
        return failed(
            f"{name} is a binary file of {size:,} bytes; use the terminal (file, xxd) to look into it"
        )
    return ToolResult(_page(path, name, encoding, arguments, context.output_limit))


def _page(path: Path, name: str, encoding: Encoding, arguments: Arguments, limit: int) -> str:
    first, column = arguments.get("offset") or 1, arguments.get("column") or 1
    count = arguments.get("limit") or _LINES
    room = max(200, limit - len(name) - 300)  # minus the first and last line
    # A single requested line may use all the room.
    widest = room if count == 1 else min(_WIDEST, room)
    page = read_page(path, encoding, first, count, column, widest, max(1, room - widest))
    if page.total == 0:
        return f"{name}: the file is empty"
    last = first + len(page.lines) - 1
    if not page.lines:
        return f"{name}: there is no line {first:,}; the file has {page.total:,} lines"
    spelled = "" if encoding.name == "utf-8" else f", {encoding.name}"
    body = [line.text + _cut(line.text, line.length, column) for line in page.lines]
    return "\n".join(
        [f"{name}: lines {first}-{last} of {page.total}{spelled}", *body, *_next(page, first, last, column)]
    )


def _cut(text: str, length: int, column: int) -> str:
    beyond = length - (column - 1) - len(text)
    return f" [… {beyond:,} characters more]" if beyond > 0 else ""


def _next(page: FilePage, first: int, last: int, column: int) -> list[str]:
    """The hint for the next page, if there is one."""
    hints = []
    cut = next((n for n, line in enumerate(page.lines) if _cut(line.text, line.length, column)), None)
    if cut is not None:
        column += len(page.lines[cut].text)
        hints.append(f"[the rest of line {first + cut}: offset={first + cut} limit=1 column={column}]")
    if last < page.total:
        hints.append(f"[next: offset={last + 1}]")
    return hints


def _listing(path: Path, place: Workspace) -> str:
    with os.scandir(path) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    lines = []
    for entry in found[:_MAX_ENTRIES]:
        if entry.is_dir():
            lines.append(f"{entry.name}/")
        else:
            size = f" ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
            lines.append(
                f"{entry.name} -> {Path(entry.path).readlink()}" if entry.is_symlink() else entry.name + size
            )
    more = [f"[… {len(found) - _MAX_ENTRIES:,} more]"] if len(found) > _MAX_ENTRIES else []
    return "\n".join([f"{place.shown(path)}/: {len(found):,} entries", *lines, *more])


def _image_type(sample: bytes) -> str | None:
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES if sample.startswith(magic)), None)


def _image(path: Path, name: str, size: int, kind: str) -> ToolResult:
    if size > _LARGEST_IMAGE:
        return failed(
            f"{name} is an image of {size:,} bytes; at most {_LARGEST_IMAGE:,} can be shown, so scale it down"
        )
    encoded = base64.b64encode(path.read_bytes()).decode("ascii")
    part = {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}}
    return ToolResult(f"{name}: {kind}, {size:,} bytes", parts=(part,))

"""The clipboard: copies text, pastes images.

Uses a desktop program if one is installed (wl-copy, xclip, xsel, pbcopy). Otherwise, as over ssh, it sends OSC 52 to
the terminal; whether the terminal accepts it depends on its settings and cannot be read back.
"""

import asyncio
import base64
import shutil
from collections.abc import Callable, Mapping, Sequence

from plimsoll.errors import UserError

_TIMEOUT = 5.0  # seconds for a desktop program
_LARGEST = 20_000_000  # bytes of a pasted image
# The variable that a program needs to reach its desktop, and its command.
_COPY = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
_PASTE_IMAGE = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-t", "image/png", "-o")),
    ("", ("pngpaste", "-")),
)
_PNG = b"\x89PNG\r\n\x1a\n"


async def copy_text(text: str, environ: Mapping[str, str], write: Callable[[str], object]) -> str | None:
    """Copy the text; returns the program that did it, or None if `write` sent it to the terminal."""
    for command in _usable(_COPY, environ):
        if (await _run(command, text.encode())) is not None:
            return command[0]
    packed = base64.b64encode(text.encode()).decode()
    write(f"\x1b]52;c;{packed}\x07")
    return None


async def pasted_image(environ: Mapping[str, str]) -> bytes | None:
    """The image on the clipboard as PNG; None if there is none or nothing can read it."""
    for command in _usable(_PASTE_IMAGE, environ):
        data = await _run(command, None)
        if data is not None and data.startswith(_PNG):
            if len(data) > _LARGEST:
                raise UserError(f"The image has {len(data):,} bytes; at most {_LARGEST:,} can be pasted.")
            return data
    return None


def _usable(
    programs: Sequence[tuple[str, tuple[str, ...]]], environ: Mapping[str, str]
) -> list[tuple[str, ...]]:
    path = environ.get("PATH")
    return [
        command
        for variable, command in programs
        if (not variable or environ.get(variable)) and shutil.which(command[0], path=path)
    ]


async def _run(command: Sequence[str], content: bytes | None) -> bytes | None:
    """What the program printed; None if it failed or did not end in time."""
    # A program that serves the clipboard keeps running and must not keep our output open.
    output = asyncio.subprocess.PIPE if content is None else asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if content is not None else asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        data, _ = await asyncio.wait_for(process.communicate(content), _TIMEOUT)
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    return None if process.returncode else data or b""

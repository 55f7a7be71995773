"""Writes a whole file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from plimsoll.tools.definitions import definition_of
from plimsoll.tools.files.disk import outside_reason, unwritable, write_all
from plimsoll.tools.files.edit_approval import edit_approval
from plimsoll.tools.files.edits import difference
from plimsoll.tools.files.text import decoded
from plimsoll.tools.tool import Approval, Arguments, Tool, ToolContext, ToolResult, failed
from plimsoll.tools.workspace import Workspace


class WriteFile(Tool):
    """Writes whole files."""

    def __init__(self) -> None:
        super().__init__(definition_of("write_file"))

    async def needs_approval(self, arguments: Arguments, context: ToolContext) -> Approval | None:
        place = context.workplace
        if "\0" in arguments["path"]:
            return None
        path = place.resolve(arguments["path"])
        return await edit_approval(
            outside_reason(path, place),
            f"changes {place.shown(path)}" if path.exists() else f"creates {place.shown(path)}",
            lambda: _preview(path, arguments["content"], place),
            context,
        )

    def grant(self, names: Sequence[str], context: ToolContext) -> None:
        context.edits.mode = "accept"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_write, arguments, context)


def _preview(path: Path, content: str, place: Workspace) -> str:
    """What would change, as a diff; a binary file is described by its size."""
    name = place.shown(path)
    try:
        before = path.read_bytes() if path.exists() else b""
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    text = decoded(before)
    if text is None:
        return f"{name}: a binary file of {len(before):,} bytes is replaced by text"
    return difference(name, text.text, content, longest=None) or f"{name}: nothing changes"


def _write(arguments: Arguments, context: ToolContext) -> ToolResult:
    place, content = context.workplace, arguments["content"]
    if "\0" in arguments["path"]:
        return failed("the path contains a NUL character")
    path = place.resolve(arguments["path"])
    problem = unwritable(path, place)
    if problem:
        return failed(f"nothing was written: {problem}")
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        return failed(
            f"nothing was written: character {error.start} of the content is half a character (\\ud8xx)"
        )
    existed = path.exists()
    try:
        write_all({path: data})
    except OSError as error:
        return failed(f"nothing was written to {place.shown(path)}: {error.strerror}")
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    did = "replaced" if existed else "created"
    return ToolResult(f"{did} {place.shown(path)}: {_counted(lines, 'line')}, {_counted(len(data), 'byte')}")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"

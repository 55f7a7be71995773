"""Edits files: all edits apply, or nothing is written.

edits ─► read each file once ─► apply in order ─► all fit? ─► write all ─► the differences
                                     └─ one does not: report which and why, change nothing
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from plimsoll.tools.definitions import definition_of
from plimsoll.tools.files.disk import outside_reason, unwritable, write_all
from plimsoll.tools.files.edit_approval import edit_approval
from plimsoll.tools.files.edits import Edit, EditMismatch, apply, difference
from plimsoll.tools.files.suggestions import missing
from plimsoll.tools.files.text import Text, decoded
from plimsoll.tools.tool import Approval, Arguments, Tool, ToolContext, ToolResult, failed
from plimsoll.tools.workspace import Workspace

_LARGEST = 50_000_000  # bytes of a file that is changed in memory


class Patch(Tool):
    """Changes parts of files."""

    def __init__(self) -> None:
        super().__init__(definition_of("patch"))

    async def needs_approval(self, arguments: Arguments, context: ToolContext) -> Approval | None:
        place = context.workplace
        try:
            edits = list(_edits(arguments))
        except EditMismatch:
            return None
        paths = dict.fromkeys(place.resolve(path) for path, _ in edits if "\0" not in path)
        outside = next((reason for path in paths if (reason := outside_reason(path, place))), None)
        try:
            # An edit that does not match changes nothing, so no approval is needed.
            if outside is None and context.edits.mode == "ask":
                await asyncio.to_thread(_planned, arguments, place)
        except EditMismatch:
            return None
        names = ", ".join(place.shown(path) for path in paths)
        return await edit_approval(outside, f"changes {names}", lambda: _preview(arguments, place), context)

    def grant(self, names: Sequence[str], context: ToolContext) -> None:
        context.edits.mode = "accept"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_patch, arguments, context.workplace)


def _planned(arguments: Arguments, place: Workspace) -> tuple[dict[Path, Text], dict[Path, str]]:
    """The files before and after the edits; raises `EditMismatch` if an edit does not match."""
    before: dict[Path, Text] = {}
    after: dict[Path, str] = {}
    edits = list(_edits(arguments))
    for number, (named, edit) in enumerate(edits, start=1):
        try:
            path = _existing(named, place)
            if path not in before:
                before[path] = _read(path, place)
                after[path] = before[path].text
            after[path] = apply(after[path], _fitted(edit, before[path]))
        except EditMismatch as error:
            raise EditMismatch(f"edit {number}: {error}" if len(edits) > 1 else str(error)) from None
    return before, after


def _preview(arguments: Arguments, place: Workspace) -> str:
    """What the edits would change, as a diff."""
    try:
        before, after = _planned(arguments, place)
    except EditMismatch as error:
        return str(error)
    shown = [
        difference(place.shown(path), before[path].text, text, longest=None) for path, text in after.items()
    ]
    return "\n".join(shown)


def _patch(arguments: Arguments, place: Workspace) -> ToolResult:
    try:
        before, after = _planned(arguments, place)
        data = {path: _encoded(before[path], text) for path, text in after.items()}
    except EditMismatch as error:
        return failed(f"nothing was changed: {error}")
    try:
        write_all(data)
    except OSError as error:
        return failed(f"writing failed: {error.strerror}: {error.filename}")
    shown = [difference(place.shown(path), before[path].text, text) for path, text in after.items()]
    return ToolResult("\n".join(shown))


def _edits(arguments: Arguments) -> Iterator[tuple[str, Edit]]:
    """The edits in either form, each with its path."""
    single = "old_string" in arguments or "new_string" in arguments
    if single and arguments.get("edits"):
        raise EditMismatch("give either old_string and new_string, or edits")
    if single and not ("old_string" in arguments and "new_string" in arguments):
        raise EditMismatch("old_string and new_string belong together")
    edits = arguments.get("edits") or ([arguments] if single else [])
    if not edits:
        raise EditMismatch("there is nothing to do: give old_string and new_string, or edits")
    for edit in edits:
        path = edit.get("path") or arguments.get("path")
        if not path:
            raise EditMismatch("path is missing")
        yield path, Edit(edit["old_string"], edit["new_string"], bool(edit.get("replace_all")))


def _existing(name: str, place: Workspace) -> Path:
    if "\0" in name:
        raise EditMismatch("the path contains a NUL character")
    path = place.resolve(name)
    if not path.exists():
        raise EditMismatch(missing(path, place))
    problem = unwritable(path, place)
    if problem:
        raise EditMismatch(problem)
    if path.stat().st_size > _LARGEST:
        raise EditMismatch(f"{place.shown(path)} is larger than {_LARGEST // 1_000_000} MB; use the terminal")
    return path


def _read(path: Path, place: Workspace) -> Text:
    try:
        text = decoded(path.read_bytes())
    except OSError as error:
        raise EditMismatch(f"{place.shown(path)} cannot be read: {error.strerror}") from None
    if text is None:
        raise EditMismatch(f"{place.shown(path)} is not a text file")
    return text


def _fitted(edit: Edit, text: Text) -> Edit:
    """The edit with the line ends of the text in memory."""
    if text.line_end == "\n":
        return edit
    return Edit(edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n"), edit.replace_all)


def _encoded(before: Text, text: str) -> bytes:
    try:
        return before.encoded(text)
    except UnicodeEncodeError as error:
        spelled = error.object[error.start : error.start + 1]
        raise EditMismatch(
            f"{spelled!r} cannot be written in the file's encoding, {before.encoding.name}"
        ) from None

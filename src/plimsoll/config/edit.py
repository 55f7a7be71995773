"""Changes one key of `config.yaml` and not a single other byte.

    compression:
      threshold: 0.50   # half       ──set_value(..., 0.4)──►    threshold: 0.4   # half

The new text is spliced in at the position that the parser reports, then the whole file is parsed again: unless
exactly this key changed, nothing is written. The write is atomic, so a crash leaves the old file or the new one.

ruamel's round-trip mode is not used: it would put a new key below the comment of the next section, and rewrite `~`,
line ends, escapes and indentation of other keys.
"""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from plimsoll.config.document import Document, parse_document, read_document
from plimsoll.config.layers import unknown_key
from plimsoll.config.legacy import renamed
from plimsoll.config.load import examine
from plimsoll.config.scalars import scalar_text, without_secrets
from plimsoll.config.schema import path_of, setting_at
from plimsoll.config.values import KeyPath, setting_error
from plimsoll.errors import SettingError, advice_on

_BOM = b"\xef\xbb\xbf"
_DEFAULT_STEP = 2  # spaces of indentation in a file without sections
_NULL = "tag:yaml.org,2002:null"


def set_value(path: Path, key: str, value: Any) -> tuple[str, ...]:
    """Set one key in the file, adding it if it is missing. Returns notices for the user.

    The value is validated together with the rest of the file. Existing errors are allowed, so that users can correct
    them one at a time.
    """
    key_path = path_of(key)
    target = renamed(key_path)
    setting = setting_at(target)
    if setting is None:
        raise SettingError(unknown_key(target))
    before = read_document(path)
    if before.problems:
        raise setting_error(before.problems)
    expected = replace(before, data=_expected(before.data, target, value))
    known = {(problem.path, problem.text) for problem in examine(before, {}, {}).problems}
    problems = examine(expected, {}, {}).problems
    new = [
        problem for problem in problems if problem.path == target or (problem.path, problem.text) not in known
    ]
    if new:
        raise SettingError(f"{' '.join(problem.text for problem in new)} Nothing was written.")
    after = parse_document(path, _spliced(before, target, value))
    if after.problems or repr(after.data) != repr(expected.data):
        line = before.line_of(target)
        where = path if line is None else f"{path}:{line}"
        wish = f"{'.'.join(target)} = {scalar_text(without_secrets(setting, value))}"
        raise SettingError(f"{where}: this file cannot be edited automatically; set {wish} yourself.")
    _write(path, after.text)
    if target == key_path:
        return ()
    return (f"{key} is now called {'.'.join(target)}; Plimsoll set that key.",)


def _expected(data: Any, path: KeyPath, value: Any) -> dict[Any, Any]:
    changed = dict(data) if isinstance(data, Mapping) else {}
    changed[path[0]] = value if len(path) == 1 else _expected(changed.get(path[0]), path[1:], value)
    return changed


def _spliced(document: Document, path: KeyPath, value: Any) -> str:
    """The file's text with the key set; unchanged if there is no safe position for it."""
    text, root = document.text, document.root
    if not isinstance(root, MappingNode):
        return _with_lines(text, len(text), _block(path, value, 0, _DEFAULT_STEP))
    return _set_in(text, root, path, value, _step(root))


def _set_in(text: str, mapping: MappingNode, path: KeyPath, value: Any, step: int) -> str:
    """The text with a key below this mapping set: changed if it exists, added if it is missing."""
    entry = next(((key, node) for key, node in mapping.value if key.value == path[0]), None)
    if entry is None:
        if mapping.flow_style:
            return _into_flow(text, mapping, _flow(path, value))
        lines = _block(path, value, mapping.value[0][0].start_mark.column, step)
        return _with_lines(text, _end(text, mapping), lines)
    key, node = entry
    below = path[1:]
    if isinstance(node, MappingNode) and below:
        return _set_in(text, node, below, value, step)
    if not below and _is_replaceable(node, value):
        quote = node.style if isinstance(node, ScalarNode) else None
        return _replaced(text, key, node, scalar_text(value, quote))
    if not isinstance(node, ScalarNode) or not below or node.tag != _NULL:
        return text  # a list or a scalar instead of a value or a section: do not discard it
    if mapping.flow_style:
        return _replaced(text, key, node, "{" + _flow(below, value) + "}")
    # An empty section.
    lines = _block(below, value, key.start_mark.column + step, step)
    return _with_lines(_replaced(text, key, node, ""), key.end_mark.index, lines)


def _is_replaceable(node: Node, value: Any) -> bool:
    """Whether a value may replace a node: a scalar for a scalar, `[a, b]` for `[c]`."""
    is_many = isinstance(value, list | dict)
    return isinstance(node, ScalarNode) or (is_many and isinstance(node, CollectionNode) and node.flow_style)


def _step(root: MappingNode) -> int:
    """The indentation of this file."""
    for _, value in root.value:
        if isinstance(value, MappingNode) and not value.flow_style:
            return int(value.start_mark.column - root.start_mark.column)
    return _DEFAULT_STEP


def _block(path: KeyPath, value: Any, column: int, step: int) -> list[str]:
    lines = [f"{' ' * (column + step * depth)}{scalar_text(name)}:" for depth, name in enumerate(path)]
    return [*lines[:-1], f"{lines[-1]} {scalar_text(value)}"]


def _flow(path: KeyPath, value: Any) -> str:
    text = scalar_text(value)
    for depth, name in enumerate(reversed(path)):
        text = f"{scalar_text(name)}: {text if depth == 0 else '{' + text + '}'}"
    return text


def _into_flow(text: str, mapping: MappingNode, entry: str) -> str:
    close = mapping.end_mark.index - 1
    return f"{text[:close].rstrip()}{', ' if mapping.value else ''}{entry}{text[close:]}"


def _replaced(text: str, key: Node, node: Node, new: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, ScalarNode) and start == end:  # `key:` without a value has the next token's position
        start = end = text.find(":", key.end_mark.index) + 1
        new = f" {new}" if new else ""
    tail = "\n" if text[start:end].endswith("\n") else ""
    return text[:start] + new + tail + text[end:]


def _end(text: str, node: Node) -> int:
    """Where the last token of a node ends, without comments after it."""
    if isinstance(node, SequenceNode) and not node.flow_style:
        return _end(text, node.value[-1])
    if not isinstance(node, MappingNode) or node.flow_style:
        return int(node.end_mark.index)
    key, value = node.value[-1]
    is_empty = value.start_mark.index == value.end_mark.index
    return int(key.end_mark.index) if is_empty else _end(text, value)


def _with_lines(text: str, after: int, lines: list[str]) -> str:
    """The text with lines inserted after the line that contains position `after`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    at_line_start = after == 0 or text[after - 1 : after] == "\n"
    found = text.find("\n", after)
    place = after if at_line_start else (len(text) if found < 0 else found + 1)
    joint = newline if place and text[place - 1] != "\n" else ""
    return text[:place] + joint + "".join(line + newline for line in lines) + text[place:]


def _write(path: Path, text: str) -> None:
    """Replace the file atomically: write a new file next to it, flush it to disk, then rename it."""
    try:
        target = path.resolve()  # a symbolic link stays a link
        target.parent.mkdir(parents=True, exist_ok=True)
        exists = target.exists()
        mark = _BOM if exists and target.read_bytes().startswith(_BOM) else b""
        _replace(target, mark + text.encode("utf-8"), exists)
    except OSError as error:
        raise SettingError(
            f"{path} cannot be written: {error.strerror or error}. {advice_on(error)} Nothing was changed."
        ) from error
    _flush_directory(target.parent)


def _replace(target: Path, data: bytes, exists: bool) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if exists:
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _flush_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    # The file is in place; a directory that is writable but not readable cannot be flushed.
    with suppress(PermissionError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

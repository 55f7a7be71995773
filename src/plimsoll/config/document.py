"""Reads `config.yaml`: its values, the line of every key, and its syntax errors.

    text ──compose──► nodes with marks ──► lines, duplicate keys
         ──load─────► plain values (YAML 1.2: `yes` is text, `true` is true)

A missing or empty file is an empty document. Anything else that is not a UTF-8 mapping is a problem with its
location, never an exception.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node
from ruamel.yaml.reader import ReaderError

from plimsoll.config.values import ConfigProblem, KeyPath


@dataclass(frozen=True, slots=True)
class Document:
    """The parsed file; `data` is empty if the file cannot be parsed."""

    path: Path
    text: str = ""
    data: Mapping[Any, Any] = field(default_factory=dict)
    root: Node | None = None
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()

    def line_of(self, path: KeyPath) -> int | None:
        """The line of a key, or of its nearest parent that has one (aliases and merges have none)."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def read_document(path: Path) -> Document:
    """Read and parse the file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Document(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return _broken(path, "", str(path), f"cannot be read: {reason}. Check the path and its permissions.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        sentence = f"byte {raw[error.start]:#04x} is not UTF-8. Save the file as UTF-8."
        return _broken(path, "", f"{path}:{line}", sentence)
    return parse_document(path, text)


def parse_document(path: Path, text: str) -> Document:
    """Parse the current or future text of the file."""
    try:
        root = YAML(typ="safe", pure=True).compose(text)
        reader = YAML(typ="safe", pure=True)
        reader.allow_duplicate_keys = True  # reported below, all of them and with both lines
        data = reader.load(text)
    except MarkedYAMLError as error:
        return _broken(path, text, f"{path}{_place(error)}", _sentence(error))
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - (text.rfind("\n", 0, error.position) + 1) + 1
        sentence = f"not valid YAML: character {text[error.position]!r} is not allowed. Remove it."
        return _broken(path, text, f"{path}:{line}:{column}", sentence)
    except RecursionError:
        return _broken(path, text, str(path), "not valid YAML: it is nested too deeply.")
    except (YAMLError, ValueError) as error:
        return _broken(path, text, str(path), f"not valid YAML: {error}.")
    if data is None:
        return Document(path, text, root=root)
    if not isinstance(data, dict):
        where = f"{path}:{root.start_mark.line + 1}"
        sentence = "contains no settings: expected `section:` with its keys indented below it."
        return _broken(path, text, where, sentence)
    entries = list(_entries(root, (), set()))
    lines: dict[KeyPath, int] = {}
    duplicates = []
    for key_path, line in entries:
        if key_path in lines:
            sentence = (
                f"{'.'.join(key_path)} is set twice, first on line {lines[key_path]}. Keep one of them."
            )
            duplicates.append(ConfigProblem(f"{path}:{line}", key_path, sentence))
        lines.setdefault(key_path, line)
    return Document(path, text, data, root, lines, tuple(duplicates))


def _entries(node: Node, path: KeyPath, seen: set[int]) -> Iterator[tuple[KeyPath, int]]:
    # An alias is the same node again; without `seen`, a recursive one would loop forever.
    if not isinstance(node, MappingNode) or id(node) in seen:
        return
    seen.add(id(node))
    for key, value in node.value:
        if isinstance(key.value, str):
            below = (*path, key.value)
            yield below, key.start_mark.line + 1
            yield from _entries(value, below, seen)


def _broken(path: Path, text: str, where: str, sentence: str) -> Document:
    return Document(path, text, problems=(ConfigProblem(where, (), sentence),))


def _place(error: MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f":{mark.line + 1}:{mark.column + 1}" if mark else ""


def _sentence(error: MarkedYAMLError) -> str:
    problem = str(error.problem or error.context)
    advice = "Correct this line."
    if "'\\t'" in problem:
        advice = "Indent with spaces, not with tabs."
    elif problem.startswith("mapping values are not allowed"):
        advice = "Quote text that contains a colon, and indent the keys of a section equally."
    elif problem.endswith("but got '{'"):
        advice = 'Quote text that contains braces, such as "${NAME}".'
    elif problem.startswith("found undefined alias"):
        # The name is omitted, because it could be a password that begins with *.
        problem, advice = "found an alias that is not defined", "Put text that begins with * in quotes."
    context = f"{error.context}, " if error.context and error.context != problem else ""
    return f"not valid YAML: {context}{problem}. {advice}"

"""Finds the values of Kubernetes secrets, whatever their names are.

    kind: Secret
    data:
      anything: aHVudGVyMg==        every value below `data` or `stringData` goes

Both YAML, also with line numbers or diff signs before each line, and JSON are read.
"""

import re
from itertools import pairwise

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.value_checks import is_placeholder

_KIND = re.compile(r"kind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?Secret\b(?![A-Za-z])")
_NEXT_DOCUMENT = re.compile(r"(?m)^[ \t+|>→:0-9-]{0,16}---[ \t]*$")
_BLOCK = re.compile(
    r"(?P<margin>[+ \t-]?(?:[ \t]{0,6}\d{1,6}[→|:\t][ \t]?)?)(?P<indent>[ ]{0,40})(?:data|stringData):[ \t]*\r?\n?\Z"
)
_ENTRY = re.compile(
    r"(?P<before>(?:[+ \t-]?(?:[ \t]{0,6}\d{1,6}[→|:\t][ \t]?)?)(?P<indent>[ ]{0,40})"
    r"[\"']?[\w.-]{1,100}[\"']?:[ \t]+[\"']?)"
    r"(?P<value>[^\s\"'#|>&*!{\[][^\"'\n\r]{0,100000}+)"
)
_JSON_BLOCK = re.compile(r"[\"'](?:data|stringData)[\"'][ \t]{0,4}:\s{0,40}\{(?P<body>[^{}]{1,100000}+)\}")
_JSON_VALUE = re.compile(r"(?P<before>:[ \t]{0,4}\")(?P<value>[^\"\n]{1,100000}+)(?=\")")


def without_manifest_values(text: str) -> str:
    """The text with the values of every Kubernetes secret redacted."""
    if not _KIND.search(text):
        return text
    ends = [0, *(found.end() for found in _NEXT_DOCUMENT.finditer(text)), len(text)]
    parts = (text[start:end] for start, end in pairwise(ends))
    return "".join(_document(part) if _KIND.search(part) else part for part in parts)


def _document(text: str) -> str:
    lines = text.splitlines(keepends=True)
    indent: int | None = None
    for number, line in enumerate(lines):
        block = _BLOCK.match(line)
        if block:
            indent = len(block["indent"])
            continue
        entry = _ENTRY.match(line) if indent is not None else None
        if not entry or indent is None or len(entry["indent"]) <= indent:
            indent = indent if not line.strip() else None
        elif not is_placeholder(entry["value"].rstrip()):
            lines[number] = entry["before"] + MARK + line[entry.end("value") :]
    return _JSON_BLOCK.sub(_json_block, "".join(lines))


def _json_block(found: re.Match[str]) -> str:
    start = found.start("body") - found.start()
    return found[0][:start] + _JSON_VALUE.sub(rf"\g<before>{MARK}", found["body"]) + "}"

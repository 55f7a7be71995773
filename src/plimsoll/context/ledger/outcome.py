"""Converts calls and results to one readable line each.

    call_line(call)        ->  terminal(command=pytest -x)
    last_line(result)      ->  2 failed, 8 passed in 0.41s

`outcomes/` determines how a call ended.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from plimsoll.messages import arguments_of, arguments_text, call_name

# Results can be megabytes; their outcome is at the beginning or the end.
_LOOK_AHEAD, _LOOK_BACK = 600, 1_500
_ERROR = re.compile(
    r"\b\w*(?:error|exception)\b(?!s? 0)|\bfail(?:ed|ure)?\b|^e {1,}\S|\bfatal:|\bpanic:|\bcommand not found\b"
    r"|\bno such file\b|\bpermission denied\b|\btraceback\b"
)
# Results are the largest part of a conversation, so patterns run only on lines with one of their words.
_ERROR_WORDS = (
    "error", "exception", "fail", "fatal:", "panic:", "not found", "no such file", "permission denied", "traceback",
    "\ne  ",
)  # fmt: skip
# `src/app.py:3:7: undefined name`, after the name of a task
_DIAGNOSTIC = re.compile(r"(?:\[[^\]\s]{1,40}\] )?[\w./@-]+\.\w{1,5}:\d+:\d+: \S+ \S")
_FIRST_ERROR_WITHIN, _SHORTEST_ERROR = 20_000, 12
_TAGS = re.compile(r"</?[a-z_][\w-]*>")
_SUBJECT_KEYS = (
    "command", "cmd", "pattern", "query", "file_path", "path", "filename", "file", "url", "question", "description",
)  # fmt: skip


def call_line(call: dict[str, Any], limit: int = 160) -> str:
    """The call in short form: the tool and its distinguishing arguments."""
    arguments = arguments_of(call)
    if not arguments:
        return f"{call_name(call)}({one_line(arguments_text(call), limit)})"
    known = [key for key in _SUBJECT_KEYS if isinstance(arguments.get(key), str)]
    keys = known[:1] or list(arguments)[:4]
    shown = ", ".join(f"{key}={one_line(_plain(arguments[key]), limit // len(keys))}" for key in keys)
    return f"{call_name(call)}({shown})"


def error_lines(text: str) -> list[str]:
    """At most three lines of a result that look like an error, last first, verbatim."""
    for near in (text[-_LOOK_BACK:], text[:_LOOK_AHEAD]):
        found = dict.fromkeys(islice(_lines_with(_ERROR, _ERROR_WORDS, near, near.lower()), 20))
        if found:
            return list(found)[:3]
    return []


def first_error(text: str) -> str:
    """The first line of a result that reports an error, such as the first one of a compiler; empty if none does."""
    for line in text[:_FIRST_ERROR_WITHIN].splitlines():
        bare = _TAGS.sub("", line).strip()
        if len(bare) >= _SHORTEST_ERROR and (_DIAGNOSTIC.match(bare) or _ERROR.search(bare.lower())):
            return bare
    return ""


def one_line(text: str, limit: int) -> str:
    """Text on one line, at most `limit` characters."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit else flat[: max(1, limit - 1)] + "…"


def last_line(text: str) -> str:
    """The last line with a word."""
    for line in reversed(text[-_LOOK_BACK:].splitlines()):
        bare = _TAGS.sub("", line)
        if any(character.isalnum() for character in bare):
            return one_line(bare, 200)
    return ""


def _lines_with(pattern: re.Pattern[str], words: tuple[str, ...], text: str, low: str) -> Iterator[str]:
    """The lines in which the pattern occurs, last first; `low` is the text in lower case."""
    if not any(word in low for word in words):
        return
    for line in reversed(text.splitlines()):
        bare = _TAGS.sub("", line).strip()
        # A single word such as FAIL does not help a later reader.
        if " " in bare and pattern.search(bare.lower()):
            yield bare


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

"""What a tool call was and how it ended, in one readable line each.

    call_line(call)      ->  terminal(command=pytest -x)
    outcome_of(result)   ->  Outcome(status="exit 1", line="2 failed, 8 passed in 0.41s")

Tools are told by their arguments and results, never by a fixed list of names.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from plimsoll.messages import arguments_of, arguments_text, call_name

# Results can be megabytes; how they ended stands at their beginning or their end.
_LOOK_AHEAD, _LOOK_BACK = 600, 1_500
_EXIT = re.compile(
    r"(?:exit[ _-]?(?:code|status)|exited with(?: code| status)?|return ?code|status code)"
    r"[\"']?\s*[:=]?\s*(-?\d{1,3})\b",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"^E {2,}.+$|^.*(?:\b[A-Z]\w*(?:Error|Exception|Failure)\b|\b[Ee]rror:|\bERROR\b|\bFAIL(?:ED)?\b"
    r"|\bfatal:|\bpanic:|\bcommand not found\b|\bNo such file\b|\b[Pp]ermission denied\b|\bTraceback\b).*$",
    re.MULTILINE,
)
_TALLY = re.compile(r"^.*\b\d+ (?:passed|failed|errors?|tests? (?:passed|failed|run))\b.*$", re.MULTILINE)
_TALLY_FAILED = re.compile(r"\b[1-9]\d* (?:failed|errors?)\b")
_STARTS_BAD = re.compile(r"\s*(?:[\[<{(]*\s*)?(?:\"?(?:tool_use_)?error\"?\b|Traceback\b)", re.IGNORECASE)
_SUBJECT_KEYS = (
    "command", "cmd", "file_path", "path", "filename", "file", "url", "query", "pattern", "question", "description",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: `ok`, `exit N`, `error`, or `done` where it does not say; and the line that matters."""

    status: str
    line: str = ""

    @property
    def failed(self) -> bool:
        return self.status not in ("ok", "done")


def call_line(call: dict[str, Any], limit: int = 160) -> str:
    """The call as a person would name it: tool and the arguments that tell it apart."""
    arguments = arguments_of(call)
    if not arguments:
        return f"{call_name(call)}({one_line(arguments_text(call), limit)})"
    known = [key for key in _SUBJECT_KEYS if isinstance(arguments.get(key), str)]
    keys = known[:1] or list(arguments)[:4]
    shown = ", ".join(f"{key}={one_line(_plain(arguments[key]), limit // len(keys))}" for key in keys)
    return f"{call_name(call)}({shown})"


def outcome_of(text: str) -> Outcome:
    """How the call that returned `text` ended, as far as the text says."""
    start, end = text[:_LOOK_AHEAD], text[-_LOOK_BACK:]
    near = text if len(text) <= _LOOK_AHEAD + _LOOK_BACK else f"{start}\n{end}"
    exits = _EXIT.findall(near)
    tally = _last(_TALLY, near)
    if exits and exits[-1] != "0":
        return Outcome(f"exit {exits[-1]}", tally or _last(_ERROR_LINE, near) or last_line(text))
    if tally:
        return Outcome("error" if _TALLY_FAILED.search(tally) else "ok", tally)
    if exits:
        return Outcome("ok", last_line(text))
    if _STARTS_BAD.match(start):
        return Outcome("error", _last(_ERROR_LINE, near) or last_line(text))
    return Outcome("done", last_line(text))


def error_lines(text: str) -> list[str]:
    """The lines of a result that read like an error, from its end, at most three, exact text."""
    found = _ERROR_LINE.findall(text[-_LOOK_BACK:]) or _ERROR_LINE.findall(text[:_LOOK_AHEAD])
    return [line.strip() for line in found[-3:]]


def one_line(text: str, limit: int) -> str:
    """Text on one line, at most `limit` characters."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit else flat[: max(1, limit - 1)] + "…"


def last_line(text: str) -> str:
    """The last line that has a word in it."""
    for line in reversed(text[-_LOOK_BACK:].splitlines()):
        if any(character.isalnum() for character in line):
            return one_line(line, 200)
    return ""


def _last(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.findall(text)
    return one_line(found[-1], 200) if found else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

"""What a tool call was and how it ended, in one readable line each.

    call_line(call)      ->  terminal(command=pytest -x)
    outcome_of(result)   ->  Outcome(status="exit 1", line="2 failed, 8 passed in 0.41s")

Tools are told by their arguments and results, never by a fixed list of names.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from plimsoll.messages import arguments_of, arguments_text, call_name

# Results can be megabytes; how they ended stands at their beginning or their end.
_LOOK_AHEAD, _LOOK_BACK = 600, 1_500
_EXIT = re.compile(
    r"exit(?:ed)?[ _-]?(?:code|status|with code|with status|with)[\"']?\s*[:=]?\s*(-?\d{1,3})\b"
    r"|return ?code[\"']?\s*[:=]?\s*(-?\d{1,3})\b"
)
_ERROR = re.compile(
    r"\b\w*(?:error|exception)\b(?!s? 0)|\bfail(?:ed|ure)?\b|^e {1,}\S|\bfatal:|\bpanic:|\bcommand not found\b"
    r"|\bno such file\b|\bpermission denied\b|\btraceback\b"
)
_TALLY = re.compile(r"\b\d+ (?:passed|failed|errors?|tests? (?:passed|failed|run))\b")
_TALLY_FAILED = re.compile(r"\b[1-9]\d* (?:failed|errors?)\b")
# Results are what there is most of, so patterns run only on lines that hold one of their words.
_ERROR_WORDS = (
    "error", "exception", "fail", "fatal:", "panic:", "not found", "no such file", "permission denied", "traceback",
    "\ne  ",
)  # fmt: skip
_TALLY_WORDS = ("passed", "failed", "error", "tests run")
_STARTS_BAD = re.compile(r"\s*(?:[\[<{(]*\s*)?(?:\"?(?:tool_use_)?error\"?\b|Traceback\b)", re.IGNORECASE)
_ENDS_BAD = re.compile(
    r"\berror\b|\bfail(?:ed|ure)?\b|^fatal:|\bpanic:|command not found|no such file|permission denied"
)
_NEVER_CAME = re.compile(
    r"\s*\[(?:no result|result unavailable|cancelled|request interrupted)", re.IGNORECASE
)
_TAGS = re.compile(r"</?[a-z_][\w-]*>")
COMMAND_KEYS = frozenset({"command", "cmd", "script", "shell_command"})
_SUBJECT_KEYS = (
    "command", "cmd", "file_path", "path", "filename", "file", "url", "query", "pattern", "question", "description",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: ok, exit N, error, interrupted, or done where it does not say; and the line that matters."""

    status: str
    line: str = ""
    tallied: bool = False  # whether the line counts tests

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


def is_command(call: dict[str, Any]) -> bool:
    """Whether a call runs something, so that its result tells how it ended."""
    return not COMMAND_KEYS.isdisjoint(arguments_of(call))


def outcome_of(text: str, is_command: bool = True) -> Outcome:
    """How the call that returned `text` ended, as far as the text says.

    Only a command's own output tells an exit code or a tally; in a file that was read they are just content.
    """
    near = text if len(text) <= _LOOK_AHEAD + _LOOK_BACK else f"{text[:_LOOK_AHEAD]}\n{text[-_LOOK_BACK:]}"
    low = near.lower()
    if _STARTS_BAD.match(near):
        error = next(_lines_with(_ERROR, _ERROR_WORDS, near, low), "")
        return Outcome("error", one_line(error, 200) or last_line(text))
    if _NEVER_CAME.match(near):
        return Outcome("interrupted", one_line(near, 200))
    if not is_command:
        return Outcome("done", last_line(text))
    exits = ["".join(found) for found in _EXIT.findall(low)] if "exit" in low or "return" in low else []
    tally = next(_lines_with(_TALLY, _TALLY_WORDS, near, low), "").strip("= -")
    if exits and exits[-1] != "0":
        error = tally or next(_lines_with(_ERROR, _ERROR_WORDS, near, low), "")
        return Outcome(f"exit {exits[-1]}", one_line(error, 200) or last_line(text), bool(tally))
    if tally:
        return Outcome("error" if _TALLY_FAILED.search(tally.lower()) else "ok", one_line(tally, 200), True)
    if exits:
        return Outcome("ok", last_line(text))
    last = last_line(text)
    return Outcome("error" if _ENDS_BAD.search(last.lower()) else "done", last)


def error_lines(text: str) -> list[str]:
    """The lines of a result that read like an error, last first, at most three, exact text."""
    for near in (text[-_LOOK_BACK:], text[:_LOOK_AHEAD]):
        found = dict.fromkeys(islice(_lines_with(_ERROR, _ERROR_WORDS, near, near.lower()), 20))
        if found:
            return list(found)[:3]
    return []


def one_line(text: str, limit: int) -> str:
    """Text on one line, at most `limit` characters."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit else flat[: max(1, limit - 1)] + "…"


def last_line(text: str) -> str:
    """The last line that has a word in it."""
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
        # A lone word such as FAIL says nothing to whoever reads it later.
        if " " in bare and pattern.search(bare.lower()):
            yield bare


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

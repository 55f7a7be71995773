"""Separates a program's output from what a harness adds: exit code, state, notes.

Exit code: 1                         Process exited with code 0          <exited with exit code 0>
Wall time: 0.3 seconds               Original token count: 12            [error] Exit code 2
Output:                              Output:                             <returncode>1</returncode>
…                                    …
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from plimsoll.messages.escape_codes import without_escape_codes

_HEAD, _TAIL = 700, 400
# A separate line that states how a process ended; inside other text, such words are content.
_EXIT = re.compile(
    r"(?:^|\n)[\[<({ \t]*(?:\[error\] ?)?(?:error: ?)?(?:the )?(?:process|command|script|shell)?\s*"
    r"(?:completed|finished|failed|exited|terminated|ended)?\s*(?:with )?(?:an? )?"
    r"(?:exit(?:ed)?|return)[ _-]?(?:code|status|with code)[\"']?\s*[:=>]?\s*(-?\d{1,3})[ \t.\])>}]*(?=\r?\n|$)",
    re.IGNORECASE,
)
_EXITED = re.compile(
    r"(?:^|\n)[\[<( \t]*(?:process )?exited with (?:exit )?(?:code|status) (-?\d{1,3})\b", re.IGNORECASE
)
_TAGGED = re.compile(r"<(?:returncode|return_code|exit_code|exitcode)>\s*(-?\d{1,3})\s*<", re.IGNORECASE)
_RUNNING = re.compile(
    r"\b(?:process|script|command) (?:is )?(?:still )?running (?:in (?:the )?background )?"
    r"with (?:session |cell )?ID:?\s*([\w-]+)"
    r"|<status>running</status>",
    re.IGNORECASE,
)
_CODE_FIRST = re.compile(r'\{"chunk_id":"\w*"[^{}]{0,80}?"exit_code":(-?\d{1,3})\b')
_OUTPUT = re.compile(r"(?:^|\n)Output:\s*(?:\n|$)")
_CUT = re.compile(
    r"^(?:Warning: truncated output.*|Total output lines: \d+|Original token count: \d+)\n+", re.MULTILINE
)
# Some recorders drop the escape character and leave the rest.
_BARE_COLOURS = re.compile(r"\[(?:\d{1,2}(?:;\d{1,3})*)m")
# Frames of a spinner, without the carriage returns between them: `\ Uploading...| Uploading.../ Uploading...`
_FRAMES = re.compile(
    r"(?:[-\\|/\u2800-\u28ff] ?(?P<task>\w[\w ]{1,40}(?:\.{3}|…)))(?: ?[-\\|/\u2800-\u28ff] ?(?P=task)){2,}"
)
_JOINED_FRAMES = ("...| ", ".../ ", "...- ", "...\\ ", "…| ", "…/ ", "...⠙", "…⠙")
# Gemini CLI: `Output: …`, then lines about the process, of which only the first one is always there.
_LABELLED = re.compile(r"(?:Command: .*\n(?:Directory: .*\n)?)?(?:Output|Stdout): ?(?=\S)")
_LABELLED_END = re.compile(
    r"(?:\n(?:Stderr|Error|Signal|Background PIDs|Process Group PGID): (?:\(none\)|\(empty\)|\d+))+\s*$"
)
# The lines before the output that only a harness writes.
_HEADER = re.compile(
    r"(?:(?:Chunk ID|Exit code|Wall time|Total output lines|Original token count|Warning: truncated output"
    r"|Process (?:exited|running)|Script (?:completed|failed|running))\b.*\n+)+Output:[ \t]*(?:\n|$)"
)
_PROCESS_KEYS = ("session_id", "cell_id", "bash_id", "shell_id", "task_id")


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A result without its wrapping."""

    text: str  # what the program wrote, without escape codes
    exit_code: int | None = None
    running: str | None = None  # the id of a process that has not ended
    is_error: bool = False  # the harness marks the call as failed
    has_header: bool = False  # the exit code precedes the output, where no program could have written it


def unwrapped(result: str) -> Wrapped:
    """The output and the harness's report about it."""
    found = _from_json(result)
    if found:
        return found
    result = _without_labels(result)
    head = result[:_HEAD]
    output = _OUTPUT.search(head)
    first = head[: output.start() + 1] if output else "\n".join(head.split("\n", 4)[:4])
    stated = _exit_in(first) or _TAGGED.search(head)
    if output:
        body = result[output.end() :]
    else:
        stated = stated or _exit_in(result, max(0, len(result) - _TAIL))
        body = result[: stated.start()] + result[stated.end() :] if stated else result
    if stated is None and (inner := _from_json(body.strip())):
        return inner
    running = _RUNNING.search(first) if stated is None else None
    return Wrapped(
        cleaned(_CUT.sub("", body[:_HEAD]) + body[_HEAD:]),
        int(stated[1]) if stated else None,
        (running[1] or "") if running else None,
        head.startswith(("[error]", "Script failed")),
        output is not None or (stated is not None and stated.re is _TAGGED),
    )


def _without_labels(result: str) -> str:
    """A result without the labels around the output and the process."""
    found = _LABELLED.match(result)
    return _LABELLED_END.sub("", result)[found.end() :] if found else result


def process_asked(arguments: dict[str, Any]) -> str | None:
    """The id of the process that a call queries; None for every other call."""
    for key in _PROCESS_KEYS:
        if isinstance(arguments.get(key), str | int):
            return str(arguments[key])
    script = arguments.get("input")
    found = (
        re.search(r"write_stdin\(\{[^}]*session_id[\"']?\s*:\s*(\w+)", script)
        if isinstance(script, str)
        else None
    )
    return found[1] if found else None


def program_output(result: str) -> str:
    """A result without what a harness adds around the output, which does not help a later reader."""
    header = _HEADER.match(result)
    shown = _CUT.sub("", result[header.end() :], count=2) if header else result
    inner = _from_json(shown.strip())
    return inner.text if inner else shown


def cleaned(text: str) -> str:
    """Text without escape codes and overwritten progress bars."""
    text = without_escape_codes(text)
    if any(frame in text for frame in _JOINED_FRAMES):
        text = _FRAMES.sub(" ", text)
    return _BARE_COLOURS.sub("", text) if "m" in text and "[" in text else text


def _exit_in(text: str, start: int = 0) -> re.Match[str] | None:
    """The last statement of an exit code."""
    if "xit" not in text[start:] and "eturn" not in text[start:]:
        return None
    found = [one for pattern in (_TAGGED, _EXITED, _EXIT) for one in pattern.finditer(text, start)]
    return max(found, key=lambda one: one.start(), default=None)


def _from_json(text: str) -> Wrapped | None:
    """The output from a JSON object with an exit code; None for any other text."""
    if not text.startswith("{") or not ('"exit_code"' in text or text.startswith('{"chunk_id"')):
        return None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):  # truncated, or nested too deeply
        found = _CODE_FIRST.match(text)
        return Wrapped(cleaned(text), int(found[1]), has_header=True) if found else None
    inner = body.get("metadata")
    code = (inner if isinstance(inner, dict) else body).get("exit_code")
    running = body.get("session_id")
    if isinstance(code, int):
        return Wrapped(cleaned(str(body.get("output") or "")), code, has_header=True)
    return None if running is None else Wrapped(cleaned(str(body.get("output") or "")), None, str(running))

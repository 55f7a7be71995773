"""Code mode: an agent calls its tools from a script, and the call contains only the script.

    const r = await tools.update_plan({plan: [{step: "Fix it", status: "pending"}]}); text(r)
          └─► update_plan with its arguments, as if it had been called directly

Commands in a script are read by `commands.command_of`, patches by their text.
"""

import json
import re
from typing import Any

_LITERAL = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r"}
_TOOL = re.compile(r"\btools\.(\w+)\(\s*(?=\{)")
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)")
_READ_ELSEWHERE = ("exec_command", "apply_patch")
_SHORTEST_TEXT = 8  # characters; shorter strings in a script are options


def script_texts(script: str) -> list[str]:
    """The commands and patches that a script passes to its tools, unescaped."""
    found = [from_literal(text) for text in _LITERAL.findall(script)]
    return [text for text in found if len(text) >= _SHORTEST_TEXT]


def from_literal(literal: str) -> str:
    """The value of a string literal."""
    return _ESCAPE.sub(lambda found: _CHARACTERS.get(found[1], found[1]), literal[1:-1])


def called_in(script: str) -> tuple[str, dict[str, Any]] | None:
    """The tool that a script calls first, and its arguments; None for shell commands, patches and other scripts."""
    found = _TOOL.search(script)
    if not found or any(f"tools.{name}(" in script for name in _READ_ELSEWHERE):
        return None
    try:
        arguments, _ = json.JSONDecoder().raw_decode(_as_json(script[found.end() :]))
    except ValueError:  # computed arguments
        arguments = {}
    return found[1], arguments


def _as_json(script: str) -> str:
    """An object literal as JSON: all strings and names in double quotes."""
    pieces = _LITERAL.split(script)
    pieces[::2] = (_BARE_KEY.sub(r'\1"\2"\3', piece) for piece in pieces[::2])
    pieces[1::2] = (json.dumps(from_literal(literal)) for literal in pieces[1::2])
    return "".join(pieces)

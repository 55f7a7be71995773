"""The engine's tools for the model: few, paged, JSON.

    lcm_grep          where something was said        lcm_describe   what a node or message is
    lcm_expand        what was said, to the last byte lcm_status     what is kept
    lcm_expand_query  an answer from what was said, with the ids it rests on

A mistake in the arguments is an answer that says what to change. No answer says how full the
window is.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.context.lcm.asking import expand_query
from plimsoll.context.lcm.looking import describe, expand, grep, status
from plimsoll.context.lcm.memory import Memory
from plimsoll.context.lcm.scribe import Scribe
from plimsoll.errors import UserError


@dataclass(frozen=True, slots=True)
class Desk:
    """What answers are made from; `asked_at` is the number of the newest request in the log, 0 where unknown."""

    memory: Memory
    scribe: Scribe
    asked_at: int = 0


Answer = Callable[[Mapping[str, Any], Desk], dict[str, Any]]
_ANSWERS: Mapping[str, Answer] = {
    "lcm_grep": lambda arguments, desk: grep(arguments, desk.memory, desk.asked_at),
    "lcm_describe": lambda arguments, desk: describe(arguments, desk.memory),
    "lcm_expand": lambda arguments, desk: expand(arguments, desk.memory),
    "lcm_expand_query": lambda arguments, desk: expand_query(
        arguments, desk.memory, desk.scribe, desk.asked_at
    ),
    "lcm_status": lambda _, desk: status(desk.memory),
}


@cache
def schemas() -> tuple[dict[str, Any], ...]:
    """The tools in OpenAI's function form."""
    data = json.loads(files("plimsoll.context.lcm").joinpath("tools.json").read_text("utf-8"))
    return tuple({"type": "function", "function": function} for function in data)


def answer(name: str, arguments: Mapping[str, Any], desk: Desk) -> str:
    """The answer to a call, as JSON."""
    function = _ANSWERS.get(name)
    try:
        if function is None:
            raise UserError(f"There is no tool {name!r}; there are {', '.join(_ANSWERS)}.")
        said = function(arguments, desk)
    except UserError as error:
        said = {"error": str(error)}
    return json.dumps(said, ensure_ascii=False)

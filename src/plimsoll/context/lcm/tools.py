"""The engine's tools for the model: paged JSON answers.

    lcm_grep          finds passages                  lcm_describe   describes a node or message
    lcm_expand        returns the original text       lcm_status     returns the state of the tree
    lcm_expand_query  answers a question from the originals, with the ids it cites

Invalid arguments produce an answer that says what to change. No answer states how full the
window is.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.context.lcm.expand_query import expand_query
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.node_writer import NodeWriter
from plimsoll.context.lcm.search_tools import describe, expand, grep, status
from plimsoll.errors import UserError


@dataclass(frozen=True, slots=True)
class LcmToolContext:
    """The context of a tool call; `asked_at` is the number of the newest request in the log, 0 if unknown."""

    store: NodeStore
    writer: NodeWriter
    asked_at: int = 0


Answer = Callable[[Mapping[str, Any], LcmToolContext], dict[str, Any]]
_ANSWERS: Mapping[str, Answer] = {
    "lcm_grep": lambda arguments, context: grep(arguments, context.store, context.asked_at),
    "lcm_describe": lambda arguments, context: describe(arguments, context.store),
    "lcm_expand": lambda arguments, context: expand(arguments, context.store),
    "lcm_expand_query": lambda arguments, context: expand_query(
        arguments, context.store, context.writer, context.asked_at
    ),
    "lcm_status": lambda _, context: status(context.store),
}


@cache
def schemas() -> tuple[dict[str, Any], ...]:
    """The tools in OpenAI's function form."""
    data = json.loads(files("plimsoll.context.lcm").joinpath("tools.json").read_text("utf-8"))
    return tuple({"type": "function", "function": function} for function in data)


def answer(name: str, arguments: Mapping[str, Any], context: LcmToolContext) -> str:
    """The answer to a call, as JSON."""
    function = _ANSWERS.get(name)
    try:
        if function is None:
            raise UserError(f"There is no tool {name!r}; there are {', '.join(_ANSWERS)}.")
        result = function(arguments, context)
    except UserError as error:
        result = {"error": str(error)}
    return json.dumps(result, ensure_ascii=False)

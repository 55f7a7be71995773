"""All tools of a conversation; runs the calls of one assistant message.

    [ read a ][ read b ] │ [ write c ] │ [ read d ][ search e ]
      in parallel            alone         in parallel             results in the order of the calls

Nothing that a call does raises here: an unknown tool, invalid arguments, a refusal, a crash and a cancellation are
results, so that every call has one and the history stays valid. Schemas are the same bytes for the same tools.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from plimsoll.tools.tool import Approve, Tool, ToolContext
from plimsoll.tools.tool_run import FinishedCalls, OnFinished, ToolRun


@dataclass(frozen=True, slots=True)
class ToolBox:
    """Tools by name, in the order in which they were given."""

    tools: tuple[Tool, ...] = ()

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"two tools are called {doubled[0]!r}; every tool needs a unique name")

    def __len__(self) -> int:
        return len(self.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def get(self, name: str) -> Tool | None:
        """The tool with this name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def with_tools(self, more: Iterable[Tool]) -> "ToolBox":
        """A toolbox with these tools appended."""
        return ToolBox((*self.tools, *more))

    def schemas(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's function format: order and keys never vary, so that prompts stay cached."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.definition.description,
                    "parameters": _sorted(tool.definition.parameters),
                },
            }
            for tool in self.tools
        ]

    def unknown(self, name: str) -> str:
        """The error for a model that called an unknown tool."""
        names = [tool.name for tool in self.tools]
        near = get_close_matches(name, names, 1, 0.6)
        known = f"The tools are: {', '.join(names)}." if names else "There are no tools."
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"there is no tool named {name!r}.{hint} {known}"

    async def run_all(
        self,
        calls: Sequence[Mapping[str, Any]],
        approve: Approve | None,
        context: ToolContext,
        on_finished: OnFinished | None = None,
    ) -> FinishedCalls:
        """Run the calls of one assistant message: one outcome each, in their order.

        Without `approve`, calls that need approval are refused. If the task is cancelled, running tools are stopped,
        calls without a result get one that says so, and the result is marked `cancelled`; the caller decides
        whether to raise.
        """
        return await ToolRun(self.get, self.unknown, approve, context, on_finished).all_of(calls)


def _sorted(value: Any) -> Any:
    """A JSON value with all keys in order, as plain dicts and lists."""
    return json.loads(json.dumps(value, sort_keys=True, ensure_ascii=False))

"""Short conversations for the tests of the measures."""

import json
from typing import Any

from message_builders import assistant as said

Message = dict[str, Any]


def done(tool: str, result: str, number: int = 0, **arguments: Any) -> list[Message]:
    """A call and its result."""
    id = f"call_{tool}_{number}_{len(result)}"
    call = {"id": id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


def filler(count: int) -> list[Message]:
    """Messages that name nothing."""
    return [said("Let me think about that for a moment.") for _ in range(count)]

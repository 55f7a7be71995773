"""A conversation of tool turns, and hosts that store it in other forms than chat dicts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.integrations import HostGroup, WrittenMessage
from plimsoll.messages import Message

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
SYSTEM: Message = {"role": "system", "content": "You answer questions about ships."}
LOOKUP: dict[str, Any] = {
    "type": "function",
    "function": {"name": "lookup", "description": "Look up a ship.", "parameters": {"type": "object"}},
}


def call(ship: int, name: str = "lookup", **arguments: Any) -> Message:
    """The assistant calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments or {"key": f"ship{ship}"})}
    calls = [{"id": f"call_{ship}_{name}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def turn(ship: int) -> list[Message]:
    """A question, a call, its result and the answer."""
    return [
        {"role": "user", "content": f"ship{ship}: where does it lie? {FILLER * 2}"},
        call(ship),
        {
            "role": "tool",
            "tool_call_id": f"call_{ship}_lookup",
            "content": f"ship{ship}: pier {ship}. {FILLER * 10}",
        },
        {"role": "assistant", "content": f"ship{ship} lies at pier {ship}."},
    ]


def conversation(turns: int) -> list[Message]:
    """So many turns, without the system prompt."""
    return [message for ship in range(turns) for message in turn(ship)]


def requests(log: Sequence[Message]) -> list[list[Message]]:
    """What is sent at each step: the history up to each message that wants an answer."""
    return [list(log[: n + 1]) for n, message in enumerate(log) if message["role"] != "assistant"]


@dataclass(frozen=True)
class Batch:
    """A host message that holds several canonical ones, and a field that no chat dict has."""

    messages: tuple[str, ...]  # as JSON
    id: int


class BatchCodec:
    """A host that stores neighbouring messages in batches of two."""

    def decode(self, messages: Sequence[Batch]) -> list[HostGroup]:
        return [HostGroup(1, [json.loads(one) for one in batch.messages]) for batch in messages]

    def encode(self, written: Sequence[WrittenMessage[Batch]]) -> list[Batch]:
        return [
            replace(one.original, messages=(json.dumps(one.message),))
            if one.original
            else Batch((json.dumps(one.message),), -1)
            for one in written
        ]


def batches(log: Sequence[Message]) -> list[Batch]:
    """The same messages in batches of two."""
    texts = [json.dumps(one) for one in log]
    return [Batch(tuple(texts[n : n + 2]), n) for n in range(0, len(texts), 2)]


class PieceCodec:
    """A host that stores one message in two pieces: the role, and the rest."""

    def decode(self, messages: Sequence[tuple[str, Any]]) -> list[HostGroup]:
        return [
            HostGroup(2, [{"role": messages[n][1], **messages[n + 1][1]}]) for n in range(0, len(messages), 2)
        ]

    def encode(self, written: Sequence[WrittenMessage[tuple[str, Any]]]) -> list[tuple[str, Any]]:
        pieces: list[tuple[str, Any]] = []
        for one in written:
            rest = {key: value for key, value in one.message.items() if key != "role"}
            pieces += [("role", one.message["role"]), ("rest", rest)]
        return pieces


def pieces(log: Sequence[Message]) -> list[tuple[str, Any]]:
    """The same messages in pieces."""
    return PieceCodec().encode([WrittenMessage(one) for one in log])

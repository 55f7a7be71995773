"""Restores exchanges with the recall tool, which the client does not see, at their positions. Pure.

    client's list    1  2            answer  3
    upstream         1  2  call result  answer  3        byte for byte the same in every later request

    client's list    1  2  [own call]           own result
    upstream         1  2  [call, own call]  result, own result

An exchange belongs to the answer that followed it and is restored only before that answer: a client that regenerates
or edits the answer continues without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plimsoll.dialects import Dialect
from plimsoll.gateway.dropin.recall_definition import is_recall, without_recall_calls
from plimsoll.messages import Message, call_name, text_of, tool_calls


@dataclass(frozen=True, slots=True)
class HiddenExchange:
    """What happened between a client's request and the answer that it received."""

    rounds: Sequence[Sequence[Message]]  # each: the model's message, and the results of its calls
    last: Message  # the model's last message, with all its calls
    results: Sequence[Message] = ()  # of recall calls in `last`, if it also calls the client's tools
    shown: Sequence[str] = ()  # fingerprint of the client's copy of the answer
    is_narrated: bool = False  # whether the client saw more than the last message

    def as_record(self) -> dict[str, Any]:
        """The exchange as JSON."""
        return asdict(self)


def fingerprint(message: Message) -> list[str]:
    """Identifies an answer: its text without spaces, and the names of its calls."""
    return ["".join(text_of(message).split()), *(call_name(call) for call in tool_calls(message))]


def with_exchanges(
    dialect: Dialect,
    conversation: Sequence[dict[str, Any]],
    chain: Sequence[bytes],
    known: Mapping[bytes, Sequence[HiddenExchange]],
    model: str,
) -> list[dict[str, Any]]:
    """The client's messages with the exchanges restored; `chain` has the hash of each message."""
    whole: list[dict[str, Any]] = []
    place = 0
    while place < len(conversation):
        exchanges = known.get(chain[place - 1], ()) if place else ()
        answer = dialect.canonical(conversation, place) if exchanges else []
        found = next(
            (exchange for exchange in exchanges if _is_of(exchange, answer, dialect, conversation, place)),
            None,
        )
        if found is None:
            whole.append(conversation[place])
            place += 1
            continue
        for messages in found.rounds:
            whole += dialect.written(messages, model)
        if found.results:
            merged = _with_ids_of(found.last, answer[0])
            whole += dialect.written(
                [merged, *found.results, *dialect.canonical(conversation, place + 1)], model
            )
            place += 2
        else:
            whole += dialect.written([found.last], model) if found.is_narrated else [conversation[place]]
            place += 1
    return whole


def _is_of(
    exchange: HiddenExchange,
    answer: Sequence[Message],
    dialect: Dialect,
    messages: Sequence[dict[str, Any]],
    place: int,
) -> bool:
    """Whether a message of the client's list is the answer of this exchange."""
    if len(answer) != 1 or answer[0].get("role") != "assistant":
        return False
    if fingerprint(answer[0]) != list(exchange.shown):
        return False
    if not exchange.results:
        return True
    following = dialect.canonical(messages, place + 1) if place + 1 < len(messages) else []
    return bool(following) and following[0].get("role") == "tool"


def _with_ids_of(last: Message, answer: Message) -> Message:
    """The model's message with the call ids that the client knows: a dialect may have changed them."""
    own = iter(tool_calls(answer))
    calls = [
        call if is_recall(call) else {**call, "id": next(own, call).get("id")} for call in tool_calls(last)
    ]
    return {**last, "tool_calls": calls}


def exchange_of(
    rounds: Sequence[Sequence[Message]], last: Message, results: Sequence[Message], shown: Message
) -> HiddenExchange:
    """The exchange of an answer of which the client saw `shown`."""
    seen = fingerprint(shown)
    is_narrated = seen != fingerprint(without_recall_calls(last)) or _has_thoughts(rounds)
    return HiddenExchange(rounds, last, results, seen, is_narrated)


def _has_thoughts(rounds: Sequence[Sequence[Message]]) -> bool:
    """Whether a hidden message has reasoning, which a stream showed to the client before the call."""
    return any(key not in ("role", "content", "tool_calls") for messages in rounds for key in messages[0])

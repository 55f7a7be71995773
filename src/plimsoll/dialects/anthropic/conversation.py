"""A whole conversation ⇄ Anthropic's `system` and `messages`.

    canonical                               Anthropic
    system, developer (at the start)    ⇄   system: one block for each text part
    user                                ⇄   user: blocks
    assistant (+ tool_calls)            ⇄   assistant: thinking, text, tool_use
    tool · tool · user                  ⇄   user: tool_result, tool_result, text …
    system, developer (later)           →   user: text between tags, in its place
    system, developer (later)           ←   system

Guarantees
  Round trip     `decode(*encode(x))` is the normal form of x, and x itself if it is in normal form;
                 `encode(decode(*encode(x))) == encode(x)`.
  Growth         If x is valid and cut before an assistant message or at its end, `encode(prefix)` is a
                 prefix of `encode(x)`, message by message. At any other legal cut this holds block by block,
                 because a following user message is merged with the last one.
  Alternation    user and assistant alternate; nothing empty is sent.

In normal form, leading system messages are merged; results precede the user's text, and adjacent messages
of one role are merged; a single plain text is a string, and empty content is removed; call ids are legal
and unique, results have their tool's name, arguments have one spelling; unknown keys are removed.

A later system message is sent as user text between `<system-message>` tags. Recent Claude models accept
the role `system` there, but only at the end of a turn: later text would have to move before it, and a
longer conversation would no longer extend a shorter one. The tags are not decoded to a system message, so
that typed text cannot become instructions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from plimsoll.dialects.anthropic.rules import EXACT, AnthropicRules
from plimsoll.dialects.blocks.assistant import (
    blocks_from,
    content_from,
    entries_from,
    entries_of,
    legacy_call_id,
    message_from,
)
from plimsoll.dialects.blocks.parts import block_from_part, part_from_block, part_with_extras, with_extras
from plimsoll.dialects.blocks.tool_ids import CallIds
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message, Part, parts_of
from plimsoll.messages.untyped import object_of

Block = dict[str, Any]
_RESULT_KEYS = {"type", "tool_use_id", "content", "is_error"}


@dataclass(frozen=True, slots=True)
class _WirePiece:
    """The wire blocks of one canonical message."""

    role: str
    blocks: list[Block]
    results: list[Block] = field(default_factory=list)

    @property
    def is_assistant(self) -> bool:
        """Whether it belongs to the assistant's turn; everything else belongs to the user's."""
        return self.role == "assistant"

    @property
    def said(self) -> list[Block]:
        """Its blocks inside the conversation, with a system message as user text."""
        return [_as_user_text(block) for block in self.blocks] if self.role == "system" else self.blocks


def encode_anthropic_conversation(
    messages: Sequence[Message], rules: AnthropicRules = EXACT
) -> tuple[list[Block] | None, list[dict[str, Any]]]:
    """The `system` blocks (None if there are none) and the `messages` of a request."""
    ids = CallIds()
    pieces = [_piece(message, ids, rules) for message in messages]
    spoken = [piece for piece in pieces if piece.blocks or piece.results]
    start = next((i for i, piece in enumerate(spoken) if piece.role != "system"), len(spoken))
    system = [block for piece in spoken[:start] for block in piece.blocks]
    turns = groupby(spoken[start:], key=lambda piece: piece.is_assistant)
    return system or None, [_turn(list(pieces)) for _, pieces in turns]


def decode_anthropic_conversation(system: Any, messages: Sequence[Any]) -> list[Message]:
    """The canonical conversation of a request's `system` (text, blocks or None) and `messages`."""
    decoded: list[Message] = []
    if parts := list(_parts(system)):
        decoded.append({"role": "system", "content": content_from(parts)})
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        role = object_of(message).get("role")
        if role == "assistant":
            if entries := entries_from(message.get("content")):
                names |= {e.item["id"]: e.item["function"]["name"] for e in entries if e.kind == "tool_use"}
                decoded.append(message_from(entries))
        elif role == "user":
            decoded += _from_user(message.get("content"), names)
        elif role in SYSTEM_ROLES:
            if parts := list(_parts(message.get("content"))):
                decoded.append({"role": "system", "content": content_from(parts)})
        else:
            raise InvalidConversation(
                f"message {index}: the role must be user, assistant or system, but it is {role!r}"
            )
    return decoded


def _piece(message: Message, ids: CallIds, rules: AnthropicRules) -> _WirePiece:
    role = message.get("role")
    if role == "assistant":
        return _WirePiece("assistant", blocks_from(entries_of(message), ids, rules.unsigned_thinking))
    if role in ("tool", "function"):
        return _WirePiece("user", [], [_tool_result(message, ids)])
    blocks = list(_blocks(parts_of(message)))
    marker = message.get("cache_control")
    if blocks and marker is not None and blocks[-1].get("cache_control") is None:
        blocks[-1] = {**blocks[-1], "cache_control": marker}
    if role in SYSTEM_ROLES:
        return _WirePiece(
            "system", [block if block["type"] == "text" else _left_out(block) for block in blocks]
        )
    if role != "user":
        raise InvalidConversation(
            f"role {role!r} is none of system, developer, user, assistant, tool, function"
        )
    return _WirePiece("user", blocks)


def _turn(pieces: Sequence[_WirePiece]) -> dict[str, Any]:
    """The pieces of one turn as one wire message, with results first, as Anthropic requires."""
    results = [block for piece in pieces for block in piece.results]
    others = [block for piece in pieces for block in piece.said]
    return {"role": "assistant" if pieces[0].is_assistant else "user", "content": results + others}


def _as_user_text(part: Part) -> Part:
    """A system text as tagged user text; all other fields stay."""
    return {**part, "text": f"<system-message>\n{part['text']}\n</system-message>"}


def _tool_result(message: Message, ids: CallIds) -> Block:
    answered = message.get("tool_call_id")
    if answered is None and message.get("role") == "function":
        answered = legacy_call_id(message.get("name"))
    block: Block = {"type": "tool_result", "tool_use_id": ids.for_result(str(answered or ""))}
    content = list(_blocks(parts_of(message)))
    text = message.get("content")
    if content:
        block["content"] = content
    elif isinstance(text, str) and text:
        # Anthropic rejects white space as a block but accepts it as a string.
        block["content"] = text
    if message.get("is_error"):
        block["is_error"] = True
    return with_extras(block, message)


def _from_user(content: Any, names: dict[str, str]) -> Iterator[Message]:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield _tool_message(block, names)
        elif (part := part_from_block(block)) is not None:
            parts.append(part)
    if parts:
        yield {"role": "user", "content": content_from(parts)}


def _tool_message(block: Block, names: dict[str, str]) -> Message:
    call_id = str(block.get("tool_use_id") or "")
    message: Message = {"role": "tool", "tool_call_id": call_id}
    if call_id in names:
        message["name"] = names[call_id]
    content = block.get("content")
    message["content"] = content if isinstance(content, str) else content_from(list(_parts(content)))
    if block.get("is_error"):
        message["is_error"] = True
    return part_with_extras(message, block, _RESULT_KEYS)


def _blocks(parts: Sequence[Part]) -> Iterator[Block]:
    for part in parts:
        if (block := block_from_part(part)) is not None:
            yield block


def _parts(content: Any) -> Iterator[Part]:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    for block in blocks:
        if (part := part_from_block(block)) is not None:
            yield part


def _left_out(block: Block) -> Block:
    return {"type": "text", "text": f"[{block['type']} part left out]"}

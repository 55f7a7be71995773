"""Remembers the thinking blocks that this server issued, and rejects others.

signature ──► the block as issued, and the request that it answered
call id   ──► the signature of the thinking that led to the call
"""

from dataclasses import dataclass
from typing import Any

from plimsoll.dialects import ChatRequest, Reply, illegal_edits
from plimsoll.dialects.blocks.assistant import is_signed, thinking_of
from plimsoll.messages import Violation, call_ids


@dataclass(frozen=True, slots=True)
class IssuedBlock:
    """One signed block."""

    block: dict[str, Any]
    request: ChatRequest


def seal_of(block: dict[str, Any]) -> str:
    """The signature or encrypted data that identifies a block."""
    return str(block.get("signature") or block.get("data") or "")


class IssuedThinking:
    """The signed thinking of every reply."""

    def __init__(self) -> None:
        self._issued: dict[str, IssuedBlock] = {}
        self._led_to: dict[str, str] = {}

    def remember(self, request: ChatRequest, reply: Reply) -> None:
        """Store the thinking of a reply."""
        signed = [block for block in thinking_of(reply.message) if is_signed(block)]
        for block in signed:
            self._issued[seal_of(block)] = IssuedBlock(block, request)
        if signed:
            self._led_to |= dict.fromkeys(call_ids(reply.message), seal_of(signed[0]))

    def issued(self, block: dict[str, Any]) -> IssuedBlock | None:
        """The block as issued; None if this server did not sign it."""
        return self._issued.get(seal_of(block))

    def thought_before(self, call_id: str) -> bool:
        """Whether the reply with this call began with thinking."""
        return call_id in self._led_to

    def broken_bindings(self, request: ChatRequest) -> list[Violation]:
        """The thinking of a request that is bound to content that has changed since."""
        known = [
            found
            for message in request.messages
            for block in thinking_of(message)
            if is_signed(block) and (found := self.issued(block)) is not None
        ]
        return illegal_edits(known[-1].request, request) if known else []

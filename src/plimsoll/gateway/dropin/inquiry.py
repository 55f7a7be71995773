"""What a client asks for: the body as it came, read once, and the few things in it that matter here.

lead    the system prompt: Anthropic's `system`, or the system messages at the start of OpenAI's list
said    the messages behind it, as they stand on the wire
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote_to_bytes

from plimsoll.archive import Owner
from plimsoll.dialects import decode_anthropic_conversation
from plimsoll.errors import InvalidConversation
from plimsoll.gateway.edge import jsontext
from plimsoll.gateway.upstream.connection import Header
from plimsoll.messages import SYSTEM_ROLES, Message
from plimsoll.providers.catalogue import Dialect

MARKER = "cache_control"
SESSION_HEADER = b"x-session-id"
BETA_HEADER = b"anthropic-beta"
SWITCH_HEADER = b"x-plimsoll"
_ITEMS = ("content", "tool_calls")
# Edits that the provider itself makes to the history. Clearing thinking leaves everything else where it is.
_SERVER_EDITS = ("clear_tool_uses", "compact")


@dataclass(frozen=True, slots=True)
class Frame:
    """System prompt and tools, which stay the same from request to request: what tells them apart, their tokens."""

    key: bytes
    lead: int
    tools: int

    @property
    def tokens(self) -> int:
        return self.lead + self.tools


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in a large body where that held up nobody; for each message of the wire behind the lead."""

    frame: Frame | None = None
    chain: list[bytes] = field(default_factory=list)
    canonical: list[list[Message]] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)
    fault: str = ""  # why it is no conversation


@dataclass(frozen=True)
class Inquiry:
    """One request of a client."""

    dialect: Dialect
    raw: bytes
    body: dict[str, Any]
    headers: tuple[Header, ...]
    owner: Owner  # of the conversation, where it is stored
    query: bytes = b""
    analysis: Analysis | None = None  # of a large body

    @cached_property
    def named(self) -> dict[bytes, bytes]:
        """The headers by their names."""
        return dict(self.headers)

    @property
    def model(self) -> str:
        """The model that the client names; empty where it names none."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""

    @property
    def answer_tokens(self) -> int:
        """The tokens that the client asks for at most; 0 where it does not say."""
        asked = (self.body.get(name) for name in ("max_completion_tokens", "max_tokens"))
        return next((n for n in asked if isinstance(n, int) and not isinstance(n, bool) and n > 0), 0)

    @property
    def betas(self) -> str:
        """The header with which clients of Anthropic ask for betas."""
        return self.named.get(BETA_HEADER, b"").decode("latin-1")

    @property
    def text(self) -> str:
        """Everything that the client sent and an upstream may quote, without escapes."""
        headers = b"\n".join(value for _, value in self.headers)
        told = jsontext.write(self.body) + b"\n" + headers + b"\n" + unquote_to_bytes(self.query)
        return told.decode("utf-8", "replace")

    @property
    def is_stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def is_switched_off(self) -> bool:
        """Whether the client wants its request to go through as it is."""
        return self.named.get(SWITCH_HEADER, b"").strip().lower() == b"off"

    @property
    def has_markers(self) -> bool:
        """Whether the client places its own cache breakpoints."""
        return b'"cache_control"' in self.raw

    @property
    def edits_itself(self) -> bool:
        """Whether the client has asked its provider to make the history lighter."""
        managed = self.body.get("context_management")
        edits = managed.get("edits") if isinstance(managed, dict) else None
        return any(
            str(edit.get("type")).startswith(_SERVER_EDITS)
            for edit in (edits if isinstance(edits, list) else ())
            if isinstance(edit, dict)
        )

    @cached_property
    def lead(self) -> tuple[Message, ...]:
        """The system prompt in canonical form, without markers."""
        if self.dialect == "anthropic":
            return tuple(unmarked(m) for m in decode_anthropic_conversation(self.body.get("system"), ()))
        return tuple(unmarked(message) for message in self._messages[: self.lead_length])

    @cached_property
    def lead_length(self) -> int:
        """How many messages of the wire belong to the system prompt."""
        if self.dialect == "anthropic":
            return 0
        roles = (m.get("role") if isinstance(m, dict) else None for m in self._messages)
        return next((n for n, role in enumerate(roles) if role not in SYSTEM_ROLES), len(self._messages))

    @cached_property
    def said(self) -> list[dict[str, Any]]:
        """The messages behind the system prompt; raises where they are none."""
        said = self._messages[self.lead_length :]
        for index, message in enumerate(said):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                raise InvalidConversation(f"message {index}: every message is an object with a role")
        return said

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools as they stand on the wire."""
        tools = self.body.get("tools")
        return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    @property
    def _messages(self) -> list[Any]:
        messages = self.body.get("messages")
        if not isinstance(messages, list):
            raise InvalidConversation(f"messages must be a list, not {type(messages).__name__}")
        return messages


def unmarked(message: dict[str, Any]) -> dict[str, Any]:
    """A message without its cache markers; the same object where it has none."""
    marked = [
        name
        for name in _ITEMS
        if isinstance(items := message.get(name), list)
        and any(isinstance(item, dict) and MARKER in item for item in items)
    ]
    if not marked and MARKER not in message:
        return message
    plain = {key: value for key, value in message.items() if key != MARKER}
    return plain | {name: [_without_marker(item) for item in message[name]] for name in marked}


def _without_marker(item: Any) -> Any:
    return {key: value for key, value in item.items() if key != MARKER} if isinstance(item, dict) else item

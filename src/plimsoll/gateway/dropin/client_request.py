"""A client's request: the raw body, parsed once, and what its dialect reads from it.

lead      the system prompt
messages  the messages after it, in wire format
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from plimsoll.archive import Owner
from plimsoll.dialects import Dialect
from plimsoll.gateway.asgi import Header
from plimsoll.gateway.http import jsontext
from plimsoll.messages import Message

SESSION_HEADER = b"x-session-id"
SWITCH_HEADER = b"x-plimsoll"


@dataclass(frozen=True, slots=True)
class Frame:
    """System prompt and tools, which stay the same across requests: their hash and tokens."""

    key: bytes
    lead: int
    tools: int

    @property
    def tokens(self) -> int:
        return self.lead + self.tools


@dataclass(frozen=True, slots=True)
class Analysis:
    """A worker's findings in a large body, for each wire message after the system prompt."""

    frame: Frame | None = None
    chain: list[bytes] = field(default_factory=list)
    canonical: list[list[Message]] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)
    fault: str = ""  # why the body is not a conversation


@dataclass(frozen=True)
class ClientRequest:
    """One request of a client."""

    dialect: Dialect
    raw: bytes
    body: dict[str, Any]
    headers: tuple[Header, ...]
    owner: Owner  # of the conversation, where it is stored
    query: bytes = b""
    path: str = ""
    analysis: Analysis | None = None  # of a large body
    continues: str = ""  # id of the reply whose conversation was prepended to the body
    earlier: int = 0  # number of prepended messages
    # If the gateway added the recall tool: the original request, and the hash of its messages.
    original: "ClientRequest | None" = None
    recall_key: bytes = b""

    @cached_property
    def named(self) -> dict[bytes, bytes]:
        """The headers by name."""
        return dict(self.headers)

    @cached_property
    def model(self) -> str:
        """The model that the client names; empty if none."""
        return self.dialect.model_of(self.body, self.path)

    @property
    def recalls(self) -> bool:
        """Whether the gateway added the recall tool."""
        return self.original is not None

    @property
    def answer_tokens(self) -> int:
        """The client's limit on output tokens; 0 if none."""
        return next(iter(self.dialect.limits(self.body).values()), 0)

    @property
    def betas(self) -> str:
        """The betas that the client requests."""
        return self.named.get(self.dialect.beta_header.encode(), b"").decode("latin-1")

    @property
    def text(self) -> str:
        """Everything in the request that an upstream may quote, without escapes."""
        headers = b"\n".join(value for _, value in self.headers)
        quotable = jsontext.write(self.body) + b"\n" + headers + b"\n" + unquote_to_bytes(self.query)
        return f"{quotable.decode('utf-8', 'replace')}\n{unquote(self.path)}"

    @cached_property
    def is_stream(self) -> bool:
        return self.dialect.is_stream(self.body, self.path)

    @property
    def is_switched_off(self) -> bool:
        """Whether the client wants its request sent unchanged."""
        return self.named.get(SWITCH_HEADER, b"").strip().lower() == b"off"

    @property
    def has_markers(self) -> bool:
        """Whether the client places its own cache breakpoints."""
        return self.dialect.has_markers(self.raw)

    @property
    def edits_itself(self) -> bool:
        """Whether the client asks its provider to shorten the history."""
        return self.dialect.edits_history(self.body)

    @cached_property
    def lead(self) -> tuple[Message, ...]:
        """The system prompt in canonical form, without markers."""
        return self.dialect.lead(self.body)

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The messages after the system prompt. Raises `InvalidConversation` if they are not messages."""
        return self.dialect.messages(self.body)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools in wire format."""
        return self.dialect.tools(self.body)

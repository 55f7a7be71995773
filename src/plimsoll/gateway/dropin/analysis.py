"""Checks, parses, hashes and counts a request body. Needs no state of the gateway's process.

    raw ──► parse_body ──► system prompt, tools ──► BodyOutline
                      └──► each wire message: its hash, canonical form and tokens ──► MessageGroup, MessageGroup, …

A small body takes less than a millisecond on the event loop. `body_reader.py` sends large ones to a worker process,
which returns them in groups: unpickling blocks every other thread, so each piece must be short.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from plimsoll.archive import OPERATOR
from plimsoll.context.markers import as_said
from plimsoll.dialects import Dialect
from plimsoll.errors import InvalidConversation
from plimsoll.gateway.dropin.chain import chain_of
from plimsoll.gateway.dropin.client_request import Analysis, ClientRequest, Frame
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import parse_body
from plimsoll.messages import Message
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough, estimate_tools_tokens
from plimsoll.settings.gateway import GatewaySection

GROUP_TOKENS = 8_000  # about 32 KB, unpickled in 50 µs
GROUP_MESSAGES = 256  # per group that a worker hands over
_NO_CONVERSATION = (AttributeError, KeyError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class BodyOutline:
    """A body without its messages, which follow in groups. Without a frame, no groups follow."""

    body: dict[str, Any]
    frame: Frame | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """Wire messages, each with its hash, its canonical messages and their tokens."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    chain: list[bytes] = field(default_factory=list)
    canonical: list[list[Message]] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)


Piece: TypeAlias = BodyOutline | MessageGroup


def pieces_of(dialect: Dialect, root: bytes, limits: GatewaySection, raw: bytes) -> Iterator[Piece]:
    """A body in pieces; raises `Refused` if it is not a request. The hashes of its messages start from `root`."""
    body = parse_body(raw, limits)
    request = ClientRequest(dialect, b"", body, (), OPERATOR)  # only read: the owner does not matter
    try:
        frame, groups = frame_of(dialect, request.lead, request.tools), list(_groups(request, root))
    except InvalidConversation as error:
        yield BodyOutline(body, fault=str(error))
    except _NO_CONVERSATION:
        yield BodyOutline(body)  # the error appears when its messages are read
    else:
        yield BodyOutline(dialect.with_messages(body, ()), frame)
        yield from groups


def assembled(dialect: Dialect, pieces: Sequence[Piece]) -> tuple[dict[str, Any], Analysis | None]:
    """The body put together from its pieces, and the analysis of its messages."""
    outline = pieces[0]
    assert isinstance(outline, BodyOutline)
    body = outline.body
    if outline.frame is None:
        return body, Analysis(fault=outline.fault) if outline.fault else None
    analysis = Analysis(frame=outline.frame)
    messages: list[dict[str, Any]] = []
    for group in pieces[1:]:
        assert isinstance(group, MessageGroup)
        messages += group.messages
        analysis.chain.extend(group.chain)
        analysis.canonical.extend(group.canonical)
        analysis.tokens.extend(group.tokens)
    return dialect.with_messages(body, messages), analysis


def frame_key(lead: Sequence[Message], tools: Sequence[dict[str, Any]]) -> bytes:
    """Identifies a system prompt and tools."""
    return blake2b(jsontext.write_sorted([lead, tools]), digest_size=16).digest()


def frame_of(dialect: Dialect, lead: Sequence[Message], tools: list[dict[str, Any]]) -> Frame:
    """The hash and the tokens of system prompt and tools."""
    canonical = dialect.canonical_tools(tools)
    return Frame(
        frame_key(lead, tools), estimate_messages_tokens_rough(lead), estimate_tools_tokens(canonical)
    )


def _groups(request: ClientRequest, root: bytes) -> Iterator[MessageGroup]:
    messages = request.messages
    group, weight = MessageGroup(), 0
    for index, digest in enumerate(chain_of(root, map(request.dialect.unmarked, messages))):
        canonical = [as_said(message) for message in request.dialect.canonical(messages, index)]
        tokens = [estimate_message_tokens(message) for message in canonical]
        group.messages.append(messages[index])
        group.chain.append(digest)
        group.canonical.append(canonical)
        group.tokens.append(tokens)
        weight += sum(tokens)
        if weight >= GROUP_TOKENS or len(group.messages) >= GROUP_MESSAGES:
            yield group
            group, weight = MessageGroup(), 0
    yield group

"""A request's body checked, parsed, hashed and counted, without anything that only the gateway's process has.

    raw ──► parse_body ──► system prompt, tools ──► Outline
                      └──► each message of the wire: its hash, its canonical form, its tokens ──► Group, Group, …

A small body takes less than a millisecond of this on the event loop. `body_reader.py` gives large ones to a worker
process, from which they come back in groups: unpickling holds up every other thread, so no piece may be long.
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

GROUP_TOKENS = 8_000  # about 32 KB, which are unpickled in 50 µs
GROUP_MESSAGES = 256
_NO_CONVERSATION = (AttributeError, KeyError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Outline:
    """A body without the messages that follow in groups. Without a frame nothing follows."""

    body: dict[str, Any]
    frame: Frame | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Messages of the wire, and for each its hash, its canonical messages and their tokens."""

    said: list[dict[str, Any]] = field(default_factory=list)
    chain: list[bytes] = field(default_factory=list)
    canonical: list[list[Message]] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)


Piece: TypeAlias = Outline | Group


def pieces_of(dialect: Dialect, root: bytes, limits: GatewaySection, raw: bytes) -> Iterator[Piece]:
    """A body in pieces; `Refused` where it is none. `root` is where the hashes of its messages begin."""
    body = parse_body(raw, limits)
    asked = ClientRequest(dialect, b"", body, (), OPERATOR)  # only read: it does not matter whose it is
    try:
        frame, groups = frame_of(dialect, asked.lead, asked.tools), list(_groups(asked, root))
    except InvalidConversation as error:
        yield Outline(body, fault=str(error))
    except _NO_CONVERSATION:
        yield Outline(body)  # reading its messages later shows what is wrong with them
    else:
        yield Outline(dialect.with_messages(body, ()), frame)
        yield from groups


def assembled(dialect: Dialect, pieces: Sequence[Piece]) -> tuple[dict[str, Any], Analysis | None]:
    """The body again, and what is known about its messages."""
    outline = pieces[0]
    assert isinstance(outline, Outline)
    body = outline.body
    if outline.frame is None:
        return body, Analysis(fault=outline.fault) if outline.fault else None
    analysis = Analysis(frame=outline.frame)
    messages: list[dict[str, Any]] = []
    for group in pieces[1:]:
        assert isinstance(group, Group)
        messages += group.said
        analysis.chain.extend(group.chain)
        analysis.canonical.extend(group.canonical)
        analysis.tokens.extend(group.tokens)
    return dialect.with_messages(body, messages), analysis


def frame_key(lead: Sequence[Message], tools: Sequence[dict[str, Any]]) -> bytes:
    """What tells system prompts and tools apart."""
    return blake2b(jsontext.write_sorted([lead, tools]), digest_size=16).digest()


def frame_of(dialect: Dialect, lead: Sequence[Message], tools: list[dict[str, Any]]) -> Frame:
    """The weight of system prompt and tools."""
    canonical = dialect.canonical_tools(tools)
    return Frame(
        frame_key(lead, tools), estimate_messages_tokens_rough(lead), estimate_tools_tokens(canonical)
    )


def _groups(asked: ClientRequest, root: bytes) -> Iterator[Group]:
    said = asked.said
    group, weight = Group(), 0
    for index, digest in enumerate(chain_of(root, map(asked.dialect.unmarked, said))):
        canonical = [as_said(message) for message in asked.dialect.canonical(said, index)]
        tokens = [estimate_message_tokens(message) for message in canonical]
        group.said.append(said[index])
        group.chain.append(digest)
        group.canonical.append(canonical)
        group.tokens.append(tokens)
        weight += sum(tokens)
        if weight >= GROUP_TOKENS or len(group.said) >= GROUP_MESSAGES:
            yield group
            group, weight = Group(), 0
    yield group

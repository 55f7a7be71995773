"""What an engine did to a view, read from the list that it returned.

    before   1  2  3  4  5  6  7  8  9        items of the view, each knowing its place in the log
    after    1' 2  S  8' 9                    plain messages
    draft    1 shortened · 2 · new node over 3–7 · 8 shortened · 9 and all that follows

Engines give back messages and no references, because providers refuse unknown keys. So
each message is found again: the beginning from the front, the rest from the back, an
equal one by its digest, a shortened one by its call id or by the handle it names. What
is found nowhere is new: a node, and the first such node stands for all that left.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.archive.encoding import digest_of
from plimsoll.archive.ids import node_id
from plimsoll.archive.records import Node, NodeLink, Source, Span
from plimsoll.archive.views import Draft, Item, Reference, Shortened, View, merged
from plimsoll.messages import STUB_RESULT, SYSTEM_ROLES, Message, answered_id, call_ids, handle_of
from plimsoll.models import estimate_message_tokens

# Where a stub or an excerpt ends. A handle inside of a text is only spoken of.
_NAMED_HANDLE = re.compile(r"full text under handle (h:[0-9a-f]{10})\]?\s*\Z")
Mark = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote the new summary, and what is known about it."""

    model: str = ""
    degraded: bool = False
    details: Mapping[str, Any] | None = None


def draft_of(
    session: str, base: View, before: Sequence[Item], after: Sequence[Message], author: Author | None = None
) -> Draft:
    """The view that `after` is, as references into the log, and the nodes that it adds.

    `before` are the items of the view `base`, as they were given to the engine.
    """
    found = _found_again(before, after)
    stayed = {place for place in found if place is not None}
    gone = _sources([item for place, item in enumerate(before) if place not in stayed])
    references: list[Reference] = []
    nodes: list[Node] = []
    for message, place in zip(after, found, strict=True):
        if place is None:
            nodes.append(_node(session, message, () if nodes else gone, author or Author()))
            references.append(NodeLink(nodes[-1].id))
        else:
            references.append(_reference(before[place], message))
    # A view that ends in a node has no message to tell how far it reaches.
    through = max(base.through, *(item.sequence for item in before), 0)
    return Draft(base.number, *_without_tail(merged(references), through), tuple(nodes))


def _found_again(before: Sequence[Item], after: Sequence[Message]) -> list[int | None]:
    """For each message after, its place before; ascending, None for what is new."""
    # A node is a text of our own and is never rewritten: only an equal one is the same.
    marks: list[list[Mark]] = [[] if item.node else _marks(item.message) for item in before]
    digests = [digest_of(item.message) for item in before]
    found: list[int | None] = [None] * len(after)
    front = 0
    while front < min(len(before), len(after)) and _same(before[front], marks[front], after[front]):
        found[front] = front
        front += 1
    places: dict[bytes | Mark, list[int]] = {}
    for place in range(front, len(before)):
        digest = digests[place]
        # Two equal results become equal stubs: words that are not the original's own prove little.
        words: bytes | Mark = ("shortened", digest.hex()) if before[place].shortened else digest
        for key in (words, *marks[place]):
            places.setdefault(key, []).append(place)
    bound = len(before)
    for index in range(len(after) - 1, front - 1, -1):
        place_or_none = _latest(places, after[index], bound)
        if place_or_none is not None:
            found[index] = bound = place_or_none
    return found


def _latest(places: Mapping[bytes | Mark, list[int]], message: Message, bound: int) -> int | None:
    """The last place before `bound` where this message stood: equal if possible, else in other words."""
    digest = digest_of(message)
    equal = [place for place in places.get(digest, ()) if place < bound]
    if equal:
        return equal[-1]
    marks = [("shortened", digest.hex()), *_marks(message)]
    return max((place for mark in marks for place in places.get(mark, ()) if place < bound), default=None)


def _same(item: Item, marks: Sequence[Mark], message: Message) -> bool:
    return item.message == message or not set(marks).isdisjoint(_marks(message))


def _marks(message: Message) -> list[Mark]:
    """By what a message is known when its words have changed, the surest first."""
    role, content = str(message.get("role")), message.get("content")
    if content == STUB_RESULT:
        # Put in by a repair. Where ids repeat, an earlier result would take it for its own words.
        return []
    marks = [("call", one) for one in call_ids(message)]
    answered = answered_id(message)
    if answered is not None:
        marks.append(("answer", answered))
    if role in SYSTEM_ROLES:
        marks.append(("system", ""))
    if content and not marks:
        named = _NAMED_HANDLE.search(content) if isinstance(content, str) else None
        marks.append((role, named[1] if named else handle_of(message)))
    return marks


def _reference(item: Item, message: Message) -> Reference:
    if item.message == message:
        return item.reference
    return Shortened(item.sequence, message, item.handle)


def _node(session: str, message: Message, sources: tuple[Source, ...], author: Author) -> Node:
    return Node(
        id=node_id(session, message, sources),
        message=message,
        sources=sources,
        kind="summary" if sources else "stub",
        tokens=estimate_message_tokens(message),
        model=author.model,
        degraded=author.degraded,
        details=author.details or {},
    )


def _sources(gone: Sequence[Item]) -> tuple[Source, ...]:
    """What left, in its order, runs joined."""
    sources: list[Source] = []
    for item in gone:
        last = sources[-1] if sources else None
        if item.node:
            sources.append(NodeLink(item.node))
        elif isinstance(last, Span) and last.last + 1 == item.sequence:
            sources[-1] = Span(last.first, item.sequence)
        else:
            sources.append(Span(item.sequence, item.sequence))
    return tuple(sources)


def _without_tail(references: tuple[Reference, ...], through: int) -> tuple[tuple[Reference, ...], int]:
    """The references without the run at the end, which belongs to a view by itself, and where they end."""
    last = references[-1] if references else None
    if isinstance(last, Span) and last.last == through:
        return references[:-1], last.first - 1
    return references, through

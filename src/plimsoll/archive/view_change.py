"""Derives what an engine changed in a view from the list that it returned.

    before   1  2  3  4  5  6  7  8  9        items of the view with their log positions
    after    1' 2  S  8' 9                    plain messages
    draft    1 shortened · 2 · new node over 3–7 · 8 shortened · 9 and later messages

Engines return messages without references, because providers reject unknown keys. Each message is
matched with the original (`messages/recognition.py`); a message without a match is a new node, which
covers the messages that left at its position. Messages that left elsewhere go to the new node before
them, or to the first one, so that exactly one node covers each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.archive.ids import node_id
from plimsoll.archive.records import Node, NodeLink, Source, Span
from plimsoll.archive.views import Reference, ShortenedReference, View, ViewDraft, ViewItem, merged
from plimsoll.messages import Message, match_messages
from plimsoll.models import estimate_message_tokens


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote the new summary, and its facts."""

    model: str = ""
    degraded: bool = False
    details: Mapping[str, Any] | None = None


def draft_of(
    session: str,
    base: View,
    before: Sequence[ViewItem],
    after: Sequence[Message],
    author: Author | None = None,
) -> ViewDraft:
    """The view for `after`, as references into the log, with its new nodes.

    `before` are the items of the view `base`. A message after that is the same object as one of theirs is that one,
    whatever else is equal to it.
    """
    places = match_messages(
        [item.message for item in before],
        after,
        # A node's text is ours and is never rewritten.
        fixed=[place for place, item in enumerate(before) if item.node],
        shortened=[place for place, item in enumerate(before) if item.shortened],
    )
    left = _what_left(places, len(before))
    references: list[Reference] = []
    nodes: list[Node] = []
    for index, (message, place) in enumerate(zip(after, places, strict=True)):
        if place is None:
            sources = _sources([before[gone] for gone in left.get(index, ())])
            nodes.append(_node(session, message, sources, author or Author()))
            references.append(NodeLink(nodes[-1].id))
        else:
            references.append(reference_to(before[place], message))
    # A view that ends in a node has no message that marks its end.
    through = max(base.through, *(item.sequence for item in before), 0)
    return ViewDraft(base.number, *without_tail(merged(references), through), tuple(nodes))


def _what_left(places: Sequence[int | None], count: int) -> dict[int, list[int]]:
    """For each new message, by its index, the old positions that it covers; each position once."""
    new = [index for index, place in enumerate(places) if place is None]
    left: dict[int, list[int]] = {}
    if not new:
        return left
    stayed = {place: index for index, place in enumerate(places) if place is not None}
    holder, follows = new[0], -1  # the new message here, and the last matched message before it
    for place in range(count):
        if place in stayed:
            follows = stayed[place]
            continue
        if follows + 1 < len(places) and places[follows + 1] is None:
            holder = follows + 1
        left.setdefault(holder, []).append(place)
    return left


def reference_to(item: ViewItem, message: Message) -> Reference:
    """The reference of an item whose message may be rewritten."""
    if item.message == message:
        return item.reference
    return ShortenedReference(item.sequence, message, item.handle)


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


def _sources(gone: Sequence[ViewItem]) -> tuple[Source, ...]:
    """The removed items as sources, in order, with runs joined."""
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


def without_tail(references: tuple[Reference, ...], through: int) -> tuple[tuple[Reference, ...], int]:
    """The references without the implicit run at the end, and where they end."""
    last = references[-1] if references else None
    if isinstance(last, Span) and last.last == through:
        return references[:-1], last.first - 1
    return references, through

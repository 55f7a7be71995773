"""The log and the summary nodes that the engine reads and writes.

    NodeStore ─┬─ InMemoryNodeStore   lists, for use as a plain library; lost when the process ends
               └─ ArchiveNodeStore    the archive of the host (archive_node_store.py)

A sequence number in the log identifies a message. Every message is ingested once: the list is
aligned with the known messages, and only those after them are new. The engine's own summary
is never ingested.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from plimsoll.archive import Node, PersonEdits, SearchHit, SearchPage, SearchQuery, StoredMessage
from plimsoll.archive.encoding import digest_of, searchable
from plimsoll.archive.query import has_words, terms_of
from plimsoll.archive.snippet import countdown, hit, matcher_for
from plimsoll.context.markers import find_summary
from plimsoll.messages import Message, handle_of
from plimsoll.models import estimate_message_tokens

OWN_SESSION = "own"  # the session of a store without an archive


class NodeStore(Protocol):
    """A log, the nodes over it, and search."""

    @property
    def session(self) -> str:
        """The conversation of this store."""
        ...

    def positions(self, messages: Sequence[Message]) -> list[int]:
        """The log numbers of a view's messages; 0 for messages that are not in the log, such as a summary."""
        ...

    def record_view(self, messages: Sequence[Message], positions: Sequence[int]) -> None:
        """Record the view that the model sees from now on, if the host adopts it."""
        ...

    def messages(self, first: int, last: int, session: str = "") -> list[StoredMessage]:
        """Complete original messages of the log."""
        ...

    def nodes(self, session: str = "") -> list[Node]:
        """All nodes, oldest first."""
        ...

    def add(self, nodes: Sequence[Node]) -> None:
        """Store nodes; a node comes after its sources."""
        ...

    def search(self, query: SearchQuery) -> SearchPage:
        """Matching messages."""
        ...

    def scratch(self) -> "NodeStore":
        """A copy whose changes never reach this store."""
        ...

    def by_handle(self, handle: str) -> StoredMessage | None:
        """The message of this conversation with this handle."""
        ...

    def edits(self) -> PersonEdits:
        """What people removed from the view; no node covers it again."""
        ...


class InMemoryNodeStore:
    """A log in lists."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        """Without a clock, messages have no times."""
        self._clock = clock
        self._log: list[StoredMessage] = []
        self._nodes: dict[str, Node] = {}
        self._seen: list[tuple[Message, int]] = []  # the last recorded view

    @property
    def session(self) -> str:
        return OWN_SESSION

    def positions(self, messages: Sequence[Message]) -> list[int]:
        whole = [(message.message, message.sequence) for message in self._log]
        for known in (self._seen, whole):
            if known and len(known) <= len(messages) and _begins_with(messages, known):
                return [*(number for _, number in known), *self._said(messages[len(known) :])]
        return self._aligned(messages)

    def record_view(self, messages: Sequence[Message], positions: Sequence[int]) -> None:
        self._seen = list(zip(messages, positions, strict=True))

    def messages(self, first: int, last: int, session: str = "") -> list[StoredMessage]:
        return self._log[max(0, first - 1) : last]

    def nodes(self, session: str = "") -> list[Node]:
        return list(self._nodes.values())

    def add(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._nodes.setdefault(node.id, node)

    def search(self, query: SearchQuery) -> SearchPage:
        found: list[SearchHit] = []
        complete = True
        try:
            found.extend(self._hits(query))  # keep the hits from before the deadline
        except TimeoutError:
            complete = False
        if query.order == "newest":
            found.reverse()
        start = query.cursor or 0
        page = found[start : start + query.limit]
        following = start + len(page)
        return SearchPage(tuple(page), following if following < len(found) else None, complete)

    def scratch(self) -> "InMemoryNodeStore":
        copy = InMemoryNodeStore(self._clock)
        copy._log, copy._nodes, copy._seen = list(self._log), dict(self._nodes), list(self._seen)
        return copy

    def by_handle(self, handle: str) -> StoredMessage | None:
        return next((message for message in self._log if message.handle == handle), None)

    def edits(self) -> PersonEdits:
        return PersonEdits()

    def _said(self, new: Sequence[Message]) -> list[int]:
        """Append new messages to the log and return their numbers."""
        return [self._append(message) for message in new]

    def _append(self, message: Message) -> int:
        sequence = len(self._log) + 1
        tokens, digest = estimate_message_tokens(message), digest_of(message).hex()
        self._log.append(
            StoredMessage(OWN_SESSION, sequence, message, tokens, self._clock(), digest, handle_of(message))
        )
        return sequence

    def _aligned(self, messages: Sequence[Message]) -> list[int]:
        """The numbers of a list that was changed elsewhere: match equal messages from the end; the rest is new."""
        places: dict[str, list[int]] = {}
        for item in self._log:
            places.setdefault(item.digest, []).append(item.sequence)
        positions = [0] * len(messages)
        bound = len(self._log) + 1
        for index in range(len(messages) - 1, -1, -1):
            fitting = [n for n in places.get(digest_of(messages[index]).hex(), ()) if n < bound]
            if fitting:
                positions[index] = bound = fitting[-1]
        own = find_summary(messages)
        return [
            number or (0 if index == own else self._append(message))
            for index, (number, message) in enumerate(zip(positions, messages, strict=True))
        ]

    def _hits(self, query: SearchQuery) -> Iterator[SearchHit]:
        by_words = query.mode == "words" and has_words(query.text)
        each = [term.text for term in terms_of(query.text)] if by_words else [query.text]
        mode = "substring" if by_words else query.mode
        matchers = [matcher_for(SearchQuery(text, mode)) for text in each]
        left = countdown(query.deadline)
        for message in self._log[(query.first or 1) - 1 : query.last or len(self._log)]:
            if not _is_wanted(message, query):
                continue
            text = searchable(message.message)
            if left() <= 0:
                raise TimeoutError
            places = [matcher(text, left()) for matcher in matchers]
            if all(places):
                yield hit(
                    OWN_SESSION,
                    message.sequence,
                    message.role,
                    message.time,
                    text,
                    sorted(chain.from_iterable(places)),
                )


def _begins_with(messages: Sequence[Message], known: Sequence[tuple[Message, int]]) -> bool:
    return all(message == before for message, (before, _) in zip(messages, known, strict=False))


def _is_wanted(message: StoredMessage, query: SearchQuery) -> bool:
    """Whether a message matches the role and time of a query."""
    if query.role not in (None, message.role):
        return False
    return (query.since is None or message.time >= query.since) and (
        query.before is None or message.time < query.before
    )

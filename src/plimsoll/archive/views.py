"""A view: the messages that the model sees, as an ordered list of references into the log.

    log    1 2 3 4 5 6 7 8 9 10 11 12 …          all messages, append-only
    view   1' 2 3 [node: 4–8] 9 10 │ 11 12 …      explicit up to `through`, then all later messages

A message that was too large for the model from the start (a tool result of a megabyte) is in every
view in its stored short form. Messages after `through` belong to the view implicitly, so appending
rewrites no view, and a run of a million messages is one reference. View 0 has no references and
`through` 0: it is the log. A view never changes; undoing a compaction selects the previous view.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from plimsoll.archive.records import Node, NodeLink, Span
from plimsoll.messages import Message

# Rewrites messages whose beginning changes at a place; returns as many.
Rewrite: TypeAlias = Callable[[Sequence[Message], int], list[Message]]


@dataclass(frozen=True, slots=True)
class ShortenedReference:
    """Message `sequence` in another form: a stub with a handle, an excerpt, a prompt with a note."""

    sequence: int
    message: Message
    handle: str  # of the original content


Reference = Span | ShortenedReference | NodeLink


@dataclass(frozen=True, slots=True)
class View:
    """References up to message `through`; all later messages follow verbatim."""

    number: int
    references: tuple[Reference, ...] = ()
    through: int = 0
    previous: int | None = None
    created: float = 0.0
    log_length: int = 0  # length of the log when the view was created; 0 if unknown

    @property
    def tail_from(self) -> int:
        """The first message that belongs to the view implicitly."""
        return self.through + 1

    def whole(self, last: int) -> tuple[Reference, ...]:
        """All references in a log of `last` messages."""
        if last <= self.through:
            return self.references
        return (*self.references, Span(self.tail_from, last))


@dataclass(frozen=True, slots=True)
class ViewItem:
    """One message of a view with its source: a log message, complete or shortened, or a node."""

    message: Message
    tokens: int
    sequence: int = 0  # 0 for a node
    node: str = ""
    shortened: bool = False
    handle: str = ""  # of the original content, such as h:3f2a9c1b7d; empty for a node

    @property
    def reference(self) -> Reference:
        if self.node:
            return NodeLink(self.node)
        if self.shortened:
            return ShortenedReference(self.sequence, self.message, self.handle)
        return Span(self.sequence, self.sequence)


@dataclass(frozen=True, slots=True)
class ViewDraft:
    """A new view that is not stored yet, its base view, and its new nodes."""

    base: int
    references: tuple[Reference, ...]
    through: int
    nodes: tuple[Node, ...] = ()


def merged(references: Sequence[Reference]) -> tuple[Reference, ...]:
    """The same references with neighbouring spans joined into one."""
    joined: list[Reference] = []
    for reference in references:
        before = joined[-1] if joined else None
        if isinstance(reference, Span) and isinstance(before, Span) and before.last + 1 == reference.first:
            joined[-1] = Span(before.first, reference.last)
        else:
            joined.append(reference)
    return tuple(joined)


def sequences_of(references: Sequence[Reference]) -> Iterator[Span]:
    """The messages in a list of references, complete or shortened, as spans in order."""
    for reference in references:
        if isinstance(reference, Span):
            yield reference
        elif isinstance(reference, ShortenedReference):
            yield Span(reference.sequence, reference.sequence)


def faults(references: Sequence[Reference], through: int, last: int) -> Iterator[str]:
    """The faults of a list of references for a log of `last` messages; none for a valid one."""
    if not 0 <= through <= last:
        yield f"it covers messages up to {through}, but the log has {last}"
    highest = 0
    for span in sequences_of(references):
        if not 1 <= span.first <= span.last <= through:
            yield f"messages {span.first} to {span.last} are not within 1 to {through}"
        elif span.first <= highest:
            yield f"message {span.first} comes after message {highest}"
        highest = max(highest, span.last)

"""The outline of a session: the sizes of all its messages and views, without any text.

    messages   roles · tokens · times · bytes of media                         one entry per message of the log
    views      1–3 · message 9 shortened to 40 tokens · node n:3f… of 2,100     one per view that was ever in force
    events     compactions without their ledgers · usage: one column per field

It is what a page needs to plot a session of many thousand messages, and takes a few numbers per message.
"""

from dataclasses import dataclass

from plimsoll.archive.records import CompactionEvent, Session


@dataclass(frozen=True, slots=True)
class ReferenceOutline:
    """One reference of a view: messages `first` to `last`, one of them shortened, or a node."""

    first: int = 0
    last: int = 0
    tokens: int | None = None  # None for a run of whole messages, whose sizes the outline has
    node: str = ""
    evidence: int = 0  # tokens of a node after the evidence heading


@dataclass(frozen=True, slots=True)
class ViewOutline:
    """A view without its messages; `log_length` is the length of the log when it was created."""

    number: int
    previous: int
    through: int
    created: float
    log_length: int
    references: tuple[ReferenceOutline, ...]


@dataclass(frozen=True, slots=True)
class UsageColumns:
    """The usage of every request, one column per field of `UsageRecord`, oldest first."""

    model: tuple[str, ...] = ()
    input: tuple[int, ...] = ()
    cache_read: tuple[int, ...] = ()
    cache_write: tuple[int, ...] = ()
    output: tuple[int, ...] = ()
    money: tuple[float | None, ...] = ()
    purpose: tuple[str, ...] = ()
    time: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionOutline:
    """A session without its texts. The columns begin at message `first`; events have no ledger."""

    session: Session
    first: int
    roles: tuple[str, ...]
    tokens: tuple[int, ...]  # as the model sees them: an oversized message counts in its short form
    times: tuple[float, ...]
    media: tuple[int, ...]  # bytes of images, sounds and files
    views: tuple[ViewOutline, ...]
    events: tuple[CompactionEvent, ...]
    usage: UsageColumns

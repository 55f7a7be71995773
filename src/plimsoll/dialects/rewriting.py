"""A client's list of messages with some of them replaced: what stays is sent as the client wrote it.

client's list    0   1   2   3   4   5        one message may hold several canonical ones
kept             0 · 1 · {summary} · 4 · 5    places of canonical messages, or messages of our own
segments         0 · 1 · {…} · 4 · 5          places in the client's list, or messages on its wire
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.dialects.dialect import Dialect
from plimsoll.messages import Message

Segment = int | dict[str, Any]


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A canonical message of the new list; `place` is where the old list has the same one, unchanged.

    `source` is where the old list has the message that a changed one was made from.
    """

    message: Message
    place: int | None = None
    source: int | None = None


def runs_of(kept: Sequence[KeptMessage], ends: Sequence[int]) -> Iterator[int | list[KeptMessage]]:
    """Places in the client's list that stay as they are, and between them the messages that have to be written.

    `ends` are the canonical messages up to each of the client's.
    """
    own: list[KeptMessage] = []
    at = 0
    while at < len(kept):
        wire, count = _whole(kept, at, ends)
        if count == 0:
            own.append(kept[at])
            at += 1
            continue
        if own:
            yield own
        own = []
        yield wire
        at += count
    if own:
        yield own


def wire_segments(
    kept: Sequence[KeptMessage], ends: Sequence[int], dialect: Dialect, model: str
) -> Iterator[Segment]:
    """The new list on the client's wire; `ends` are the canonical messages up to each of the client's."""
    for run in runs_of(kept, ends):
        if isinstance(run, int):
            yield run
        else:
            yield from dialect.written([one.message for one in run], model)


def _whole(kept: Sequence[KeptMessage], at: int, ends: Sequence[int]) -> tuple[int, int]:
    """The client's message that is unchanged here, and how many canonical ones it holds; 0 if there is none."""
    first = kept[at].place
    if first is None:
        return 0, 0
    wire = bisect_right(ends, first)
    start = ends[wire - 1] if wire else 0
    if wire >= len(ends) or first != start:
        return 0, 0
    group = kept[at : at + ends[wire] - start]
    is_whole = [one.place for one in group] == list(range(start, ends[wire]))
    return (wire, len(group)) if is_whole else (0, 0)

"""Replaces some messages of a client's list; the others are sent exactly as the client wrote them.

client's list    0   1   2   3   4   5        one message may contain several canonical ones
kept             0 · 1 · {summary} · 4 · 5    positions of canonical messages, or new messages
segments         0 · 1 · {…} · 4 · 5          positions in the client's list, or new wire messages
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
    """A canonical message of the new list; `place` is its position in the old list if it is unchanged.

    `source` is the old position of the message that a changed one was made from.
    """

    message: Message
    place: int | None = None
    source: int | None = None


def runs_of(kept: Sequence[KeptMessage], ends: Sequence[int]) -> Iterator[int | list[KeptMessage]]:
    """Positions in the client's list that stay unchanged, and between them the messages to encode.

    `ends` are the numbers of canonical messages up to each of the client's.
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
    """The new list in the client's wire format; `ends` as in `runs_of`."""
    for run in runs_of(kept, ends):
        if isinstance(run, int):
            yield run
        else:
            yield from dialect.written([message.message for message in run], model)


def _whole(kept: Sequence[KeptMessage], at: int, ends: Sequence[int]) -> tuple[int, int]:
    """The client's unchanged message at this position, and its number of canonical messages; 0 if there is none."""
    first = kept[at].place
    if first is None:
        return 0, 0
    wire = bisect_right(ends, first)
    start = ends[wire - 1] if wire else 0
    if wire >= len(ends) or first != start:
        return 0, 0
    group = kept[at : at + ends[wire] - start]
    is_whole = [message.place for message in group] == list(range(start, ends[wire]))
    return (wire, len(group)) if is_whole else (0, 0)

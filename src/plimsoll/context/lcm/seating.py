"""Which message of the log stands where: seats carried through repair and assembly, and what is gone.

view   1  2  3  S  9  10 11 12        S is no message: seat 0
next   1  2  3  S' 11 12              gone: 9 and 10, and whatever was gone before
"""

from collections.abc import Sequence, Set

from plimsoll.archive import Span, StoredMessage
from plimsoll.messages import SYSTEM_ROLES, Message


def reseated(old: Sequence[Message], seats: Sequence[int], new: Sequence[Message]) -> list[int]:
    """The seats of a list that was made from `old`: the same objects, or one with other content; 0 for stubs."""
    if new is old:
        return list(seats)
    places = {id(message): seat for message, seat in zip(old, seats, strict=True)}
    there = {id(message) for message in new}
    changed = [(m, seat) for m, seat in zip(old, seats, strict=True) if id(m) not in there and seat]
    found: list[int] = []
    for message in new:
        seat = places.get(id(message))
        if seat is None:
            place = next((n for n, (one, _) in enumerate(changed) if _is_same(one, message)), None)
            seat = 0 if place is None else changed.pop(place)[1]
        found.append(seat)
    return found


def gone_runs(first: Sequence[StoredMessage], given: Sequence[int], stays: Set[int], tail: int) -> list[Span]:
    """The runs of the log that must be under leaves: all before the tail, and what left from behind its start.

    `first` is the first message of the log; a system prompt never leaves. `tail` is the number of the first message
    of the tail, 0 where there is none.
    """
    begin = 2 if first and first[0].role in SYSTEM_ROLES else 1
    end = tail - 1 if tail else max(given, default=0)
    strays = runs_of({seat for seat in given if seat > end} - stays)
    return [Span(begin, end), *strays] if end >= begin else strays


def runs_of(sequences: Set[int]) -> list[Span]:
    """Numbers of messages as runs; 0 is none."""
    runs: list[Span] = []
    for sequence in sorted(sequences - {0}):
        if runs and runs[-1].last + 1 == sequence:
            runs[-1] = Span(runs[-1].first, sequence)
        else:
            runs.append(Span(sequence, sequence))
    return runs


def _is_same(old: Message, new: Message) -> bool:
    """Whether two messages differ in their content alone: mended by a repair, or with a note behind it."""
    if old.get("role") != new.get("role") or (old.get("content") and old.get("role") not in SYSTEM_ROLES):
        return False
    return {**old, "content": None} == {**new, "content": None}

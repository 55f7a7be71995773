"""Tracks the log position of each message through repair and assembly, and finds the messages that left.

view   1  2  3  S  9  10 11 12        S is not a message: number 0
next   1  2  3  S' 11 12              gone: 9 and 10, and all that were gone before
"""

from collections.abc import Sequence, Set
from operator import is_

from plimsoll.archive import Span, StoredMessage
from plimsoll.messages import SYSTEM_ROLES, Message


def carry_positions(old: Sequence[Message], positions: Sequence[int], new: Sequence[Message]) -> list[int]:
    """The positions of a list made from `old`: the same objects, or ones with changed content; 0 for stubs."""
    if len(new) == len(old) and all(map(is_, new, old)):
        return list(positions)
    places = {id(message): number for message, number in zip(old, positions, strict=True)}
    new_ids = {id(message) for message in new}
    changed = [
        (m, number) for m, number in zip(old, positions, strict=True) if id(m) not in new_ids and number
    ]
    found: list[int] = []
    for message in new:
        number = places.get(id(message))
        if number is None:
            place = next((n for n, (item, _) in enumerate(changed) if _is_same(item, message)), None)
            number = 0 if place is None else changed.pop(place)[1]
        found.append(number)
    return found


def runs_to_cover(
    first: Sequence[StoredMessage], positions: Sequence[int], kept: Set[int], tail: int
) -> list[Span]:
    """The runs of the log that leaves must cover: everything before the tail, and messages removed inside it.

    `first` is the first message of the log; a system prompt never leaves. `tail` is the number of the tail's first
    message, 0 if there is no tail.
    """
    begin = 2 if first and first[0].role in SYSTEM_ROLES else 1
    end = tail - 1 if tail else max(positions, default=0)
    later_runs = runs_of({number for number in positions if number > end} - kept)
    return [Span(begin, end), *later_runs] if end >= begin else later_runs


def runs_of(sequences: Set[int]) -> list[Span]:
    """Message numbers as runs; 0 is ignored."""
    runs: list[Span] = []
    for sequence in sorted(sequences - {0}):
        if runs and runs[-1].last + 1 == sequence:
            runs[-1] = Span(runs[-1].first, sequence)
        else:
            runs.append(Span(sequence, sequence))
    return runs


def _is_same(old: Message, new: Message) -> bool:
    """Whether two messages differ only in content: changed by a repair, or with a note appended."""
    if old.get("role") != new.get("role") or (old.get("content") and old.get("role") not in SYSTEM_ROLES):
        return False
    return {**old, "content": None} == {**new, "content": None}

"""Pinned messages come back into every lighter view, word for word, whichever engine made it.

    view     1 2 3 [4 pinned] 5 6 7 8          lighter   1 2 [summary] 7 8
                                               with pin  1 2 [summary] [4] 7 8

A pinned message returns at its place in the order of the conversation, with the calls
or results that belong to it, so that the list stays valid.
"""

from collections.abc import Collection, Sequence

from plimsoll.messages import Message, answered_id, groups


def with_pins(before: Sequence[Message], after: Sequence[Message], pinned: Collection[int]) -> list[Message]:
    """The lighter list with the messages at these positions of the list before."""
    kept = list(after)
    for unit in groups(before):
        if any(position in pinned and before[position] not in kept for position in unit):
            kept = _with_unit(before, kept, unit)
    return kept


def _with_unit(before: Sequence[Message], after: list[Message], unit: range) -> list[Message]:
    """The list with a unit at its place: in front of the first message that came after it."""
    places = {id(message): place for place, message in enumerate(before)}
    calls = {answered_id(message): place for place, message in enumerate(before) if answered_id(message)}
    belongs = [before[place] for place in unit]
    others = [m for m in after if places.get(id(m), calls.get(answered_id(m), -1)) not in unit]
    for index, message in enumerate(others):
        if places.get(id(message), calls.get(answered_id(message), -1)) >= unit.stop:
            return [*others[:index], *belongs, *others[index:]]
    return [*others, *belongs]

"""Restores pinned messages verbatim in every compacted view, whichever engine made it.

    view     1 2 3 [4 pinned] 5 6 7 8        compacted   1 2 [summary] 7 8
                                               with pin  1 2 [summary] [4] 7 8

A pinned message returns at its original position, with the calls or results that belong
to it, so that the list stays valid.
"""

from collections.abc import Collection, Sequence

from plimsoll.messages import Message, extends, groups, match_messages


def with_pins(before: Sequence[Message], after: Sequence[Message], pinned: Collection[int]) -> list[Message]:
    """The compacted list with the messages at these positions of the original list.

    A message that is a prefix of one in the list, such as a system prompt before its note, counts as present.
    """
    kept = list(after)
    for unit in groups(before):
        wanted = [position for position in unit if position in pinned]
        if wanted:
            places = match_messages(before, kept)
            kept_at = {
                place: message for place, message in zip(places, kept, strict=True) if place is not None
            }
            if not all(
                position in kept_at and extends(before[position], kept_at[position]) for position in wanted
            ):
                kept = _with_unit(before, kept, places, unit)
    return kept


def _with_unit(
    before: Sequence[Message], after: Sequence[Message], places: Sequence[int | None], unit: range
) -> list[Message]:
    """The list with a unit at its position: before the first message that followed it."""
    others: list[tuple[Message, int | None]] = []
    is_inside = False
    for message, place in zip(after, places, strict=True):
        # A stub that `repair` added after a call of the unit is removed with it.
        is_inside = place in unit if place is not None else is_inside and message.get("role") == "tool"
        if not is_inside:
            others.append((message, place))
    later = (index for index, (_, place) in enumerate(others) if place is not None and place >= unit.stop)
    index = next(later, len(others))
    messages = [message for message, _ in others]
    return [*messages[:index], *(before[place] for place in unit), *messages[index:]]

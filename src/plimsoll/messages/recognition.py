"""Matches the messages of a rewritten list with those of the original list.

    before   1  2  2  2  3  2  4  5        messages may repeat: the same call, the same "go on"
    after    1' 2  S  2  4' 5
    places   0  1  -  5  6  7              strictly ascending; S is new

Messages match by object identity or, if the engine copied or rewrote them, by their call ids,
their handle, their text or an excerpt of it. The best alignment matches the most messages, then has
the most unchanged messages, then separates the fewest adjacent ones, so that head and tail stay intact.
Stubs that a repair added for missing results are aligned last: they are all alike and say nothing about
the messages around them.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from plimsoll.messages.alignment import AlignmentCandidate, best_alignment
from plimsoll.messages.calls import answered_id, call_ids
from plimsoll.messages.content import Message, excerpt, media_of, parts_of, text_of, texts_of
from plimsoll.messages.handles import handle_of
from plimsoll.messages.order import SYSTEM_ROLES
from plimsoll.messages.repair import STUB_RESULT

# The end of a stub, an excerpt or the line that replaces an image. A handle elsewhere in a text is only mentioned.
_NAMED_HANDLE = re.compile(r"full (?:text|content) under handle (h:[0-9a-f]{10})\]?\s*\Z")
# The text with which `excerpt` states what it omitted, and the lines that replace media after it.
_LEFT_OUT = re.compile(r"\n\[… ([\d,]{1,15}) characters left out …\]\n")
_NAMED_MEDIA = re.compile(r"(?:\n\[\w+ left out\])+\Z")
_MAX_NEAR = 16  # candidates checked from either side if a message occurs very often
_SAME, _EQUAL, _REWRITTEN = 3, 2, 1  # confidence of a match, for `best_alignment`
Mark: TypeAlias = tuple[str, str]


def match_messages(
    before: Sequence[Message],
    after: Sequence[Message],
    *,
    fixed: Collection[int] = (),
    shortened: Collection[int] = (),
) -> list[int | None]:
    """For each message of the new list, its position in the old list; ascending, None for new messages.

    `fixed` are positions of messages that are never rewritten: only an equal message matches them. `shortened` are
    positions of messages that are already rewritten: equal results become equal stubs, so these prove little.
    """
    found = _same_objects(before, after)
    known = _Known(before, frozenset(fixed), frozenset(shortened))
    for entries, places in list(_gaps(found, range(len(before)))):
        found[entries.start : entries.stop] = known.places_of(after[entries.start : entries.stop], places)
    return found


def extends(original: Message, changed: Message) -> bool:
    """Whether a message equals another one with text appended."""
    parts = parts_of(original)
    same_keys = {**original, "content": None} == {**changed, "content": None}
    return same_keys and parts_of(changed)[: len(parts)] == parts


def _same_objects(before: Sequence[Message], after: Sequence[Message]) -> list[int | None]:
    """The positions of messages that are the same objects and in the same order."""
    places: dict[int, list[int]] = {}
    for place, message in enumerate(before):
        places.setdefault(id(message), []).append(place)
    count, met = Counter(map(id, after)), Counter[int]()
    candidates: list[list[AlignmentCandidate]] = []
    for key in map(id, after):
        near = _near(places.get(key, ()), met[key], count[key] - met[key] - 1)
        candidates.append([AlignmentCandidate(place, _SAME) for place in near])
        met[key] += 1
    return best_alignment(candidates, range(len(before)))


def _gaps(found: Sequence[int | None], places: range) -> Iterator[tuple[range, range]]:
    """The runs of unmatched messages, each with the free positions between its matched neighbours."""
    known = [(index, place) for index, place in enumerate(found) if place is not None]
    ends = ((-1, places.start - 1), (len(found), places.stop))
    for (index, place), (later, end) in pairwise([ends[0], *known, ends[1]]):
        if later - index > 1:
            yield range(index + 1, later), range(place + 1, end)


@dataclass(frozen=True, slots=True)
class _Known:
    """The original list, in which rewritten messages are looked up by content."""

    messages: Sequence[Message]
    fixed: frozenset[int]
    shortened: frozenset[int]

    def places_of(self, new: Sequence[Message], places: range) -> list[int | None]:
        """The original positions of these messages, within a gap between two matched messages."""
        longest, front, back = min(len(places), len(new)), 0, 0
        while front < longest and self._is_at(places[front], new[front]):
            front += 1
        while back < longest - front and self._is_at(places[-1 - back], new[-1 - back]):
            back += 1
        middle = places[front : len(places) - back]
        found = self._aligned(new[front : len(new) - back], middle)
        return [*places[:front], *found, *places[len(places) - back :]]

    def _aligned(self, new: Sequence[Message], places: range) -> list[int | None]:
        """The best alignment without the stubs of repairs; each stub then fits between its neighbours, or nowhere."""
        candidates = self._candidates(new, places)
        recorded = [index for index, message in enumerate(new) if message.get("content") != STUB_RESULT]
        found: list[int | None] = [None] * len(new)
        for index, place in zip(
            recorded, best_alignment([candidates[index] for index in recorded], places), strict=True
        ):
            found[index] = place
        for entries, between in list(_gaps(found, places)):
            stubs = [
                [fit for fit in candidates[index] if fit.place in between]
                if new[index].get("content") == STUB_RESULT
                else []
                for index in entries
            ]
            found[entries.start : entries.stop] = best_alignment(stubs, between)
        return found

    def _is_at(self, place: int, message: Message) -> bool:
        return place not in self.shortened and self.messages[place] == message

    def _candidates(self, new: Sequence[Message], places: range) -> list[list[AlignmentCandidate]]:
        """For each message, its possible positions with their confidence."""
        marked: dict[Mark, list[int]] = {}
        for place in places if new else ():
            for mark in _marks(self.messages[place]):
                marked.setdefault(mark, []).append(place)
        marks = [_marks(message) for message in new]
        count, met = Counter(marks), Counter[frozenset[Mark]]()
        new_places = {own: sorted({place for mark in own for place in marked.get(mark, ())}) for own in count}
        candidates: list[list[AlignmentCandidate]] = []
        for message, own in zip(new, marks, strict=True):
            near = _near(new_places[own], met[own], count[own] - met[own] - 1)
            candidates.append(list(self._compared(message, near)) or self._excerpted(message, places))
            met[own] += 1
        return candidates

    def _excerpted(self, message: Message, places: range) -> list[AlignmentCandidate]:
        """The places of messages that this one is an excerpt of: without a recall tool, no handle is named."""
        text = _NAMED_MEDIA.sub("", text_of(message))
        lengths = {len(text) + int(found[1].replace(",", "")) for found in _LEFT_OUT.finditer(text)}
        found: list[AlignmentCandidate] = []
        for place in places if lengths else ():
            earlier = self.messages[place]
            if place in self.fixed or earlier.get("role") != message.get("role"):
                continue
            original = text_of(earlier)
            if len(original) in lengths and excerpt(original, len(text)) == text:
                found.append(AlignmentCandidate(place, _REWRITTEN))
        return found

    def _compared(self, message: Message, places: Sequence[int]) -> Iterator[AlignmentCandidate]:
        for place in places:
            earlier = self.messages[place]
            if earlier == message:
                yield AlignmentCandidate(place, _REWRITTEN if place in self.shortened else _EQUAL)
            elif place not in self.fixed and _may_be_short_for(earlier, message):
                yield AlignmentCandidate(place, _REWRITTEN)


def _near(places: Sequence[int], preceding: int, following: int) -> Sequence[int]:
    """The possible positions of a message, given how many equal ones precede and follow it."""
    if len(places) <= 2 * _MAX_NEAR:
        return places
    end = len(places) - following
    return sorted(
        {*places[preceding : preceding + _MAX_NEAR], *places[max(0, end - _MAX_NEAR) : max(0, end)]}
    )


def _marks(message: Message) -> frozenset[Mark]:
    """What identifies a message whose text has changed; equal messages have equal marks."""
    role, content = str(message.get("role")), message.get("content")
    if content == STUB_RESULT:
        # Added by a repair. If ids repeat, it would otherwise match an earlier result.
        return frozenset({("stub", str(answered_id(message)))})
    marks = {("call", id) for id in call_ids(message)}
    answered = answered_id(message)
    if answered is not None:
        marks.add(("answer", answered))
    if role in SYSTEM_ROLES:
        marks.add(("system", ""))
    return frozenset(marks or ((role, handle) for handle in _handles(message)))


def _handles(message: Message) -> Iterator[str]:
    """The handles of the content and of its plain text, and those named in it."""
    text = text_of(message)
    yield handle_of({"content": text})
    if not isinstance(message.get("content"), str) and (text or media_of(message)):
        yield handle_of(message)
    yield from (named[1] for item in texts_of(message) if (named := _NAMED_HANDLE.search(item)))


def _may_be_short_for(earlier: Message, message: Message) -> bool:
    """Whether a message can be a shortened form of its candidate; a summary may end with a stub's text."""
    if call_ids(earlier) or answered_id(earlier) or earlier.get("role") in SYSTEM_ROLES or media_of(earlier):
        return True
    return len(text_of(message)) <= len(text_of(earlier))

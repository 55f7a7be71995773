"""What people ruled in or out, and what they took back since.

    "Never use tabs."              in force
    "tabs are fine now"            the first is revoked, by this message
    "don't change anything"        ends when the person asks for a change
    "Diese Funktion gibt nie null zurück"   a description: binds nobody

A sentence with words that set a limit is a rule; one that only says how the work at hand should be done is a wish.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.people_words import is_reply, word_group, words_in
from plimsoll.context.ledger.polarity import contradicts
from plimsoll.context.ledger.requests import asks_to_know
from plimsoll.context.ledger.state import StatedConstraint
from plimsoll.context.ledger.statements import SENTENCE, bounded_sentence
from plimsoll.context.ledger.words import content_words
from plimsoll.secrets import redact

_READ = 4_000  # characters of a message in which sentences are looked for
_SHORT = 9  # words; what people say so briefly is an order or an answer
_MOST_WISHES = 60  # wishes that are kept; the oldest give way
_SOME = 0.5  # share of a limit's words that a permission must name
_STEM = 6  # letters by which two words of one root are known
_MARKUP = re.compile(r"^[\s>*#+-]+|\*\*|__")
_NOT_A_SENTENCE = ("|", "`", "{", "<", "/", "+", "@")
_SET_TO = re.compile(r"\b(?:push|raise|lower|increase|set|make|go|change|bump|reduce)\b[^.\d]{0,16}\d")
_LIMITED_TO = re.compile(r"\b(?:limit|max|at most|up to|cap)\w*\b[^.\d]{0,24}\d")


def rulings_in(text: str, source: int) -> Iterator[StatedConstraint]:
    """The sentences of a person that rule something, in their own words."""
    for sentence in SENTENCE.split(redact(text[:_READ])):
        said = " ".join(_MARKUP.sub("", sentence).split())
        found = constraint_in(said)
        if is_description(said):
            continue
        if found is not None:
            bounded = bounded_sentence(said, found.start())
            if bounded:
                yield StatedConstraint(bounded, source)
        elif is_wish(said):
            yield StatedConstraint(bounded_sentence(said, 0), source, is_rule=False)


def is_wish(sentence: str) -> bool:
    """Whether a sentence says how the work should be done."""
    lowered = sentence.lower().replace("’", "'")
    if sentence.startswith(_NOT_A_SENTENCE) or is_reply(sentence) or asks_to_know(sentence):
        return False
    if not content_words(sentence):
        return False
    if word_group("wishes").found_in(lowered) or word_group("commands").opens(lowered):
        return True
    own = [word for word in words_in(sentence) if word not in word_group("replies").words]
    return len(own) > 1 and len(sentence.split()) < _SHORT and sentence[-1] not in "?？:"


def is_description(sentence: str) -> bool:
    """Whether a sentence reports what something does or what somebody said."""
    lowered = sentence.lower()
    return word_group("reports").found_in(lowered) or word_group("describes").begins(lowered)


@dataclass(slots=True)
class Rulings:
    """What people ruled: limits in force, wishes about the work at hand, and what they took back."""

    constraints: dict[str, StatedConstraint]
    wishes: dict[str, StatedConstraint]
    revoked: dict[str, StatedConstraint]

    def take_up(self, text: str, source: int) -> None:
        """What a person says now: it takes back what it revokes, and holds itself."""
        rulings = list(rulings_in(text, source))
        held = {**self.wishes, **self.constraints}
        for key in list(_taken_back(held, text, rulings, source)):
            one = self.constraints.pop(key, None) or self.wishes.pop(key, None)
            if one is not None:
                self.revoked.pop(key, None)
                self.revoked[key] = replace(one, revoked_by=source)
        for ruling in rulings:
            if not _only_revokes(ruling.text):
                kind = self.constraints if ruling.is_rule else self.wishes
                for known in (self.revoked, self.constraints, self.wishes):
                    known.pop(ruling.text, None)
                kind[ruling.text] = ruling
        for key in list(self.wishes)[: max(0, len(self.wishes) - _MOST_WISHES)]:
            del self.wishes[key]


def _only_revokes(sentence: str) -> bool:
    """Whether a sentence says nothing else than that something is void or may be done."""
    lowered = sentence.lower()
    return word_group("voids").found_in(lowered) and constraint_in(sentence) is None


def _taken_back(
    constraints: dict[str, StatedConstraint], text: str, rulings: list[StatedConstraint], source: int
) -> Iterator[str]:
    lowered = text.lower().replace("’", "'")
    own = {key: one for key, one in constraints.items() if one.source != source and not one.origin}
    if rulings and not word_group("passing").found_in(lowered):
        yield from (key for key, one in own.items() if word_group("passing").found_in(one.text.lower()))
    if len(text) > _READ or not own:
        return
    if word_group("undoes").found_in(lowered):
        newest = max((one.source for one in own.values() if not one.is_rule), default=-1)
        yield from (key for key, one in own.items() if one.source == newest and not one.is_rule)
    for sentence in filter(str.strip, SENTENCE.split(text)):
        yield from _revoked_by(sentence, own)
        if _SET_TO.search(sentence.lower()):
            limited = [key for key, one in own.items() if _LIMITED_TO.search(one.text.lower())]
            yield from limited[-1:]


def _revoked_by(sentence: str, constraints: dict[str, StatedConstraint]) -> Iterator[str]:
    lowered = sentence.lower().replace("’", "'")
    is_void, is_permit = word_group("voids").found_in(lowered), word_group("permits").found_in(lowered)
    if constraint_in(sentence) is not None or is_permit:
        yield from (key for key in constraints if contradicts(sentence, key))
    if not is_void and not is_permit:
        return
    words = content_words(sentence)
    best: dict[str, float] = {}
    for key in constraints:
        about = content_words(key)
        shared = len(_shared(about, words))
        named = shared > len(about) * _SOME or (shared and _names_object(key, words))
        if (is_void and shared) or (is_permit and named):
            best[key] = shared / max(1, len(about))
    most = max(best.values(), default=0.0)
    yield from (key for key, share in best.items() if share == most)


def _shared(about: frozenset[str], words: frozenset[str]) -> frozenset[str]:
    """The words of a limit that a sentence names, also in another form."""
    roots = {word[:_STEM] for word in words if len(word) >= _STEM}
    return frozenset(one for one in about if one in words or one[:_STEM] in roots)


def _names_object(constraint: str, words: frozenset[str]) -> bool:
    """Whether a sentence names what a limit is about: the last of its words that tell something."""
    told = [word for word in re.findall(r"[^\W_]{2,}", constraint.lower()) if content_words(word)]
    return bool(told) and bool(_shared(content_words(told[-1]), words))

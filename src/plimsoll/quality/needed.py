"""Needed facts: what the recorded agent typed from memory after a cut.

    history:       … the fix is in `parse_config` …   parse_config is named here
    continuation:  assistant types parse_config       before it appeared again ──► a needed fact

The compactor never sees the continuation. A fact is *present* if its term is in the compacted context, and *grounded*
if the context explains it: within 120 characters are two plain words that were also within 200 characters of the term
in the original. A bare list of names is present but hardly ever grounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.messages import Message
from plimsoll.quality.terms import Reading, places_of, terms_in
from plimsoll.quality.texts import read_text

NEAR_MESSAGES = 20  # before the cut; facts that occur only earlier are far
AROUND_ORIGINAL = 200  # characters around a term in the conversation
AROUND_RESULT = 120  # characters around it in the result
MIN_WORDS = 2  # of the original near the term in the result, so that it counts as grounded
_MAX_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class NeededFact:
    """A term that the agent needed, and the words around it in the original."""

    term: str
    is_far: bool  # absent from the last 20 messages before the cut
    last_at: float  # where in the history it was last named: 0 the beginning, 1 the end
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class FactGrade:
    """Whether a needed fact is present and grounded."""

    fact: NeededFact
    is_present: bool
    is_grounded: bool


def needed_facts(
    history: Sequence[Message], continuation: Sequence[Message], generic: frozenset[str] = frozenset()
) -> list[NeededFact]:
    """The facts of the history that the continuation uses from memory, in alphabetical order."""
    texts = [read_text(message) for message in history]
    wanted = _from_memory(continuation) - generic
    if not wanted:
        return []
    known = terms_in("\n".join(texts))
    near = terms_in("\n".join(texts[-NEAR_MESSAGES:]))
    original = Reading("\n".join(texts))
    return [_needed(term, term not in near, original) for term in sorted(wanted & known)]


def _from_memory(continuation: Sequence[Message]) -> set[str]:
    """The terms that the agent typed before any message of the continuation showed them."""
    shown: set[str] = set()
    typed: set[str] = set()
    for message in continuation:
        terms = terms_in(read_text(message))
        if message.get("role") == "assistant":
            typed |= terms - shown
        shown |= terms
    return typed


def _needed(term: str, is_far: bool, original: Reading) -> NeededFact:
    words: set[str] = set()
    places = list(places_of(term, original.text))
    for place in places[-_MAX_PLACES:]:
        words |= original.words_around(place, len(term), AROUND_ORIGINAL)
    last = places[-1] if places else original.text.rfind(term)
    return NeededFact(term, is_far, last / max(1, len(original.text)), frozenset(words))


def grade(facts: Sequence[NeededFact], context: Reading) -> list[FactGrade]:
    """Which facts are present and grounded in the compacted context."""
    return [_graded(fact, context) for fact in facts]


def _graded(fact: NeededFact, context: Reading) -> FactGrade:
    is_present = False
    for place in places_of(fact.term, context.text):
        is_present = True
        around = context.words_around(place, len(fact.term), AROUND_RESULT)
        if len(around & fact.words) >= MIN_WORDS:
            return FactGrade(fact, True, True)
    return FactGrade(fact, is_present, False)

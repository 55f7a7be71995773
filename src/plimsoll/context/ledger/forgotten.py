"""What a person asked to forget: by topic, by the words of the request, and by the messages that it refers to.

    "I earn 2,900 a month."                   said
    "With 2,900 you can afford both."         answered
    "Forget what I said about my salary."     the topic is income: both lines are gone, from every section

A fact seldom holds the word of the request, so the words of private topics are data (`people.toml`). What goes beyond
the topic: sentences that say the same as a forgotten one, and its numbers and names. When in doubt more is forgotten;
rules are not forgotten but taken back (`rulings.py`). What the person says about it later holds again.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from plimsoll.context.ledger.people_words import WordGroup, people, word_group

_NUMBER = re.compile(r"\d[\d.,’']*\d|\d{2,}")
_NAME = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]{2,}")  # no word at the beginning of a sentence
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MOST_WORDS, _MOST_PAIRS = 4, 14  # of a request that names a topic, and not one fact of it
_SAME = 0.6  # share of the words from which on a line says what is forgotten
_POINTS_BACK = re.compile(r"\W*(?:it|that|this|es|das|eso|isso|ça|cela|ciò)?\W*")


@dataclass(frozen=True, slots=True)
class ForgottenTopic:
    """What one request to forget is about, and what was forgotten for it."""

    words: frozenset[str]  # of the request
    source: int
    topics: tuple[str, ...] = ()  # the private topics that it names
    is_personal: bool = False  # it speaks of the person who asks
    messages: frozenset[int] = frozenset()  # all that was said in them is forgotten
    facts: tuple[frozenset[str], ...] = ()  # the words of each forgotten sentence
    values: frozenset[str] = frozenset()  # their numbers and names

    def is_named_in(self, words: frozenset[str]) -> bool:
        """Whether a text with these words says what the request itself says."""
        return _says_the_same(self.words, words)

    def is_in(self, text: str, words: frozenset[str], is_chat: bool) -> bool:
        """Whether a text with these words is about it; where tools are used, a single word tells too little."""
        if self.is_named_in(words):
            return True
        if not (is_chat or self.is_personal):
            return False
        if is_chat and len(self.words) == 1 and self.words <= words:
            return True
        lowered = text.lower().replace("’", "'")
        return (
            any(_topics()[name].found_in(lowered) for name in self.topics)
            or any(_says_the_same(fact, words) for fact in self.facts)
            or self._holds_value(text)
        )

    def covers(self, sources: Collection[int], is_chat: bool) -> bool:
        """Whether everything in these messages is forgotten."""
        return bool(sources) and (is_chat or self.is_personal) and self.messages.issuperset(sources)

    def _holds_value(self, text: str) -> bool:
        return bool(self.values) and not self.values.isdisjoint(values_in(text, all_words=True))


def points_back(topic: str) -> bool:
    """Whether a request to forget only points to what was said before: "forget that", "forget what I just said"."""
    lowered = topic.strip()
    return bool(_POINTS_BACK.fullmatch(lowered.partition(",")[0])) or word_group("just_said").found_in(
        lowered
    )


def topics_in(topic: str, words: frozenset[str]) -> tuple[str, ...]:
    """The private topics that a request to forget names; a single fact at length, or a taste, names none."""
    is_fact = len(words) > (_MOST_PAIRS if _UNSPACED.search(topic) else _MOST_WORDS)
    if is_fact or word_group("likes").found_in(topic):
        return ()
    return tuple(name for name, group in _topics().items() if group.found_in(topic))


def begins_with_topic(sentence: str) -> bool:
    """Whether a sentence begins with the verb of a private topic, as in languages that leave out "I"."""
    lowered = sentence.lower()
    return any(group.begins(lowered) for group in _topics().values())


def values_in(text: str, all_words: bool = False) -> frozenset[str]:
    """The numbers and names of a text: what is left of a fact where it is told in other words."""
    numbers = (found.replace(",", "").replace(".", "").replace("’", "") for found in _NUMBER.findall(text))
    names: Iterable[str] = re.findall(r"[A-Z][^\W\d_]{2,}", text) if all_words else _NAME.findall(text)
    return frozenset((*numbers, *names))


def _says_the_same(known: frozenset[str], words: frozenset[str]) -> bool:
    return len(known & words) >= max(2, len(known) * _SAME)


@cache
def _topics() -> dict[str, WordGroup]:
    return {
        name: WordGroup(group["words"], group["signs"], group.get("patterns", ()))
        for name, group in people()["topics"].items()
    }

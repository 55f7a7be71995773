"""What a person asked to forget: by topic, by the words of the request, and by the messages it refers to.

    "I earn 2,900 a month."                   said
    "With 2,900 you can afford both."         answered
    "Forget what I said about my salary."     the topic is income: both lines are gone, from every section

A fact seldom contains the words of the request, so the words of private topics are data (`people.toml`). Sentences
that repeat a forgotten one, and its numbers and names, are forgotten too. When in doubt, more is forgotten; rules are
revoked, not forgotten (`rulings.py`). Later statements about the topic count again.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from plimsoll.context.ledger.people_words import WordGroup, people, word_group

_NUMBER = re.compile(r"\d[\d.,’']*\d|\d{2,}")
_NAME = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]{2,}")  # not the first word of a sentence
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MAX_WORDS, _MAX_PAIRS = 4, 14  # of a request that names a topic rather than a single fact
_SAME = 0.6  # minimum share of common words for a line to repeat a forgotten fact
_POINTS_BACK = re.compile(r"\W*(?:it|that|this|es|das|eso|isso|ça|cela|ciò)?\W*")


@dataclass(frozen=True, slots=True)
class ForgottenTopic:
    """The topic of one request to forget, and what was forgotten."""

    words: frozenset[str]  # of the request
    source: int
    topics: tuple[str, ...] = ()  # the private topics in it
    is_personal: bool = False  # it is about the person who asks
    messages: frozenset[int] = frozenset()  # messages that are forgotten entirely
    facts: tuple[frozenset[str], ...] = ()  # the words of each forgotten sentence
    values: frozenset[str] = frozenset()  # their numbers and names

    def is_named_in(self, words: frozenset[str]) -> bool:
        """Whether a text with these words repeats the request."""
        return _says_the_same(self.words, words)

    def is_in(self, text: str, words: frozenset[str], is_chat: bool) -> bool:
        """Whether a text with these words is about the topic; with tools, a single word is not enough."""
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
    """Whether a request to forget only refers to earlier messages: "forget that", "forget what I just said"."""
    lowered = topic.strip()
    return bool(_POINTS_BACK.fullmatch(lowered.partition(",")[0])) or word_group("just_said").found_in(
        lowered
    )


def topics_in(topic: str, words: frozenset[str]) -> tuple[str, ...]:
    """The private topics that a request to forget names; a detailed single fact or a preference names none."""
    is_fact = len(words) > (_MAX_PAIRS if _UNSPACED.search(topic) else _MAX_WORDS)
    if is_fact or word_group("likes").found_in(topic):
        return ()
    return tuple(name for name, group in _topics().items() if group.found_in(topic))


def begins_with_topic(sentence: str) -> bool:
    """Whether a sentence begins with the verb of a private topic, as in languages that leave out "I"."""
    lowered = sentence.lower()
    return any(group.begins(lowered) for group in _topics().values())


def values_in(text: str, all_words: bool = False) -> frozenset[str]:
    """The numbers and names of a text, which identify a paraphrased fact."""
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

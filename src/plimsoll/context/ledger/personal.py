"""Statements that people make about themselves and others in a chat, in their own words.

    "I started baking rye bread on Sundays."        the user, about the user
    "My neighbour keeps bees."                      the user, about someone else
    a mail that the user received and pastes        someone else's words
    "Actually I no longer bake, I run."             replaces what was said about baking
    "Please forget that I bake bread."              removes statements about it, and this sentence

Nothing is inferred: a statement is an original sentence. What the person asks to forget is removed from this state
and never written again; the messages themselves stay unchanged. The words are data (`personal.toml`).
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from plimsoll.context.ledger.forgotten import (
    ForgottenTopic,
    points_back,
    topics_in,
    values_in,
)
from plimsoll.context.ledger.personal_words import personal_words
from plimsoll.context.ledger.speakers import (
    is_about_someone_else,
    speaks_of_others,
    speaks_of_self,
    tells_about_self,
)
from plimsoll.context.ledger.values import may_supersede, supersedes
from plimsoll.secrets import redact

About = Literal["user", "other", "quoted"]
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MARKS = " \"“”'-*#>"  # around a sentence
_BLANK = re.compile(r"\n\s*\n|\n-{3,}\n")
_STEM = 5  # leading letters that identify a word in all its forms: bake, baked, baking
_READ = 6_000  # characters of a message; a longer one is a document
_LONGEST, _LONGEST_LINE = 260, 500
_SPEAKERS: dict[About, str] = {
    "user": "User",
    "other": "User, about someone else",
    "quoted": "Quoted by the user, someone else's words",
}
# A text that starts or ends with its author.
_SIGNED = re.compile(
    r"\A\W*(?:Author: \S|From: \S|[A-Z]\w+ [A-Z]\w+:\s)"
    r"|^\W*(?:(?:Written|Posted|Sent|Submitted|Signed) by|Author|From|Signed|Verfasst von|Von|Autora?"
    r"|Escrito por|Auteur|Par):?"
    r" [A-Z][^\n]{1,60}\W*\Z",
    re.MULTILINE,
)
_MIN_WORDS = 4
_ALLUSION = 0.29  # similarity of a statement that shares one rare word
_MAX_STATEMENTS = 2_000
_RECENT_MESSAGES = 10  # before a request to forget
_RECENT_STATEMENTS = 2  # messages
_SAME_SUBJECT = 0.5  # minimum share of the older statement's words for a change of mind to replace it
_MIN_NAMED = 3  # rare words that a denial must share with the denied statement
_RARE = 4  # maximum number of statements with a rare word
_NEAR = 0.3  # minimum share of the request's words, weighted by rarity, for a statement to match it


@dataclass(frozen=True, slots=True)
class PersonalStatement:
    """A person's sentence, its subject, and its message."""

    text: str
    about: About
    source: int
    is_question: bool = False
    is_own: bool = False  # in the first person
    words: frozenset[str] = frozenset()

    @property
    def value(self) -> float:
        """Its value in a summary, relative to a term that is certainly needed."""
        return (
            0.9
            if self.is_own and not self.is_question
            else 0.6
            if self.is_own or not self.is_question
            else 0.4
        )

    @property
    def line(self) -> str:
        """The sentence with its speaker."""
        return f"{_SPEAKERS[self.about]}: {self.text}"


@dataclass(slots=True)
class PersonalStatements:
    """The current statements, oldest first."""

    said: list[PersonalStatement] = field(default_factory=list)
    forgotten: list[ForgottenTopic] = field(default_factory=list)
    expects_quote: bool = False  # someone else's text was announced and is not pasted yet

    def copy(self) -> "PersonalStatements":
        """A copy to continue reading from."""
        return PersonalStatements(list(self.said), list(self.forgotten), self.expects_quote)

    def read(
        self, text: str, source: int, before: Iterable[tuple[int, str]] = (), is_chat: bool = True
    ) -> bool:
        """Read a person's message; return whether all of it was a request to forget something.

        `before` are the person's earlier messages with their numbers.
        """
        wanted = [one for one in _sentences(text[:_READ]) if forgotten_in(one) is not None]
        if wanted:
            earlier = dict(before)
            for sentence in wanted:
                self._forget(sentence, source, earlier, is_chat)
            text = without_requests_to_forget(text)
            if not text:
                return True
        for one in statements_in(text, source, self.expects_quote):
            self._take_up(one)
        asks, body = _parts(text[:_READ])
        self.expects_quote = not body and not self.expects_quote and _announces(asks)
        del self.said[:-_MAX_STATEMENTS]
        return False

    def _take_up(self, one: PersonalStatement) -> None:
        """Add a statement, and remove statements that it changes, denies or gives another value for."""
        if one.is_own and not one.is_question and _changes(one.text):
            self._replace(one)
        if one.about == "user" and _denies(one.text):
            self._turn_round(one)
        if may_supersede(one.text):
            self.said = [
                other
                for other in self.said
                if other.about != one.about or other.is_question or not supersedes(one.text, other.text)
            ]
        self.said.append(one)

    def holds_forgotten(
        self,
        text: str,
        sources: Collection[int] = (),
        is_chat: bool = True,
        is_rule: bool = False,
        again: AbstractSet[int] = frozenset(),
    ) -> bool:
        """Whether a text repeats what the person asked to forget, or comes from forgotten messages.

        A rule is forgotten only if the request names it. Statements in the later messages `again` count.
        """
        found = stems(text) if self.forgotten else frozenset()
        return any(
            topic.is_named_in(found)
            or (not is_rule and (topic.is_in(text, found, is_chat) or topic.covers(sources, is_chat)))
            for topic in self.forgotten
            if not sources or not all(one > topic.source and one in again for one in sources)
        )

    def without_forgotten(self, text: str, source: int, is_chat: bool) -> str:
        """A person's message without forgotten sentences."""
        if any(topic.covers((source,), is_chat) for topic in self.forgotten):
            return ""
        pieces = _SENTENCE.split(text)
        left = [one for one in pieces if not self.holds_forgotten(one, is_chat=is_chat)]
        return text if len(left) == len(pieces) else " ".join(filter(str.strip, left))

    def lines(
        self, still: "PersonalStatements", without: AbstractSet[str] = frozenset(), only_own: bool = False
    ) -> Iterator[tuple[str, int]]:
        """The statements that still hold, with speaker and message number.

        Sentences in `without` are elsewhere in the summary. With `only_own`, no questions, orders and pages.
        """
        holds = set(still.said)
        current = [
            one
            for one in self.said
            if one in holds
            and one.text not in without
            and (not only_own or (one.is_own and not one.is_question and _is_sentence(one.text)))
        ]
        for (source, about), group in groupby(current, key=lambda one: (one.source, one.about)):
            texts: list[str] = []
            for one in group:
                if texts and sum(map(len, texts)) + len(one.text) > _LONGEST_LINE:
                    yield f"{_SPEAKERS[about]}: {' '.join(texts)}", source
                    texts = []
                texts.append(one.text)
            yield f"{_SPEAKERS[about]}: {' '.join(texts)}", source

    def about_the_user(self) -> set[str]:
        """The sentences about the person that ask nothing of the reader."""
        return {
            one.text
            for one in self.said
            if one.is_own and one.about == "user" and not one.is_question and tells_about_self(one.text)
        }

    def _forget(self, sentence: str, source: int, before: Mapping[int, str], is_chat: bool) -> None:
        topic = self._topic_of(sentence, source, before, is_chat)
        if topic is None:
            return
        self.forgotten.append(topic)
        found = [(self._nearness(topic.words, one) if topic.words else 0.0, one) for one in self.said]
        recent = _recent_messages(found, topic)
        self.said = [
            one
            for near, one in found
            if near < _NEAR and one.source not in recent and not topic.is_in(one.text, one.words, is_chat)
        ]

    def _topic_of(
        self, sentence: str, source: int, before: Mapping[int, str], is_chat: bool
    ) -> ForgottenTopic | None:
        """The topic of a request, with earlier statements about it."""
        asked = forgotten_in(sentence) or ""
        words, is_personal = stems(asked), speaks_of_self(sentence)
        if points_back(asked):
            last = frozenset([max(before)] if before else ())
            facts = [stems(one) for number in last for one in _sentences(before[number])]
            return ForgottenTopic(frozenset(), source, (), is_personal, last, tuple(facts))
        if not words:
            return None
        topic = ForgottenTopic(words, source, topics_in(asked, words), is_personal)
        told = [one for text in before.values() for one in _sentences(text[:_READ])]
        told += (one.text for one in self.said)
        about = [one for one in dict.fromkeys(told) if topic.is_in(one, stems(one), is_chat)]
        others = frozenset().union(*(values_in(one, all_words=True) for one in told if one not in about))
        values = frozenset().union(*map(values_in, about)) - others
        return replace(topic, facts=tuple(map(stems, about)), values=values)

    def _nearness(self, topic: frozenset[str], one: PersonalStatement) -> float:
        """The similarity of a statement to a topic, with more weight for rare words."""
        shared = topic & one.words
        if len(shared) < min(2, len(topic)):
            rarity = max(map(self._rarity, shared), default=0.0)
            return _ALLUSION * rarity / math.log(len(self.said) + 2)
        return sum(map(self._rarity, shared)) / sum(map(self._rarity, topic))

    def _rarity(self, word: str) -> float:
        count = sum(word in one.words for one in self.said)
        return math.log((len(self.said) + 2) / (count + 1))

    def _replace(self, new: PersonalStatement) -> None:
        """Replace earlier statements on the same subject after a change of mind."""
        self.said = [
            one
            for one in self.said
            if one.about != new.about or not one.words or self._nearness(one.words, new) < _SAME_SUBJECT
        ]

    def _turn_round(self, new: PersonalStatement) -> None:
        """Remove earlier statements that the person now denies: both share the same rare words."""
        self.said = [
            one
            for one in self.said
            if one.about != "user"
            or one.source == new.source
            or _denies(one.text)
            or not self._names_the_same(one.words & new.words)
        ]

    def _names_the_same(self, shared: frozenset[str]) -> bool:
        if len(shared) < _MIN_NAMED:
            return False
        counts = [sum(word in one.words for one in self.said) for word in shared]
        return sum(count <= _RARE for count in counts) >= _MIN_NAMED


def _recent_messages(
    found: Sequence[tuple[float, PersonalStatement]], topic: ForgottenTopic
) -> AbstractSet[int]:
    """The messages to forget entirely; `found` are the statements with their similarity to the topic.

    People usually mean what was discussed just now, and paraphrase it. If a message says a lot about the topic,
    all of it is forgotten: forgetting too much is better than too little.
    """
    first = topic.source - _RECENT_MESSAGES
    recent = {one.source for near, one in found if near > 0 and one.source >= first}
    is_known = bool(topic.messages) or bool(topic.topics and topic.facts)
    if not recent and not is_known and all(near < _NEAR for near, _ in found):
        recent = set(sorted({one.source for _, one in found})[-_RECENT_STATEMENTS:])
    return recent | topic.messages


def statements_in(text: str, source: int, is_quote: bool = False) -> Iterator[PersonalStatement]:
    """The statements in a message, each with its subject.

    `is_quote`: the previous message announced someone else's text, and this is it.
    """
    asks, body = _parts(text[:_READ])
    is_of_others = bool(body) and _is_of_others(asks, body)
    yield from _statements_of(asks, source, is_quote)
    yield from _statements_of(body, source, is_quote or is_of_others)


def _statements_of(part: str, source: int, quoted: bool) -> Iterator[PersonalStatement]:
    # A text about someone, without the first person, is about them from its beginning.
    about_other = not speaks_of_self(part) and speaks_of_others(part)
    for sentence in _sentences(part):
        found = stems(sentence)
        if len(found) < _MIN_WORDS or personal_words().asks.search(sentence.lower()):
            continue
        names_other = speaks_of_others(sentence)
        is_own = speaks_of_self(sentence) and not is_about_someone_else(sentence)
        # The subject stays the same until the person speaks only of themselves: "I know he's tired".
        is_own = is_own and not (about_other and names_other)
        about_other = not is_own and (about_other or names_other)
        about: About = "quoted" if quoted else "other" if about_other else "user"
        said = redact(" ".join(sentence.split()))
        short = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
        is_question = sentence.rstrip().endswith(("?", "？"))
        yield PersonalStatement(short, about, source, is_question, is_own, found)


def forgotten_in(sentence: str) -> str | None:
    """What a sentence asks to forget; None if it does not ask that."""
    low = sentence.strip().lower().replace("’", "'")
    found = personal_words().forget.match(low)
    if found:
        return low[found.end() :]
    return personal_words().forget_signs.sub("", low) if personal_words().forget_signs.search(low) else None


def without_requests_to_forget(text: str) -> str:
    """A message without the sentences that ask to forget something."""
    pieces = _SENTENCE.split(text)
    left = [piece for piece in pieces if forgotten_in(piece.strip(_MARKS)) is None]
    return text if len(left) == len(pieces) else "\n".join(filter(str.strip, left))


def stems(text: str) -> frozenset[str]:
    """The stems of a text's content words; in scripts without spaces, pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower().replace("’", "'")):
        if _UNSPACED.search(word):
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
        elif len(word) >= 3 and word not in personal_words().empty:
            found.add(word[:_STEM])
    return frozenset(found)


def _parts(text: str) -> tuple[str, str]:
    """A person's request, and the text that follows it."""
    found = _BLANK.search(text)
    if found is None:
        return text, ""
    return text[: found.start()], text[found.end() :]


def _sentences(text: str) -> Iterator[str]:
    return (piece.strip(_MARKS) for piece in _SENTENCE.split(text) if piece.strip())


def _announces(asks: str) -> bool:
    """Whether a person says that a text is someone else's."""
    return personal_words().received.search(asks.lower()) is not None


def _is_of_others(asks: str, body: str) -> bool:
    return _announces(asks) or _SIGNED.search(body.strip()) is not None


def _is_sentence(text: str) -> bool:
    """Whether a text is neither a line of a log or program nor the introduction of a list."""
    return not text.startswith(("{", "[", "<", "|")) and not text.endswith(":")


def _changes(sentence: str) -> bool:
    low = sentence.lower().replace("’", "'")
    return (
        personal_words().change.search(low) is not None
        or personal_words().change_signs.search(low) is not None
    )


def _denies(sentence: str) -> bool:
    return personal_words().denies.search(sentence.lower().replace("’", "'")) is not None

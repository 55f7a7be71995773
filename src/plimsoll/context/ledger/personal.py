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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby

from plimsoll.context.ledger.attributes import Change, change_in
from plimsoll.context.ledger.forgotten import (
    ForgottenTopic,
    points_back,
    topics_in,
    values_in,
)
from plimsoll.context.ledger.personal_sentences import (
    MARKS,
    READ,
    SENTENCE,
    SPEAKERS,
    PersonalStatement,
    announces_a_quote,
    parts_of,
    sentences_of,
    statements_in,
    stems,
)
from plimsoll.context.ledger.personal_words import personal_words
from plimsoll.context.ledger.speakers import (
    is_about_someone_else,
    speaks_of_self,
    tells_about_self,
)
from plimsoll.context.ledger.values import may_supersede, supersedes

_LONGEST_LINE = 500
_ALLUSION = 0.29  # similarity of a statement that shares one rare word
_MAX_STATEMENTS = 2_000
_RECENT_MESSAGES = 10  # before a request to forget
_RECENT_STATEMENTS = 2  # messages
_SAME_SUBJECT = 0.5  # minimum share of the older statement's words for a change of mind to replace it
_MIN_NAMED = 3  # rare words that a denial must share with the denied statement
_RARE = 4  # maximum number of statements with a rare word
_NEAR = 0.3  # minimum share of the request's words, weighted by rarity, for a statement to match it


@dataclass(slots=True)
class PersonalStatements:
    """The current statements, oldest first."""

    said: list[PersonalStatement] = field(default_factory=list)
    forgotten: list[ForgottenTopic] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)  # of the newest message
    replaced: list[str] = field(default_factory=list)  # statements of which a part no longer holds
    expects_quote: bool = False  # someone else's text was announced and is not pasted yet

    def copy(self) -> "PersonalStatements":
        """A copy to continue reading from."""
        return PersonalStatements(
            list(self.said), list(self.forgotten), list(self.changes), list(self.replaced), self.expects_quote
        )

    def read(
        self, text: str, source: int, before: Iterable[tuple[int, str]] = (), is_chat: bool = True
    ) -> bool:
        """Read a person's message; return whether all of it was a request to forget something.

        `before` are the person's earlier messages with their numbers.
        """
        wanted = [one for one in sentences_of(text[:READ]) if forgotten_in(one) is not None]
        if wanted:
            earlier = dict(before)
            for sentence in wanted:
                self._forget(sentence, source, earlier, is_chat)
            text = without_requests_to_forget(text)
            if not text:
                return True
        self.changes = []
        for one in statements_in(text, source, self.expects_quote):
            self._take_up(one)
        asks, body = parts_of(text[:READ])
        self.expects_quote = not body and not self.expects_quote and announces_a_quote(asks)
        del self.said[:-_MAX_STATEMENTS], self.replaced[:-_MAX_STATEMENTS]
        return False

    def _take_up(self, one: PersonalStatement) -> None:
        """Add a statement, and remove what it changes, denies or gives another value for."""
        if one.about == "user" and not one.is_question and (change := change_in(one.text)):
            self._change(one, change)
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

    def _change(self, new: PersonalStatement, change: Change) -> None:
        """Remove the clauses whose value the person now gives differently."""
        self.changes.append(change)
        said: list[PersonalStatement] = []
        for one in self.said:
            left = change.leaves(one.text) if one.about == new.about and not one.is_question else one.text
            if left != one.text:
                self.replaced.append(one.text)
            if left:
                said.append(one if left == one.text else replace(one, text=left, words=stems(left)))
        self.said = said

    def replaced_in(self, text: str) -> dict[str, str]:
        """The sentences of an earlier message that the newest one changes, each with what is left of it."""
        found: dict[str, str] = {}
        for sentence in filter(None, SENTENCE.split(text) if self.changes else ()):
            left = sentence
            if not is_about_someone_else(sentence) and not sentence.endswith(("?", "？")):
                for change in self.changes:
                    left = change.leaves(left)
            if left != sentence:
                found[sentence] = left
        return found

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
        pieces = SENTENCE.split(text)
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
                    yield f"{SPEAKERS[about]}: {' '.join(texts)}", source
                    texts = []
                texts.append(one.text)
            yield f"{SPEAKERS[about]}: {' '.join(texts)}", source

    def about_the_user(self) -> set[str]:
        """The sentences about the person that ask nothing of the reader."""
        return {
            one.text
            for one in self.said
            if one.is_own and one.about == "user" and not one.is_question and tells_about_self(one.text)
        }

    def states_all_of(self, text: str) -> bool:
        """Whether a message consists of current statements."""
        said = {one.text for one in self.said if not one.is_question}
        return all(" ".join(sentence.split()) in said for sentence in sentences_of(text))

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
            facts = [stems(one) for number in last for one in sentences_of(before[number])]
            return ForgottenTopic(frozenset(), source, (), is_personal, last, tuple(facts))
        if not words:
            return None
        topic = ForgottenTopic(words, source, topics_in(asked, words), is_personal)
        told = [one for text in before.values() for one in sentences_of(text[:READ])]
        told += (*self.replaced, *(one.text for one in self.said))
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


def forgotten_in(sentence: str) -> str | None:
    """What a sentence asks to forget; None if it does not ask that."""
    low = sentence.strip().lower().replace("’", "'")
    found = personal_words().forget.match(low)
    if found:
        return low[found.end() :]
    return personal_words().forget_signs.sub("", low) if personal_words().forget_signs.search(low) else None


def without_requests_to_forget(text: str) -> str:
    """A message without the sentences that ask to forget something."""
    pieces = SENTENCE.split(text)
    left = [piece for piece in pieces if forgotten_in(piece.strip(MARKS)) is None]
    return text if len(left) == len(pieces) else "\n".join(filter(str.strip, left))


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

"""What people say about themselves and others in a chat, in their own words.

    "I started baking rye bread on Sundays."        the user, about the user
    "My neighbour keeps bees."                      the user, about someone else
    a mail that the user received and pastes        someone else's words
    "Actually I no longer bake, I run."             replaces what was said about baking
    "Please forget that I bake bread."              what was said about it is gone, and so is this sentence

Nothing is inferred: a statement is a sentence as it was said. What the person asks to forget leaves this state and is
never written again; the messages themselves are not touched. The words are data (`personal.toml`).
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Literal

from plimsoll.secrets import redact

About = Literal["user", "other", "quoted"]
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_BLANK = re.compile(r"\n\s*\n|\n-{3,}\n")
_STEM = 5  # letters by which forms of one word are the same: bake, baked, baking
_READ = 6_000  # characters of a message; a longer one is a document
_LONGEST, _LONGEST_LINE = 260, 500
_SPEAKERS: dict[About, str] = {
    "user": "User",
    "other": "User, about someone else",
    "quoted": "Quoted by the user, someone else's words",
}
# A text that begins or ends with whose it is.
_SIGNED = re.compile(
    r"\A\W*(?:Author: \S|From: \S|[A-Z]\w+ [A-Z]\w+:\s)"
    r"|^\W*(?:(?:Written|Posted|Sent|Submitted|Signed) by|Author|From|Signed|Verfasst von|Von|Autora?"
    r"|Escrito por|Auteur|Par):?"
    r" [A-Z][^\n]{1,60}\W*\Z",
    re.MULTILINE,
)
_LEAST_WORDS = 4
_ALLUSION = 0.29  # how near a statement is that shares one rare word
_MOST_STATEMENTS = 2_000
_RECENT_MESSAGES = 10  # before a request to forget
_RECENT_STATEMENTS = 2  # messages
_SUBJECT_WORDS = 3
_SAME_SUBJECT = 0.5  # share of the words of the older statement from which on a change of mind replaces it
_LEAST_NAMED = 3  # rare words that a denial shares with what it denies
_RARE = 4  # statements that hold a rare word
_NEAR = 0.3  # share of what is to be forgotten, weighed by rarity, from which on a statement is about it


@dataclass(frozen=True, slots=True)
class PersonalStatement:
    """A sentence of a person, whom it is about, and the message that it stood in."""

    text: str
    about: About
    source: int
    is_question: bool = False
    is_own: bool = False  # in the first person
    words: frozenset[str] = frozenset()

    @property
    def value(self) -> float:
        """What it is worth in a summary, in the unit of a term that is certainly needed."""
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
    """Every statement that holds, oldest first."""

    said: list[PersonalStatement] = field(default_factory=list)
    forgotten: list[frozenset[str]] = field(default_factory=list)
    expects_quote: bool = (
        False  # whether the person announced a text of somebody else and has not pasted it yet
    )

    def copy(self) -> "PersonalStatements":
        """The same, to read on from."""
        return PersonalStatements(list(self.said), list(self.forgotten), self.expects_quote)

    def read(self, text: str, source: int) -> bool:
        """Take up what a person wrote; whether all of it was a request to forget something."""
        wanted = [
            topic for sentence in _sentences(text[:_READ]) if (topic := forgotten_in(sentence)) is not None
        ]
        if wanted:
            for topic in wanted:
                self._forget(stems(topic), source)
            return len(wanted) == sum(1 for _ in _sentences(text[:_READ]))
        for one in statements_in(text, source, self.expects_quote):
            if one.is_own and not one.is_question and _changes(one.text):
                self._replace(one)
            if one.about == "user" and _denies(one.text):
                self._turn_round(one)
            self.said.append(one)
        asks, body = _parts(text[:_READ])
        self.expects_quote = not body and not self.expects_quote and _announces(asks)
        del self.said[:-_MOST_STATEMENTS]
        return False

    def holds_forgotten(self, text: str) -> bool:
        """Whether a text says what the person asked to forget."""
        found = stems(text)
        return any(len(topic & found) >= max(2, len(topic) * 0.6) for topic in self.forgotten)

    def lines(
        self, still: "PersonalStatements", without: AbstractSet[str] = frozenset()
    ) -> Iterator[tuple[str, int]]:
        """What was said and still holds, by message, with its speaker, and the number of the message.

        Sentences `without` which it is told stand elsewhere in the summary.
        """
        holds = set(still.said)
        current = [one for one in self.said if one in holds and one.text not in without]
        for (source, about), group in groupby(current, key=lambda one: (one.source, one.about)):
            texts: list[str] = []
            for one in group:
                if texts and sum(map(len, texts)) + len(one.text) > _LONGEST_LINE:
                    yield f"{_SPEAKERS[about]}: {' '.join(texts)}", source
                    texts = []
                texts.append(one.text)
            yield f"{_SPEAKERS[about]}: {' '.join(texts)}", source

    def about_the_user(self) -> set[str]:
        """The sentences in which the person speaks of themselves and asks nothing of the reader."""
        return {
            one.text
            for one in self.said
            if one.is_own
            and one.about == "user"
            and not one.is_question
            and not _words().addressed.search(one.text.lower())
        }

    def _forget(self, topic: frozenset[str], source: int) -> None:
        if not topic:
            return
        self.forgotten.append(topic)
        found = [(self._nearness(topic, one), one) for one in self.said]
        # People mostly mean what was talked about just now, and say it in other words than before. Where a lot was
        # said about it, all of the message goes: it is better to forget too much than too little.
        recent = {one.source for near, one in found if near > 0 and one.source >= source - _RECENT_MESSAGES}
        if not recent and all(near < _NEAR for near, _ in found):
            recent = set(sorted({one.source for one in self.said})[-_RECENT_STATEMENTS:])
        self.said = [one for near, one in found if near < _NEAR and one.source not in recent]

    def _nearness(self, topic: frozenset[str], one: PersonalStatement) -> float:
        """How much of a topic a statement is about: rare words tell more than common ones."""
        shared = topic & one.words
        if len(shared) < min(2, len(topic)):
            return (
                0.0
                if not shared
                else _ALLUSION * self._rarity(next(iter(shared))) / math.log(len(self.said) + 2)
            )
        return sum(map(self._rarity, shared)) / sum(map(self._rarity, topic))

    def _rarity(self, word: str) -> float:
        count = sum(word in one.words for one in self.said)
        return math.log((len(self.said) + 2) / (count + 1))

    def _replace(self, new: PersonalStatement) -> None:
        """A change of mind takes the place of what was said before about the same."""
        self.said = [
            one
            for one in self.said
            if one.about != new.about or not one.words or self._nearness(one.words, new) < _SAME_SUBJECT
        ]

    def _turn_round(self, new: PersonalStatement) -> None:
        """What the person denies now is outdated, where they said it before: both name the same two rare things."""
        self.said = [
            one
            for one in self.said
            if one.about != "user"
            or one.source == new.source
            or _denies(one.text)
            or not self._names_the_same(one.words & new.words)
        ]

    def _names_the_same(self, shared: frozenset[str]) -> bool:
        if len(shared) < _LEAST_NAMED:
            return False
        counts = [sum(word in one.words for one in self.said) for word in shared]
        return sum(count <= _RARE for count in counts) >= _LEAST_NAMED


def statements_in(text: str, source: int, is_quote: bool = False) -> Iterator[PersonalStatement]:
    """The sentences of a message that say something, each with whom it is about.

    `is_quote` says that the message before announced a text of somebody else, which this one then is.
    """
    asks, body = _parts(text[:_READ])
    is_of_others = bool(body) and _is_of_others(asks, body)
    yield from _statements_of(asks, source, is_quote)
    yield from _statements_of(body, source, is_quote or is_of_others)


def _statements_of(part: str, source: int, quoted: bool) -> Iterator[PersonalStatement]:
    # A text without a first person that speaks of somebody is about them from its beginning.
    about_other = not _speaks_of_self(part) and _speaks_of_others(part)
    for sentence in _sentences(part):
        found = stems(sentence)
        if len(found) < _LEAST_WORDS or _words().asks.search(sentence.lower()):
            continue
        names_other = _speaks_of_others(sentence)
        is_own = _speaks_of_self(sentence) and not _is_subject(sentence)
        # Who was named before is still meant until the person speaks of themselves alone: "I know he's tired".
        is_own = is_own and not (about_other and names_other)
        about_other = not is_own and (about_other or names_other)
        about: About = "quoted" if quoted else "other" if about_other else "user"
        said = redact(" ".join(sentence.split()))
        short = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
        is_question = sentence.rstrip().endswith(("?", "？"))
        yield PersonalStatement(short, about, source, is_question, is_own, found)


def forgotten_in(sentence: str) -> str | None:
    """What a sentence asks to forget; None where it asks for nothing of the kind."""
    low = sentence.strip().lower().replace("’", "'")
    found = _words().forget.match(low)
    if found:
        return low[found.end() :]
    return _words().forget_signs.sub("", low) if _words().forget_signs.search(low) else None


def stems(text: str) -> frozenset[str]:
    """The beginnings of the words that a text is about; of scripts without spaces, pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower().replace("’", "'")):
        if _UNSPACED.search(word):
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
        elif len(word) >= 3 and word not in _words().empty:
            found.add(word[:_STEM])
    return frozenset(found)


def _parts(text: str) -> tuple[str, str]:
    """What a person asks, and the text that they bring along after it."""
    found = _BLANK.search(text)
    if found is None:
        return text, ""
    return text[: found.start()], text[found.end() :]


def _sentences(text: str) -> Iterator[str]:
    return (piece.strip(" \"“”'-*#>") for piece in _SENTENCE.split(text) if piece.strip())


def _announces(asks: str) -> bool:
    """Whether a person says that a text is from somebody else."""
    return _words().received.search(asks.lower()) is not None


def _is_of_others(asks: str, body: str) -> bool:
    return _announces(asks) or _SIGNED.search(body.strip()) is not None


def _changes(sentence: str) -> bool:
    low = sentence.lower().replace("’", "'")
    return _words().change.search(low) is not None or _words().change_signs.search(low) is not None


def _denies(sentence: str) -> bool:
    return _words().denies.search(sentence.lower().replace("’", "'")) is not None


def _speaks_of_self(sentence: str) -> bool:
    return (
        not _words().own.isdisjoint(_lower_words(sentence)) or _words().own_signs.search(sentence) is not None
    )


def _speaks_of_others(sentence: str) -> bool:
    words = _words()
    spoken = (word.partition("'")[0] for word in _lower_words(sentence))  # he's, friend's
    return not words.others.isdisjoint(spoken) or words.other_signs.search(sentence) is not None


def _is_subject(sentence: str) -> bool:
    """Whether a sentence begins with somebody else: "He told me …", "My neighbour …", "A friend of mine …"."""
    first = list(_lower_words(sentence[:60]))[:_SUBJECT_WORDS]
    if not first:
        return _words().other_signs.match(sentence.lstrip()) is not None
    return first[0] in {*_words().others, "they"} or (
        first[0] in _words().before_others and not _words().others.isdisjoint(first[1:])
    )


def _lower_words(text: str) -> Iterable[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True, slots=True)
class _PersonalWords:
    """The data file, ready to be matched."""

    forget: re.Pattern[str]
    forget_signs: re.Pattern[str]
    change: re.Pattern[str]
    change_signs: re.Pattern[str]
    denies: re.Pattern[str]
    addressed: re.Pattern[str]
    own: frozenset[str]
    own_signs: re.Pattern[str]
    others: frozenset[str]
    before_others: frozenset[str]
    other_signs: re.Pattern[str]
    received: re.Pattern[str]
    asks: re.Pattern[str]
    empty: frozenset[str]


@cache
def _words() -> _PersonalWords:
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("personal.toml").read_text("utf-8"))
    polite, forget, change = (_any(data[key]) for key in ("polite", "forget", "change"))
    return _PersonalWords(
        re.compile(rf"(?:{polite}[\s,:]*)*(?:{forget})(?!\w)"),
        re.compile(data["forget_signs"]),
        re.compile(rf"(?<!\w)(?:{change})(?!\w)"),
        re.compile(data["change_signs"]),
        re.compile(rf"(?<!\w)(?:{_any(data['denies'])})(?!\w)|{data['denies_signs']}"),
        re.compile(rf"(?<!\w)(?:{_any(data['addressed'])})(?!\w)|{data['addressed_signs']}"),
        frozenset(data["own"]),
        re.compile(_any(data["own_signs"])),
        frozenset(data["others"]),
        frozenset(data["before_others"]),
        re.compile(_any(data["other_signs"])),
        re.compile(data["received"]),
        re.compile(data["asks"]),
        frozenset(data["empty"]),
    )


def _any(phrases: Iterable[str]) -> str:
    ordered = sorted(phrases, key=len, reverse=True)
    return "(?:" + "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in ordered) + ")"

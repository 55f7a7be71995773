"""Reads the statements in one message of a person: what they say, and about whom.

"I started baking rye bread on Sundays."        the user, about the user
"My neighbour keeps bees."                      the user, about someone else
a mail that the user received and pastes        someone else's words
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from plimsoll.context.ledger.attributes import change_in
from plimsoll.context.ledger.personal_words import personal_words
from plimsoll.context.ledger.speakers import is_about_someone_else, speaks_of_others, speaks_of_self
from plimsoll.secrets import redact

About = Literal["user", "other", "quoted"]
SENTENCE = re.compile(r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)[\"”’)]*\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
MARKS = " \"“”'-*#>"  # around a sentence
_BLANK = re.compile(r"\n\s*\n|\n-{3,}\n")
_STEM = 5  # leading letters that identify a word in all its forms: bake, baked, baking
_LONGEST = 260
SPEAKERS: dict[About, str] = {
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
_MIN_WORDS, _MIN_OWN_WORDS = 4, 2
READ = 6_000  # characters of a message; a longer one is a document


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
        return f"{SPEAKERS[self.about]}: {self.text}"


def statements_in(text: str, source: int, is_quote: bool = False) -> Iterator[PersonalStatement]:
    """The statements in a message, each with its subject.

    `is_quote`: the previous message announced someone else's text, and this is it.
    """
    asks, body = parts_of(text[:READ])
    is_of_others = bool(body) and _is_of_others(asks, body)
    yield from _statements_of(asks, source, is_quote)
    yield from _statements_of(body, source, is_quote or is_of_others)


def _statements_of(part: str, source: int, quoted: bool) -> Iterator[PersonalStatement]:
    # A text about someone, without the first person, is about them from its beginning.
    about_other = not speaks_of_self(part) and speaks_of_others(part)
    for sentence in sentences_of(part):
        found = stems(sentence)
        names_other = speaks_of_others(sentence)
        is_own = speaks_of_self(sentence) and not is_about_someone_else(sentence)
        if len(found) < _fewest_words(sentence, is_own) or personal_words().asks.search(sentence.lower()):
            continue
        # The subject stays the same until the person speaks only of themselves: "I know he's tired".
        is_own = is_own and not (about_other and names_other)
        about_other = not is_own and (about_other or names_other)
        about: About = "quoted" if quoted else "other" if about_other else "user"
        said = redact(" ".join(sentence.split()))
        short = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
        is_question = sentence.rstrip().endswith(("?", "？"))
        yield PersonalStatement(short, about, source, is_question, is_own, found)


def _fewest_words(sentence: str, is_own: bool) -> int:
    """How many content words a statement needs; people often tell about themselves in a few words."""
    is_plain = not sentence.rstrip().endswith(("?", "？")) and (is_own or change_in(sentence) is not None)
    return _MIN_OWN_WORDS if is_plain else _MIN_WORDS


def stems(text: str) -> frozenset[str]:
    """The stems of a text's content words; in scripts without spaces, pairs of characters."""
    found: set[str] = set()
    for word in set(_WORD.findall(text.lower().replace("’", "'"))):
        if _UNSPACED.search(word):
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
        elif len(word) >= 3 and word not in personal_words().empty:
            found.add(word[:_STEM])
    return frozenset(found)


def parts_of(text: str) -> tuple[str, str]:
    """A person's request, and the text that follows it."""
    found = _BLANK.search(text)
    if found is None:
        return text, ""
    return text[: found.start()], text[found.end() :]


def sentences_of(text: str) -> Iterator[str]:
    return (piece.strip(MARKS) for piece in SENTENCE.split(text) if piece.strip())


def announces_a_quote(asks: str) -> bool:
    """Whether a person says that a text is someone else's."""
    return personal_words().received.search(asks.lower()) is not None


def _is_of_others(asks: str, body: str) -> bool:
    return announces_a_quote(asks) or _SIGNED.search(body.strip()) is not None

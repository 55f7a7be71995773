"""The sentences of a message, and for each item of a list the line that introduces the list.

Please keep to this:          introduces a list and rules nothing by itself
- Tabs in the importer.       an item: a rule because of the line above
Never do any of this:
- Push to main.               "Never do any of this – Push to main.": alone it would say the opposite
Then port the parser.         an ordinary sentence
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from plimsoll.context.ledger.constraint_words import (
    constraint_in,
    demand_in,
    may_be_constraint,
    without_states,
)
from plimsoll.context.ledger.people_words import word_group
from plimsoll.context.ledger.polarity import denies
from plimsoll.context.ledger.sentences import sentences_of
from plimsoll.context.ledger.statements import beginning_of, bounded_sentence
from plimsoll.context.ledger.words import content_words
from plimsoll.secrets import redact

_ITEM = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.)])\s+(?=\S)")
_INTRODUCES = re.compile(r"[:：][\s*_]*$")
_MARKUP = re.compile(r"[\s>*#+-]*")
_HEADINGS = re.compile(r"^[ \t]*[#>].*$", re.MULTILINE)
_EACH_TIME = re.compile(r"\b(?:every|each|all|everything|everywhere|before|after) ?\b")
_READ = 4_000  # characters of a rules file in which limits are looked for
BETWEEN = " – "  # no sign that separates clauses: the denial in front holds for the item


class ListedSentence(NamedTuple):
    """A sentence, and the line that introduces its list."""

    text: str
    introduction: str = ""

    @property
    def is_rule(self) -> bool:
        """Whether the introduction makes rules of its items; "we don't have these yet:" only describes."""
        demanded = without_states(self.introduction)
        return bool(self.introduction) and word_group("introduces").found_in(demanded)

    @property
    def is_limited(self) -> bool:
        """Whether the introduction states a rule, not only that a list follows."""
        if not self.introduction:
            return False
        lays_out = word_group("lays_out").found_in(self.introduction.lower())
        return lays_out or self.is_rule or demand_in(self.introduction) is not None

    @property
    def in_full(self) -> str:
        """The sentence, after its introduction if that denies it or names its subject."""
        if not self.is_limited or (self.is_rule and _only_announces(self.introduction)):
            return self.text
        return f"{self.introduction.rstrip(':： ')}{BETWEEN}{self.text}"

    def bounded(self, at: int) -> str:
        """The whole sentence, shortened if it is very long; `at` is the position of the words that set the limit."""
        return bounded_sentence(self.in_full, at if self.in_full == self.text else 0)


def listed_sentences(text: str) -> Iterator[ListedSentence]:
    """The sentences of a text in order; a line that only introduces a list is not a sentence."""
    open_lists: list[tuple[int, str]] = []  # the indent of each introduction, and its words
    lines = [line for line in text.splitlines() if line.strip()]
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        open_lists = _still_open(open_lists, line)
        # A list inside of another one is about what its own line says, by the rule of the outer one.
        introduction = open_lists[0][1] if open_lists else ""
        about = "".join(f"{one.rstrip(':： ')}{BETWEEN}" for _, one in open_lists[1:])
        sentences = [one for one in map(_plain, sentences_of(_unmarked(_ITEM.sub("", line, count=1)))) if one]
        outer = _indent(line) if _ITEM.match(line) else _indent(line) - 1
        if sentences and _introduces(line, following, outer):
            open_lists.append((outer, sentences.pop()))
        yield from (ListedSentence(about + one, introduction) for one in sentences)


def _still_open(lists: list[tuple[int, str]], line: str) -> list[tuple[int, str]]:
    """The lists that a line belongs to; an unindented line that is not an item ends all of them."""
    indent = _indent(line)
    return [one for one in lists if one[0] < indent] if _ITEM.match(line) or indent else []


def _introduces(line: str, following: str, indent: int) -> bool:
    """Whether a line introduces the list that starts on the next line."""
    return bool(_INTRODUCES.search(line) and _ITEM.match(following)) and indent < _indent(following)


def constraints_in(text: str) -> Iterator[str]:
    """The sentences of a rules file that set a limit, verbatim."""
    if may_be_constraint(text[:_READ]):
        for said in listed_sentences(_HEADINGS.sub("", redact(beginning_of(text, _READ)))):
            found = constraint_in(said.text)
            if (found or said.is_rule or _is_standing_order(said.text)) and (
                bounded := said.bounded(found.start() if found else 0)
            ):
                yield bounded


def _is_standing_order(sentence: str) -> bool:
    """Whether a sentence of a rules file orders what to do each time: "Run `make lint` before every commit." """
    lowered = sentence.lower()
    is_order = any(word_group(name).opens(lowered) for name in ("acts", "commands", "keeps"))
    return is_order and _EACH_TIME.search(lowered) is not None


def _only_announces(introduction: str) -> bool:
    """Whether a line only says that rules follow."""
    return not denies(introduction) and content_words(introduction) <= _announcing_words()


@cache
def _announcing_words() -> frozenset[str]:
    groups = (word_group(name).words for name in ("introduces", "announces"))
    return content_words(" ".join(word for words in groups for word in words))


def _plain(sentence: str) -> str:
    return " ".join(_unmarked(sentence).split())


def _unmarked(text: str) -> str:
    """The text without marks at its start and without bold."""
    start = _MARKUP.match(text)
    return text[start.end() if start else 0 :].replace("**", "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""Whether a long message is a document that the user pasted, without a word that announces it.

    Skip to content                     ┐
    Home | Products | Contact           │ a pasted page: it contains no rules of the user
    Tea has been grown here since …     │
    © 2026 The Tea Company              ┘
    How many kinds do they sell?          the user's own line

A score counts evidence for and against a document: the remains of a page or letter, running text, and an adjacent
line that asks to read it count for it; demands in many sentences, requests, the first person and the headings of a
task count against it. The words are data (`pasted.toml`).
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.sentences import sentences_of

SHORTEST = 450  # letters; people write shorter messages themselves
_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)  # one of these characters counts as three letters
_LONGEST_ADJACENT = 300  # characters of an adjacent paragraph
_LONGEST_FURNITURE = 90  # of a line of navigation, a byline, a date
_READ = 20_000  # characters to examine; more text does not change the result
_RUNNING, _RUNNING_UNSPACED = (
    150,
    60,
)  # characters of a line of running text; scripts without spaces need fewer
_MAX_FURNITURE = 4
# The weights and limits are the coarsest that separate the messages of tests/context/pasted_messages.toml. In
# recorded conversations (4,737 user messages) they classify 45 as documents, none of which states a rule of its user.
_ENOUGH = 4
_MANY_DEMANDS, _SOME_DEMANDS = 0.25, 0.12  # share of the sentences that set a limit
_MANY_ASKS = 0.12
_MUCH_FIRST_PERSON = 0.3
_MANY_ORDERS = 0.3  # share of the lines that begin with an order
_OPENING = 40  # characters of a paragraph in which a request to read begins
_BLANK = re.compile(r"\n[ \t]*\n")
_LETTERS = re.compile(r"\w")


class PastedSpan(NamedTuple):
    """The part of a text that was pasted."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Words:
    """The compiled patterns of the data file."""

    furniture: re.Pattern[str]
    salutation: re.Pattern[str]
    closing: re.Pattern[str]
    asks: re.Pattern[str]
    first_person: re.Pattern[str]
    task_heading: re.Pattern[str]
    imperative: re.Pattern[str]
    persona: re.Pattern[str]
    reading: re.Pattern[str]


def pasted_in(text: str) -> PastedSpan | None:
    """The document in a message, without the user's own adjacent paragraph; None if there is none."""
    if len(text) < SHORTEST // 3 or letters(text) < SHORTEST:
        return None
    return _found_in_short(text) if len(text) <= _READ else _found_in(text)


def _found_in(text: str) -> PastedSpan | None:
    before, after = _own_paragraphs(text)
    body = text[before : len(text) - after]
    if letters(body) < SHORTEST or _begins_a_task(text):
        return None
    is_document = _is_document(body[:_READ], _ENOUGH - (2 if before or after else 0))
    return PastedSpan(before, len(text) - after) if is_document else None


# Several readers of one compaction ask about the same messages.
_found_in_short = lru_cache(maxsize=256)(_found_in)


def _begins_a_task(text: str) -> bool:
    """Whether the first lines give an order or define the agent's role; a page may do so later."""
    lines = [line for line in text[:_READ].lower().splitlines() if line.strip()][:3]
    return bool(lines and _words().imperative.match(lines[0])) or any(map(_words().persona.search, lines))


def _own_paragraphs(text: str) -> tuple[int, int]:
    """The lengths of the user's own first and last paragraph; 0 if it belongs to the document.

    A paragraph that only gives orders does not count as the user's, because a page may start or end with one.
    """
    first = _BLANK.search(text)
    before = first.end() if first and _is_reading(text[: first.start()]) else 0
    last = max(text.rfind("\n\n"), text.rfind("\n \n"))
    if last <= before or not _is_reading(text[last:]):
        last = text.rfind("\n")
        if last <= before or not text.rstrip().endswith(("?", "？", "؟")) or not _is_reading(text[last:]):
            last = len(text)
    return before, len(text) - last


def _is_reading(paragraph: str) -> bool:
    """Whether a short paragraph asks something, or asks to read."""
    text = paragraph.strip()
    if not text or len(text) > _LONGEST_ADJACENT:
        return False
    return text.endswith(("?", "？", "؟")) or _words().reading.search(text[:_OPENING].lower()) is not None


def _is_document(body: str, enough: int) -> bool:
    """Whether the signs of a document exceed those of the user's own words by `enough`."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    sentences = [sentence for sentence in sentences_of(body) if _LETTERS.search(sentence)]
    if not lines or not sentences:
        return False
    is_letter = _is_letter(lines)
    spare = _signs_of_a_document(lines, is_letter) - enough
    # The signs of own words only count against it, and take far longer to find.
    return spare >= 0 and _signs_of_own_words(lines, sentences, is_letter) <= spare


def _is_letter(lines: list[str]) -> bool:
    """Whether the lines begin with a salutation and end with a closing."""
    closing = (_words().closing.fullmatch(line.lower()) for line in lines[-4:])
    return _words().salutation.fullmatch(lines[0].lower()) is not None and any(closing)


def _signs_of_a_document(lines: list[str], is_letter: bool) -> int:
    """Remains of a page or letter, running text, a title."""
    short = [line.lower() for line in lines if len(line) <= _LONGEST_FURNITURE]
    furniture = _matching(_words().furniture.fullmatch, short)
    running = sum(len(line) >= (_RUNNING if line.isascii() else _RUNNING_UNSPACED) for line in lines)
    remains = min(furniture, _MAX_FURNITURE) + 2 * is_letter + bool(furniture or is_letter)
    return remains + min(running, 2) + _is_title(lines)


def _signs_of_own_words(lines: list[str], sentences: list[str], is_letter: bool) -> int:
    """Demands, requests, the first person and the headings and orders of a task."""
    words, lowered_sentences, lowered = (
        _words(),
        [sentence.lower() for sentence in sentences],
        [line.lower() for line in lines],
    )
    demands = _matching(constraint_in, sentences) / len(sentences)
    asks = _matching(words.asks.search, lowered_sentences)
    has_many_asks = asks >= 2 and asks / len(lowered_sentences) >= _MANY_ASKS
    is_own = (
        _matching(words.first_person.search, lowered_sentences) / len(lowered_sentences) >= _MUCH_FIRST_PERSON
        and not is_letter
    )
    has_task_heading = any(map(words.task_heading.fullmatch, lowered))
    has_many_orders = _matching(words.imperative.match, lowered) / len(lowered) >= _MANY_ORDERS
    against = 3 * (demands >= _MANY_DEMANDS) or int(demands >= _SOME_DEMANDS)
    return against + 2 * has_many_asks + 2 * is_own + 3 * has_task_heading + 2 * has_many_orders


def _matching(found: Callable[[str], object], texts: list[str]) -> int:
    """The number of matching texts."""
    return sum(found(text) is not None for text in texts)


def _is_title(lines: list[str]) -> bool:
    """Whether a text starts like a document: a short line without a full stop, then a longer one."""
    return len(lines) > 1 and len(lines[0]) <= _LONGEST_FURNITURE < len(lines[1]) and lines[0][-1].isalnum()


def letters(text: str) -> int:
    """The length of a text in equivalent alphabetic letters."""
    if len(text) >= SHORTEST or text.isascii():
        return len(text)
    return len(text) + 2 * len(_UNSPACED.findall(text))


@cache
def _words() -> _Words:
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("pasted.toml").read_text("utf-8"))
    return _Words(
        re.compile("|".join(f"(?:{item})" for item in data["furniture"])),
        re.compile("|".join(data["salutations"])),
        re.compile("|".join(data["closings"])),
        re.compile(data["asks"]),
        re.compile(data["first_person"]),
        re.compile(data["task_headings"]),
        re.compile(data["imperatives"]),
        re.compile(data["personas"]),
        re.compile(data["readings"]),
    )

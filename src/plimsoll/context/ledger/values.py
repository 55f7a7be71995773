"""Whether a sentence states a new value for something in an earlier sentence.

    "The port is 8080."          superseded by   "We moved the port to 9090."
    "Keep 7 daily dumps."        superseded by   "Keep 10 daily dumps instead of 7."
    "The port is 8080."          not by          "The timeout is now 9090 ms."

Two values are about the same thing if the same word is shortly before both, or after both. The newer sentence must
say that something changed, so that two facts of one kind ("gate 12 boards first, gate 14 second") both hold.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from plimsoll.context.ledger.people_words import word_group
from plimsoll.context.ledger.words import content_words

_WORD = re.compile(r"[^\s,;()\[\]\"“”]+")
_VALUE = re.compile(r"(?:[$€£#v]?\d[\d.,:/-]*\d|\d)(?:%|[a-zA-Z]{1,3})?")
_DIGITS = re.compile(r"\d+")
_PUNCTUATION = str.maketrans('.,;:!?()[]"`*', " " * 13)
_BEFORE, _AFTER = 4, 2  # words around a value that identify its subject


def supersedes(newer: str, earlier: str) -> bool:
    """Whether the newer sentence replaces the value that the earlier one states."""
    now = _new_values(newer)
    before = _values(earlier) if now else ()
    if not before or newer == earlier:
        return False
    known = {message.text for message in before}
    return any(item.is_of_the_same(other) for item in now if item.text not in known for other in before)


def may_supersede(sentence: str) -> bool:
    """Whether a sentence can replace a value; a cheap check."""
    return bool(_new_values(sentence))


@lru_cache(maxsize=2_048)
def _new_values(sentence: str) -> "tuple[_Value, ...]":
    """The new values in a sentence; empty if it does not state a change."""
    if _DIGITS.search(sentence) is None:
        return ()
    lowered = _lower(sentence)
    if lowered.isascii() and _hints().isdisjoint(lowered.translate(_PUNCTUATION).split()):
        return ()
    if not word_group("changes").found_in(lowered):
        return ()
    return tuple(value for value in _values(sentence) if not value.is_old)


@cache
def _hints() -> frozenset[str]:
    """The longest word of each phrase that states a change, because searching for words is cheaper."""
    return frozenset(max(phrase.split(), key=len) for phrase in word_group("changes").words)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value in a sentence, and the words that identify its subject."""

    text: str
    shape: str
    before: frozenset[str]
    after: frozenset[str]
    is_old: bool  # the sentence says that this was the value: "instead of 7"

    def is_of_the_same(self, other: "_Value") -> bool:
        """Whether both are values of one thing: "port 9090", "10 daily dumps"."""
        shared = self.before & other.before or self.after & other.after
        return self.shape == other.shape and bool(shared)


@lru_cache(maxsize=4_096)
def _values(sentence: str) -> tuple[_Value, ...]:
    return tuple(_read(sentence)) if _DIGITS.search(sentence) else ()


def _read(sentence: str) -> Iterator[_Value]:
    words = [word.strip("`'’.:!?*_") for word in _WORD.findall(sentence)]
    for place, word in enumerate(words):
        if _VALUE.fullmatch(word):
            # 7 and 10 have the same shape; 9:30 and 10 do not.
            shape = _DIGITS.sub("0", word)
            before, after = words[max(0, place - _BEFORE) : place], words[place + 1 : place + 1 + _AFTER]
            is_old = word_group("former").found_in(_lower(" ".join(words[max(0, place - 3) : place])) + " ")
            yield _Value(word, shape, _subject(before), _subject(after), is_old)


def _subject(words: Sequence[str]) -> frozenset[str]:
    named = content_words(" ".join(word for word in words if not _VALUE.fullmatch(word)))
    return named - content_words(" ".join(word_group("changes").words))


def _lower(text: str) -> str:
    return text.lower().replace("’", "'")

"""Matches the word groups of `people.toml` in sentences."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.context.ledger.phrases import any_of

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OPTION = re.compile(r"#?\d{1,2}|[a-z]")
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u3040-\u30ff\u3400-\u9fff]")
# To the end of a clause.
_TO_THE_END = r"(?:(?!\b(?:but|aber|sondern|pero|sino|mas|mais|но)\b)[^,;.!?()，、。；])*"
_LONGEST_REPLY = 8  # words
_LONGEST_UNSPACED_REPLY = 10  # signs


class WordGroup:
    """Words, signs and patterns of one kind, as one pattern over lower-case text."""

    def __init__(self, words: Sequence[str], signs: Sequence[str], patterns: Sequence[str] = ()) -> None:
        self.words = frozenset(words)
        self.signs = tuple(signs)
        whole = [rf"(?<![\w'’]){any_of(self.words)}(?![\w'’])"] if words else []
        self._pattern = re.compile("|".join(whole + [f"(?:{pattern})" for pattern in patterns]) or r"(?!)")
        self._signs = re.compile("|".join(map(re.escape, sorted(signs, key=len, reverse=True))) or r"(?!)")

    def found_in(self, lowered: str) -> bool:
        """Whether a lower-case text contains one of them."""
        if self._pattern.search(lowered):
            return True
        return not lowered.isascii() and self._signs.search(lowered) is not None

    def removed(self, lowered: str) -> str:
        """A lower-case text without them."""
        return self._signs.sub(" ", self._pattern.sub(" ", lowered))

    def last_in(self, lowered: str) -> int:
        """Where the last of them ends in a lower-case text; -1 if it contains none."""
        found = (*self._pattern.finditer(lowered), *self._signs.finditer(lowered))
        return max((match.end() for match in found), default=-1)

    def opens(self, lowered: str) -> bool:
        """Whether a lower-case text starts with one of the words, or contains one of the signs."""
        if self._pattern.match(lowered):
            return True
        return not lowered.isascii() and self._signs.search(lowered) is not None

    def begins(self, lowered: str) -> bool:
        """Whether a lower-case text starts with one of the words or signs."""
        return bool(self._pattern.match(lowered) or self._signs.match(lowered))

    def without_clauses(self, lowered: str) -> str:
        """The text without the words and what follows them in the same clause."""
        return re.sub(rf"(?:{self._pattern.pattern}){_TO_THE_END}", " ", lowered)

    def after(self, lowered: str) -> str:
        """The text after the leading words of the group."""
        while found := self._pattern.match(lowered):
            rest = lowered[found.end() :].lstrip(" ,.:;!-–—")
            if not found[0] or rest == lowered:
                break
            lowered = rest
        return lowered

    def after_first(self, lowered: str) -> str:
        """The text after the first of the words in it; empty if it contains none."""
        found = self._pattern.search(lowered)
        return lowered[found.end() :].lstrip(" ,") if found else ""

    def without(self, lowered: str) -> str:
        """The text without the words and signs of the group."""
        return self._signs.sub(" ", self._pattern.sub(" ", lowered))

    def without_signs(self, lowered: str) -> str:
        """The text without the signs of the group."""
        return self._signs.sub("", lowered)


@cache
def people() -> dict[str, Any]:
    """The data file, read once, because reading it takes longer than a small compaction."""
    return tomllib.loads(files("plimsoll.context.ledger").joinpath("people.toml").read_text("utf-8"))


@cache
def word_group(name: str) -> WordGroup:
    """The words of one group of the data file."""
    group = people()[name]
    return WordGroup(group["words"], group["signs"], group.get("patterns", ()))


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, in order."""
    return _WORD.findall(text.lower().replace("’", "'"))


def is_reply(text: str) -> bool:
    """Whether a message has no content of its own: yes, no, an option, go on."""
    lowered = text.lower().strip()
    if _UNSPACED.search(lowered):
        rest = re.sub(r"[\s。、！？!?,.…]+", "", word_group("replies").without_signs(lowered))
        return len(lowered) <= _LONGEST_UNSPACED_REPLY and not rest
    words = words_in(lowered)
    known = word_group("replies").words
    return len(words) <= _LONGEST_REPLY and all(word in known or _OPTION.fullmatch(word) for word in words)


def refers_back(text: str) -> bool:
    """Whether a text refers to an earlier message."""
    return word_group("refers").found_in(text.lower().replace("’", "'"))

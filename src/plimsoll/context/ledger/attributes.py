"""Which clauses of earlier sentences a later sentence replaces: the latest value of the same attribute holds.

    "I live in Lisbon, and I work as a nurse."       followed by "Actually we moved to Porto."
    └─► "I work as a nurse."
    "My car is an old Golf."                         followed by "I sold the Golf and drive a Skoda."
    └─► nothing

The words are data (`attributes.toml`). A sentence that states no change replaces nothing, except for attributes that
have one value by nature, such as the name by which a person wants to be called.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from plimsoll.context.ledger.personal_words import personal_words
from plimsoll.context.ledger.words import content_words

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SHORTEST_CLAUSE = 3  # words
_FEWEST_LEFT = 2  # content words of a clause that says something by itself
_NAMED = re.compile(r"\b[A-ZÄÖÜÁÉÍÓÚ][\w'’-]+")
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class _Attribute:
    name: str
    words: tuple[re.Pattern[str], ...]
    always: bool  # it has one value, so that a new one needs no words of change
    valued: bool  # only a clause with a number, day or month states it


@dataclass(frozen=True, slots=True)
class _ChangeWords:
    changes: re.Pattern[str]
    former: re.Pattern[str]
    values: re.Pattern[str]
    clauses: re.Pattern[str]
    about: re.Pattern[str]
    attributes: tuple[_Attribute, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a sentence says anew, and what it says is over."""

    attributes: frozenset[str]
    over: frozenset[str]  # the words of clauses that say what no longer holds
    subjects: frozenset[str]  # what its values are for

    def leaves(self, sentence: str) -> str:
        """The part of an earlier sentence that still holds; the sentence itself if it is not touched."""
        clauses = _clauses(sentence)
        left = [one for one in clauses if not self._replaces(one)]
        if len(left) == len(clauses):
            return sentence
        kept = ", ".join(left).strip()
        if len(content_words(kept)) < _FEWEST_LEFT:
            return ""
        return kept if left[0] is clauses[0] else f"[…] {kept}"

    def replaces_any_of(self, sentence: str) -> bool:
        """Whether a part of the sentence no longer holds."""
        return self.leaves(sentence) != sentence

    def _replaces(self, clause: str) -> bool:
        if self.over & _telling(clause):
            return True
        shared = self.attributes & {name for name, _ in _attributes_in(clause)}
        if not shared:
            return False
        subjects = _subjects(clause)
        return not (subjects and self.subjects) or bool(subjects & self.subjects)


@lru_cache(maxsize=1_024)
def change_in(sentence: str) -> Change | None:
    """What a sentence replaces; None for nearly all sentences."""
    if len(sentence) > _LONGEST:
        return None
    low = _lower(sentence)
    states = _words().changes.search(low) or personal_words().change.search(low)
    found = {name for name, always in _attributes_in(sentence) if states or always}
    over = frozenset[str]()
    if states or _words().former.search(low):
        ended = [one for one in _clauses(sentence) if _words().former.search(_lower(one))]
        over = frozenset().union(*map(_telling, ended))
    return Change(frozenset(found), over, _subjects(sentence)) if found or over else None


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence; a few words after a comma belong to the clause before them."""
    found: list[str] = []
    for piece in _words().clauses.split(sentence):
        one = piece.strip()
        if found and not _UNSPACED.search(one) and len(one.split()) < _SHORTEST_CLAUSE:
            found[-1] = f"{found[-1]}, {one}" if one else found[-1]
        elif one:
            found.append(one)
    return found


def _telling(clause: str) -> frozenset[str]:
    """The names and rare words by which two clauses speak of the same thing."""
    if _UNSPACED.search(clause):
        return frozenset()
    plain = _words().former.sub(" ", _lower(clause))
    named = {one.lower() for one in _NAMED.findall(clause[1:])}
    return frozenset(word for word in content_words(plain) if len(word) > 3) | named & content_words(plain)


def _subjects(text: str) -> frozenset[str]:
    return content_words(" ".join(found["of"] for found in _words().about.finditer(_lower(text))))


@lru_cache(maxsize=4_096)
def _attributes_in(text: str) -> tuple[tuple[str, bool], ...]:
    return tuple(_read(_lower(text)))


def _read(low: str) -> Iterator[tuple[str, bool]]:
    has_value = _words().values.search(low) is not None
    for attribute in _words().attributes:
        if attribute.valued and not has_value:
            continue
        for pattern in attribute.words:
            for found in pattern.finditer(low):
                of = next((value for value in found.groupdict().values() if value), "")
                yield f"{attribute.name} {of}".strip(), attribute.always


def _lower(text: str) -> str:
    return text.lower().replace("’", "'")


@cache
def _words() -> _ChangeWords:
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("attributes.toml").read_text("utf-8"))
    return _ChangeWords(
        re.compile(data["changes"]),
        re.compile(data["former"]),
        re.compile(data["values"]),
        re.compile(data["clauses"]),
        re.compile(data["about"]),
        tuple(
            _Attribute(
                one["name"],
                tuple(map(re.compile, one["words"])),
                one.get("always", False),
                one.get("valued", False),
            )
            for one in data["attribute"]
        ),
    )

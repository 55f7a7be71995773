"""The compiled words of `personal.toml`."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class PersonalWords:
    """The compiled patterns of the data file."""

    forget: re.Pattern[str]
    forget_signs: re.Pattern[str]
    change: re.Pattern[str]
    change_signs: re.Pattern[str]
    denies: re.Pattern[str]
    addressed: re.Pattern[str]
    own: frozenset[str]
    subjects: frozenset[str]
    own_signs: re.Pattern[str]
    others: frozenset[str]
    before_others: frozenset[str]
    other_signs: re.Pattern[str]
    received: re.Pattern[str]
    asks: re.Pattern[str]
    empty: frozenset[str]


@cache
def personal_words() -> PersonalWords:
    """The words of all groups."""
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("personal.toml").read_text("utf-8"))
    polite, forget, change = (_any(data[key]) for key in ("polite", "forget", "change"))
    return PersonalWords(
        re.compile(rf"(?:{polite}[\s,:]*)*(?:{forget})(?!\w)"),
        re.compile(data["forget_signs"]),
        re.compile(rf"(?<!\w)(?:{change})(?!\w)"),
        re.compile(data["change_signs"]),
        re.compile(rf"(?<!\w)(?:{_any(data['denies'])})(?!\w)|{data['denies_signs']}"),
        re.compile(rf"(?<!\w)(?:{_any(data['addressed'])})(?!\w)|{data['addressed_signs']}"),
        frozenset(data["own"]),
        frozenset(data["subjects"]),
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

"""Whether a sentence sets a limit or states a preference, in two dozen languages.

    "Never push to main."            True
    "绝对不要直接推送到 main。"         True
    "Should we push to main?"        False: a question

The words are data (`demands.toml`). The patterns run only if the text contains a word
that can match.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger.phrases import any_of

_PUNCTUATION = str.maketrans('.,;:!?()[]"`*、。！？।', " " * 18)
# "never do that, ok?" is no question
_TAG = re.compile(
    r",\s(?:ok(?:ay)?|right|please|yes|alright|deal|ja|oder|klar|d'accord|vale|sí|certo)\s?\?\s*\Z",
    re.IGNORECASE,
)
_NOT_A_SENTENCE = ("#", "|", ">", "`")


@dataclass(frozen=True, slots=True)
class _ConstraintWords:
    """The compiled patterns of the data file."""

    hints: frozenset[str]
    pattern: re.Pattern[str]
    signs: re.Pattern[str]
    states: re.Pattern[str]
    narrates: re.Pattern[str]


def may_be_constraint(text: str) -> bool:
    """Whether any sentence of a text can set a limit; a cheap check."""
    words = _words()
    lowered = text.lower()
    if not words.hints.isdisjoint(lowered.translate(_PUNCTUATION).split()):
        return True
    return not text.isascii() and words.signs.search(text) is not None


def constraint_in(sentence: str) -> re.Match[str] | None:
    """The words of a sentence that set a limit; None if it sets none. Headings, tables and questions set none."""
    sentence = _TAG.sub("", sentence)
    if sentence.lstrip().startswith(_NOT_A_SENTENCE) or sentence.rstrip().endswith(("?", "？", "؟")):
        return None
    words = _words()
    found = words.pattern.search(sentence.lower())
    return found if found or sentence.isascii() else words.signs.search(sentence)


def demand_in(sentence: str) -> re.Match[str] | None:
    """The words of a report's line that demand something; "works without internet" describes a state."""
    return constraint_in(without_states(sentence))


def without_states(sentence: str) -> str:
    """A sentence in lower case without the words that only describe how something is."""
    return _words().states.sub(" ", sentence.lower())


def without_narration(sentence: str) -> str:
    """A sentence without the words that only tell what happened: "my order never arrived"."""
    return _words().narrates.sub(" ", sentence)


@cache
def _words() -> _ConstraintWords:
    text = files("plimsoll.context.ledger").joinpath("demands.toml").read_text("utf-8")
    data = tomllib.loads(text)
    phrases = {phrase for group in data["words"].values() for phrase in group}
    signs = {sign for group in data["signs"].values() for sign in group}
    # Search for the longest word of a phrase, which is usually the rarest.
    hints = {max(phrase.split(), key=len) for phrase in phrases}
    hints |= {hint for row in data["patterns"] for hint in row["hints"]}
    patterns = "|".join(row["pattern"] for row in data["patterns"])
    return _ConstraintWords(
        frozenset(hints),
        re.compile(rf"\b{any_of(phrases)}\b|{patterns}"),
        re.compile("|".join(map(re.escape, sorted(signs, key=len, reverse=True)))),
        re.compile("|".join(f"(?:{item})" for item in data["states"]["patterns"])),
        re.compile("|".join(f"(?:{item})" for item in data["narrates"]["patterns"]), re.IGNORECASE),
    )

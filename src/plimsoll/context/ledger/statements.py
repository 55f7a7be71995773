"""What people and agents say outright: limits and preferences, decisions, and items ticked off in a list."""

import re
from collections.abc import Iterator

from plimsoll.context.ledger.constraint_words import constraint_in, may_be_constraint
from plimsoll.secrets import redact

_READ = 4_000  # characters of a message in which such sentences are looked for
_LONGEST = 300
_BEFORE = 120  # characters of a longer sentence that are kept before the words that set the limit
# The shortest sentence that can set a limit; scripts without spaces need fewer characters.
_SHORTEST, _SHORTEST_UNSPACED = 8, 4
_DECISION_WORDS = frozenset({
    "decided", "decision", "chose", "choose", "going", "we'll", "i'll", "instead", "rather", "because", "cause",
    "opted", "turns", "fix", "problem", "issue", "bug", "solution",
})  # fmt: skip
_DECISION = re.compile(
    r"\b(?:decided|decision|chose|choose|opted|going with|i'll use|we'll use|instead of|rather than|root cause"
    r"|turns out|because|the (?:fix|problem|issue|cause|bug|solution) (?:is|was))\b"
)
_PUNCTUATION = str.maketrans('.,;:!?()[]"`*', "             ")
_CHECKBOX = re.compile(r"^\s*[-*] \[( |x)\] (.+)$", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?।])\s+|(?<=[。！？])\s*|\n+")


def constraints_in(text: str) -> Iterator[str]:
    """The sentences of a person that set a limit or a preference, in their own words."""
    if may_be_constraint(text[:_READ]):
        for sentence in SENTENCE.split(redact(text[:_READ])):
            said = " ".join(sentence.strip().splitlines())
            found = constraint_in(said)
            if found and len(said) >= (_SHORTEST if said.isascii() else _SHORTEST_UNSPACED):
                yield said if len(said) <= _LONGEST else _around(said, found.start())


def _around(sentence: str, at: int) -> str:
    """The part of a very long sentence that sets the limit, with a mark where something was left out."""
    start = max(0, at - _BEFORE)
    start = sentence.find(" ", start, at) + 1 or start if start else 0
    part = sentence[start : start + _LONGEST - 2].strip()
    return f"{'…' if start else ''}{part}{'…' if start + _LONGEST - 2 < len(sentence) else ''}"


def decisions_in(text: str) -> Iterator[str]:
    """The sentences of an agent that say what was decided, or what was the matter."""
    if not _DECISION_WORDS.isdisjoint(_words(text)):
        for sentence in SENTENCE.split(redact(text[:_READ])):
            if 20 <= len(sentence) <= 300 and _DECISION.search(sentence.lower()) and sentence[0] != "#":
                yield sentence.strip()


def ticked_in(text: str) -> Iterator[tuple[str, bool]]:
    """The items of a list with boxes, and whether each is done."""
    if "[ ]" in text or "[x]" in text:
        for mark, item in _CHECKBOX.findall(text):
            yield item.strip(), mark == "x"


def _words(text: str) -> list[str]:
    return text[:_READ].lower().translate(_PUNCTUATION).split()

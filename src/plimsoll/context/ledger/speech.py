"""What people and agents say outright: limits and preferences, decisions, and items ticked off in a list."""

import re
from collections.abc import Iterator

from plimsoll.context.redaction import redact

_READ = 4_000  # characters of a message in which such sentences are looked for
_CONSTRAINT_WORDS = frozenset({
    "must", "mustn't", "should", "shouldn't", "make", "rather", "instead", "least", "most", "longer", "never",
    "always", "don't", "dont", "avoid", "prefer", "ensure", "keep", "only", "without", "do", "nie", "niemals",
    "immer", "jamais", "toujours", "nunca", "siempre", "нельзя", "только", "никогда",
})  # fmt: skip
_CONSTRAINT = re.compile(
    r"\b(?:must(?:n't)?|never|always|don'?t|do not|avoid|prefer|ensure|keep (?:to|it|the)|niemals|nie|immer|jamais"
    r"|toujours|nunca|siempre|нельзя|только|никогда|make sure|should(?:n't)?|at (?:most|least)|no longer)\b"
    r"|\b(?:only|without|rather than|instead of) "
)
_CONSTRAINT_SIGNS = ("必须", "不要", "只能", "禁止", "絶対", "しないで", "반드시")
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
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def constraints_in(text: str) -> Iterator[str]:
    """The sentences of a person that set a limit or a preference, in their own words."""
    if not _CONSTRAINT_WORDS.isdisjoint(_words(text)) or _has_sign(text):
        for sentence in SENTENCE.split(redact(text[:_READ])):
            if 8 <= len(sentence) <= 300 and _demands(sentence):
                yield sentence.strip()


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


def _demands(sentence: str) -> bool:
    """Headings, tables and questions set no limit."""
    if sentence.lstrip().startswith(("#", "|", ">", "`")) or sentence.rstrip().endswith("?"):
        return False
    return bool(_CONSTRAINT.search(sentence.lower())) or _has_sign(sentence)


def _has_sign(text: str) -> bool:
    return not text.isascii() and any(sign in text for sign in _CONSTRAINT_SIGNS)


def _words(text: str) -> list[str]:
    return text[:_READ].lower().translate(_PUNCTUATION).split()

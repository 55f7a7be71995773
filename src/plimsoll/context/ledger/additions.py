"""What code adds to a model's summary: little, and only what the model left out and the state of the work is sure of.

    limits in force that the model dropped         restored in the person's words
    the newest request, open items                 added where no line of the model says them
    a check that fails where the model says done   one line that says so

Everything else that code knows stands in the evidence after the headings.
"""

import re
from dataclasses import replace

from plimsoll.context.ledger.entries import CONSTRAINTS, MUST, LedgerEntry
from plimsoll.context.ledger.polarity import contradicts
from plimsoll.context.ledger.words import content_words, overlap

MOST_ADDED = 10  # lines under the headings
ADDED_SHARE = 0.15  # of the tokens that the model wrote
LEAST_ADDED = 240  # tokens: a model that says next to nothing must not lose what people ruled
_ADDED_TO = ("Goal", CONSTRAINTS, "In Progress", "Blocked", "Next Steps")
_SAME = 0.6  # share of a line's words from which on the model has said it
_PASSES = re.compile(
    r"\b(?:tests?|checks?|suite|lint|linter|build|ci)\b[^.\n]{0,60}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|clean)\b"
    r"|\ball (?:tests )?(?:pass|green)\b",
    re.IGNORECASE,
)
_CONTRADICTS = "- Contradicts what is said above: "
SaidLines = list[tuple[str, frozenset[str]]]


def said_lines(said: str) -> SaidLines:
    """The lines of a model with the words of each."""
    return [(line, content_words(line)) for line in said.splitlines() if line.strip()]


def is_said(entry: LedgerEntry, lines: SaidLines) -> bool:
    """Whether a line of the model says what an entry says."""
    if not lines or entry.parent:
        return False
    if entry.section == "Relevant Files" and entry.key.startswith("file:"):
        return False  # the model may name a file; only code counts what happened to it
    if entry.section == CONSTRAINTS:
        return any(entry.text.removeprefix("- ") in line for line, _ in lines)
    words = content_words(entry.text)
    return any(
        entry.text.removeprefix("- ") in line or _says(words, entry.text, line, said) for line, said in lines
    )


def _says(words: frozenset[str], text: str, line: str, said: frozenset[str]) -> bool:
    return len(words) > 1 and overlap(words, said) >= _SAME and not contradicts(line, text)


def may_be_added(entry: LedgerEntry) -> bool:
    """Whether an entry may stand under a heading that a model wrote."""
    return entry.section == CONSTRAINTS or (entry.section in _ADDED_TO and entry.value >= MUST)


def rank(entry: LedgerEntry) -> tuple[float, int, str]:
    """By what an entry goes in before others: its value, and of wishes the newest."""
    is_wish = entry.section == CONSTRAINTS and entry.value < MUST
    return -entry.value, -entry.order if is_wish else entry.order, entry.text


def is_ruled(entry: LedgerEntry) -> bool:
    """Whether an entry is a limit in force, which no other line may displace."""
    return entry.section == CONSTRAINTS and entry.value >= MUST


def added_rank(entry: LedgerEntry, lines: SaidLines) -> tuple[int, bool, float, int, str]:
    """By what an entry is added to a model's text before others.

    Limits in force come first, then the aim and the newest request, then wishes, then open items. Of limits and of
    wishes, those that no line of the model says even in other words come first.
    """
    if entry.section == CONSTRAINTS:
        words = content_words(entry.text)
        is_paraphrased = any(_says(words, entry.text, line, said) for line, said in lines)
        return 0 if is_ruled(entry) else 2, is_paraphrased, *rank(entry)
    is_first = entry.value > MUST or entry.text.startswith(_CONTRADICTS)
    return 1 if is_first else 3, False, *rank(entry)


def with_contradiction(entry: LedgerEntry, said: str) -> LedgerEntry:
    """A failing check as a contradiction, where the model says that checks pass."""
    if not said or entry.section != "Blocked" or not entry.key.startswith("run:") or not _PASSES.search(said):
        return entry
    return replace(entry, text=f"{_CONTRADICTS}{entry.text.removeprefix('- ')}")

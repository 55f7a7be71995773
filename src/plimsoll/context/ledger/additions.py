"""What code adds to a model's summary: only a few certain facts that the model omitted.

    limits in force that the model dropped         restored in the person's words
    the newest request, open items                 added if no line of the model states them
    a failing check that the model reports done    one line that says so

All other facts are in the evidence after the headings.
"""

import re
from dataclasses import replace

from plimsoll.context.ledger.entries import CONSTRAINTS, MUST, LedgerEntry
from plimsoll.context.ledger.polarity import contradicts
from plimsoll.context.ledger.words import content_words, overlap

MOST_ADDED = 10  # lines under the headings
ADDED_SHARE = 0.15  # of the tokens that the model wrote
LEAST_ADDED = 240  # tokens; a very short model summary must not lose people's rules
# Tokens of wishes if a short summary dropped or inverted all rules: ten lines of the usual length.
LEAST_RESTORED = 480
_ADDED_TO = ("Goal", CONSTRAINTS, "In Progress", "Blocked", "Next Steps")
_SAME = 0.6  # minimum share of a line's words for the model to have stated it
_PASSES = re.compile(
    r"\b(?:tests?|checks?|suite|lint|linter|build|ci)\b[^.\n]{0,60}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|clean)\b"
    r"|\ball (?:tests )?(?:pass|green)\b",
    re.IGNORECASE,
)
_CONTRADICTS = "- Contradicts what is said above: "
SaidLines = list[tuple[str, frozenset[str]]]


def said_lines(said: str) -> SaidLines:
    """The model's lines with their words."""
    return [(line, content_words(line)) for line in said.splitlines() if line.strip()]


def is_said(entry: LedgerEntry, lines: SaidLines) -> bool:
    """Whether a line of the model states an entry."""
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
    """Whether an entry may be added under a model's heading."""
    return entry.section == CONSTRAINTS or (entry.section in _ADDED_TO and entry.value >= MUST)


def rank(entry: LedgerEntry) -> tuple[float, int, str]:
    """The sort key of an entry: its value; for wishes, the newest first."""
    is_wish = entry.section == CONSTRAINTS and entry.value < MUST
    return -entry.value, -entry.order if is_wish else entry.order, entry.text


def is_ruled(entry: LedgerEntry) -> bool:
    """Whether an entry is a limit in force, which takes precedence over all other lines."""
    return entry.section == CONSTRAINTS and entry.value >= MUST


def added_rank(entry: LedgerEntry, lines: SaidLines) -> tuple[int, bool, float, int, str]:
    """The sort key for adding entries to a model's text.

    Limits in force come first, then the goal and the newest request, then wishes, then open items. Among limits and
    among wishes, those that no line of the model paraphrases come first.
    """
    if entry.section == CONSTRAINTS:
        words = content_words(entry.text)
        is_paraphrased = any(_says(words, entry.text, line, said) for line, said in lines)
        return 0 if is_ruled(entry) else 2, is_paraphrased, *rank(entry)
    is_first = entry.value > MUST or entry.text.startswith(_CONTRADICTS)
    return 1 if is_first else 3, False, *rank(entry)


def with_contradiction(entry: LedgerEntry, said: str) -> LedgerEntry:
    """A failing check as a contradiction, if the model says that checks pass."""
    if not said or entry.section != "Blocked" or not entry.key.startswith("run:") or not _PASSES.search(said):
        return entry
    return replace(entry, text=f"{_CONTRADICTS}{entry.text.removeprefix('- ')}")

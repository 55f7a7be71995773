"""Compares what a model reports about checks with their newest results.

model   Blocked: test_parse fails     newest run  passed     the line is removed
model   Done: all tests pass          newest run  failed     code adds one line that contradicts it

The words of each language are data (`reported_checks.toml`).
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger.entries import LedgerEntry
from plimsoll.context.ledger.failures import open_failures
from plimsoll.context.ledger.outcomes import check_of
from plimsoll.context.ledger.people_words import WordGroup
from plimsoll.context.ledger.polarity import denies
from plimsoll.context.ledger.state import ConversationFacts, Event
from plimsoll.context.ledger.template import Sections, section_lines
from plimsoll.context.ledger.words import content_words, overlap

CONTRADICTS = "- Contradicts what is said above: "
_BLOCKED = "Blocked"
_CLAUSE = re.compile(r"[;,，；]\s*|[.。](?:\s+|$)|\s(?:and|but|und|aber|y|pero|e|mas|et|mais)\s")
_QUOTED = 0.8  # minimum share of an error's words for a line to quote it
_FEW_WORDS = 3


def without_fixed_failures(written: Mapping[str, str], now: ConversationFacts) -> Sections:
    """The model's sections without failures under Blocked that no longer fail."""
    body = written.get(_BLOCKED, "")
    fixed = _fixed(now)
    if not body or not fixed:
        return dict(written)
    still = open_failures(now)
    old = [
        content_words(line.text)
        for line in now.evidence.lines.values()
        if any(line.source == f"run:{event.line}" and line.position <= event.position for event in fixed)
        and _group("fails").found_in(line.text.lower())
    ]
    kept = [line for line in section_lines(body) if not _is_over(line, fixed, still, old)]
    return {**written, _BLOCKED: "\n".join(kept)}


def with_contradiction(entry: LedgerEntry, model_text: str) -> LedgerEntry:
    """A failing check as a contradiction, if the model says that checks pass."""
    if entry.section != _BLOCKED or not entry.key.startswith("run:") or not says_passed(model_text):
        return entry
    return replace(entry, text=f"{CONTRADICTS}{entry.text.removeprefix('- ')}")


def says_passed(text: str) -> bool:
    """Whether a clause of a text says that checks pass."""
    clauses = (clause for line in text.lower().splitlines() for clause in _CLAUSE.split(line))
    return any(
        _group("passes").found_in(clause)
        and _group("checks").found_in(clause)
        and not _denies_success(clause)
        for clause in clauses
    )


def _denies_success(clause: str) -> bool:
    """Whether a clause says that checks do not pass; "without errors" does not."""
    return _group("fails").found_in(clause) != denies(clause)


def _fixed(now: ConversationFacts) -> list[Event]:
    """The runs of checks that failed and were overcome, or that passed after a failure."""
    return [
        event
        for event in now.commands.values()
        if check_of(event.command, event.outcome) is not None
        and (event.failed_before if not event.outcome.failed else event.line not in now.failing)
    ]


def _is_over(
    line: str, fixed: Iterable[Event], still: Iterable[Event], old: Iterable[frozenset[str]]
) -> bool:
    """Whether a line reports a failure that was fixed, and none that is open."""
    if any(_names(line, name) for name in still):
        return False
    words = content_words(line)
    return any(_names(line, event) for event in fixed) or any(
        len(item) >= _FEW_WORDS and overlap(item, words) >= _QUOTED for item in old
    )


def _names(line: str, event: Event) -> bool:
    """Whether a line says that a check fails, by its command, its program or a test of it."""
    if any(name in line for name in event.failed):
        return True
    if not _group("fails").found_in(line.lower()):
        return False
    check = check_of(event.command, event.outcome)
    return event.line in line or (check is not None and _is_word(check.name, line))


def _is_word(name: str, line: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line) is not None


@cache
def _group(name: str) -> WordGroup:
    text = files("plimsoll.context.ledger").joinpath("reported_checks.toml").read_text("utf-8")
    group = tomllib.loads(text)[name]
    return WordGroup(group["words"], group["signs"])

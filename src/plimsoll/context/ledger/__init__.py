"""What a conversation established, read by code: the source of every summary that no model writes."""

from plimsoll.context.ledger.complete import (
    checked_lines,
    completed,
    for_model,
    model_lines,
    pairs_of,
    within,
    without_model_lines,
)
from plimsoll.context.ledger.facts import Facts, read_facts, skimmed_messages
from plimsoll.context.ledger.outcome import call_line
from plimsoll.context.ledger.outcomes import Outcome, outcome_of
from plimsoll.context.ledger.remembered import Behind, Left, Remembered
from plimsoll.context.ledger.stated import without_unstated
from plimsoll.context.ledger.template import (
    EVIDENCE,
    NONE,
    SECTIONS,
    Sections,
    has_goal_and_progress,
    parse_sections,
    render_evidence,
    render_sections,
)
from plimsoll.context.ledger.terms import plain_words, terms_in
from plimsoll.context.ledger.write import Room, kept_terms, write_sections

__all__ = [
    "EVIDENCE",
    "NONE",
    "SECTIONS",
    "Behind",
    "Facts",
    "Left",
    "Outcome",
    "Remembered",
    "Room",
    "Sections",
    "call_line",
    "checked_lines",
    "completed",
    "for_model",
    "has_goal_and_progress",
    "kept_terms",
    "model_lines",
    "outcome_of",
    "pairs_of",
    "parse_sections",
    "plain_words",
    "read_facts",
    "render_evidence",
    "render_sections",
    "skimmed_messages",
    "terms_in",
    "within",
    "without_model_lines",
    "without_unstated",
    "write_sections",
]

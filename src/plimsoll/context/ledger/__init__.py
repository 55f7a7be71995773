"""What a conversation established, read by code: the source of every summary that no model writes."""

from plimsoll.context.ledger.facts import Facts, read_facts
from plimsoll.context.ledger.outcome import Outcome, call_line, outcome_of
from plimsoll.context.ledger.template import (
    NONE,
    SECTIONS,
    Sections,
    has_goal_and_progress,
    parse_sections,
    render_sections,
)
from plimsoll.context.ledger.write import fill_missing, write_sections

__all__ = [
    "NONE",
    "SECTIONS",
    "Facts",
    "Outcome",
    "Sections",
    "call_line",
    "fill_missing",
    "has_goal_and_progress",
    "outcome_of",
    "parse_sections",
    "read_facts",
    "render_sections",
    "write_sections",
]

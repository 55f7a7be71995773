"""Extracts the facts of a conversation by code, and writes summaries from them without a model."""

from plimsoll.context.ledger.complete import (
    checked_lines,
    completed,
    for_model,
    is_model_line,
    model_lines,
    pairs_of,
    within,
    without_forgotten,
    without_model_lines,
)
from plimsoll.context.ledger.constraint_check import removed_with_reason, without_invented_constraints
from plimsoll.context.ledger.custom_prompt import NOTHING_ADDED, CustomPrompt, read_custom_prompt
from plimsoll.context.ledger.entries import CONSTRAINTS
from plimsoll.context.ledger.facts import read_facts
from plimsoll.context.ledger.outcome import call_line
from plimsoll.context.ledger.outcomes import Outcome, outcome_of
from plimsoll.context.ledger.provenance import SourceReference, SummaryLine, as_json, cited_lines
from plimsoll.context.ledger.reported_checks import without_fixed_failures
from plimsoll.context.ledger.state import ConversationFacts, LineSources, PersonRequest, StatedConstraint
from plimsoll.context.ledger.summary_sources import LoggedSource, SummarySource, SummarySources
from plimsoll.context.ledger.template import (
    EVIDENCE,
    NONE,
    SECTIONS,
    Sections,
    asked_headings,
    has_goal_and_progress,
    parse_sections,
    render_evidence,
    render_sections,
    section_lines,
    titles_of,
)
from plimsoll.context.ledger.terms import plain_words, terms_in
from plimsoll.context.ledger.write import (
    SummaryRoom,
    WrittenSummary,
    kept_terms,
    write_sections,
    write_summary,
)

__all__ = [
    "CONSTRAINTS",
    "EVIDENCE",
    "NONE",
    "NOTHING_ADDED",
    "SECTIONS",
    "ConversationFacts",
    "CustomPrompt",
    "LineSources",
    "LoggedSource",
    "Outcome",
    "PersonRequest",
    "Sections",
    "SourceReference",
    "StatedConstraint",
    "SummaryLine",
    "SummaryRoom",
    "SummarySource",
    "SummarySources",
    "WrittenSummary",
    "as_json",
    "asked_headings",
    "call_line",
    "checked_lines",
    "cited_lines",
    "completed",
    "for_model",
    "has_goal_and_progress",
    "is_model_line",
    "kept_terms",
    "model_lines",
    "outcome_of",
    "pairs_of",
    "parse_sections",
    "plain_words",
    "read_custom_prompt",
    "read_facts",
    "removed_with_reason",
    "render_evidence",
    "render_sections",
    "section_lines",
    "terms_in",
    "titles_of",
    "within",
    "without_fixed_failures",
    "without_forgotten",
    "without_invented_constraints",
    "without_model_lines",
    "write_sections",
    "write_summary",
]

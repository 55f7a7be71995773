"""Writes a summary from facts within a token budget: the nine headings, and quotes as evidence after them.

Facts that must survive every compaction come first: constraints, open items, changed files,
the first request. Then those that are most likely needed next. Entries on a focus topic
are chosen before all others, with 65 % of the budget.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from plimsoll.context.ledger.additions import (
    ADDED_SHARE,
    MAX_ADDED,
    MIN_ADDED,
    MIN_RESTORED,
    added_rank,
    explained_terms,
    is_ruled,
    is_said,
    joined_by_message,
    may_be_added,
    not_replaced_by_model,
    rank,
    said_lines,
)
from plimsoll.context.ledger.choose import choose, likely_lines, term_weights
from plimsoll.context.ledger.entries import CONSTRAINTS, MORE_ON, MUST, QUOTE, LedgerEntry
from plimsoll.context.ledger.evidence import EvidenceLine, argument_texts
from plimsoll.context.ledger.headings import entries_of
from plimsoll.context.ledger.reported_checks import with_contradiction
from plimsoll.context.ledger.state import ConversationFacts, LineSources
from plimsoll.context.ledger.template import (
    EVIDENCE,
    EVIDENCE_NOTE,
    SECTIONS,
    Sections,
    parse_sections,
    render_evidence,
    render_sections,
    section_lines,
)
from plimsoll.context.ledger.terms import terms_in
from plimsoll.messages import Message, arguments_of, text_of, tool_calls
from plimsoll.models import estimate_tokens

FOCUS_SHARE = 0.65
_HEADING_TOKENS = 8  # the evidence's own heading
_CHOSEN_BEFORE = 0.25  # probability that a term from an earlier summary is needed
_STOP_WORDS = frozenset({
    "the", "and", "for", "with", "that", "this", "from", "are", "was", "all", "about", "its", "our", "your", "how",
    "what", "when", "where", "on", "in", "of", "to", "is", "it", "be", "as", "at", "by", "or", "an", "we",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """Token budgets of code's text: under the nine headings, and in total; if `total` is 0, there is no evidence."""

    headings: int
    total: int = 0

    @property
    def all(self) -> int:
        """The larger of the two."""
        return max(self.headings, self.total)


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """The sections that code wrote, and the source messages of each line."""

    sections: Sections
    sources: LineSources


def write_sections(
    facts: ConversationFacts,
    previous: Mapping[str, str],
    room: SummaryRoom,
    focus: str | None = None,
    kept: AbstractSet[str] = frozenset(),
    model_text: str = "",
) -> Sections:
    """The sections of a summary, and the evidence after them, within their room."""
    return write_summary(facts, previous, room, focus, kept, model_text).sections


def write_summary(
    facts: ConversationFacts,
    previous: Mapping[str, str],
    room: SummaryRoom,
    focus: str | None = None,
    kept: AbstractSet[str] = frozenset(),
    model_text: str = "",
    now: ConversationFacts | None = None,
    few: bool = False,
) -> WrittenSummary:
    """The sections of a summary, and the evidence after them, within their room.

    Neither the terms `kept`, which stay in the context, nor `model_text` are repeated. `now` is the state at the end
    of the conversation, including messages that stay. With `few`, the headings are the model's, and only a few lines
    are added.
    """
    frame = estimate_tokens(render_sections({}))
    before_evidence = estimate_tokens(EVIDENCE_NOTE) + _HEADING_TOKENS
    # In a tiny room the evidence's own heading would take the place of a limit under the headings.
    has_evidence = room.total - frame >= 2 * before_evidence
    room = room if has_evidence else SummaryRoom(room.headings)
    # A line may take at most a fifth of the budget, so that a small window still gets several.
    longest = max(60, min(600, room.all * 4 // 5))
    weights = _weights_of_terms(facts, now or facts, kept)
    quotable: Collection[EvidenceLine] = facts.evidence.lines.values()
    quotable = quotable if focus else likely_lines(quotable, weights)
    entries = _unstated(entries_of(facts, previous, longest, now, quotable), model_text, has_evidence, few)
    left = room.all - frame - (before_evidence if has_evidence else 0)
    if left <= 0:
        return WrittenSummary(dict.fromkeys(SECTIONS, ""), {})
    _add_earlier_terms(weights, entries, kept)
    first = _touching(entries, focus) if focus else []
    covered = explained_terms(model_text, facts.evidence.lines.values())
    chosen = choose(entries, weights, left, first, int(left * FOCUS_SHARE), covered)
    secret = facts.evidence.telling_secrets(entry.line for entry in chosen if entry.line)
    chosen = [entry for entry in chosen if not (entry.line and entry.line in secret)]
    chosen = joined_by_message(chosen) if few else chosen
    headings = room.headings - frame
    fitting = (
        _added(chosen, headings, model_text, facts.messages)
        if few
        else _fitting(_under_headings(chosen), headings)
    )
    sections = _sorted_into(chosen, fitting, has_evidence)
    return WrittenSummary(_within(sections, room.all) if has_evidence else sections, _sources_of(chosen))


def _weights_of_terms(
    facts: ConversationFacts, now: ConversationFacts, kept: AbstractSet[str]
) -> dict[str, float]:
    newest = max((use.last for use in facts.evidence.uses.values()), default=0)
    request = now.newest_request
    return term_weights(facts.evidence, newest, kept, request.text if request else "", now.last_said)


def _unstated(
    entries: Sequence[LedgerEntry], model_text: str, has_evidence: bool, few: bool
) -> list[LedgerEntry]:
    """The entries that the model has not stated, with contradictions marked."""
    lines = said_lines(model_text)
    unstated = [
        with_contradiction(entry, model_text) if few else entry
        for entry in entries
        if not is_said(entry, lines) and (has_evidence or (not entry.parent and entry.section != EVIDENCE))
    ]
    return not_replaced_by_model(unstated, model_text) if few else unstated


def _sources_of(chosen: Sequence[LedgerEntry]) -> LineSources:
    """The source messages of each line, in every form and section."""
    return {
        (section, text): entry.sources
        for entry in chosen
        for section, text in (
            (entry.section, entry.text),
            *((EVIDENCE, quoted) for quoted in (entry.text, entry.label, _as_quote(entry))),
        )
    }


def _within(sections: Sections, limit: int) -> Sections:
    """The sections with as much evidence as fits; its labels are only known after choosing."""
    left = limit - estimate_tokens(render_sections(sections)) - 1
    lines = sections[EVIDENCE].splitlines()
    while lines and estimate_tokens(render_evidence({EVIDENCE: "\n".join(lines)})) > left:
        del lines[-max(1, len(lines) // 20) :]
    return {**sections, EVIDENCE: "\n".join(lines)}


def _fitting(items: Iterable[LedgerEntry], room: int) -> dict[LedgerEntry, None]:
    """The items that fit under the headings; ordered, so that the same facts give the same text."""
    fitting: dict[LedgerEntry, None] = {}
    for item in sorted(items, key=rank):
        cost = estimate_tokens(item.text) + 1
        if cost <= room:
            room -= cost
            fitting[item] = None
    return fitting


def _added(
    chosen: Sequence[LedgerEntry], room: int, model_text: str, stays_from: int
) -> dict[LedgerEntry, None]:
    """The few items to add to a model's text; messages from number `stays_from` on stay in the context.

    Only a short summary may get more than its share: limits in force, and wishes if it contains few true rules.
    """
    lines = said_lines(model_text)
    items = [heading for heading in _under_headings(chosen) if may_be_added(heading)]
    share = min(room, max(MIN_ADDED, int(estimate_tokens(model_text) * ADDED_SHARE)))
    is_short = share <= MIN_ADDED
    of_model = sum(map(estimate_tokens, section_lines(parse_sections(model_text).get(CONSTRAINTS, ""))))
    of_wishes = min(room, max(share, MIN_RESTORED - of_model)) if is_short else share
    fitting: dict[LedgerEntry, None] = {}
    used = 0
    for item in sorted(items, key=lambda item: added_rank(item, lines, stays_from)):
        cost = estimate_tokens(item.text) + 1
        of_rules = room if is_short else share
        limit = of_rules if is_ruled(item) else of_wishes if item.section == CONSTRAINTS else share
        if used + cost <= limit and len(fitting) < MAX_ADDED:
            used += cost
            fitting[item] = None
    return fitting


def _sorted_into(
    chosen: Sequence[LedgerEntry], fitting: Mapping[LedgerEntry, None], has_evidence: bool
) -> Sections:
    """The fitting items under their headings, all other chosen entries as evidence."""
    sections = {title: _lines(item for item in fitting if item.section == title) for title in SECTIONS}
    if has_evidence:
        sections[EVIDENCE] = _evidence([entry for entry in chosen if entry not in fitting], fitting)
    return sections


def _under_headings(chosen: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """The entries that may go under a heading.

    An item with quotes goes to the evidence with them, unless it is required under its heading.
    """
    quoted = {entry.parent for entry in chosen if entry.parent}
    items = [item for item in chosen if not item.parent and item.section != EVIDENCE]
    return [item for item in items if item.value >= MUST or item.key not in quoted]


def _lines(items: Iterable[LedgerEntry]) -> str:
    return "\n".join(item.text for item in sorted(items, key=_place))


def _evidence(entries: Sequence[LedgerEntry], fitting: Mapping[LedgerEntry, None]) -> str:
    """Limits that did not fit under the headings, then quotes under their file or command, then all other items.

    If the evidence must be cut, it is cut at the end.
    """
    quotes: dict[str, list[LedgerEntry]] = {}
    loose: dict[str, list[LedgerEntry]] = {}
    items = {entry.key: entry for entry in (*entries, *fitting) if not entry.parent}
    for entry in entries:
        if entry.parent in items:
            quotes.setdefault(entry.parent, []).append(entry)
    for entry in entries:
        # A quote is also loose if the model stated its item.
        if entry.parent not in items and entry.key not in quotes:
            loose.setdefault(entry.section, []).append(entry)
    lines = _more_on(CONSTRAINTS, loose.pop(CONSTRAINTS, ()))
    for key in sorted(quotes, key=lambda key: _place(items[key])):
        item = items[key]
        lines.append(item.label if item in fitting else item.text)
        lines += (quote.text for quote in sorted(quotes[key], key=_place))
    for title in SECTIONS:
        lines += _more_on(title, loose.get(title, ()))
    lines += (item.text for item in sorted(loose.get(EVIDENCE, ()), key=_place))
    return "\n".join(lines)


def _more_on(title: str, items: Iterable[LedgerEntry]) -> list[str]:
    quoted = [_as_quote(item) for item in sorted(items, key=_place)]
    return [f"{MORE_ON}{title}", *quoted] if quoted else []


def _as_quote(entry: LedgerEntry) -> str:
    return entry.text if entry.parent else QUOTE + entry.text.removeprefix("- ")


def kept_terms(messages: Iterable[Message]) -> set[str]:
    """The terms of messages that stay."""
    found: set[str] = set()
    for message in messages:
        found.update(terms_in(text_of(message)))
        for call in tool_calls(message):
            for text in argument_texts(arguments_of(call)):
                found.update(terms_in(text))
    return found


def _add_earlier_terms(
    weights: dict[str, float], entries: Sequence[LedgerEntry], kept: AbstractSet[str]
) -> None:
    """Weight the terms that only occur in an earlier summary."""
    for entry in entries:
        for term in entry.terms:
            if term not in weights and term not in kept:
                weights[term] = _CHOSEN_BEFORE


def _place(entry: LedgerEntry) -> tuple[int, str]:
    return entry.order, entry.text


def _touching(entries: Sequence[LedgerEntry], focus: str) -> list[LedgerEntry]:
    """The entries about the topic, those with the most of its words first."""
    words = {
        word for word in re.findall(r"\w+", focus.casefold()) if len(word) > 1 and word not in _STOP_WORDS
    }
    # In scripts without spaces, match a topic by pairs of characters.
    pairs = {word[n : n + 2] for word in words if not word.isascii() for n in range(len(word) - 1)}
    hits = {entry: _hits(entry.text.casefold(), words | pairs) for entry in entries}
    return sorted((entry for entry in entries if hits[entry]), key=lambda entry: -hits[entry])


def _hits(text: str, words: set[str]) -> int:
    spoken = set(re.findall(r"\w+", text))
    return sum(word in spoken or (word in text and (len(word) > 3 or not word.isascii())) for word in words)

"""Write a summary from facts alone, within a token budget.

What must survive every compaction comes first: constraints, open items, changed files,
what the conversation began with. Then whatever is most likely needed next. Entries that
touch a focus topic are chosen before all others, with 65 % of the budget.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from plimsoll.context.ledger.choose import choose, term_weights
from plimsoll.context.ledger.entries import CONSTRAINTS, Entry, entries_of
from plimsoll.context.ledger.evidence import argument_texts
from plimsoll.context.ledger.facts import Facts
from plimsoll.context.ledger.template import SECTIONS, Sections, render_sections
from plimsoll.context.ledger.terms import terms_in
from plimsoll.messages import Message, arguments_of, text_of, tool_calls
from plimsoll.models import estimate_tokens

FOCUS_SHARE = 0.65
_CHOSEN_BEFORE = 0.25  # how likely a term is needed that only an earlier summary still knows
_STOP_WORDS = frozenset({
    "the", "and", "for", "with", "that", "this", "from", "are", "was", "all", "about", "its", "our", "your", "how",
    "what", "when", "where", "on", "in", "of", "to", "is", "it", "be", "as", "at", "by", "or", "an", "we",
})  # fmt: skip


def write_sections(
    facts: Facts,
    previous: Mapping[str, str],
    budget: int,
    focus: str | None = None,
    kept: AbstractSet[str] = frozenset(),
    said: str = "",
) -> Sections:
    """The sections of a summary of at most about `budget` tokens.

    `kept` are terms that stay in the context anyway, `said` is what a model wrote: neither is said again.
    """
    # A line may take a fifth of the budget at the most, so that a small window still gets several.
    longest = max(60, min(600, budget * 4 // 5))
    entries = [entry for entry in entries_of(facts, previous, longest) if not _is_said(entry, said)]
    room = budget - estimate_tokens(render_sections({}))
    if room <= 0:
        return dict.fromkeys(SECTIONS, "")
    weights = _weights(facts, entries, kept | set(terms_in(said)) if said else kept)
    first = _touching(entries, focus) if focus else []
    chosen = choose(entries, weights, room, first, int(room * FOCUS_SHARE))
    chosen = {entry for entry in chosen if not (entry.line and facts.evidence.tells_secret(entry.line))}
    return {title: _rendered([entry for entry in chosen if entry.section == title]) for title in SECTIONS}


def kept_terms(messages: Iterable[Message]) -> set[str]:
    """The terms of messages that stay."""
    found: set[str] = set()
    for message in messages:
        found.update(terms_in(text_of(message)))
        for call in tool_calls(message):
            for text in argument_texts(arguments_of(call)):
                found.update(terms_in(text))
    return found


def _is_said(entry: Entry, said: str) -> bool:
    """Whether a model said this line already, or named the file that it is about."""
    if not said or entry.parent or entry.section == CONSTRAINTS:
        return False  # a model may rewrite its own lines next time; a constraint stays in the user's words
    if entry.section == "Relevant Files" and entry.key.startswith("file:"):
        return False  # the model may name a file; only the ledger counts what happened to it
    return entry.text.removeprefix("- ") in said


def _weights(facts: Facts, entries: Sequence[Entry], kept: AbstractSet[str]) -> dict[str, float]:
    newest = max((use.last for use in facts.evidence.uses.values()), default=0)
    weights = term_weights(facts.evidence, newest, kept)
    for entry in entries:
        for term in entry.terms:
            if term not in weights and term not in kept:
                weights[term] = _CHOSEN_BEFORE
    return weights


def _rendered(entries: Sequence[Entry]) -> str:
    """Items in the order of the conversation, the quotes of each below it."""
    quotes: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.parent:
            quotes.setdefault(entry.parent, []).append(entry)
    lines: list[str] = []
    for item in sorted((entry for entry in entries if not entry.parent), key=_place):
        lines.append(item.text)
        lines += (quote.text for quote in sorted(quotes.get(item.key, ()), key=_place))
    return "\n".join(lines)


def _place(entry: Entry) -> tuple[int, str]:
    return entry.order, entry.text


def _touching(entries: Sequence[Entry], focus: str) -> list[Entry]:
    """The entries that speak of the topic, those that hit most of its words first."""
    words = {
        word for word in re.findall(r"\w+", focus.casefold()) if len(word) > 1 and word not in _STOP_WORDS
    }
    # Scripts without spaces: a topic is found by its pairs of characters.
    pairs = {word[n : n + 2] for word in words if not word.isascii() for n in range(len(word) - 1)}
    hits = {entry: _hits(entry.text.casefold(), words | pairs) for entry in entries}
    return sorted((entry for entry in entries if hits[entry]), key=lambda entry: -hits[entry])


def _hits(text: str, words: set[str]) -> int:
    spoken = set(re.findall(r"\w+", text))
    return sum(word in spoken or (word in text and (len(word) > 3 or not word.isascii())) for word in words)

"""The source messages of each summary line, which a person can open to check it.

    - Never push to main.      ──►  message 3, h:3f2a9c1b7d
    * The parser is ported.    ──►  a model's line: the messages about the same thing, best first

Lines that code wrote know their messages. The sources of a model's line are found by its words and names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from plimsoll.context.ledger.complete import is_model_line
from plimsoll.context.ledger.state import ConversationFacts, LineSources, Sources
from plimsoll.context.ledger.template import EVIDENCE, parse_sections, section_lines, titles_of
from plimsoll.context.ledger.terms import terms_in
from plimsoll.context.ledger.words import content_words
from plimsoll.secrets import MARK, redact

SCHEMA = 1  # of the JSON form
_MAX_FOUND = 4  # messages for a line of a model
_MIN_SHARED = 2  # words that a message must share with a line


@dataclass(frozen=True, slots=True)
class SourceReference:
    """A message by its number in the conversation, from 0, and the handle of its content."""

    message: int
    handle: str = ""


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line of a summary, its author, and its source messages."""

    section: str
    text: str
    by: Literal["model", "code"]
    sources: tuple[SourceReference, ...]


def cited_lines(text: str, sources: LineSources, facts: ConversationFacts) -> tuple[SummaryLine, ...]:
    """The lines of a summary, each with its sources."""
    # A line with a secret stands in the summary with the mark; without one, redacting the lines changes nothing.
    written = redact if MARK in text else str
    known = {(title, written(line)): numbers for (title, line), numbers in sources.items()}
    index: _Index | None = None
    found: list[SummaryLine] = []
    sections = parse_sections(text)
    for title in (*titles_of(sections), EVIDENCE):
        for line in section_lines(sections.get(title, "")):
            numbers = known.get((title, line)) or known.get((title, line.strip()))
            if not numbers:
                index = index or _Index(facts)
                numbers = index.sources_of(line)
            references = tuple(
                SourceReference(number, facts.handles.get(number, "")) for number in sorted(set(numbers))
            )
            found.append(SummaryLine(title, line, "model" if is_model_line(line) else "code", references))
    return tuple(found)


def as_json(lines: Iterable[SummaryLine]) -> dict[str, Any]:
    """The lines as data."""
    return {
        "schema": SCHEMA,
        "lines": [
            {
                "section": line.section,
                "text": line.text,
                "by": line.by,
                "sources": [{"message": source.message, "handle": source.handle} for source in line.sources],
            }
            for line in lines
        ],
    }


class _Index:
    """The messages of the state, indexed by their words."""

    def __init__(self, facts: ConversationFacts) -> None:
        self._facts = facts
        self._words: dict[str, set[int]] = {}
        for text, number in _statements(facts):
            for word in content_words(text):
                self._words.setdefault(word, set()).add(number)

    def sources_of(self, line: str) -> Sources:
        """The messages that share the most words with a line, and the last ones that contain its names."""
        shared: Counter[int] = Counter()
        for word in content_words(line):
            places = self._words.get(word, ())
            for number in places:
                shared[number] += 1
        # Sort for a deterministic order: of messages that share as many words, the newest comes first.
        ranked = sorted(shared, key=lambda number: (-shared[number], -number))
        found = [number for number in ranked[:_MAX_FOUND] if shared[number] >= _MIN_SHARED]
        for term in terms_in(line):
            use = self._facts.evidence.uses.get(term)
            if use is not None and len(found) < _MAX_FOUND and use.last >= 0:
                found.append(use.last)
        if not found and ranked:
            found = ranked[:1]
        return tuple(dict.fromkeys(found))


def _statements(facts: ConversationFacts) -> Iterator[tuple[str, int]]:
    for request in facts.requests:
        if request.source >= 0:
            yield request.text, request.source
    for constraint in (*facts.constraints.values(), *facts.wishes.values(), *facts.revoked.values()):
        yield constraint.text, constraint.source
    yield from ((decision.text, decision.source) for decision in facts.decisions.values())
    yield from ((hypothesis.text, hypothesis.source) for hypothesis in facts.hypotheses.values())
    yield from ((commit.text, commit.source) for commit in facts.commits.values())
    for event in (*facts.commands.values(), *facts.actions.values()):
        yield f"{event.note} {event.line} {event.outcome.line}", event.position
    for path, fact in facts.files.items():
        for number in fact.sources[-1:]:
            yield f"{path} {fact.note}", number
    for item, number in facts.todos.sources.items():
        yield item, number
    if facts.last_said_at is not None:
        yield facts.last_said, facts.last_said_at

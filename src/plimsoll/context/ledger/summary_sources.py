"""The sources of an engine's newest summaries, so that the next one is not a summary of a summary.

    summary ──► its facts ──► continued with the original messages that leave now ──► next summary

Content that did not fit one summary can appear in the next one when the work returns to it, and so can content of a
result before it was shortened. After a restart, the host's log provides the messages. A summary without known
sources counts by its text for the rest of the conversation. Memory is bounded, so a compaction costs no more after
a hundred others.
"""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from plimsoll.context.ledger.evidence import Evidence
from plimsoll.context.ledger.facts import read_facts
from plimsoll.context.ledger.state import ConversationFacts
from plimsoll.errors import PlimsollError
from plimsoll.messages import Message, answered_id, text_of, without_handle

# An undo, a fork or an unused prepared summary leads back to an older summary.
_MAX_SUMMARIES = 4
_MAX_LINES = 8_000  # about five megabytes
_ENTRY_BYTES = 1_000  # of one entry in memory, about the size of a quoted line with its terms
_MAX_EVENTS = 1_000
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True)
class SummarySource:
    """The facts that one summary was written from, and the originals of shortened messages in its view."""

    facts: ConversationFacts | None = None
    earlier: str = ""  # the text of an older summary without known sources
    originals: Mapping[tuple[str, str], Message] = field(default_factory=dict)
    # The numbers of the view's messages in the whole conversation, from 0; -1 for the summary.
    numbers: tuple[int, ...] = ()
    # Adds a model's text that arrived after the turn stopped waiting.
    late: Callable[[str], str] | None = None

    def newest(self, summary: str) -> str:
        """The summary's text, with a model's late text if it has arrived."""
        return self.late(summary) if self.late else summary

    def numbered(self, count: int) -> list[int]:
        """The numbers of a view with `count` messages: the known ones, then consecutive ones."""
        known = list(self.numbers[:count])
        following = max(self.numbers, default=-1) + 1
        return known + list(range(following, following + count - len(known)))

    def original(self, message: Message) -> Message:
        """The original of a message."""
        return self.originals.get(_key(message), message) if self.originals else message

    def as_said(self, messages: Iterable[Message]) -> list[Message]:
        """The originals of messages."""
        return [self.original(message) for message in messages] if self.originals else list(messages)

    def originals_with(self, shorter: Iterable[tuple[Message, Message]]) -> dict[tuple[str, str], Message]:
        """The originals of kept messages, given as pairs of the kept form and the form before this compaction."""
        pairs = ((shortened, self.original(before)) for shortened, before in shorter)
        return {_key(shortened): original for shortened, original in pairs if shortened is not original}


@dataclass(frozen=True, slots=True)
class LoggedSource:
    """The sources of a summary in a host's log: the messages it replaced, and originals of shortened ones."""

    messages: Sequence[Message]
    shortened: Sequence[tuple[Message, Message]] = ()  # the kept form and the original
    numbers: Sequence[int] | None = None  # of the messages in the whole conversation, from 0
    view: tuple[int, ...] = ()  # the numbers of the view's messages; -1 for the summary
    earlier: str = ""  # the text of a summary that a person wrote, which replaces the messages before these


class SummarySources:
    """The sources of the newest summaries.

    `log` is called once for a summary that was not written here; it returns None for an unknown summary.
    """

    def __init__(self, log: Callable[[str], LoggedSource | None] | None = None, facts: bytes = b"") -> None:
        """`facts` comes from another instance's `packed`; it is unpacked on first use."""
        self.log = log
        self._packed = facts
        self._unpacked: dict[str, SummarySource] | None = None if facts else {}

    def source_of(self, summary: str, opening: str = "") -> SummarySource:
        """The source of a summary; only its text if nothing else is known."""
        key = summary.strip()
        if key and key not in self._sources:
            self.keep(summary, self._from_log(summary, opening) or SummarySource(earlier=summary))
        return self._sources.get(key) or SummarySource()

    def keep_originals(self, summary: str, shorter: Iterable[tuple[Message, Message]]) -> None:
        """Record the originals of messages that were shortened while the summary stays unchanged."""
        source = self.source_of(summary)
        self.keep(summary, replace(source, originals=source.originals_with(shorter)))

    def copied(self) -> "SummarySources":
        """A copy for previews: changes to it do not affect this instance."""
        copy = SummarySources(self.log)
        copy._sources = dict(self._sources)
        return copy

    def with_log(self, log: Callable[[str], LoggedSource | None] | None) -> "SummarySources":
        """The same facts with another log."""
        return SummarySources(log, self.packed())

    def unpacked(self, facts: bytes) -> "SummarySources":
        """The same log with facts that another instance packed."""
        return SummarySources(self.log, facts)

    def packed(self) -> bytes:
        """The stored sources as bytes, for another process."""
        self._packed = self._packed or pickle.dumps(self._sources, pickle.HIGHEST_PROTOCOL)
        return self._packed

    @property
    def memory(self) -> int:
        """The approximate memory use in bytes; safe to call while another thread uses the instance."""
        known = self._unpacked
        if known is None:
            return len(self._packed)
        return _ENTRY_BYTES * sum(_entries(item.facts) for item in list(known.values()) if item.facts)

    def emptied(self) -> "SummarySources":
        """An empty instance with the same log, for another conversation."""
        return SummarySources(self.log)

    def _from_log(self, summary: str, opening: str) -> SummarySource | None:
        try:
            left = self.log(summary) if self.log else None
        except PlimsollError:  # fall back to the text of the summary
            return None
        if left is None:
            return None
        facts = read_facts(left.messages, opening, numbers=left.numbers)
        originals = SummarySource().originals_with(left.shortened)
        return SummarySource(facts, left.earlier, originals, left.view)

    def keep(self, summary: str, source: SummarySource) -> None:
        """Store the source of a summary."""
        facts = _bounded(source.facts, summary) if source.facts else None
        known = {**self._sources, summary.strip(): replace(source, facts=facts)}
        self._sources = dict(islice(known.items(), max(0, len(known) - _MAX_SUMMARIES), None))

    @property
    def _sources(self) -> dict[str, SummarySource]:
        if self._unpacked is None:
            self._unpacked = dict(pickle.loads(self._packed))
        return self._unpacked

    @_sources.setter
    def _sources(self, known: dict[str, SummarySource]) -> None:
        self._unpacked, self._packed = known, b""


def _key(message: Message) -> tuple[str, str]:
    # A stub matches with and without its handle.
    return answered_id(message) or "", text_of(without_handle(message))


def _entries(facts: ConversationFacts) -> int:
    parts = (facts.requests, facts.constraints, facts.wishes, facts.files, facts.commands, facts.actions)
    return len(facts.evidence.lines) + sum(map(len, parts))


def _bounded(facts: ConversationFacts, summary: str) -> ConversationFacts:
    return replace(
        facts,
        commands=_newest(facts.commands),
        actions=_newest(facts.actions),
        failing=_newest(facts.failing),
        failed_on=_newest(facts.failed_on),
        commits=_newest(facts.commits),
        decisions=_newest(facts.decisions),
        evidence=_bounded_evidence(facts.evidence, summary),
    )


def _bounded_evidence(evidence: Evidence, summary: str) -> Evidence:
    """The newest lines, and those that the summary quotes."""
    excess = len(evidence.lines) - _MAX_LINES
    if excess <= 0:
        return evidence
    oldest = set(islice(evidence.lines, excess))
    lines = {text: line for text, line in evidence.lines.items() if text not in oldest or text in summary}
    known = {term for line in lines.values() for term in line.terms}
    read = {line.origin for line in lines.values()}
    return replace(
        evidence,
        uses={term: use for term, use in evidence.uses.items() if term in known},
        lines=lines,
        texts=[text if number in read else "" for number, text in enumerate(evidence.texts)],
    )


def _newest(found: Mapping[str, _Fact]) -> dict[str, _Fact]:
    """The last entries; the dictionaries of facts are in conversation order."""
    pairs: Iterable[tuple[str, _Fact]] = islice(found.items(), max(0, len(found) - _MAX_EVENTS), None)
    return dict(pairs)

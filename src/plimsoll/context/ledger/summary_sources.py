"""What stands behind an engine's newest summaries, so that the next one is not written from a summary of a summary.

    summary it wrote ──► facts behind it ──► read on with what leaves now, as it was said ──► next summary

What did not fit one summary can stand in the next one, when the work comes back to it, and so can what was in a
result before it was made shorter. After a restart the host's log tells what left. A summary of which nothing else is
known is taken by its words, for as long as the conversation lasts. What is remembered has a limit, so a compaction
costs no more after a hundred others.
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

# An undo, a fork or a summary that was prepared and not needed leads back to one before the newest.
_MOST_SUMMARIES = 4
_MOST_LINES = 8_000  # about five megabytes
_ENTRY_BYTES = 1_000  # of one entry in memory: a quoted line with its terms has about that
_MOST_EVENTS = 1_000
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True)
class SummarySource:
    """What one summary was written from, and the messages beside it that a compaction made shorter."""

    facts: ConversationFacts | None = None
    earlier: str = ""  # the words of a summary from before these facts, of which nothing else is known
    originals: Mapping[tuple[str, str], Message] = field(default_factory=dict)
    # The numbers that the messages of the view have in the whole conversation, from 0; -1 for the summary.
    numbers: tuple[int, ...] = ()
    # Adds to a summary's text what a model wrote about it after nobody waited any longer.
    late: Callable[[str], str] | None = None

    def newest(self, summary: str) -> str:
        """The summary's text, with a model's words where they have arrived late."""
        return self.late(summary) if self.late else summary

    def numbered(self, count: int) -> list[int]:
        """The numbers of a view of so many messages: those that were known, then on from there."""
        known = list(self.numbers[:count])
        following = max(self.numbers, default=-1) + 1
        return known + list(range(following, following + count - len(known)))

    def original(self, message: Message) -> Message:
        """A message of the conversation as it was said."""
        return self.originals.get(_key(message), message) if self.originals else message

    def as_said(self, messages: Iterable[Message]) -> list[Message]:
        """Messages of the conversation, each as it was said."""
        return [self.original(message) for message in messages] if self.originals else list(messages)

    def originals_with(self, shorter: Iterable[tuple[Message, Message]]) -> dict[tuple[str, str], Message]:
        """The originals of messages that stay, given as they stay and as they were before this compaction."""
        pairs = ((stays, self.original(before)) for stays, before in shorter)
        return {_key(stays): original for stays, original in pairs if stays is not original}


@dataclass(frozen=True, slots=True)
class LoggedSource:
    """What a host's log knows of a summary: the messages that it stands for, and originals of shorter ones."""

    messages: Sequence[Message]
    shortened: Sequence[tuple[Message, Message]] = ()  # as it stays, as it was said
    numbers: Sequence[int] | None = None  # of the messages in the whole conversation, from 0
    view: tuple[int, ...] = ()  # the numbers of the messages beside the summary, which itself has -1
    earlier: str = ""  # the words of a summary that a person wrote, in place of the messages before these


class SummarySources:
    """What stands behind each of the newest summaries.

    `log` is asked once for a summary that was not written here, and gives None where it does not know it.
    """

    def __init__(self, log: Callable[[str], LoggedSource | None] | None = None, facts: bytes = b"") -> None:
        """`facts` are those that another one has `packed`; they are unpacked when they are first needed."""
        self.log = log
        self._packed = facts
        self._unpacked: dict[str, SummarySource] | None = None if facts else {}

    def behind(self, summary: str, opening: str = "") -> SummarySource:
        """What a summary was written from; only its words where nobody knows."""
        key = summary.strip()
        if key and key not in self._behind:
            self.keep(summary, self._from_log(summary, opening) or SummarySource(earlier=summary))
        return self._behind.get(key) or SummarySource()

    def keep_originals(self, summary: str, shorter: Iterable[tuple[Message, Message]]) -> None:
        """Messages beside a summary stay in fewer words, while the summary stays as it is."""
        behind = self.behind(summary)
        self.keep(summary, replace(behind, originals=behind.originals_with(shorter)))

    def copied(self) -> "SummarySources":
        """For work that must leave no trace: what it remembers stays in the copy."""
        copy = SummarySources(self.log)
        copy._behind = dict(self._behind)
        return copy

    def with_log(self, log: Callable[[str], LoggedSource | None] | None) -> "SummarySources":
        """The same facts with another log behind them."""
        return SummarySources(log, self.packed())

    def unpacked(self, facts: bytes) -> "SummarySources":
        """The same log with facts that another one has packed."""
        return SummarySources(self.log, facts)

    def packed(self) -> bytes:
        """What is remembered, for another process of this program."""
        self._packed = self._packed or pickle.dumps(self._behind, pickle.HIGHEST_PROTOCOL)
        return self._packed

    @property
    def memory(self) -> int:
        """Bytes that it keeps, about; may be asked while another thread works with it."""
        known = self._unpacked
        if known is None:
            return len(self._packed)
        return _ENTRY_BYTES * sum(_entries(one.facts) for one in list(known.values()) if one.facts)

    def emptied(self) -> "SummarySources":
        """For another conversation with the same log behind it."""
        return SummarySources(self.log)

    def _from_log(self, summary: str, opening: str) -> SummarySource | None:
        try:
            left = self.log(summary) if self.log else None
        except PlimsollError:  # the words of the summary do as well, for once
            return None
        if left is None:
            return None
        facts = read_facts(left.messages, opening, numbers=left.numbers)
        originals = SummarySource().originals_with(left.shortened)
        return SummarySource(facts, left.earlier, originals, left.view)

    def keep(self, summary: str, behind: SummarySource) -> None:
        """This stands behind a summary."""
        facts = _bounded(behind.facts, summary) if behind.facts else None
        known = {**self._behind, summary.strip(): replace(behind, facts=facts)}
        self._behind = dict(islice(known.items(), max(0, len(known) - _MOST_SUMMARIES), None))

    @property
    def _behind(self) -> dict[str, SummarySource]:
        if self._unpacked is None:
            self._unpacked = dict(pickle.loads(self._packed))
        return self._unpacked

    @_behind.setter
    def _behind(self, known: dict[str, SummarySource]) -> None:
        self._unpacked, self._packed = known, b""


def _key(message: Message) -> tuple[str, str]:
    # A stub is the same one with the handle that it may name and without.
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
    excess = len(evidence.lines) - _MOST_LINES
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
    """The last so many; the dictionaries of facts are in the order of the conversation."""
    pairs: Iterable[tuple[str, _Fact]] = islice(found.items(), max(0, len(found) - _MOST_EVENTS), None)
    return dict(pairs)

"""The record of a compaction: which facts it kept, who wrote its summary, and what the summary cost."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.caching.pricing import bill_of, money_of
from plimsoll.context import CompactionReport
from plimsoll.context.calibration import calibrate
from plimsoll.context.gate import refusal
from plimsoll.context.ledger import as_json, read_facts
from plimsoll.dialects import Usage
from plimsoll.messages import Message, Wire, arguments_text, text_of, tool_calls
from plimsoll.models import ModelCard, estimate_messages_tokens_rough

P = ParamSpec("P")
_MAX_LOST = 20  # lost facts of one kind in the archive; `had` and `kept` count all of them
_LONGEST_LOST = 200  # characters of one


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to compact: the compacted view, or None if the view stays, and the event to store."""

    messages: list[Message] | None
    event: CompactionEvent
    spent: tuple[UsageRecord, ...] = ()  # what summaries used since the last attempt


class SummaryAccount:
    """The usage of one conversation's summaries, however their requests ended. Any thread may add to it.

    `charge` is called at once, so that limits apply. The archive gets the usage when the conversation is next stored,
    and a compaction's event has the cost of everything since the last one.
    """

    def __init__(self, charge: Callable[[UsageRecord], None] | None = None) -> None:
        self.charge = charge
        self._lock = threading.Lock()
        self._unstored: list[UsageRecord] = []
        self._unreported: list[UsageRecord] = []

    def add(self, card: ModelCard, usage: Usage) -> None:
        """Record the usage of a summary request."""
        record = record_of(card, usage, "summary")
        with self._lock:
            self._unstored.append(record)
            self._unreported.append(record)
        if self.charge is not None:
            self.charge(record)

    def take_unreported(self) -> tuple[UsageRecord, ...]:
        """Return the usage that no compaction event has reported yet, once."""
        with self._lock:
            unreported, self._unreported = self._unreported, []
        return tuple(unreported)

    async def store(self, used: Callable[[UsageRecord], Awaitable[None]]) -> None:
        """Store everything that the archive does not have yet; what cannot be stored is kept."""
        with self._lock:
            unreported, self._unstored = self._unstored, []
        while unreported:
            try:
                await used(unreported[0])
            except BaseException:
                with self._lock:
                    self._unstored[:0] = unreported
                raise
            del unreported[0]


def on_this_loop(function: Callable[P, None]) -> Callable[P, None]:
    """The function for any thread: it runs on the current loop, while that is open."""
    loop = asyncio.get_running_loop()

    def call(*arguments: P.args, **named: P.kwargs) -> None:
        with suppress(RuntimeError):  # the loop has closed, and its accounts with it
            loop.call_soon_threadsafe(partial(function, *arguments, **named))

    return call


def record_of(card: ModelCard, usage: Usage, purpose: str = "turn", model: str = "") -> UsageRecord:
    """The usage and cost of one request; `model` is the name that was sent, if it differs."""
    bill = bill_of(usage)
    return UsageRecord(
        model=model or card.name,
        input=bill.plain,
        cache_read=bill.read,
        cache_write=bill.written,
        output=bill.output,
        money=money_of(bill, card),
        purpose=purpose,
    )


def total_of(records: Iterable[UsageRecord]) -> float | None:
    """The total cost; None if there are no records or a price is unknown."""
    prices = [record.money for record in records]
    known = [price for price in prices if price is not None]
    return sum(known) if prices and len(known) == len(prices) else None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The host's check of a compacted view: why it may not replace the view, its size, and what it kept."""

    refused: str
    before: int  # estimated tokens
    after: int
    ledger: dict[str, Any]

    def expected(self, tokens: int, overhead: int) -> int:
        """The provider's expected count, given its count `tokens` for the view and `overhead` besides messages."""
        return calibrate(self.before, tokens, overhead).counted(self.after)


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What an engine returned, and how long it took."""

    messages: list[Message]
    report: CompactionReport | None
    seconds: float
    assessment: Assessment | None = None  # once the host has checked it

    @property
    def is_compacted(self) -> bool:
        """Whether the engine reports a change."""
        return self.report is not None and self.report.outcome == "compacted"


def assess(
    view: Sequence[Message],
    after: Sequence[Message],
    wire: Wire,
    report: CompactionReport | None,
    ledger: dict[str, Any] | None = None,
) -> Assessment:
    """Check a compacted view. Takes 150 ms for 200,000 tokens, so it does not run on the event loop.

    `ledger` is what it kept, if already known.
    """
    before = estimate_messages_tokens_rough(view)
    refused = refusal(view, before, after, wire)
    if refused:
        return Assessment(refused, before, 0, {})
    return Assessment(
        "", before, estimate_messages_tokens_rough(after), ledger or ledger_of(view, after, report)
    )


def ledger_of(
    before: Sequence[Message], after: Sequence[Message], report: CompactionReport | None
) -> dict[str, Any]:
    """For each kind of fact, how many there were, how many the compacted view still names, and how it was made.

    `lost` lists facts that it no longer names, each with the position in `before` of the last message that stated it.
    """
    text = "\n".join(_words(after))
    ledger: dict[str, Any] = {}
    lost: list[dict[str, Any]] = []
    for kind, found in _sources(before).items():
        gone = [item for item in found if item not in text and not _stays(before, found[item], text)]
        if found:
            ledger[kind] = {"had": len(found), "kept": len(found) - len(gone)}
        # The newest ones, because users look for recent statements.
        lost += [
            {"kind": kind, "text": item[:_LONGEST_LOST], "at": found[item]} for item in gone[-_MAX_LOST:]
        ]
    if lost:
        ledger["lost"] = lost
    if report is not None:
        ledger |= {"summary": report.summary_source, "steps": list(report.steps)}
        if report.lines:
            ledger["sources"] = as_json(report.lines)
        if is_degraded(report):
            ledger["degraded"] = True
    return ledger


def _sources(messages: Sequence[Message]) -> dict[str, dict[str, int]]:
    """The facts of each kind, each with the position of the last message that stated it."""
    facts = read_facts(messages, quotes=False)
    return {
        "constraints": {key: fact.source for key, fact in facts.constraints.items()},
        "files": {key: max(fact.sources, default=-1) for key, fact in facts.files.items()},
        "commands": {key: event.position for key, event in facts.commands.items()},
        "commits": {key: fact.source for key, fact in facts.commits.items()},
        "decisions": {key: fact.source for key, fact in facts.decisions.items()},
    }


def _stays(before: Sequence[Message], place: int, after: str) -> bool:
    """Whether the view still has the whole text of the message that stated a fact, which may word it differently."""
    said = text_of(before[place]).strip() if 0 <= place < len(before) else ""
    return bool(said) and not tool_calls(before[place]) and said in after


def is_degraded(report: CompactionReport | None) -> bool:
    """Whether a summary was extracted although a model should have written it."""
    return report is not None and bool(report.model_failures)


def _words(messages: Sequence[Message]) -> Iterable[str]:
    for message in messages:
        yield text_of(message)
        yield from (arguments_text(call) for call in tool_calls(message))

"""Prepares a compacted view in the background and fits it to the conversation as it is now.

    prepared from   [ m1 … m39 ][ m40 ]            ──► [ head ][ summary ][ m31 … m39 ][ m40 ]
    the view now    [ m1 … m39 ][ m40' m41 m42 ]   ──► [ head ][ summary ][ m31 … m39 ][ m40' m41 m42 ]
                                                       too large for the messages or the window as they
                                                       are now: compacted again without a model

A summary covers the messages up to the newest reply at the time; later messages may change. Branches of a
conversation share their summaries (`SharedPreparations`), so a prefix is summarised and paid for once. A refit by the
built-in engines calls no model, so it does not make the user wait.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from plimsoll.agent.compaction_record import CompactionResult, is_degraded
from plimsoll.agent.engine_host import SUMMARY_SHARE, SUMMARY_TIMED_OUT, EngineHost, can_draft
from plimsoll.agent.hooks import Guidance
from plimsoll.agent.plugin_calls import call_in_thread
from plimsoll.context import Budget, CompactionReport, ContextCompressor, ContextEngine
from plimsoll.context.gate import refusal
from plimsoll.messages import Message, Wire, answered_through
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.providers.auxiliary.watch import SummaryWatch


@dataclass(frozen=True, slots=True)
class CompactionTerms:
    """The settings of a compaction that may differ from model to model, except the window."""

    writer: str = ""  # the summary model
    threshold: float = 0.0
    target_ratio: float = 0.0
    target: int | None = None

    @classmethod
    def of(cls, writer: str, budget: object) -> "CompactionTerms":
        """The terms of a summary model and an engine's budget; plugin engines have none."""
        if not isinstance(budget, Budget):
            return cls(writer)
        return cls(writer, budget.threshold, budget.target_ratio, budget.target)


@dataclass(frozen=True, slots=True)
class PreparedCompaction:
    """Background work: the messages it started from, the hooks' guidance, and the task with the result."""

    source: tuple[Message, ...]
    guidance: "asyncio.Task[Guidance]"
    task: "asyncio.Task[CompactionResult]"
    watch: SummaryWatch
    engine: ContextEngine  # that runs it
    terms: CompactionTerms
    tokens: int  # the provider's count for the source, as known when the work started
    roomy: int  # the largest size that left room to grow, as known then

    def shared(self, view: Sequence[Message]) -> int:
        """The length of the common prefix with a view."""
        pairs = zip(self.source, view, strict=False)
        length = min(len(self.source), len(view))
        return next((n for n, (old, new) in enumerate(pairs) if old is not new and old != new), length)

    def fits(self, view: Sequence[Message]) -> bool:
        """Whether the view differs only in unanswered messages, and has the first message that is kept.

        A summary also describes how the kept messages ended, so it is wrong for a view without them.
        """
        shared = self.shared(view)
        if shared == len(self.source):
            return True
        return shared >= answered_through(self.source) and (not self.is_ready or shared > self.kept_from)

    @property
    def kept_from(self) -> int:
        """The first message of the source from which all messages are kept."""
        messages, source = self.task.result().messages, self.source
        same = 0
        while same < min(len(messages), len(source)) and messages[-1 - same] is source[-1 - same]:
            same += 1
        return len(source) - same

    @property
    def is_ready(self) -> bool:
        """Whether the result is available."""
        task = self.task
        return task.done() and not task.cancelled() and task.exception() is None

    @property
    def is_refused(self) -> bool:
        """Whether the result is available and may not replace the view."""
        assessment = self.task.result().assessment if self.is_ready else None
        return assessment is not None and bool(assessment.refused)

    def cancel(self) -> None:
        """Stop the work."""
        self.watch.skip()
        self.guidance.cancel()
        self.task.cancel()


class PreparationLost(Exception):
    """The prepared view cannot be used."""


class SharedPreparations:
    """The summaries that branches of one conversation have prepared or are preparing, newest last.

    Branches find each other's summaries, so two that need the same prefix at the same time wait for one.
    """

    def __init__(self) -> None:
        self._all: list[PreparedCompaction] = []

    def add(self, prepared: PreparedCompaction) -> None:
        """Let the other branches find it, unless it fails."""
        self._all = [*self._all[1 - _MAX_SHARED :], prepared]
        prepared.task.add_done_callback(lambda _: None if prepared.is_ready else self._drop(prepared))

    def find(self, view: Sequence[Message], terms: CompactionTerms) -> PreparedCompaction | None:
        """The newest one that fits a view, was prepared on these terms and was written by a model."""
        return next(self._fitting(view, terms), None)

    def find_usable(self, view: Sequence[Message], terms: CompactionTerms) -> PreparedCompaction | None:
        """The same without results that may not replace the view: now the engine may find something to compact."""
        return next((prepared for prepared in self._fitting(view, terms) if not prepared.is_refused), None)

    def _fitting(self, view: Sequence[Message], terms: CompactionTerms) -> Iterator[PreparedCompaction]:
        for prepared in reversed(self._all):
            has_failed = prepared.is_ready and is_degraded(prepared.task.result().report)
            if prepared.terms == terms and not has_failed and prepared.fits(view):
                yield prepared

    def memory(self, engine: ContextEngine) -> int:
        """Approximate bytes of the summaries, this engine and the branches' engines, without the messages."""
        reports = [preparation.task.result().report for preparation in self._all if preparation.is_ready]
        engines = {id(item): item for item in (engine, *(preparation.engine for preparation in self._all))}
        return sum(map(_report_memory, reports)) + sum(map(_engine_memory, engines.values()))

    def _drop(self, prepared: PreparedCompaction) -> None:
        self._all = [preparation for preparation in self._all if preparation is not prepared]


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The provider's token counts for message lists of one conversation."""

    expected: Callable[[Sequence[Message]], int]
    overhead: int  # the part of every count that is not in the messages
    roomy: int  # the largest size that leaves the conversation room to grow

    def arguments(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The counts that an engine gets for these messages."""
        return {"current_tokens": self.expected(messages), "overhead_tokens": self.overhead}


_LINE_BYTES = 1_000  # in memory, per line of a summary with its sources
_MAX_SHARED = 4  # summaries that branches keep for each other; a conversation rarely has more live branches
EngineResult: TypeAlias = tuple[list[Message], CompactionReport | None]
Draft: TypeAlias = Callable[[list[Message], dict[str, Any]], Awaitable[EngineResult]]


async def refitted(
    found: CompactionResult,
    prepared: PreparedCompaction,
    view: Sequence[Message],
    counted: TokenCounts,
    draft: Draft,
) -> CompactionResult:
    """The prepared view with the messages since, compacted again by `draft` if it is too large."""
    source, kept_from = prepared.source, prepared.kept_from
    # Use the view's objects, because the messages may have been reloaded.
    places = {id(message): place for place, message in enumerate(source[: prepared.shared(view)])}
    opening = found.messages[: len(found.messages) - (len(source) - kept_from)]
    combined = [view[places[id(message)]] if id(message) in places else message for message in opening]
    combined += view[kept_from:]
    has_changed = (
        len(view) > len(source)
        or prepared.shared(view) < len(source)
        # A smaller window was learned since, or that the provider counts more.
        or counted.roomy < prepared.roomy
        or counted.expected(view) > prepared.tokens
    )
    if has_changed and counted.expected(combined) > counted.roomy:
        smaller, refit = await draft(combined, counted.arguments(combined))
        if estimate_messages_tokens_rough(smaller) < estimate_messages_tokens_rough(combined):
            report = _joined(found.report, refit, view, smaller, counted)
            return replace(found, messages=smaller, report=report, assessment=None)
    return replace(
        found, messages=combined, report=_joined(found.report, found.report, view, combined, counted)
    )


async def prepared_for(
    host: EngineHost,
    prepared: PreparedCompaction,
    view: Sequence[Message],
    counted: TokenCounts,
    seconds: float,
) -> CompactionResult:
    """The prepared view, fitted to the current view."""
    done, _ = await asyncio.wait({prepared.task}, timeout=seconds * SUMMARY_SHARE)
    if not done:
        prepared.watch.skip(SUMMARY_TIMED_OUT)
        await asyncio.wait({prepared.task})
    if prepared.task.cancelled():  # by another branch, whose client has disconnected
        raise PreparationLost("the prepared summary was discarded")
    found = prepared.task.result()
    if not prepared.fits(view):
        raise PreparationLost("the prepared summary covers messages that have changed")
    if prepared.engine is not host.engine and is_degraded(found.report):
        raise PreparationLost("the summary that another branch prepared was not written by a model")
    if prepared.engine is not host.engine and can_draft(host.engine) and can_draft(prepared.engine):
        # The engine continues from the facts of the adopted summary.
        host.engine.remembered = prepared.engine.remembered.copied()
    return await refitted(found, prepared, view, counted, partial(refit, host, seconds))


async def preview_of(
    host: EngineHost,
    prepared: PreparedCompaction | None,
    view: Sequence[Message],
    counted: TokenCounts,
    focus: str | None,
    wire: Wire,
) -> CompactionResult:
    """What a manual compaction would return now. Stores nothing, counts nothing, calls no model."""
    first = None
    for engine in host.previewing():
        found = _gated(await _previewed(host, engine, prepared, view, focus, counted), view, wire)
        if found.is_compacted:
            return found
        first, prepared = first or found, None
    assert first is not None  # there is always an engine
    return first


async def refit(
    host: EngineHost, seconds: float, messages: list[Message], counted: dict[str, Any]
) -> EngineResult:
    """Compact a prepared list again. Built-in engines call no model for it, so the user does not wait."""
    engine = host.engine
    if can_draft(engine):
        return await call_in_thread(lambda: host.draft(engine, messages, **counted, ask=False), seconds)
    return await host.compress(engine, messages, seconds, **counted)


async def _previewed(
    host: EngineHost,
    engine: ContextCompressor,
    prepared: PreparedCompaction | None,
    view: Sequence[Message],
    focus: str | None,
    counted: TokenCounts,
) -> CompactionResult:
    """What one engine would return."""

    async def draft(messages: list[Message], counts: dict[str, Any]) -> EngineResult:
        return await asyncio.to_thread(
            lambda: host.draft(engine, messages, focus_topic=focus, **counts, ask=False, keep=False)
        )

    async def drafted(messages: Sequence[Message]) -> CompactionResult:
        return CompactionResult(*await draft(list(messages), counted.arguments(messages)), 0.0)

    if prepared is None:
        return await drafted(view)
    # While the model is still writing, a draft uses the same cuts as the prepared view.
    found = prepared.task.result() if prepared.is_ready else await drafted(prepared.source)
    return await refitted(found, prepared, view, counted, draft)


def _gated(found: CompactionResult, view: Sequence[Message], wire: Wire) -> CompactionResult:
    """A preview whose report says if its list may not replace the view."""
    report, refused = found.report, refusal(view, estimate_messages_tokens_rough(view), found.messages, wire)
    if report is None or not found.is_compacted or not refused:
        return found
    return replace(found, report=replace(report, outcome="unchanged", reason=refused))


def _joined(
    prepared: CompactionReport | None,
    last: CompactionReport | None,
    view: Sequence[Message],
    after: Sequence[Message],
    counted: TokenCounts,
) -> CompactionReport | None:
    """One report from the view to the result: a refit keeps the lines that a model wrote."""
    if prepared is None or last is None:
        return last
    return replace(
        last,
        summary_source=prepared.summary_source,
        steps=prepared.steps if last is prepared else (*prepared.steps, *last.steps),
        model_failures=prepared.model_failures
        if last is prepared
        else (*prepared.model_failures, *last.model_failures),
        messages_before=len(view),
        messages_after=len(after),
        tokens_before=counted.expected(view),
        tokens_after=counted.expected(after),
    )


def _report_memory(report: CompactionReport | None) -> int:
    """Approximate bytes of a report in memory."""
    return 2 * len(report.whole_summary) + _LINE_BYTES * len(report.lines) if report is not None else 0


def _engine_memory(engine: ContextEngine) -> int:
    """Approximate bytes that an engine keeps about a conversation; 0 for plugin engines."""
    return engine.remembered.memory + _report_memory(engine.last_report) if can_draft(engine) else 0

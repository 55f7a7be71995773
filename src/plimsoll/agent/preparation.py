"""A compacted view prepared in the background, and how it is extended with the messages that arrived since.

    prepared from   [ m1 … m40 ]             ──► [ head ][ summary ][ tail ]
    the view now    [ m1 … m40 ][ m41 m42 ]  ──► [ head ][ summary ][ tail ][ m41 m42 ]
                                                 too large: compacted again without a model

The prepared summary is kept: a refit by the built-in engines asks no model, so nobody waits for one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from plimsoll.agent.compaction_record import Assessment
from plimsoll.agent.engine_host import SUMMARY_SHARE, TOO_LONG, EngineHost, can_draft
from plimsoll.agent.hooks import Guidance
from plimsoll.agent.plugin_calls import call_in_thread
from plimsoll.context import CompactionReport, ContextCompressor
from plimsoll.context.gate import refusal
from plimsoll.messages import Message, Wire
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.providers.auxiliary.watch import SummaryWatch


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What an engine returned, and how long it took."""

    messages: list[Message]
    report: CompactionReport | None
    seconds: float
    judgement: Assessment | None = None  # once the host has looked at it

    @property
    def is_compacted(self) -> bool:
        """Whether the engine says that it changed anything."""
        return self.report is not None and self.report.outcome == "compacted"


@dataclass(frozen=True, slots=True)
class PreparedCompaction:
    """Work in the background: the messages it started from, what the hooks said, and the task with the result."""

    source: tuple[Message, ...]
    guidance: "asyncio.Task[Guidance]"
    task: "asyncio.Task[CompactionResult]"
    watch: SummaryWatch

    def fits(self, view: Sequence[Message]) -> bool:
        """Whether the view still begins with exactly the messages that were prepared from."""
        return len(self.source) <= len(view) and all(
            old is new for old, new in zip(self.source, view, strict=False)
        )

    @property
    def is_ready(self) -> bool:
        """Whether the result is there."""
        task = self.task
        return task.done() and not task.cancelled() and task.exception() is None

    def cancel(self) -> None:
        """Stop the work."""
        self.watch.skip()
        self.guidance.cancel()
        self.task.cancel()


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """What the provider counts for lists of messages of one conversation."""

    expected: Callable[[Sequence[Message]], int]
    overhead: int  # the part of every count that is not in the messages
    roomy: int  # the largest size that leaves the conversation room to grow

    def arguments(self, messages: Sequence[Message]) -> dict[str, Any]:
        """What an engine is told about these messages."""
        return {"current_tokens": self.expected(messages), "overhead_tokens": self.overhead}


Drafted: TypeAlias = tuple[list[Message], CompactionReport | None]
Draft: TypeAlias = Callable[[list[Message], dict[str, Any]], Awaitable[Drafted]]


async def refitted(
    found: CompactionResult,
    prepared: PreparedCompaction,
    view: Sequence[Message],
    counted: TokenCounts,
    draft: Draft,
) -> CompactionResult:
    """What was prepared with the messages that arrived since, compacted again by `draft` where it is too large."""
    later = view[len(prepared.source) :]
    combined = [*found.messages, *later]
    if later and counted.expected(combined) > counted.roomy:
        smaller, refit = await draft(combined, counted.arguments(combined))
        if weigh(smaller) < weigh(combined):
            return replace(
                found, messages=smaller, report=_joined(found.report, refit, view, smaller, counted)
            )
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
    """What was prepared, fitted to the view as it is now."""
    done, _ = await asyncio.wait({prepared.task}, timeout=seconds * SUMMARY_SHARE)
    if not done:
        prepared.watch.skip(TOO_LONG)
    found = await prepared.task
    return await refitted(found, prepared, view, counted, partial(refit, host, seconds))


async def preview_of(
    host: EngineHost,
    prepared: PreparedCompaction | None,
    view: Sequence[Message],
    counted: TokenCounts,
    focus: str | None,
    wire: Wire,
) -> CompactionResult:
    """What a compaction by hand would give now; nothing is stored, counted or asked of a model."""
    first = None
    for engine in host.previewing():
        found = _gated(await _previewed(engine, prepared, view, focus, counted), view, wire)
        if found.is_compacted:
            return found
        first, prepared = first or found, None
    assert first is not None  # there is always an engine
    return first


async def refit(
    host: EngineHost, seconds: float, messages: list[Message], counted: dict[str, Any]
) -> Drafted:
    """Compact a prepared list again. Our engines ask no model for it, so nobody waits for one."""
    engine = host.engine
    if can_draft(engine):
        return await call_in_thread(lambda: host.draft(engine, messages, **counted, ask=False), seconds)
    return await host.compress(engine, messages, seconds, **counted)


async def _previewed(
    engine: ContextCompressor,
    prepared: PreparedCompaction | None,
    view: Sequence[Message],
    focus: str | None,
    counted: TokenCounts,
) -> CompactionResult:
    """What one engine would give."""

    async def draft(messages: list[Message], counts: dict[str, Any]) -> Drafted:
        return await asyncio.to_thread(
            lambda: engine.draft(messages, focus_topic=focus, **counts, ask=False, keep=False)
        )

    async def drafted(messages: Sequence[Message]) -> CompactionResult:
        return CompactionResult(*await draft(list(messages), counted.arguments(messages)), 0.0)

    if prepared is None:
        return await drafted(view)
    # While the model is still writing, a draft is cut in the same places as what it will leave.
    found = prepared.task.result() if prepared.is_ready else await drafted(prepared.source)
    return await refitted(found, prepared, view, counted, draft)


def _gated(found: CompactionResult, view: Sequence[Message], wire: Wire) -> CompactionResult:
    """A preview whose report says so where its list may not replace the view."""
    report, refused = found.report, refusal(view, weigh(view), found.messages, wire)
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
    """One report from the view to what is left of it: a refit keeps the lines that a model wrote."""
    if prepared is None or last is None:
        return last
    return replace(
        last,
        summary_source=prepared.summary_source,
        steps=prepared.steps if last is prepared else (*prepared.steps, *last.steps),
        messages_before=len(view),
        messages_after=len(after),
        tokens_before=counted.expected(view),
        tokens_after=counted.expected(after),
    )

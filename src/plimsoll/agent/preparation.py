"""A view prepared in the background, and how it is fitted to the messages that arrived since.

    prepared from   [ m1 … m40 ]             ──► [ head ][ summary ][ tail ]
    the view now    [ m1 … m40 ][ m41 m42 ]  ──► [ head ][ summary ][ tail ][ m41 m42 ]
                                                 too large: compacted again without a model

The prepared summary is kept: a refit by the built-in engines asks no model, so nobody waits for one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from plimsoll.agent.accounts import Judgement
from plimsoll.agent.foreign import in_thread
from plimsoll.agent.hooks import Guidance
from plimsoll.agent.hosting import SUMMARY_SHARE, TOO_LONG, HostedEngine, drafts
from plimsoll.context import ContextCompressor, ContextEngine, Report
from plimsoll.context.gate import refusal
from plimsoll.messages import Message, Wire
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.providers.auxiliary.watch import SummaryWatch

# A prepared view with its later messages is refitted above this share of the threshold: less would leave
# no room to grow before the next compaction.
REFIT_ABOVE = 2 / 3


@dataclass(frozen=True, slots=True)
class Lighter:
    """What an engine returned, and how long it took."""

    messages: list[Message]
    report: Report | None
    seconds: float
    judgement: Judgement | None = None  # once the host has looked at it

    @property
    def is_compacted(self) -> bool:
        """Whether the engine says that it changed anything."""
        return self.report is not None and self.report.outcome == "compacted"


@dataclass(frozen=True, slots=True)
class Prepared:
    """Work in the background: the messages it started from, what the hooks said, and the task with the result."""

    source: tuple[Message, ...]
    guidance: "asyncio.Task[Guidance]"
    task: "asyncio.Task[Lighter]"
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


Drafted: TypeAlias = tuple[list[Message], Report | None]
Draft: TypeAlias = Callable[[list[Message], int], Awaitable[Drafted]]


async def refitted(
    found: Lighter,
    prepared: Prepared,
    view: Sequence[Message],
    expected: Callable[[Sequence[Message]], int],
    line: float,
    draft: Draft,
) -> Lighter:
    """What was prepared with the messages that arrived since, compacted again by `draft` above `line` tokens.

    `expected` gives the tokens that the provider will count for a list.
    """
    later = view[len(prepared.source) :]
    combined = [*found.messages, *later]
    tokens = expected(combined)
    if later and tokens > line:
        smaller, refit = await draft(combined, tokens)
        if weigh(smaller) < weigh(combined):
            return replace(found, messages=smaller, report=_joined(found.report, refit, view, smaller))
    return replace(found, messages=combined, report=_joined(found.report, found.report, view, combined))


async def prepared_for(
    host: HostedEngine, prepared: Prepared, view: Sequence[Message], tokens: int, seconds: float
) -> Lighter:
    """What was prepared, fitted to the view as it is now, for which the provider counts `tokens`."""
    done, _ = await asyncio.wait({prepared.task}, timeout=seconds * SUMMARY_SHARE)
    if not done:
        prepared.watch.skip(TOO_LONG)
    found = await prepared.task
    expected, line = partial(expected_tokens, view, tokens), refit_line(host.engine)
    return await refitted(found, prepared, view, expected, line, partial(refit, host, seconds))


async def preview_of(
    host: HostedEngine,
    prepared: Prepared | None,
    view: Sequence[Message],
    tokens: int,
    focus: str | None,
    wire: Wire,
) -> Lighter:
    """What a compaction by hand would give now; nothing is stored, counted or asked of a model."""
    expected, first = partial(expected_tokens, view, tokens), None
    for engine in host.previewing():
        found = _gated(await _previewed(engine, prepared, view, tokens, focus, expected), view, wire)
        if found.is_compacted:
            return found
        first, prepared = first or found, None
    assert first is not None  # there is always an engine
    return first


async def refit(host: HostedEngine, seconds: float, messages: list[Message], tokens: int) -> Drafted:
    """Compact a prepared list again. Our engines ask no model for it, so nobody waits for one."""
    engine = host.engine
    if drafts(engine):
        return await in_thread(
            lambda: host.draft(engine, messages, current_tokens=tokens, ask=False), seconds
        )
    return await host.compress(engine, messages, seconds, current_tokens=tokens)


async def _previewed(
    engine: ContextCompressor,
    prepared: Prepared | None,
    view: Sequence[Message],
    tokens: int,
    focus: str | None,
    expected: Callable[[Sequence[Message]], int],
) -> Lighter:
    """What one engine would give."""

    async def draft(messages: list[Message], tokens: int) -> Drafted:
        return await asyncio.to_thread(engine.draft, messages, tokens, focus, ask=False, keep=False)

    if prepared is None:
        return Lighter(*await draft(list(view), tokens), 0.0)
    if prepared.is_ready:
        found = prepared.task.result()
    else:  # the model is still writing; what it will leave is cut in the same places
        found = Lighter(*await draft(list(prepared.source), expected(prepared.source)), 0.0)
    return await refitted(found, prepared, view, expected, refit_line(engine), draft)


def refit_line(engine: ContextEngine) -> float:
    """The tokens above which a prepared view is refitted."""
    return engine.threshold_tokens * REFIT_ABOVE


def _gated(found: Lighter, view: Sequence[Message], wire: Wire) -> Lighter:
    """A preview whose report says so where its list may not replace the view."""
    report, refused = found.report, refusal(view, weigh(view), found.messages, wire)
    if report is None or not found.is_compacted or not refused:
        return found
    return replace(found, report=replace(report, outcome="unchanged", reason=refused))


def expected_tokens(view: Sequence[Message], tokens: int, after: Sequence[Message]) -> int:
    """The tokens that the provider will count for `after`, where it counts `tokens` for the view."""
    before = weigh(view)
    return round(tokens * weigh(after) / before) if before else weigh(after)


def _joined(
    prepared: Report | None, last: Report | None, view: Sequence[Message], after: Sequence[Message]
) -> Report | None:
    """One report from the view to what is left of it: a refit keeps the lines that a model wrote."""
    if prepared is None or last is None:
        return last
    return replace(
        last,
        summary_source=prepared.summary_source,
        steps=prepared.steps if last is prepared else (*prepared.steps, *last.steps),
        messages_before=len(view),
        messages_after=len(after),
        tokens_before=weigh(view),
        tokens_after=weigh(after),
    )

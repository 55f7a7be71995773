"""A view prepared in the background, and how it is fitted to the messages that arrived since.

    prepared from   [ m1 … m40 ]             ──► [ head ][ summary ][ tail ]
    the view now    [ m1 … m40 ][ m41 m42 ]  ──► [ head ][ summary ][ tail ][ m41 m42 ]
                                                 too large: compacted again without a model

The prepared summary is kept: a refit by the built-in engines asks no model, so nobody waits for one.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from plimsoll.agent.foreign import in_thread
from plimsoll.agent.hooks import Guidance
from plimsoll.agent.hosting import HostedEngine
from plimsoll.context import ContextCompressor, ContextEngine, Report
from plimsoll.messages import Message
from plimsoll.models import estimate_messages_tokens_rough as weigh

# A prepared view with its later messages is refitted above this share of the threshold: less would leave
# no room to grow before the next compaction.
REFIT_ABOVE = 2 / 3


@dataclass(frozen=True, slots=True)
class Lighter:
    """What an engine returned, and how long it took."""

    messages: list[Message]
    report: Report | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """Work in the background: the messages it started from, what the hooks said, and the task with the result."""

    source: tuple[Message, ...]
    guidance: "asyncio.Task[Guidance]"
    task: "asyncio.Task[Lighter]"

    def fits(self, view: Sequence[Message]) -> bool:
        """Whether the view still begins with exactly the messages that were prepared from."""
        return len(self.source) <= len(view) and all(
            old is new for old, new in zip(self.source, view, strict=False)
        )

    def cancel(self) -> None:
        """Stop the work."""
        self.guidance.cancel()
        self.task.cancel()


def report_of(engine: ContextEngine) -> Report | None:
    """What the engine says about its last compaction, where it says anything."""
    report = getattr(engine, "last_report", None)
    return report if isinstance(report, Report) else None


async def refitted(
    host: HostedEngine,
    prepared: Prepared,
    view: Sequence[Message],
    expected: Callable[[Sequence[Message]], int],
    seconds: float,
) -> Lighter:
    """The prepared view with the messages that arrived since, compacted again where it is too large.

    `expected` gives the tokens that the provider will count for a view.
    """
    found = await prepared.task
    combined = replace(found, messages=[*found.messages, *view[len(prepared.source) :]])
    engine = host.engine
    tokens = expected(combined.messages)
    if len(view) == len(prepared.source) or tokens <= engine.threshold_tokens * REFIT_ABOVE:
        return combined
    if isinstance(engine, ContextCompressor):
        smaller = await in_thread(lambda: engine.refit(combined.messages, tokens), seconds)
    else:
        smaller = await host.compress(engine, combined.messages, seconds, current_tokens=tokens)
    if weigh(smaller) >= weigh(combined.messages):
        return combined
    return replace(combined, messages=smaller, report=_joined(found.report, report_of(engine)))


def _joined(prepared: Report | None, refit: Report | None) -> Report | None:
    """One report of both: a refit keeps the lines that a model wrote."""
    if prepared is None or refit is None:
        return refit
    steps = (*prepared.steps, *refit.steps)
    return replace(refit, summary_source=prepared.summary_source, steps=steps)

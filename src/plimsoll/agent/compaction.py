"""The one place that decides when to compact, and sees it through.

    tokens ──► below the soft line     nothing
               85 % of the threshold   the next view is prepared in the background
               the threshold           swapped in between two requests; waited for only if it is not ready
               an overflow             at once, whatever was tried before

An engine transforms; the host triggers, checks, and has a fallback. What an engine
returns is refused when it is not valid, not smaller, or has lost the newest request. An
attempt that got nowhere is not repeated on every turn: only after growth or time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from plimsoll.archive import CompactionEvent
from plimsoll.context import ContextCompressor, ContextEngine, Report
from plimsoll.context.gate import refusal
from plimsoll.messages import Message
from plimsoll.models import estimate_messages_tokens_rough as weigh

Lighter: TypeAlias = tuple[list[Message], Report | None]
Source: TypeAlias = Callable[[], Coroutine[Any, Any, Lighter]]
SOFT_LINE = 0.85
FAR_BELOW = 0.85


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """What the settings say about compaction."""

    enabled: bool = True
    background: bool = True
    deadline: float = 180.0
    rearm_growth: float = 0.05  # share of the window by which the prompt must grow after a vain attempt
    rearm_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A compaction that was tried: the lighter view, or None where nothing may change, and the event to store."""

    messages: list[Message] | None
    event: CompactionEvent


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Work in the background: what it was made from, and the task that gives the lighter list."""

    source: tuple[Message, ...]
    task: "asyncio.Task[Lighter]"


@dataclass(frozen=True, slots=True)
class _Vain:
    """An attempt that did not get far below the line: not again until there is more, or later."""

    tokens: int
    time: float


class Compactor:
    """When and how the view of one conversation is made lighter."""

    def __init__(
        self, engine: ContextEngine, rules: CompactionRules, clock: Callable[[], float], model: str = ""
    ) -> None:
        self.engine = engine
        self.rules = rules
        self.model = model
        self._clock = clock
        self._prepared: _Prepared | None = None
        self._vain: _Vain | None = None

    def remember(self, events: Sequence[CompactionEvent], tokens: int) -> None:
        """Take up the verdict of an earlier process from the events that it stored; the view has `tokens` now."""
        last = events[-1] if events else None
        if last and last.outcome != "compacted":
            # What a person has taken back is not done again at the next chance.
            self._vain = _Vain(last.tokens_before if last.outcome == "refused" else tokens, last.time)

    def is_due(self, tokens: int) -> bool:
        """Whether the view must be made lighter before the next request of `tokens` prompt tokens."""
        if not self.rules.enabled or tokens < self.engine.threshold_tokens:
            return False
        if self._vain is None:
            return self.engine.should_compress(tokens)
        return self._is_armed(tokens)

    def prepare(self, view: Sequence[Message], tokens: int) -> None:
        """Start on the next view beside the conversation, once the soft line is crossed."""
        soft = tokens >= self.engine.threshold_tokens * SOFT_LINE
        if not (soft and self.rules.enabled and self.rules.background) or self._prepared:
            return
        if not self._is_armed(tokens):
            return
        source = tuple(view)
        self._prepared = _Prepared(
            source, asyncio.create_task(self._run(self.engine, list(source), tokens, None))
        )

    async def compact(
        self, view: Sequence[Message], tokens: int, trigger: str, focus: str | None = None
    ) -> Attempt:
        """Make the view lighter now: by what was prepared, by the engine, or by the built-in one."""
        started = self._clock()
        event = CompactionEvent(trigger=trigger, engine=self.engine.name, messages_before=len(view))
        event = replace(event, tokens_before=tokens)
        candidate, report, why = await self._candidate(list(view), tokens, focus)
        seconds = self._clock() - started
        event = replace(event, seconds=seconds, waited=seconds)
        if candidate is None:
            self._vain = _Vain(tokens, self._clock())
            return Attempt(None, replace(event, outcome="refused", reason=why))
        before, after = weigh(view), weigh(candidate)
        shrunk = round(tokens * after / before) if before else after
        near = shrunk > self.engine.threshold_tokens * FAR_BELOW
        self._vain = _Vain(shrunk, self._clock()) if near else None
        model = self.model if report and report.summary_source == "model" else ""
        event = replace(event, messages_after=len(candidate), tokens_after=shrunk, reason=why, model=model)
        return Attempt(candidate, event)

    def undone(self, tokens: int) -> None:
        """A person took the last compaction back: not again until there is more, or later."""
        self._vain = _Vain(tokens, self._clock())

    def _is_armed(self, tokens: int) -> bool:
        """Whether nothing was tried in vain, or there is more now, or it is long ago."""
        if self._vain is None:
            return True
        grown = tokens - self._vain.tokens >= self.engine.context_length * self.rules.rearm_growth
        return grown or self._clock() - self._vain.time >= self.rules.rearm_seconds

    async def close(self) -> None:
        """Give up what is being prepared."""
        if self._prepared:
            self._prepared.task.cancel()
            await asyncio.gather(self._prepared.task, return_exceptions=True)
            self._prepared = None

    async def _candidate(
        self, view: list[Message], tokens: int, focus: str | None
    ) -> tuple[list[Message] | None, Report | None, str]:
        """A lighter list that passes the gate, from the best source that gives one, and what went wrong before."""
        faults: list[str] = []
        for name, source in self._sources(view, tokens, focus):
            try:
                messages, report = await source()
            except TimeoutError:
                faults.append(f"{name}: no result within {self.rules.deadline:.0f} s")
                continue
            except (
                Exception
            ) as error:  # an engine is foreign code; whatever it raises, the conversation goes on
                faults.append(f"{name}: {type(error).__name__}: {error}")
                continue
            refused = refusal(view, weigh(view), messages)
            if not refused:
                return messages, report, "; ".join(faults)
            nothing_to_do = report is not None and report.outcome == "unchanged"
            faults.append(f"{name}: {report.reason if report and nothing_to_do else refused}")
        return None, None, "; ".join(faults)

    def _sources(self, view: list[Message], tokens: int, focus: str | None) -> list[tuple[str, Source]]:
        """Where a lighter list may come from, best first."""
        prepared, self._prepared = self._prepared, None
        engine = self.engine
        sources: list[tuple[str, Source]] = []
        if prepared and focus is None and _is_prefix(prepared.source, view):
            later = view[len(prepared.source) :]
            sources.append(("prepared", lambda: _with_later(prepared, later)))
        elif prepared:
            prepared.task.cancel()
        sources.append((engine.name, lambda: self._run(engine, view, tokens, focus)))
        if not isinstance(engine, ContextCompressor):
            plain = ContextCompressor(
                context_length=engine.context_length, protect_last_n=engine.protect_last_n
            )
            sources.append(("compressor", lambda: self._run(plain, view, tokens, focus)))
        return sources

    async def _run(
        self, engine: ContextEngine, view: list[Message], tokens: int, focus: str | None
    ) -> Lighter:
        """The engine in a thread of its own, within the deadline."""
        work = asyncio.to_thread(engine.compress, view, current_tokens=tokens, focus_topic=focus)
        messages = await asyncio.wait_for(work, self.rules.deadline)
        report = getattr(engine, "last_report", None)
        return messages, report if isinstance(report, Report) else None


async def _with_later(prepared: _Prepared, later: Sequence[Message]) -> Lighter:
    messages, report = await prepared.task
    return [*messages, *later], report


def _is_prefix(source: Sequence[Message], view: Sequence[Message]) -> bool:
    """Whether the view still begins with exactly the messages that were prepared from."""
    return len(source) <= len(view) and all(old is new for old, new in zip(source, view, strict=False))

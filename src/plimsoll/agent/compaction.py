"""Decides when to compact, and runs the compaction.

    tokens ──► below 85 %              nothing
               85 % of the threshold   the next view is prepared in the background
               the threshold           swapped in between two requests; waited for only if it is not ready
               before it               under `policy: cost`, as soon as a summary or clearing old results pays off
               an overflow             at once, whatever was tried before

An engine transforms; the host triggers, checks, and has a fallback. The host rejects a result that is not valid, not
smaller, or has lost the newest request. A failed attempt is not repeated on every turn: only after growth or time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from plimsoll.agent.compaction_record import Attempt, CompactionResult, SummaryAccount, total_of
from plimsoll.agent.engine_host import STALLED, EngineHost, can_draft
from plimsoll.agent.hooks import NO_VETO_TRIGGERS, Guidance, Hooks
from plimsoll.agent.plugin_calls import DeadlineExceeded, call_in_thread, error_text
from plimsoll.agent.preparation import (
    CompactionTerms,
    PreparationLost,
    PreparedCompaction,
    SharedPreparations,
    TokenCounts,
    prepared_for,
    preview_of,
)
from plimsoll.agent.trigger import CLEARING, SOFT_SHARE, CompactionRules, Trigger
from plimsoll.archive import CompactionEvent
from plimsoll.caching import (
    NEVER_PAYS,
    CostDecision,
    CostHistory,
    Pricing,
    cheapest,
    clearing_pays,
    compaction_pays,
)
from plimsoll.context import ContextCompressor, ContextEngine, SummaryWriter
from plimsoll.context.budget import Budget
from plimsoll.messages import Message, Wire
from plimsoll.providers.auxiliary.watch import SummaryWatch

_MAX_METHODS = 3  # per compaction: the prepared view, the engine, and the engine without a model

Method: TypeAlias = Callable[[], Coroutine[Any, Any, CompactionResult]]


@dataclass(frozen=True, slots=True)
class CompactionInput:
    """What every method of one compaction works on."""

    view: list[Message]
    tokens: int  # the provider's count for the view
    focus: str | None
    seconds: float  # that each method may take


class Compactor:
    """When and how the view of one conversation is compacted."""

    def __init__(
        self,
        engine: ContextEngine,
        rules: CompactionRules,
        clock: Callable[[], float],
        model: str = "",
        *,
        hooks: Hooks | None = None,
        fallback: ContextCompressor | None = None,
        wire: Wire = "openai",
        hide: Callable[[str], str] = lambda text: text,
        account: SummaryAccount | None = None,
        branches: SharedPreparations | None = None,
    ) -> None:
        """`account` records the usage of this conversation's summaries; `branches` share their summaries with it."""
        self.account, self._branches = account or SummaryAccount(), branches
        self.host = EngineHost(engine, fallback, hide=hide)
        self.rules = rules
        self.trigger = Trigger(self.host, rules.rearm, clock, rules.enabled)
        self.model = model
        self.hooks = hooks or Hooks()
        self.wire: Wire = wire  # wire format whose rules a compacted view must follow
        self.pricing: Pricing | None = None  # for `policy: cost`; without it the threshold decides
        self.cost_history = CostHistory()
        self._clock = clock
        self._prepared: PreparedCompaction | None = None
        self._watch = SummaryWatch()  # of the compaction in progress

    @property
    def engine(self) -> ContextEngine:
        """The engine in use."""
        return self.host.engine

    @engine.setter
    def engine(self, engine: ContextEngine) -> None:
        self.host.engine = engine

    @property
    def terms(self) -> CompactionTerms:
        """The terms of its next compaction."""
        return CompactionTerms.of(self.model, getattr(self.engine, "budget", None))

    def use_engine(self, engine: ContextCompressor, model: str) -> None:
        """Continue with another engine, whose summaries this model writes.

        A summary that is being prepared stays available to branches with the same terms. The new engine continues
        from the facts of the old engine's summaries.
        """
        if can_draft(self.engine):
            engine.remembered = self.engine.remembered.copied()
        self.engine, self.model, self._prepared = engine, model, None

    def remember(self, events: Sequence[CompactionEvent], tokens: int) -> None:
        """Restore the re-arm state from the events of an earlier process; the view has `tokens` now."""
        self.trigger.remember(events, tokens)

    def is_due(self, tokens: int) -> bool:
        """Whether the view must be compacted before the next request of `tokens` prompt tokens."""
        return self.trigger.is_due(tokens)

    def pays(self, view: Sequence[Message], tokens: int) -> Literal["", "cost", "clearing"]:
        """What `policy: cost` triggers before the threshold: a compaction, clearing old results, or nothing."""
        summary, built_in = self._cost_decision(tokens), self._built_in
        if summary is NEVER_PAYS or self._budget is None or self.pricing is None:
            return ""
        clearing = NEVER_PAYS
        # A summary in progress is already paid for.
        if built_in and not self._prepared:
            target, found = self.trigger.target(self._budget), built_in.clearing(view)
            clearing = clearing_pays(self.pricing, self.cost_history, tokens, target, found, self._clock())
        chosen = cheapest(summary, clearing)
        return CLEARING if chosen == "clearing" else "cost" if chosen else ""

    def _cost_decision(self, tokens: int) -> CostDecision:
        """What the prices say about a summary now."""
        budget = self._budget
        if not self.rules.enabled or self.pricing is None or budget is None:
            return NEVER_PAYS
        if not self.trigger.is_armed(tokens):
            return NEVER_PAYS
        target, now = self.trigger.target(budget), self._clock()
        return compaction_pays(self.pricing, self.cost_history, tokens, target, now, budget.summary_tokens)

    def record_request(self, tokens: int, at: float) -> None:
        """Record an answered request of `tokens` prompt tokens, sent at `at`."""
        if self._budget is not None:
            self.cost_history = self.cost_history.with_request(tokens, self.trigger.target(self._budget), at)

    def prepare(self, view: Sequence[Message], tokens: int) -> None:
        """Prepare the next view in the background, at the soft threshold or when a compaction nearly pays off."""
        if not (self.rules.enabled and self.rules.background) or self._prepared:
            return
        if not (self.trigger.is_near(tokens) or self._cost_decision(tokens).pays(SOFT_SHARE)):
            return
        shared = self._branches.find(view, self.terms) if self._branches else None
        self._prepared = shared or self._preparation(view, tokens, SummaryWatch())

    async def compact(
        self,
        view: Sequence[Message],
        tokens: int,
        trigger: str,
        focus: str | None = None,
        deadline: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Attempt:
        """Compact the view now: with the prepared view, the engine, or the built-in engine.

        `deadline` limits the seconds for each of them further than the rules do. `progress` is called from another
        thread with the characters that the summary model has written so far.
        """
        started = self._clock()
        event = CompactionEvent.refused(trigger, self.engine.name, len(view), tokens)
        prepared = self._take_prepared(view, focus)
        self._watch = prepared.watch if prepared else SummaryWatch()
        self._watch.wait(progress)
        guidance = await (prepared.guidance if prepared else self.hooks.before(view, trigger, focus))
        if guidance.veto and trigger in NO_VETO_TRIGGERS:
            # A vetoed compaction was not prepared either.
            prepared, guidance = None, await self.hooks.before(view, trigger, focus)
        self._add_notices(guidance.faults)
        if guidance.veto:
            self.trigger.record_failed_attempt(tokens)
            return Attempt(None, replace(event, reason=f"vetoed by {guidance.veto}"))
        seconds = min(self.rules.deadline, deadline or self.rules.deadline)
        request = CompactionInput(list(view), tokens, guidance.focus, seconds)
        methods = self._methods(request, prepared)
        if trigger == CLEARING and (built_in := self._built_in):
            methods.insert(0, (CLEARING, lambda: self._clear(built_in, request)))
        found, reason = await self._candidate(request, methods)
        if self._watch.is_hanging:
            self.host.notice("hanging", STALLED)
        waited = self._clock() - started
        spent = self.account.take_unreported()
        event = replace(event, seconds=waited, waited=waited, reason=reason, money=total_of(spent))
        if found is None:
            self.trigger.record_failed_attempt(tokens)
            return Attempt(None, event, spent)
        return Attempt(found.messages, self._adopted(found, event, view), spent)

    def _adopted(
        self, found: CompactionResult, event: CompactionEvent, view: Sequence[Message]
    ) -> CompactionEvent:
        """Adopt the compacted view as the new state. Returns the event with the result."""
        assert found.assessment is not None
        report, shrunk = found.report, found.assessment.expected(event.tokens_before, self.trigger.overhead)
        if event.trigger == CLEARING and report is not None and not report.summary:
            self.cleared(view)
            event = replace(event, reason=report.reason)
        else:
            self.compacted(shrunk)
            if report and can_draft(self.engine):
                self.engine.adopt(report)
        return replace(
            event,
            outcome="compacted",
            messages_after=len(found.messages),
            tokens_after=shrunk,
            model=self.model if report and report.summary_source == "model" else "",
            seconds=max(found.seconds, 0.0),
            ledger=found.assessment.ledger,
        )

    async def preview(self, view: Sequence[Message], tokens: int, focus: str | None) -> CompactionResult:
        """What a manual `compact` would return, with an extracted summary. Changes nothing."""
        prepared = self._prepared if self._prepared and focus is None and self._prepared.fits(view) else None
        return await preview_of(self.host, prepared, view, self._token_counts(view, tokens), focus, self.wire)

    def skip_summary(self) -> None:
        """Continue without the summary model: the current compaction ends with an extracted summary."""
        self._watch.skip()

    def compacted(self, left: int) -> None:
        """Record that the view was compacted to `left` tokens."""
        self.trigger.compacted(left)
        self.cost_history = self.cost_history.compacted()

    def cleared(self, view: Sequence[Message]) -> None:
        """Record that old results of this view were cleared; the compaction target does not change."""
        if (built_in := self._built_in) and self._budget:
            self.cost_history = self.cost_history.cleared(
                built_in.clearing(view), self.trigger.target(self._budget)
            )

    def set_summary_model(self, summarizer: SummaryWriter | None, model: str) -> None:
        """Replace the summary model; None: summaries are extracted without a model."""
        self.model = model
        self.host.set_summary_model(summarizer)

    async def finished(self, event: CompactionEvent) -> None:
        """Notify the hooks that a compaction was stored."""
        if event.outcome == "compacted":
            self._add_notices(await self.hooks.after(event))

    async def close(self) -> None:
        """Cancel the preparation in progress."""
        prepared, self._prepared = self._prepared, None
        if prepared and prepared.engine is self.engine:
            prepared.cancel()
            await asyncio.gather(prepared.task, prepared.guidance, return_exceptions=True)

    @property
    def _built_in(self) -> ContextCompressor | None:
        """The engine if it is built in, which can clear old results by itself."""
        return self.engine if isinstance(self.engine, ContextCompressor) and self.host.is_built_in else None

    @property
    def _budget(self) -> Budget | None:
        """The engine's budget, if it decides; a plugin engine decides for itself."""
        budget = getattr(self.engine, "budget", None)
        return budget if self.rules.policy == "cost" and isinstance(budget, Budget) else None

    def _add_notices(self, faults: Sequence[str]) -> None:
        for fault in faults:
            self.host.notice(fault, fault)

    async def _candidate(
        self, request: CompactionInput, methods: list[tuple[str, Method]]
    ) -> tuple[CompactionResult | None, str]:
        """A compacted list that passes the gate, by the best method that returns one, and the earlier failures."""
        faults: list[str] = []
        for name, method in methods:
            try:
                found = await self.host.assessed(await method(), request.view, self.wire, request.seconds)
            except DeadlineExceeded as hung:
                faults.append(f"{name}: {hung}")
                if name != "prepared" and self.host.is_built_in and len(methods) < _MAX_METHODS:
                    # Only a summary model can take so long.
                    methods.append(self._built_in_method(self.host.without_model(), request))
                continue
            except Exception as error:  # plugin code; the conversation continues
                faults.append(f"{name}: {error_text(error)}")
                continue
            assert found.assessment is not None
            if not found.assessment.refused:
                return found, self.host.hide("; ".join(faults))
            unchanged = found.report is not None and found.report.outcome == "unchanged"
            faults.append(
                f"{name}: {found.report.reason if found.report and unchanged else found.assessment.refused}"
            )
        return None, self.host.hide("; ".join(faults))

    def _take_prepared(self, view: Sequence[Message], focus: str | None) -> PreparedCompaction | None:
        """The prepared view if the current view still starts with its messages; otherwise it is discarded."""
        prepared, self._prepared = self._prepared, None
        if self._branches is not None:
            return self._branches.find_usable(view, self.terms) if focus is None else None
        if prepared and (focus is not None or not prepared.fits(view)):
            prepared.cancel()
            return None
        return prepared

    def _methods(
        self, request: CompactionInput, prepared: PreparedCompaction | None
    ) -> list[tuple[str, Method]]:
        """The ways to compact the view, best first."""
        engine = self.engine
        methods: list[tuple[str, Method]] = []
        if prepared:
            methods.append(("prepared", lambda: self._refitted(prepared, request)))
        if self._branches is not None and request.focus is None and can_draft(engine):
            methods.append((engine.name, lambda: self._run_shared(request)))
        else:
            methods.append((engine.name, lambda: self._run(engine, request)))
        if not self.host.is_built_in:
            methods.append(self._built_in_method(self.host.fallback(), request))
        return methods

    def _built_in_method(self, engine: ContextCompressor, request: CompactionInput) -> tuple[str, Method]:
        return "the built-in", lambda: self._run(engine, request)

    async def _refitted(self, prepared: PreparedCompaction, request: CompactionInput) -> CompactionResult:
        """The prepared view, fitted to the view as it is now."""
        counted = self._token_counts(request.view, request.tokens)
        return await prepared_for(self.host, prepared, request.view, counted, request.seconds)

    def _preparation(self, view: Sequence[Message], tokens: int, watch: SummaryWatch) -> PreparedCompaction:
        """A task that prepares the next view, available to the other branches."""
        source = tuple(view)
        guidance = asyncio.create_task(self.hooks.before(source, "threshold", None))
        task = asyncio.create_task(self._run_guided(self.engine, guidance, list(source), tokens, watch))
        known = self.terms, tokens, self.trigger.max_tokens_after
        prepared = PreparedCompaction(source, guidance, task, watch, self.engine, *known)
        if self._branches is not None:
            self._branches.add(prepared)
        return prepared

    async def _run_shared(self, request: CompactionInput) -> CompactionResult:
        """Run the engine, unless another branch does. Its work continues for others if this caller stops waiting."""
        shared = self._branches.find_usable(request.view, self.terms) if self._branches else None
        if shared:
            shared.watch.wait()
            with suppress(PreparationLost):
                return await self._refitted(shared, request)
        own = self._preparation(request.view, request.tokens, self._watch)
        own.watch.wait()
        return await self._refitted(own, request)

    async def _run_guided(
        self,
        engine: ContextEngine,
        guidance: "asyncio.Task[Guidance]",
        view: list[Message],
        tokens: int,
        watch: SummaryWatch,
    ) -> CompactionResult:
        """Run the engine in the background, after the hooks have answered."""
        advice = await asyncio.shield(guidance)
        if advice.veto:
            return CompactionResult(view, None, 0.0)
        request = CompactionInput(view, tokens, advice.focus, self.rules.deadline)
        found = await self._run(engine, request, watch)
        return await self.host.assessed(found, view, self.wire, self.rules.deadline)

    async def _clear(self, engine: ContextCompressor, request: CompactionInput) -> CompactionResult:
        """Clear old results and nothing else."""
        started = self._clock()
        messages = await call_in_thread(lambda: engine.clear(request.view), request.seconds)
        return CompactionResult(messages, engine.last_report, self._clock() - started)

    async def _run(
        self, engine: ContextEngine, request: CompactionInput, watch: SummaryWatch | None = None
    ) -> CompactionResult:
        """Run the engine in a separate thread."""
        started = self._clock()
        counted = {"current_tokens": request.tokens, "overhead_tokens": self.trigger.overhead}
        messages, report = await self.host.compress(
            engine, request.view, request.seconds, watch or self._watch, focus_topic=request.focus, **counted
        )
        return CompactionResult(messages, report, self._clock() - started)

    def _token_counts(self, view: Sequence[Message], tokens: int) -> TokenCounts:
        expected = partial(self.trigger.expected, view, tokens)
        return TokenCounts(expected, self.trigger.overhead, self.trigger.max_tokens_after)

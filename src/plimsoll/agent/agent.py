"""One user turn: prepare → ask → run tools → repeat, until the model has answered.

    user message ─► [ compact if due ] ─► ask ─► answer                         done
                            ▲               └─► tool calls ─► results ─┐
                            └──────────────────────────────────────────┘

Everything is in the journal before the model sees it. Whatever ends a turn (a limit, a failure, Ctrl-C), the history
stays valid: every call has a result, and the next turn can begin. The model is never told how full its window is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace

from plimsoll.agent.cancellation import run_to_completion
from plimsoll.agent.compaction import Compactor
from plimsoll.agent.compaction_record import Attempt, record_of
from plimsoll.agent.events import Compacted, Notice, ToolCalled, ToolReturned, UsageReported
from plimsoll.agent.journal import Journal
from plimsoll.agent.large_results import results_of
from plimsoll.agent.limits import TurnLimits
from plimsoll.agent.media import media_removed, within_media_limits, without_rejected_media
from plimsoll.agent.model_connection import Emit, ModelConnection
from plimsoll.agent.progress import progress_to
from plimsoll.agent.trigger import NOTHING_TO_COMPACT
from plimsoll.archive import CompactionEvent
from plimsoll.context import CompactionReport
from plimsoll.context.ledger import call_line, outcome_of
from plimsoll.context.markers import as_said
from plimsoll.dialects import Reply, Usage, drop_bound_thinking
from plimsoll.errors import (
    ContextOverflow,
    OutputCapExceeded,
    PayloadTooLarge,
    PlimsollError,
    ProviderError,
    UserError,
)
from plimsoll.messages import Message, call_name, text_of, tool_calls
from plimsoll.tools import Approve, CallOutcome, ToolBox, ToolContext, failed

INTERRUPTED = "[interrupted by the user]"
UNANSWERED = "[no answer: the request failed]"
PROCESS_ENDED = "[no answer: the process ended]"
CALL_LOST = "the process that ran it has ended; its effect is unknown."
_MAX_RECOVERIES = 6  # per request: each makes it smaller, so more would not help
_SMALLEST_ANSWER = 16  # tokens; with less room, a lower limit would only cut the answer
_ENGINE_SHARE = 0.6  # of a deadline, for the engine


@dataclass(slots=True)
class Turn:
    """What one turn has used so far."""

    started: float
    requests: int = 0
    money: float = 0.0


@dataclass(slots=True)
class Agent:
    """A model with tools, and the view of its conversation."""

    connection: ModelConnection
    compactor: Compactor
    toolbox: ToolBox
    tool_context: ToolContext
    journal: Journal
    limits: TurnLimits = field(default_factory=TurnLimits)
    view: list[Message] = field(default_factory=list)
    # Added by the owner of the conversation to every compacted view, such as pinned messages.
    finish: Callable[[list[Message], list[Message]], list[Message]] = lambda _before, after: after

    async def turn(self, message: Message, emit: Emit, approve: Approve | None = None) -> Message:
        """Answer one user message. Returns the last message of the turn."""
        await self.store_user_message(message, emit)
        return await self.answer(emit, approve)

    async def store_user_message(self, message: Message, emit: Emit) -> None:
        """Store a user message. From here on it is safe, even if the answer fails."""
        self.emit_notices(emit)
        await self.add([message])

    async def answer(
        self, emit: Emit, approve: Approve | None = None, first: Callable[[], Awaitable[None]] | None = None
    ) -> Message:
        """Answer the stored user message, even if another process began to; `first` runs before anything else.

        Calls that another process left without a result are not run again, because their effects are unknown.
        """
        turn = Turn(self.connection.clock())
        try:
            await self._end_unanswered_calls()
            if first is not None:
                await first()
            return await self._answer(turn, emit, approve)
        except asyncio.CancelledError:
            await asyncio.shield(self._leave_valid(INTERRUPTED))
            raise
        except (ProviderError, UserError):
            await self._leave_valid(UNANSWERED)
            raise

    async def end_unfinished_turn(self) -> None:
        """End a turn that another process left unfinished, so that the next one can begin."""
        await self._end_unanswered_calls()
        await self._leave_valid(PROCESS_ENDED)

    async def compact(
        self,
        emit: Emit,
        trigger: str,
        focus: str | None = None,
        *,
        trigger_reason: str = "",
        deadline: float | None = None,
        counted: int = 0,
    ) -> CompactionEvent:
        """Compact the view now. The event describes the result.

        `trigger_reason` goes into the event. `counted` is the provider's count, if it is higher than this process
        knows. `TimeoutError` if there is no compacted view within the deadline; the engine gets most of it, so that
        the built-in one can replace an engine that hangs.
        """
        tokens = max(counted, self.connection.tokens(self.view))
        share = deadline and deadline * _ENGINE_SHARE
        self.measure_fixed_part()
        async with self.connection.room(self.view) if self.compactor.model else nullcontext():
            async with asyncio.timeout(deadline):
                attempt = await self.compactor.compact(
                    self.view, tokens, trigger, focus, share, progress_to(emit)
                )
            if trigger_reason:
                reasons = (trigger_reason, attempt.event.reason)
                event = replace(attempt.event, reason="; ".join(reason for reason in reasons if reason))
                attempt = replace(attempt, event=event)
            event = await run_to_completion(self._commit(attempt))
            emit(Compacted(event, attempt.spent))
        await self.compactor.finished(event)
        self.emit_notices(emit)
        return event

    def measure_fixed_part(self) -> None:
        """Set the part of every request that the compactor cannot reduce."""
        self.compactor.trigger.measure_fixed_part(self.view, self.connection.overhead())

    async def compact_by_hand(self, emit: Emit, focus: str | None = None) -> CompactionEvent:
        """Compact because a user asks, if there is anything to compact."""
        count, tokens = len(self.view), self.connection.tokens(self.view)
        counted = {"current_tokens": tokens, "overhead_tokens": self.connection.overhead()}
        if await self.compactor.host.ask("has_content_to_compress", True, list(self.view), **counted):
            return await self.compact(emit, "by hand", focus)
        reason = f"{NOTHING_TO_COMPACT} ({count:,} messages, {tokens:,} tokens)"
        event = CompactionEvent.refused("by hand", self.compactor.engine.name, count, tokens, reason)
        event = await self.journal.refused(event)
        emit(Compacted(event))
        self.emit_notices(emit)
        return event

    async def preview(self, focus: str | None = None) -> CompactionReport | None:
        """What `compact_by_hand` would do, with an extracted summary. Changes nothing."""
        return (await self.previewed(focus))[0]

    async def previewed(self, focus: str | None = None) -> tuple[CompactionReport | None, list[Message]]:
        """The report of a preview, and the previewed view."""
        tokens = self.connection.tokens(self.view)
        self.measure_fixed_part()
        found = await self.compactor.preview(self.view, tokens, focus)
        if found.report is None or found.report.outcome != "compacted":
            return found.report, list(self.view)
        compacted = self._finished(found.messages)
        report = replace(
            found.report,
            messages_before=len(self.view),
            messages_after=len(compacted),
            tokens_before=tokens,
            tokens_after=self.compactor.trigger.expected(self.view, tokens, compacted),
        )
        return report, compacted

    def emit_notices(self, emit: Emit) -> None:
        """Emit the notices of the engine and the hooks, each once."""
        for sentence in self.compactor.host.take_notices():
            emit(Notice(sentence))

    async def store_summary_usage(self) -> None:
        """Store the usage of summaries that the archive does not have yet."""
        await self.compactor.account.store(self.journal.used)

    async def _commit(self, attempt: Attempt) -> CompactionEvent:
        await self.store_summary_usage()
        if attempt.messages is None:
            return await self.journal.refused(attempt.event)
        compacted, event = self._finished(attempt.messages), attempt.event
        after = self.compactor.trigger.expected(self.view, event.tokens_before, compacted)
        event = replace(event, messages_after=len(compacted), tokens_after=after)
        event = await self.journal.compacted(self.view, compacted, event)
        self.view = list(compacted)
        return event

    def _finished(self, compacted: list[Message]) -> list[Message]:
        """A compacted view as it is stored."""
        if self.connection.card.preserved_thinking:
            # The provider rejects thinking blocks whose preceding messages have changed.
            compacted = drop_bound_thinking(compacted, 0)
        return self.finish(self.view, compacted)

    async def _answer(self, turn: Turn, emit: Emit, approve: Approve | None) -> Message:
        while True:
            stopped = self.limits.reached(turn.requests, self.connection.clock() - turn.started, turn.money)
            if stopped:
                emit(Notice(stopped))
                return await self.add([{"role": "assistant", "content": f"[{stopped}]"}])
            await self._compact_if_due(self.connection.tokens(self.view), emit)
            await self._remove_media(within_media_limits(self.view, self.connection), emit)
            sent_at = self.connection.clock()
            reply = await self._ask(turn, emit)
            self.compactor.record_request(self.connection.tokens(self.view), sent_at)
            await self.add([reply.message])
            self.connection.unfinished = None
            calls = tool_calls(reply.message)
            if calls:
                await self._run_tools(calls, emit, approve)
            # Only now: a view prepared from calls without results would not fit once they arrive.
            self.compactor.prepare(self.view, self.connection.tokens(self.view))
            self.emit_notices(emit)
            if not calls:
                return reply.message

    async def _compact_if_due(self, tokens: int, emit: Emit) -> None:
        """Compact before a request of `tokens` prompt tokens, if that is due, wanted by the engine, or pays."""
        compactor, host = self.compactor, self.compactor.host
        self.measure_fixed_part()
        wanted = await compactor.trigger.is_wanted_by_engine(self.view, tokens)
        due = compactor.is_due(tokens)
        if (due or wanted) and await host.has_content(self.view):
            await self.compact(emit, "threshold" if due else "preflight")
        elif not due and (cheaper := compactor.pays(self.view, tokens)):
            await self.compact(emit, cheaper)

    async def _ask(self, turn: Turn, emit: Emit) -> Reply:
        """Send a request and recover from refusals until there is a reply."""
        rejected: PayloadTooLarge | None = None
        for _ in range(_MAX_RECOVERIES):
            try:
                return await self._request(turn, emit)
            except ContextOverflow as error:
                await self._recover_from_overflow(error, emit)
            except OutputCapExceeded as error:
                self._lower_answer(error.limit, error)
            except PayloadTooLarge as error:
                self._require_compaction(error)
                is_repeated, rejected = rejected is not None, error
                reduced = without_rejected_media(self.view, self.connection, error, is_repeated)
                if not await self._remove_media(reduced, emit):
                    raise
        raise UserError(
            "The request is still too large for the model. Use a model with a larger window or start a new session."
        )

    async def _request(self, turn: Turn, emit: Emit) -> Reply:
        """Send one request. Its usage is recorded before its reservation is released, even if it is interrupted."""
        connection = self.connection
        async with connection.room(self.view):
            try:
                reply = await connection.ask(self.view, emit)
            finally:
                await self._account_lost(emit)
            turn.requests += 1
            await self._account(turn, reply.usage, emit)
            return reply

    async def _recover_from_overflow(self, error: ContextOverflow, emit: Emit) -> None:
        await self._learn_window(error, emit)
        fits = error.room is not None and error.room >= _SMALLEST_ANSWER
        # A shorter answer helps only while the prompt is small, because the limit stays.
        if fits and not self.compactor.is_due(self.connection.tokens(self.view)):
            self._lower_answer(error.room, error)
            return
        self._require_compaction(error)
        event = await self.compact(emit, "overflow")
        if event.outcome != "compacted":
            raise error

    def _require_compaction(self, error: ProviderError) -> None:
        """Raise if automatic compaction is off: the user must shorten the request."""
        if not self.compactor.rules.enabled:
            raise UserError(
                f"{error} Automatic compaction is off (compression.enabled: false). Compact manually "
                "(/compress), or set compression.enabled to true."
            ) from error

    async def _learn_window(self, error: ContextOverflow, emit: Emit) -> None:
        """Learn the window from an overflow. Without a stated limit, it is smaller than the refused request."""
        engine = self.compactor.engine
        limit = error.limit or self.connection.tokens(self.view)
        if limit < engine.context_length:
            window = f"{'' if error.limit else 'less than '}{limit:,} tokens, not {engine.context_length:,}"
            emit(Notice(f"The provider's window is {window}; this applies from now on."))
            await self.compactor.host.ask("update_model", None, **self.connection.facts(limit))

    def _lower_answer(self, limit: int | None, error: Exception) -> None:
        current = self.connection.max_tokens or self.connection.card.output_cap
        lower = min(limit or current // 2, current - 1)
        if lower < _SMALLEST_ANSWER:
            raise error
        self.connection.max_tokens = lower

    async def _remove_media(self, reduced: list[Message] | None, emit: Emit) -> bool:
        """Use a view with fewer images and documents, if there is one and compaction is enabled."""
        if reduced is None or not self.compactor.rules.enabled:
            return False
        reduced = self._finished(reduced)
        event = media_removed(self.view, reduced, self.connection.tokens)
        emit(Compacted(await self.journal.compacted(self.view, reduced, event)))
        self.view = reduced
        return True

    async def _run_tools(
        self, calls: Sequence[dict[str, object]], emit: Emit, approve: Approve | None
    ) -> None:
        for call in calls:
            emit(ToolCalled(str(call.get("id")), call_line(dict(call))))

        def finished(outcome: CallOutcome) -> None:
            line, failed = _in_one_line(dict(outcome.call), text_of(outcome.message))
            failed = failed or outcome.result.is_error
            emit(ToolReturned(str(outcome.call.get("id")), line, outcome.seconds, failed, _whole(outcome)))

        done = await self.toolbox.run_all(calls, approve, self.tool_context, finished)
        results = results_of(done.outcomes, self.compactor.engine.context_length)
        await self.add(results.whole, results.shown)
        if done.cancelled:
            raise asyncio.CancelledError

    async def _account_lost(self, emit: Emit) -> None:
        """Record the usage of attempts that were interrupted or whose provider reported none."""
        lost = [record_of(self.connection.card, usage) for usage in self.connection.take_lost()]
        for record in lost:
            emit(UsageReported(record))
        with suppress(PlimsollError):  # the original error matters more
            for record in lost:
                await self.journal.used(record)

    async def _account(self, turn: Turn, usage: Usage | None, emit: Emit) -> None:
        if usage is None:
            return
        await self.compactor.host.ask("update_from_response", None, usage.as_dict())
        record = record_of(self.connection.card, usage)
        turn.money += record.money or 0.0
        await self.journal.used(record)
        emit(UsageReported(record))

    async def add(self, messages: list[Message], shown: Mapping[int, Message] | None = None) -> Message:
        """Store messages, even if the caller is cancelled meanwhile. Returns the last one."""
        return await run_to_completion(self._store(messages, shown or {}))

    async def _store(self, messages: list[Message], shown: Mapping[int, Message]) -> Message:
        await self.journal.add(messages, shown)
        self.view.extend(as_said(shown.get(place, message)) for place, message in enumerate(messages))
        return messages[-1]

    async def _end_unanswered_calls(self) -> None:
        calls = tool_calls(self.view[-1]) if self.view else []
        if calls:
            await self.add(
                [failed(CALL_LOST).message(str(call.get("id", "")), call_name(call)) for call in calls]
            )

    async def _leave_valid(self, text: str) -> None:
        """Leave a valid history after an interrupted turn: the last message must not be the user's.

        Starts with the part of the answer that had arrived; calls that will get no result are dropped.
        """
        unfinished, self.connection.unfinished = self.connection.unfinished, None
        estimated, self.connection.estimated = self.connection.estimated, None
        if estimated is not None:
            await self.journal.used(record_of(self.connection.card, estimated))
        if self.view and self.view[-1].get("role") in ("user", "tool"):
            arrived = text_of(unfinished).rstrip() if unfinished else ""
            content = f"{arrived}\n\n{text}" if arrived else text
            await self.add([{"role": "assistant", "content": content}])


def _whole(outcome: CallOutcome) -> str:
    """The text of a result before it was shortened for the model."""
    return outcome.result.text if outcome.result.full is None else outcome.result.full


def _in_one_line(call: dict[str, object], result: str) -> tuple[str, bool]:
    """How a call ended, in one line for a person, and whether it failed."""
    ended = outcome_of(call, result)
    show_status = ended.failed and not ended.line.lower().startswith("error")
    parts = (ended.status if show_status else "", ended.line)
    return ": ".join(part for part in parts if part) or ended.status, ended.failed

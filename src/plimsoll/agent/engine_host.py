"""Hosts a context engine: reports each of its failures once and keeps the conversation going.

    ask(method) ─┬─ answered ──► the answer
                 ├─ raised ────► a default, and one notice for this method
                 └─ hung ──────► a default, one notice, and from then on the built-in engine

Engines are plugin code. They run in separate threads with deadlines and get copies of only the arguments that they
accept. Small methods may be called while one compresses in the background.
"""

import asyncio
import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeGuard, TypeVar

from plimsoll.agent.compaction_record import Assessment, CompactionResult, assess
from plimsoll.agent.isolation import assess_in_worker, draft_in_worker, is_isolatable
from plimsoll.agent.plugin_calls import DeadlineExceeded, accepted_arguments, call_in_thread, error_text
from plimsoll.agent.workers import CannotStart, Workers
from plimsoll.context import Budget, CompactionReport, ContextCompressor, ContextEngine, SummaryWriter
from plimsoll.messages import Message, Wire, match_messages
from plimsoll.models import estimate_message_tokens
from plimsoll.models.media_limits import MediaLimits
from plimsoll.providers.auxiliary.watch import CURRENT, SummaryWatch

T = TypeVar("T")
HEAVY_TOKENS = 20_000  # takes 25 ms to compact; smaller views are faster without another process
SMALL_DEADLINE = 10.0  # seconds for everything but `compress`
SUMMARY_SHARE = 0.9  # of a compaction's time, for its summary model; extraction needs the rest
STALLED = "The summary model stopped sending tokens (auxiliary.compression.idle_timeout), so code wrote the summary."
SUMMARY_TIMED_OUT = "the summary model exceeded the compaction's time limit"


class EngineHost:
    """The engine in use, and its known failures."""

    def __init__(
        self,
        engine: ContextEngine,
        fallback: ContextCompressor | None = None,
        *,
        deadline: float = SMALL_DEADLINE,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`hide` masks secrets in an engine's error messages."""
        self.engine = engine
        self.workers: Workers | None = None  # processes for the built-in engines
        self._fallback = fallback
        self._deadline, self.hide = deadline, hide
        self._reported: set[tuple[str, str]] = set()
        self._notices: list[str] = []

    @property
    def is_built_in(self) -> bool:
        """Whether the engine is built in and needs no guard."""
        return type(self.engine) is ContextCompressor

    @property
    def _is_ours(self) -> bool:
        """Whether the engine counts and cuts like the built-in one."""
        return isinstance(self.engine, ContextCompressor)

    def take_notices(self) -> list[str]:
        """Return the notices that the user has not seen yet."""
        notices, self._notices = self._notices, []
        return notices

    def notice(self, key: str, sentence: str) -> None:
        """Queue a notice, once for this engine and key."""
        if (self.engine.name, key) not in self._reported:
            self._reported.add((self.engine.name, key))
            self._notices.append(self.hide(sentence))

    def fallback(self) -> ContextCompressor:
        """The built-in engine that replaces a failing one, for the current window."""
        if self._fallback is None:
            self._fallback = self.without_model()
        elif self.engine.context_length not in (0, self._fallback.context_length):
            self._fallback.update_model(self._fallback.model, self.engine.context_length)
        return self._fallback

    def forget_summaries(self) -> None:
        """Forget summaries after a user's edit, so that removed content cannot come back."""
        for engine in (self.engine, self._fallback):
            if isinstance(engine, ContextCompressor):
                engine.forget_summaries()

    def set_summary_model(self, summarizer: SummaryWriter | None) -> None:
        """Replace the summary model; None: summaries are extracted without a model."""
        for engine in {self.engine} if self.is_built_in else {self.engine, self.fallback()}:
            if hasattr(engine, "summarizer"):
                engine.summarizer = summarizer

    def without_model(self) -> ContextCompressor:
        """A built-in engine without a summary model, with the current engine's numbers."""
        engine = self.engine
        percent = engine.threshold_percent if 0 <= engine.threshold_percent <= 1 else 0.5
        budget = getattr(engine, "budget", None)
        current_budget = budget if isinstance(budget, Budget) else Budget(engine.context_length or 1)
        return ContextCompressor(
            context_length=engine.context_length or None,
            threshold=percent,
            protect_last_n=max(1, engine.protect_last_n),
            target_ratio=current_budget.target_ratio,
            target_tokens=current_budget.target,
            lean=current_budget.lean,
            evidence=getattr(engine, "evidence", True) is not False,
            able_to_recall=getattr(engine, "able_to_recall", True) is not False,
            media=MediaLimits(),
        )

    def previewing(self) -> Iterator[ContextCompressor]:
        """The engines that a preview tries, in the order of a compaction."""
        if can_draft(self.engine):
            yield self.engine
        if not self.is_built_in:
            yield self.fallback()

    async def ask(self, method: str, default: T, /, *args: Any, **arguments: Any) -> T:
        """Call one of the engine's small methods; returns the default if it fails."""
        engine = self.engine
        function = getattr(engine, method, None)
        if function is None:
            return default
        if self.is_built_in:
            answer: T = function(*args, **accepted_arguments(function, arguments))
            return answer
        try:
            return await call_in_thread(
                lambda: function(*args, **accepted_arguments(function, arguments)), self._deadline
            )
        except DeadlineExceeded as hung:
            self.disable(engine, f"{method} gave {hung}")
        except Exception as error:  # plugin code may raise anything; the conversation continues
            self.notice(method, f"Context engine {engine.name}: {method} failed: {error_text(error)}.")
        return default

    async def wants_compaction(self, view: Sequence[Message]) -> bool:
        """Whether a plugin engine considers a request too large before it is sent.

        Built-in engines go by the token count, which is more exact. Engines see every request, because some record
        state from it.
        """
        if self._is_ours:
            return False
        return bool(await self.ask("should_compress_preflight", False, copy.deepcopy(list(view))))

    async def has_content(self, view: Sequence[Message]) -> bool:
        """Whether the engine has anything to compress; built-in engines find out while they compress."""
        return self._is_ours or bool(
            await self.ask("has_content_to_compress", True, copy.deepcopy(list(view)))
        )

    def ask_now(self, method: str, default: T, /, **arguments: Any) -> T:
        """Call a method that only compares numbers, between two requests and without a thread.

        An exception is reported and ignored; a hang is not guarded against.
        """
        engine = self.engine
        function = getattr(engine, method)
        try:
            answer: T = function(**accepted_arguments(function, arguments))
        except Exception as error:  # plugin code may raise anything; the conversation continues
            self.notice(method, f"Context engine {engine.name}: {method} failed: {error_text(error)}.")
            return default
        return answer

    async def answer_call(
        self, name: str, arguments: Mapping[str, Any], view: Sequence[Message], seconds: float
    ) -> str:
        """The engine's answer to a call of its tool; raises the engine's exceptions and `DeadlineExceeded`."""
        engine = self.engine
        call = engine.handle_tool_call

        def work() -> str:
            extra = accepted_arguments(call, {"messages": copy.deepcopy(list(view))})
            answer: Any = call(name, copy.deepcopy(dict(arguments)), **extra)
            return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)

        try:
            return await call_in_thread(work, seconds)
        except DeadlineExceeded:
            self.disable(engine, f"its tool {name} did not return within {seconds:.3g} s")
            raise

    async def compress(
        self,
        engine: ContextEngine,
        view: list[Message],
        seconds: float,
        watch: SummaryWatch | None = None,
        **arguments: Any,
    ) -> tuple[list[Message], CompactionReport | None]:
        """The engine's compacted view and report; raises the engine's exceptions and `DeadlineExceeded`.

        `watch` follows the summary model's progress and can cancel it.
        """
        own = type(engine) is ContextCompressor
        # Another process cannot change the messages here, and returns the same ones.
        is_safe = own or self._isolates(engine, view)

        def work() -> tuple[list[Message], CompactionReport | None]:
            compacted: Any
            report: Any
            CURRENT.set(watch)  # only in this thread's context
            messages = list(view) if is_safe else copy.deepcopy(view)
            copies = list(messages)  # an engine may change the list that it was given
            if can_draft(engine):
                compacted, report = self.draft(engine, messages, **arguments)
            else:
                compacted = engine.compress(messages, **accepted_arguments(engine.compress, arguments))
                report = getattr(engine, "last_report", None)
            if not isinstance(compacted, list):
                raise TypeError(f"compress() returned {type(compacted).__name__}, not a list of messages")
            report = report if isinstance(report, CompactionReport) else None
            return (compacted if is_safe else _with_originals(compacted, copies, view)), report

        give_up = watch.skip if watch else _nothing
        timer = asyncio.get_running_loop().call_later(seconds * SUMMARY_SHARE, give_up, SUMMARY_TIMED_OUT)
        try:
            return await call_in_thread(work, seconds)
        except DeadlineExceeded:
            if not own:
                self.disable(engine, f"compress() did not return within {seconds:.3g} s")
            raise
        finally:
            timer.cancel()

    def _isolates(self, engine: ContextEngine, view: Sequence[Message]) -> bool:
        return self.workers is not None and is_isolatable(engine) and _is_heavy(view)

    def draft(
        self, engine: ContextCompressor, view: list[Message], **arguments: Any
    ) -> tuple[list[Message], CompactionReport]:
        """Compact a view with a built-in engine, in a worker process if there are any; blocks."""
        if self.workers is not None and self._isolates(engine, view):
            with suppress(CannotStart):
                return draft_in_worker(self.workers, engine, view, arguments)
        return engine.draft(view, **arguments)

    async def assessed(
        self, found: CompactionResult, view: list[Message], wire: Wire, seconds: float
    ) -> CompactionResult:
        """Check an engine's result, in a worker process if there are any.

        A prepared result was checked before. Its facts are not counted again, because a user is waiting.
        """
        after, report = found.messages, found.report
        ledger = found.assessment.ledger if found.assessment else None

        def work() -> Assessment:
            if self.workers is not None and ledger is None and _is_heavy(view):
                with suppress(CannotStart):
                    return assess_in_worker(self.workers, view, after, wire, report)
            return assess(view, after, wire, report, ledger)

        return replace(found, assessment=await call_in_thread(work, seconds))

    def disable(self, engine: ContextEngine, reason: str) -> None:
        """Stop using an engine that hung: its thread cannot be stopped and may still change its state."""
        if engine is not self.engine:
            return
        fallback = self.fallback()
        self.notice(
            "hung",
            f"Context engine {engine.name} is disabled until Plimsoll restarts: {reason}. "
            "The built-in compressor is used.",
        )
        self.engine = fallback


def _is_heavy(view: Sequence[Message]) -> bool:
    """Whether a view is worth sending to another process; stops counting as soon as that is known."""
    return any(tokens >= HEAVY_TOKENS for tokens in accumulate(map(estimate_message_tokens, view)))


def _nothing(_why: str) -> None:
    """There is no summary model to cancel."""


def can_draft(engine: ContextEngine) -> TypeGuard[ContextCompressor]:
    """Whether the engine can draft without counting a compaction; false for a subclass that overrides `compress`."""
    owner = next((base for base in type(engine).__mro__ if {"compress", "draft"} & vars(base).keys()), None)
    return isinstance(engine, ContextCompressor) and owner is not None and "draft" in vars(owner)


def _with_originals(compacted: list[Any], copies: Sequence[Message], view: Sequence[Message]) -> list[Any]:
    """The list with unchanged copies replaced by the original messages of the view."""
    known = [(place, message) for place, message in enumerate(compacted) if isinstance(message, dict)]
    places = match_messages(copies, [message for _, message in known])
    own = list(compacted)
    for (index, item), place in zip(known, places, strict=True):
        # An engine may have changed the copy that it returns.
        if place is not None and item == view[place]:
            own[index] = view[place]
    return own

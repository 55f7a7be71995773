"""When a compaction is due: by size, by growth since the last attempt, or by time.

    0        fixed part            soft threshold   trigger             window
    ├─────────┼───────────────────────┼───────────────┼───────────────────┤
              │   nothing             │ prepared      │ compacted
              └ overhead, system prompt, first exchange: no compaction reduces them

The trigger is the threshold, or halfway between the fixed part and the window if the fixed part alone reaches the
threshold. A failed attempt is not repeated on every turn: only after growth or time. All sizes are the provider's
counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from plimsoll.agent.engine_host import EngineHost
from plimsoll.archive import CompactionEvent
from plimsoll.context import ContextCompressor
from plimsoll.context.budget import Budget, FixedPart, Sizes
from plimsoll.context.calibration import calibrate
from plimsoll.context.media_budget import TRIGGER as MEDIA
from plimsoll.context.rearm import RearmState
from plimsoll.messages import Message
from plimsoll.models import estimate_messages_tokens_rough

SOFT_SHARE = 0.85  # of the threshold: from here on the next view is prepared (as in Hermes Agent)
NEAR_SHARE = (
    0.85  # of the threshold: above it, a plugin's result is too near, so the next compaction waits for growth
)
NOTHING_TO_COMPACT = "nothing to compact yet"
CLEARING: Literal["clearing"] = "clearing"  # the trigger that only clears old results


@dataclass(frozen=True, slots=True)
class Rearm:
    """What re-arms the trigger after a failed attempt."""

    growth: float = 0.05  # share of the window by which the prompt must have grown
    seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """The settings of compaction."""

    enabled: bool = True
    background: bool = True
    deadline: float = 180.0
    rearm: Rearm = field(default_factory=Rearm)
    policy: Literal["threshold", "cost"] = "threshold"


class Trigger:
    """Decides whether one conversation is compacted now."""

    def __init__(self, host: EngineHost, rearm: Rearm, clock: Callable[[], float], enabled: bool) -> None:
        self._host, self._rearm, self._clock, self._enabled = host, rearm, clock, enabled
        self._rearm_state: RearmState | None = (
            None  # set after an attempt that did not get far below the trigger
        )
        self.reached = 0  # tokens left by the last compaction; the next is not expected to leave fewer
        self.fixed = FixedPart()  # that no compaction of this conversation reduces
        self.overhead = 0  # the part of it outside the messages

    def measure_fixed_part(self, view: Sequence[Message], overhead: int) -> None:
        """Set what no compaction of this view reduces; `overhead` is what the provider counts besides the messages.

        If that alone reaches the threshold, the user gets one notice with the sizes, and another only if a new model
        changes the threshold.
        """
        engine, self.overhead = self._host.engine, overhead
        if not isinstance(engine, ContextCompressor):
            self.fixed = FixedPart(overhead)
            return
        self.fixed = engine.fixed_tokens(view, overhead)
        # Before the first request the system prompt may be missing.
        has_begun = any(message.get("role") == "user" for message in view)
        if self._enabled and has_begun and engine.threshold_tokens and self._sizes.is_fixed_too_large:
            key = f"fixed part, threshold {engine.threshold_tokens}"
            self._host.notice(key, _too_much_is_fixed(self._sizes))

    def remember(self, events: Sequence[CompactionEvent], tokens: int) -> None:
        """Restore the re-arm state from the events of an earlier process; the view has `tokens` now."""
        last = events[-1] if events else None
        if last and last.outcome in ("refused", "undone") and not last.reason.startswith(NOTHING_TO_COMPACT):
            # A compaction that a user has undone is not repeated at the next chance.
            self._wait(last.tokens_before if last.outcome == "refused" else tokens, last.time)
        if last and last.outcome == "compacted" and last.trigger not in (CLEARING, MEDIA):
            self.reached = last.tokens_after
            if isinstance(self._host.engine, ContextCompressor):
                self._host.engine.resume(last.tokens_after, self.fixed)

    def is_due(self, tokens: int) -> bool:
        """Whether a request of `tokens` prompt tokens must be made smaller first."""
        if not self._enabled or tokens < self.trigger_tokens:
            return False
        if self._rearm_state is None:
            return bool(self._host.ask_now("should_compress", True, prompt_tokens=tokens))
        return self.is_armed(tokens)

    async def is_wanted_by_engine(self, view: Sequence[Message], tokens: int) -> bool:
        """Whether a plugin engine considers the request too large, and there is reason to try."""
        return await self._host.wants_compaction(view) and self._enabled and self.is_armed(tokens)

    def is_near(self, tokens: int) -> bool:
        """Whether to prepare the next view: within 15 % of the threshold, and past half of the way."""
        engine = self._host.engine
        due = max(self.trigger_tokens, getattr(engine, "due_tokens", 0))
        early = due - int(engine.threshold_tokens * (1 - SOFT_SHARE))
        return tokens >= max(early, (self.reached + due) // 2) and self.is_armed(tokens)

    def is_armed(self, tokens: int) -> bool:
        """Whether no attempt has failed, or the view has grown since, or enough time has passed."""
        return self._rearm_state is None or self._rearm_state.is_armed(tokens, self._clock())

    def record_failed_attempt(self, tokens: int) -> None:
        """Record that a view of `tokens` was not compacted or was restored: wait for growth or time."""
        self._wait(tokens, self._clock())

    def compacted(self, left: int) -> None:
        """A compaction left this many tokens."""
        engine = self._host.engine
        # Built-in engines report how far the conversation must grow.
        is_near = left > engine.threshold_tokens * NEAR_SHARE and not isinstance(engine, ContextCompressor)
        self._rearm_state = None
        if is_near:
            self._wait(left, self._clock())
        self.reached = left

    def _wait(self, tokens: int, since: float) -> None:
        """Wait for growth or time after an attempt that left `tokens`."""
        engine, rearm = self._host.engine, self._rearm
        if engine.threshold_tokens:
            growth = ceil(engine.context_length * rearm.growth)
            self._rearm_state = RearmState(tokens, tokens + growth, since + rearm.seconds)
        else:  # due at every turn, but only after new messages
            self._rearm_state = RearmState(tokens, tokens + 1)

    def expected(self, view: Sequence[Message], tokens: int, after: Sequence[Message]) -> int:
        """The provider's expected count for `after`, given its count `tokens` for the view."""
        return calibrate(estimate_messages_tokens_rough(view), tokens, self.overhead).counted(
            estimate_messages_tokens_rough(after)
        )

    @property
    def max_tokens_after(self) -> int:
        """The largest size that leaves the conversation room to grow."""
        return self._sizes.max_tokens_after

    def target(self, budget: Budget) -> int:
        """The size that the next compaction is expected to leave."""
        return max(budget.sizes(self.fixed).target_tokens, self.reached)

    @property
    def _sizes(self) -> Sizes:
        engine = self._host.engine
        if isinstance(engine, ContextCompressor):
            return engine.budget.sizes(self.fixed)
        share = min(1.0, max(0.0, engine.threshold_percent))
        return Budget(max(1, engine.context_length), share).sizes(self.fixed)

    @property
    def trigger_tokens(self) -> int:
        """The size at which a compaction is due."""
        engine = self._host.engine
        is_ours = isinstance(engine, ContextCompressor) and engine.threshold_tokens > 0
        return self._sizes.trigger_tokens if is_ours else engine.threshold_tokens


def _too_much_is_fixed(sizes: Sizes) -> str:
    fixed, budget = sizes.fixed, sizes.budget
    return (
        f"Every request carries {fixed.total:,} tokens that no compaction can reduce (tool schemas and provider "
        f"overhead {fixed.overhead:,}, system prompt {fixed.system:,}, first exchange {fixed.opening:,}). That "
        f"reaches the threshold of {budget.threshold_tokens:,}, so compaction starts at {sizes.trigger_tokens:,} of "
        f"{budget.window:,} tokens. Offer fewer tools, shorten the system prompt, raise compression.threshold, or "
        "choose a model with a larger window."
    )

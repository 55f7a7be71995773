"""When a compaction is due: by size, by growth since the last attempt, or by time.

    0        fixed part            soft line        trigger             window
    ├─────────┼───────────────────────┼───────────────┼───────────────────┤
              │   nothing             │ prepared      │ compacted
              └ overhead, system prompt, first exchange: no compaction reduces them

The trigger is the threshold, or halfway between the fixed part and the window where the fixed part alone reaches the
threshold. An attempt that got nowhere is not repeated on every turn: only after growth or time. All sizes are what
the provider counts.
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
from plimsoll.models import estimate_messages_tokens_rough as weigh

SOFT_LINE = 0.85
FAR_BELOW = 0.85
NOTHING = "nothing to compress yet"
CLEARING: Literal["clearing"] = "clearing"  # the trigger that only clears old results


@dataclass(frozen=True, slots=True)
class Rearm:
    """After an attempt in vain: what brings the next one."""

    growth: float = 0.05  # share of the window by which the prompt must have grown
    seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """What the settings say about compaction."""

    enabled: bool = True
    background: bool = True
    deadline: float = 180.0
    rearm: Rearm = field(default_factory=Rearm)
    policy: Literal["threshold", "cost"] = "threshold"


class Trigger:
    """What decides whether one conversation is compacted now."""

    def __init__(self, host: EngineHost, rearm: Rearm, clock: Callable[[], float], enabled: bool) -> None:
        self._host, self._rearm, self._clock, self._enabled = host, rearm, clock, enabled
        self._rearm_state: RearmState | None = None  # after an attempt that did not get far below the trigger
        self.reached = 0  # tokens that the last compaction left; the next one is not expected to leave fewer
        self.fixed = FixedPart()  # what no compaction of this conversation reduces
        self.overhead = 0  # the part of it that is not in the messages

    def weigh_fixed(self, view: Sequence[Message], overhead: int) -> None:
        """Note what no compaction of this view reduces; `overhead` is what the provider counts besides the messages.

        Where that alone reaches the threshold, the user is told once what takes how much; again only where another
        model brings another threshold.
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
        """Take up the verdict of an earlier process from the events that it stored; the view has `tokens` now."""
        last = events[-1] if events else None
        if last and last.outcome in ("refused", "undone") and not last.reason.startswith(NOTHING):
            # What a person has taken back is not done again at the next chance.
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

    async def is_wished(self, view: Sequence[Message], tokens: int) -> bool:
        """Whether an engine of somebody else finds the request too large, and there is reason to try."""
        return await self._host.wants_lighter(view) and self._enabled and self.is_armed(tokens)

    def is_near(self, tokens: int) -> bool:
        """Whether the next view is worth preparing: 15 % of the threshold before it, and past half of the way."""
        engine = self._host.engine
        due = max(self.trigger_tokens, getattr(engine, "due_tokens", 0))
        early = due - int(engine.threshold_tokens * (1 - SOFT_LINE))
        return tokens >= max(early, (self.reached + due) // 2) and self.is_armed(tokens)

    def is_armed(self, tokens: int) -> bool:
        """Whether nothing was tried in vain, or there is more now, or it is long ago."""
        return self._rearm_state is None or self._rearm_state.is_armed(tokens, self._clock())

    def tried_in_vain(self, tokens: int) -> None:
        """A view of `tokens` stays as it is, or is what it was before: not again until there is more, or later."""
        self._wait(tokens, self._clock())

    def compacted(self, left: int) -> None:
        """A compaction left this many tokens."""
        engine = self._host.engine
        # Our own engines say themselves how far the conversation has to grow.
        is_near = left > engine.threshold_tokens * FAR_BELOW and not isinstance(engine, ContextCompressor)
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
        else:  # due at every turn, but not for the same messages again
            self._rearm_state = RearmState(tokens, tokens + 1)

    def expected(self, view: Sequence[Message], tokens: int, after: Sequence[Message]) -> int:
        """What the provider will count for `after`, where it counts `tokens` for the view."""
        return calibrate(weigh(view), tokens, self.overhead).counted(weigh(after))

    @property
    def roomy_tokens(self) -> int:
        """The largest size that leaves the conversation room to grow."""
        return self._sizes.roomy_tokens

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
        """The size at which a compaction is due; below it nothing is."""
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

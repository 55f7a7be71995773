"""Token budgets for each part of a compacted conversation.

For a 200 000-token model at defaults: threshold 100 000, tail 20 000, summary at most 10 000.

    0            fixed                   target      roomy            trigger                    window
    ├─ overhead ─┼─ tail ─ summary ─ … ──┤           │                │                          │
    │  system    │                       └ aimed at  └ at least a third of what is not fixed ─┘
    │  opening   │                                     is left to grow into
    └ what a compaction leaves unchanged

Sizes are in provider tokens (see `calibration`). Under `compression.policy: cost` the budget is lean: a compacted
conversation has 10 000 tokens in any larger window, because every token that stays is read again with every request
and saves at most a search.
"""

from dataclasses import dataclass, replace

from plimsoll.errors import SettingError

SUMMARY_RATIO = 0.20
MIN_SUMMARY_TOKENS = 2_000
# A fifth of a small middle is too little. Quotes by code cost no model time, so they may take a third.
SMALL_LEDGER, SMALL_LEDGER_RATIO = 7_000, 0.35
SUMMARY_CEILING = 12_000
SUMMARY_WINDOW_SHARE = 0.05
TARGET_SHARE = 0.33  # of what is not fixed
# The minimum for a summary if the headroom allows it, even if the target leaves less after the tail: full headings
# and as much evidence, capped at the size for a 64K window.
USEFUL_SUMMARY, _USEFUL_RATIO = 6_400, 2.0
# The size after a lean compaction. In a 200K window, the normal target keeps .98 of the far facts that an agent types
# from memory, this one .91 (see docs/caching.md). Search finds the rest, while every kept token is read each time.
LEAN_TOKENS = 10_000
_LEAN_THRESHOLD = 26_000  # of which a lean budget's tail has its usual share
HEADROOM_PARTS = 3  # a compaction leaves one part in three of what is not fixed to grow into
# The tail's maximum share of the part that is not fixed, unless the settings ask for more.
_TAIL_SHARE = 0.30
_LARGE_TAIL = 0.40  # a higher target ratio asks for recent messages rather than for headroom
_REARM_SHARE = 0.10  # of the window: growth before the next compaction if the tail leaves less headroom


@dataclass(frozen=True, slots=True)
class FixedPart:
    """Tokens of a request that no compaction reduces, by part, in provider tokens."""

    overhead: int = 0  # tool schemas, and the provider's own additions
    system: int = 0
    opening: int = 0  # the first exchange

    @property
    def total(self) -> int:
        return self.overhead + self.messages

    @property
    def messages(self) -> int:
        """The part that is in the messages."""
        return self.system + self.opening


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a window gives to the threshold, the tail and the summary."""

    window: int
    threshold: float = 0.50
    target_ratio: float = 0.20
    target: int | None = None  # tokens of the compacted messages, if configured
    lean: bool = False  # otherwise: no larger than `LEAN_TOKENS`
    configured: float | None = None  # the threshold in the settings, if this one is lowered

    def __post_init__(self) -> None:
        if self.target is not None and self.target < 1:
            raise SettingError(f"target_tokens must be at least 1 token, not {self.target!r}")
        if self.window < 1:
            raise SettingError(f"context_length must be at least 1 token, not {self.window!r}")
        if not 0.0 <= self.threshold <= 1.0:
            raise SettingError(f"threshold must be between 0.0 and 1.0, not {self.threshold!r}")
        if not 0.10 <= self.target_ratio <= 0.80:
            raise SettingError(f"target_ratio must be between 0.10 and 0.80, not {self.target_ratio!r}")

    @property
    def threshold_tokens(self) -> int:
        """The prompt size at which compaction is due."""
        return int(self.window * self.threshold)

    @property
    def tail_tokens(self) -> int:
        """The budget of the recent messages."""
        return int(self._shared_tokens * self.target_ratio)

    @property
    def max_summary_tokens(self) -> int:
        """The maximum for the nine headings of any summary."""
        ceiling = MIN_SUMMARY_TOKENS if self.is_lean else SUMMARY_CEILING
        return min(int(self.window * SUMMARY_WINDOW_SHARE), ceiling)

    def summary_tokens(self, compressed_tokens: int) -> int:
        """The budget for the summary of `compressed_tokens`; in a small window, the maximum overrides the minimum."""
        wanted = max(int(compressed_tokens * SUMMARY_RATIO), MIN_SUMMARY_TOKENS)
        return min(wanted, self.max_summary_tokens)

    def updated_summary_tokens(self, compressed_tokens: int, earlier_tokens: int) -> int:
        """The same for an updated summary, which may be at least as large as the earlier one."""
        wanted = max(self.summary_tokens(compressed_tokens + earlier_tokens), earlier_tokens)
        return min(wanted, self.max_summary_tokens)

    def sizes(self, fixed: FixedPart | None = None) -> "Sizes":
        """The sizes for a conversation with this fixed part.

        An opening that does not fit the threshold is not fixed: it is summarised.
        """
        fixed = fixed or FixedPart()
        if fixed.total >= self.threshold_tokens > fixed.total - fixed.opening:
            fixed = replace(fixed, opening=0)
        return Sizes(self, fixed)

    @property
    def is_lean(self) -> bool:
        """Whether the lean size applies."""
        return self.lean and self.target is None

    @property
    def _shared_tokens(self) -> int:
        """The tokens that the parts are shares of."""
        return min(self.threshold_tokens, _LEAN_THRESHOLD) if self.is_lean else self.threshold_tokens


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one conversation: its trigger, target and limits, in provider tokens."""

    budget: Budget
    fixed: FixedPart

    @property
    def configured(self) -> "Sizes":
        """The sizes by the threshold in the settings, which decides when the next compaction is due."""
        if self.budget.configured is None:
            return self
        return replace(self.budget, threshold=self.budget.configured, configured=None).sizes(self.fixed)

    @property
    def is_fixed_too_large(self) -> bool:
        """Whether the fixed part alone reaches the threshold, so that no compaction can get below it."""
        return self.fixed.total >= self.budget.threshold_tokens

    @property
    def trigger_tokens(self) -> int:
        """The size at which compaction is due: the threshold, or halfway to the window if it is out of reach."""
        if self.is_fixed_too_large:
            return (self.fixed.total + self.budget.window) // 2
        return self.budget.threshold_tokens

    @property
    def headroom_tokens(self) -> int:
        """How much a conversation can grow between two compactions."""
        return -(-self._room // HEADROOM_PARTS)

    @property
    def max_tokens_after(self) -> int:
        """The largest size that leaves the headroom."""
        return self.trigger_tokens - self.headroom_tokens

    @property
    def target_tokens(self) -> int:
        """The size that a compaction aims for."""
        if self.budget.target is not None:
            return min(self.fixed.overhead + self.budget.target, self.trigger_tokens)
        if self.budget.is_lean:
            room = min(
                max(LEAN_TOKENS - self.fixed.messages, LEAN_TOKENS // 2), int(self._room * TARGET_SHARE)
            )
            return self.fixed.total + room
        return self.fixed.total + int(self._room * TARGET_SHARE)

    @property
    def limit_tokens(self) -> int:
        """The maximum size of a compacted conversation: the trigger, or a configured target."""
        return self.target_tokens if self.budget.target or self.budget.lean else self.trigger_tokens

    @property
    def tail_tokens(self) -> int:
        """The budget of the recent messages, capped at a share of the part that is not fixed."""
        return min(self.budget.tail_tokens, int(self._room * max(_TAIL_SHARE, self.budget.target_ratio)))

    @property
    def useful_summary_tokens(self) -> int:
        """The minimum for a summary with evidence, if the headroom allows it."""
        return min(USEFUL_SUMMARY, int(self.budget.max_summary_tokens * _USEFUL_RATIO))

    @property
    def summary_tokens(self) -> int:
        """The maximum for the headings in this conversation."""
        return min(self.budget.max_summary_tokens, self._room // HEADROOM_PARTS)

    def rearm_tokens(self, left: int, gained: bool, tail_is_protected: bool) -> int:
        """The size at which the next compaction is due after one that left `left` tokens.

        If the protected messages fit and take the headroom, or the tail has more than 40 % of the threshold, growth
        by a tenth of the window is enough.
        """
        if not self.budget.threshold_tokens:
            return 0 if gained else left + 1  # due at every turn, but not for the same messages again
        window = self.budget.window
        has_large_tail = tail_is_protected or self.budget.target_ratio > _LARGE_TAIL
        growth = int(window * _REARM_SHARE) if has_large_tail else self.headroom_tokens
        # The next compaction is due halfway to the end of the window at the latest.
        return max(self.trigger_tokens, min(left + max(1, growth), (left + window) // 2))

    @property
    def _room(self) -> int:
        """The tokens that are not fixed."""
        return max(0, self.trigger_tokens - self.fixed.total)


def max_ledger_tokens(compressed_tokens: int, earlier_tokens: int) -> int:
    """The maximum for text that code writes: the size of the earlier summary plus a share of the new messages."""
    new = max(
        int(compressed_tokens * SUMMARY_RATIO), min(int(compressed_tokens * SMALL_LEDGER_RATIO), SMALL_LEDGER)
    )
    return max(new + earlier_tokens, MIN_SUMMARY_TOKENS)


def ledger_tokens(compressed_tokens: int, earlier_tokens: int, summary_tokens: int, free: int) -> int:
    """The budget for headings and evidence written by code: the `free` part of the target, with a minimum."""
    maximum = max_ledger_tokens(compressed_tokens, earlier_tokens)
    return max(min(summary_tokens, max(maximum // 2, MIN_SUMMARY_TOKENS)), min(free, maximum))

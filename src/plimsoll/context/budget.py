"""Token budgets for each part of a compacted conversation.

For a 200 000-token model at defaults: threshold 100 000, tail 20 000, summary at most 10 000.

    0            fixed                   target      roomy            trigger                    window
    ├─ overhead ─┼─ tail ─ summary ─ … ──┤           │                │                          │
    │  system    │                       └ aimed at  └ at least a third of what is not fixed ─┘
    │  opening   │                                     is left to grow into
    └ what a compaction leaves as it is

Sizes are what the provider counts (see `calibration`). Under `compression.policy: cost` the budget is lean: a
compacted conversation has 10 000 tokens in any larger window, because every token that stays is read again with every
request, and what it saves is at most a search.
"""

from dataclasses import dataclass, replace

from plimsoll.errors import SettingError

SUMMARY_RATIO = 0.20
MIN_SUMMARY_TOKENS = 2_000
# A fifth of a small middle says too little; what code quotes costs no model's time, so it may have a third.
SMALL_LEDGER, SMALL_LEDGER_RATIO = 7_000, 0.35
SUMMARY_CEILING = 12_000
SUMMARY_WINDOW_SHARE = 0.05
TARGET_SHARE = 0.33  # of what is not fixed
# However little the target leaves beside the tail, a summary has this much where the headroom allows: full headings
# and as much evidence, up to what that is in a 64K window.
USEFUL_SUMMARY, _USEFUL_RATIO = 6_400, 2.0
# What a lean compaction leaves. In a 200K window the usual target holds .98 of the far facts that an agent types from
# memory, this one holds .91 (see docs/caching.md): what is lost can be searched for, what stays is read each time.
LEAN_TOKENS = 10_000
_LEAN_THRESHOLD = 26_000  # of which a lean budget's tail has its usual share
HEADROOM_PARTS = 3  # a compaction leaves one part in three of what is not fixed to grow into
# Of what is not fixed: what the tail's budget may take of it, unless the settings ask for more.
_TAIL_SHARE = 0.30
_LARGE_TAIL = 0.40  # a target ratio above this is a wish for recent messages rather than for headroom
_REARM_SHARE = 0.10  # of the window: growth before the next compaction where the tail leaves less headroom


@dataclass(frozen=True, slots=True)
class FixedPart:
    """Tokens of a request that no compaction reduces, by their parts, as the provider counts them."""

    overhead: int = 0  # tool schemas, and what the provider adds itself
    system: int = 0
    opening: int = 0  # the first exchange

    @property
    def total(self) -> int:
        return self.overhead + self.messages

    @property
    def messages(self) -> int:
        """The part of it that is in the messages."""
        return self.system + self.opening


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a window gives to the threshold, the tail and the summary."""

    window: int
    threshold: float = 0.50
    target_ratio: float = 0.20
    target: int | None = None  # tokens of the compacted messages, where somebody names them
    lean: bool = False  # where nobody does: no larger than `LEAN_TOKENS`

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
        """The threshold: compaction is due at this many prompt tokens."""
        return int(self.window * self.threshold)

    @property
    def tail_tokens(self) -> int:
        """What the recent messages may take."""
        return int(self._shared_tokens * self.target_ratio)

    @property
    def max_summary_tokens(self) -> int:
        """The most that the nine headings of any summary may take."""
        ceiling = MIN_SUMMARY_TOKENS if self.is_lean else SUMMARY_CEILING
        return min(int(self.window * SUMMARY_WINDOW_SHARE), ceiling)

    def summary_tokens(self, compressed_tokens: int) -> int:
        """What the summary of `compressed_tokens` may take; a small window's maximum outranks the minimum."""
        wanted = max(int(compressed_tokens * SUMMARY_RATIO), MIN_SUMMARY_TOKENS)
        return min(wanted, self.max_summary_tokens)

    def updated_summary_tokens(self, compressed_tokens: int, earlier_tokens: int) -> int:
        """The same where an earlier summary is compressed along: that keeps at least its size."""
        wanted = max(self.summary_tokens(compressed_tokens + earlier_tokens), earlier_tokens)
        return min(wanted, self.max_summary_tokens)

    def sizes(self, fixed: FixedPart | None = None) -> "Sizes":
        """The sizes that hold for a conversation with this fixed part.

        An opening that does not fit the threshold is not fixed: it goes to the summary.
        """
        fixed = fixed or FixedPart()
        if fixed.total >= self.threshold_tokens > fixed.total - fixed.opening:
            fixed = replace(fixed, opening=0)
        return Sizes(self, fixed)

    @property
    def is_lean(self) -> bool:
        """Whether the lean size holds."""
        return self.lean and self.target is None

    @property
    def _shared_tokens(self) -> int:
        """What the parts are shares of."""
        return min(self.threshold_tokens, _LEAN_THRESHOLD) if self.is_lean else self.threshold_tokens


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one conversation: its trigger, its target, its limits. All as the provider counts."""

    budget: Budget
    fixed: FixedPart

    @property
    def is_fixed_too_large(self) -> bool:
        """Whether the fixed part alone reaches the threshold, so that no compaction could get below it."""
        return self.fixed.total >= self.budget.threshold_tokens

    @property
    def trigger_tokens(self) -> int:
        """Where compaction is due: the threshold, or halfway to the window where that is out of reach."""
        if self.is_fixed_too_large:
            return (self.fixed.total + self.budget.window) // 2
        return self.budget.threshold_tokens

    @property
    def headroom_tokens(self) -> int:
        """What a conversation can grow by between two compactions."""
        return -(-self._room // HEADROOM_PARTS)

    @property
    def roomy_tokens(self) -> int:
        """The largest size that leaves the headroom."""
        return self.trigger_tokens - self.headroom_tokens

    @property
    def target_tokens(self) -> int:
        """What a compaction aims at."""
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
        """What a compacted conversation may have at most: the trigger, or a target that was set as a size."""
        return self.target_tokens if self.budget.target or self.budget.lean else self.trigger_tokens

    @property
    def tail_tokens(self) -> int:
        """What the recent messages may take: their budget, and not nearly all of what is not fixed."""
        return min(self.budget.tail_tokens, int(self._room * max(_TAIL_SHARE, self.budget.target_ratio)))

    @property
    def useful_summary_tokens(self) -> int:
        """What a summary with its evidence has in any case, where the headroom allows."""
        return min(USEFUL_SUMMARY, int(self.budget.max_summary_tokens * _USEFUL_RATIO))

    @property
    def summary_tokens(self) -> int:
        """The most that the headings may take here."""
        return min(self.budget.max_summary_tokens, self._room // HEADROOM_PARTS)

    def rearm_tokens(self, left: int, gained: bool, tail_is_protected: bool) -> int:
        """The size at which the next compaction is due after one that left `left` tokens.

        Where the protected messages fit and take the headroom, or the tail was given more than 40 % of the threshold,
        a tenth of the window is growth enough.
        """
        if not self.budget.threshold_tokens:
            return 0 if gained else left + 1  # due at every turn, but not for the same messages again
        window = self.budget.window
        has_large_tail = tail_is_protected or self.budget.target_ratio > _LARGE_TAIL
        growth = int(window * _REARM_SHARE) if has_large_tail else self.headroom_tokens
        # Whatever has to wait, waits no longer than halfway to the end of the window.
        return max(self.trigger_tokens, min(left + max(1, growth), (left + window) // 2))

    @property
    def _room(self) -> int:
        """What is not fixed."""
        return max(0, self.trigger_tokens - self.fixed.total)


def most_ledger_tokens(compressed_tokens: int, earlier_tokens: int) -> int:
    """The most that code says: what an earlier summary says has proved itself once, what is new comes on top."""
    new = max(
        int(compressed_tokens * SUMMARY_RATIO), min(int(compressed_tokens * SMALL_LEDGER_RATIO), SMALL_LEDGER)
    )
    return max(new + earlier_tokens, MIN_SUMMARY_TOKENS)


def ledger_tokens(compressed_tokens: int, earlier_tokens: int, summary_tokens: int, free: int) -> int:
    """What code may write, headings and evidence together: what is `free` of the target, never next to nothing."""
    most = most_ledger_tokens(compressed_tokens, earlier_tokens)
    return max(min(summary_tokens, max(most // 2, MIN_SUMMARY_TOKENS)), min(free, most))

"""How many tokens each part of a compacted conversation may take.

For a 200 000-token model at defaults: threshold 100 000, tail 20 000, summary at most 10 000.

Under `compression.policy: cost` the budget is lean: a compacted conversation has 10 000 tokens in any larger window,
because every token that stays is read again with every request, and what it saves is at most a search.
"""

from dataclasses import dataclass

from plimsoll.errors import SettingError

SUMMARY_RATIO = 0.20
MIN_SUMMARY_TOKENS = 2_000
# A fifth of a small middle says too little; what code quotes costs no model's time, so it may have a third.
SMALL_LEDGER, SMALL_LEDGER_RATIO = 7_000, 0.35
SUMMARY_CEILING = 12_000
SUMMARY_WINDOW_SHARE = 0.05
TARGET_SHARE = 0.38
# What a lean compaction leaves. In a 200K window the usual target holds .98 of the far facts that an agent types from
# memory, this one holds .91 (see docs/caching.md): what is lost can be searched for, what stays is read each time.
LEAN_TOKENS = 10_000
_LEAN_THRESHOLD = int(LEAN_TOKENS / TARGET_SHARE)  # of which a lean budget's parts have their usual shares


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a window gives to the threshold, the tail and the summary."""

    window: int
    threshold: float = 0.50
    target_ratio: float = 0.20
    target: int | None = None  # tokens of the compacted conversation, where somebody names them
    lean: bool = False  # where nobody does: no larger than `LEAN_TOKENS`

    def __post_init__(self) -> None:
        if self.target is not None and self.target < 1:
            raise SettingError(f"target_tokens must be at least 1 token, not {self.target!r}")
        if self.window < 1:
            raise SettingError(f"context_length must be at least 1 token, not {self.window!r}")
        if not 0.0 < self.threshold <= 1.0:
            raise SettingError(f"threshold must be above 0.0 and at most 1.0, not {self.threshold!r}")
        if not 0.10 <= self.target_ratio <= 0.80:
            raise SettingError(f"target_ratio must lie between 0.10 and 0.80, not {self.target_ratio!r}")

    @property
    def threshold_tokens(self) -> int:
        """The hard line: compaction is due at this many prompt tokens."""
        return int(self.window * self.threshold)

    @property
    def target_tokens(self) -> int:
        """What a compacted conversation should weigh: by default a good third of the threshold."""
        return min(self.target or int(self._shared_tokens * TARGET_SHARE), self.threshold_tokens)

    @property
    def limit_tokens(self) -> int:
        """What it may weigh at most: the threshold, or the target where that was meant as a size."""
        return self.target_tokens if self.target or self.lean else self.threshold_tokens

    @property
    def tail_tokens(self) -> int:
        """What the recent messages may take."""
        return int(self._shared_tokens * self.target_ratio)

    @property
    def max_summary_tokens(self) -> int:
        """The most that any summary may take."""
        ceiling = MIN_SUMMARY_TOKENS if self._is_lean else SUMMARY_CEILING
        return min(int(self.window * SUMMARY_WINDOW_SHARE), ceiling)

    def summary_tokens(self, compressed_tokens: int) -> int:
        """What the summary of `compressed_tokens` may take; a small window's maximum outranks the minimum."""
        wanted = max(int(compressed_tokens * SUMMARY_RATIO), MIN_SUMMARY_TOKENS)
        return min(wanted, self.max_summary_tokens)

    def updated_summary_tokens(self, compressed_tokens: int, earlier_tokens: int) -> int:
        """The same where an earlier summary is compressed along: that keeps at least its size."""
        wanted = max(self.summary_tokens(compressed_tokens + earlier_tokens), earlier_tokens)
        return min(wanted, self.max_summary_tokens)

    def ledger_tokens(self, compressed_tokens: int, earlier_tokens: int, free: int) -> int:
        """What code may say: what is `free` of the target, and never next to nothing."""
        most = most_ledger_tokens(compressed_tokens, earlier_tokens)
        said = self.updated_summary_tokens(compressed_tokens, earlier_tokens)
        return max(min(said, max(most // 2, MIN_SUMMARY_TOKENS)), min(free, most))

    @property
    def _is_lean(self) -> bool:
        return self.lean and self.target is None

    @property
    def _shared_tokens(self) -> int:
        """What the parts are shares of."""
        return min(self.threshold_tokens, _LEAN_THRESHOLD) if self._is_lean else self.threshold_tokens


def most_ledger_tokens(compressed_tokens: int, earlier_tokens: int) -> int:
    """The most that code says: what an earlier summary says has proved itself once, what is new comes on top."""
    new = max(
        int(compressed_tokens * SUMMARY_RATIO), min(int(compressed_tokens * SMALL_LEDGER_RATIO), SMALL_LEDGER)
    )
    return max(new + earlier_tokens, MIN_SUMMARY_TOKENS)

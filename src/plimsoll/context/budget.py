"""How many tokens each part of a compacted conversation may take.

For a 200 000-token model at defaults: threshold 100 000, tail 20 000, summary at most 10 000.
"""

from dataclasses import dataclass

from plimsoll.errors import SettingError

SUMMARY_RATIO = 0.20
MIN_SUMMARY_TOKENS = 2_000
SUMMARY_CEILING = 12_000
SUMMARY_WINDOW_SHARE = 0.05
TARGET_SHARE = 0.38


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a window gives to the threshold, the tail and the summary."""

    window: int
    threshold: float = 0.50
    target_ratio: float = 0.20
    target: int | None = None  # tokens of the compacted conversation, where somebody names them

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
        return min(self.target or int(self.threshold_tokens * TARGET_SHARE), self.threshold_tokens)

    @property
    def tail_tokens(self) -> int:
        """What the recent messages may take."""
        return int(self.threshold_tokens * self.target_ratio)

    @property
    def max_summary_tokens(self) -> int:
        """The most that any summary may take."""
        return min(int(self.window * SUMMARY_WINDOW_SHARE), SUMMARY_CEILING)

    def summary_tokens(self, compressed_tokens: int) -> int:
        """What the summary of `compressed_tokens` may take; a small window's maximum outranks the minimum."""
        wanted = max(int(compressed_tokens * SUMMARY_RATIO), MIN_SUMMARY_TOKENS)
        return min(wanted, self.max_summary_tokens)

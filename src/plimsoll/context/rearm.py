"""The re-arm state: after an attempt to compact, the size or the time at which the next one may start.

attempt ── left tokens ───────────────── due tokens ──► the next attempt
                └ smaller than that: the state no longer applies     or: at `retry_at`, regardless of growth
"""

from dataclasses import dataclass
from math import inf

# A prompt below this share of the last attempt's result was reduced in another way: by an undo, a new topic.
_SHRUNK_SHARE = 0.90


@dataclass(frozen=True, slots=True)
class RearmState:
    """The size after the last attempt, and the condition for the next one."""

    left: int
    due: int
    retry_at: float = inf

    def is_armed(self, tokens: int, now: float = 0.0) -> bool:
        """Whether a prompt of `tokens` may be compacted again."""
        return tokens >= self.due or now >= self.retry_at

    def applies_to(self, tokens: int, threshold_tokens: int) -> bool:
        """Whether the prompt has not shrunk much since the last attempt."""
        return not 0 < tokens < min(threshold_tokens, self.left * _SHRUNK_SHARE)

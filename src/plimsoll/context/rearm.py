"""The re-arm state: after an attempt to compact, the size or the time at which the next one may start.

attempt ── left tokens ───────────────── due tokens ──► the next attempt
                └ smaller than that: the state no longer applies     or: at `retry_at`, however little was said
"""

from dataclasses import dataclass
from math import inf

# A prompt below this share of what the last attempt left has been made smaller since: by an undo, a new topic.
_SHRUNK = 0.90


@dataclass(frozen=True, slots=True)
class RearmState:
    """What the last attempt left, and what brings the next one."""

    left: int
    due: int
    retry_at: float = inf

    def is_armed(self, tokens: int, now: float = 0.0) -> bool:
        """Whether a prompt of `tokens` may be compacted again."""
        return tokens >= self.due or now >= self.retry_at

    def applies_to(self, tokens: int, threshold_tokens: int) -> bool:
        """Whether a prompt has not become much smaller since."""
        return not 0 < tokens < min(threshold_tokens, self.left * _SHRUNK)

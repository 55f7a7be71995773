"""Converts estimated tokens to provider tokens.

    counted = overhead + ratio x estimate
              │          └─ how the model's tokenizer differs from the estimate
              └─ tool schemas, system blocks, the provider's own preamble: no compaction can reduce them

All decisions and reports about sizes use the counted number.
"""

from dataclasses import dataclass

# A caller may pass a count that is older than the list; then the estimate takes precedence.
_LOWEST_RATIO = 0.75
# The range of ratios that an anchor may learn (see `models.anchor`).
_LOWEST_LEARNED, _HIGHEST_LEARNED = 0.4, 3.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The line from estimated to counted tokens."""

    overhead: int = 0
    ratio: float = 1.0

    def counted(self, estimated: int) -> int:
        """The provider's count for a request whose messages have this estimate."""
        return self.overhead + round(self.ratio * estimated)

    def estimate_for(self, counted: int) -> int:
        """The estimate of messages that the provider counts as this many tokens; negative if impossible."""
        return int((counted - self.overhead) / self.ratio)


def calibrate(estimated: int, counted: int | None = None, overhead: int | None = None) -> Calibration:
    """The calibration of a conversation with this estimate, for which the provider counts `counted` tokens.

    `overhead` is the part that is not in the messages. If a caller does not know it, everything above the estimate
    counts as overhead. If the tokenizer's ratio is the real cause, the compacted conversation is a little smaller
    than necessary, never larger.
    """
    if not counted or estimated <= 0:
        return Calibration(max(0, overhead or 0))
    if overhead is None:
        return _line(estimated, counted, max(0, counted - estimated), _LOWEST_RATIO)
    return _line(estimated, counted, max(0, min(overhead, counted)), _LOWEST_LEARNED)


def _line(estimated: int, counted: int, overhead: int, lowest: float) -> Calibration:
    ratio = (counted - overhead) / estimated
    if ratio > _HIGHEST_LEARNED:
        return Calibration(counted - round(_HIGHEST_LEARNED * estimated), _HIGHEST_LEARNED)
    return Calibration(overhead, max(lowest, ratio))

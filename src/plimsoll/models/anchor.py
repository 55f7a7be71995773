"""The last token count that the API reported, plus a calibrated estimate of the changes since.

    reported 41 200 ──┐
    [ what was sent then ][ added since ]   estimate of the addition x ratio ──► predict()
                          └ 1 900

The reported count includes tokens that no estimate can see, such as tool definitions and
a provider's preamble. The ratio between reported and estimated tokens is learned from how
both grow from one request to the next. It starts at 1, or at the final `ratio` of an earlier
conversation with the same model. The anchor is a value object: `observe` returns a new one.
"""

from dataclasses import dataclass, replace

LOWEST_RATIO, HIGHEST_RATIO = 0.4, 3.0  # bounds of reported tokens per estimated token
# A prompt may contain this many tokens that the estimate misses: tool definitions, a hidden preamble.
MAX_UNSEEN = 40_000
# Weights of the starting ratio and of the learned ratio, in estimated tokens. The first keeps one small outlier
# from changing the ratio much; the second lets the ratio follow a conversation whose content changes.
PRIOR_WEIGHT = 1_500
MEMORY_WEIGHT = 40_000


@dataclass(frozen=True, slots=True)
class UsageAnchor:
    """A reported prompt count, the estimate of the same messages, and the reported tokens per estimated token."""

    ratio: float = 1.0
    weight: float = 0.0  # estimated tokens that the ratio was learned from; bounded
    reported: int | None = None
    estimated: int = 0
    # (reported, estimated) for a short prompt. It shows how many tokens the estimate misses, which a prediction
    # after a compaction needs.
    short: tuple[int, int] | None = None

    def observe(self, reported_prompt_tokens: int, estimated_tokens: int) -> "UsageAnchor":
        """Return the anchor after a response, from its reported count and the estimate of the same messages."""
        if reported_prompt_tokens <= 0:
            return self  # some servers report nothing, or zero
        estimated = max(0, estimated_tokens)
        if self.reported is None:
            learned = self._from_whole(reported_prompt_tokens, estimated)
        else:
            learned = self._from_step(reported_prompt_tokens - self.reported, estimated - self.estimated)
        short = self.short
        if short is None or estimated <= short[1] or self.estimated > estimated <= 2 * short[1]:
            short = (reported_prompt_tokens, estimated)
        return replace(learned, reported=reported_prompt_tokens, estimated=estimated, short=short)

    def predict(self, estimated_tokens: int) -> int:
        """Predict the prompt tokens of messages with this estimate; without a report, scale the estimate."""
        estimated = max(0, estimated_tokens)
        if self.reported is None or self.short is None:
            return round(self.ratio * estimated)
        if estimated >= self.estimated:
            return self.reported + round(self.ratio * (estimated - self.estimated))
        return self._predict_below(self.reported, self.short, estimated)

    def _predict_below(self, reported: int, short: tuple[int, int], estimated: int) -> int:
        """Predict after a compaction: interpolate between two reports; below both, towards the fixed overhead."""
        short_reported, short_estimated = short
        if short_estimated <= estimated and short_reported <= reported:
            slope = (reported - short_reported) / (self.estimated - short_estimated)
            return short_reported + round(slope * (estimated - short_estimated))
        base, base_estimated = short if short_estimated > estimated else (reported, self.estimated)
        # The overhead is at least 0, so the ratio is at most reported / estimated.
        ratio = min(self.ratio, base / base_estimated)
        return max(0, base - round(ratio * (base_estimated - estimated)))

    def _from_whole(self, reported: int, estimated: int) -> "UsageAnchor":
        """Bound the ratio by the first report: the overhead is at least 0 and not huge."""
        if estimated == 0:
            return self
        highest = reported / estimated
        lowest = (reported - MAX_UNSEEN) / estimated
        return self._learn(min(max(self.ratio, lowest), highest), estimated)

    def _from_step(self, reported: int, estimated: int) -> "UsageAnchor":
        """Derive the ratio from the change in both numbers, which excludes the constant overhead."""
        if reported * estimated <= 0:
            return self  # one grew and the other shrank: the tools or the system prompt changed
        return self._learn(reported / estimated, abs(estimated))

    def _learn(self, seen: float, weight: float) -> "UsageAnchor":
        bounded = min(max(seen, LOWEST_RATIO), HIGHEST_RATIO)
        # One step may replace at most half of the learned ratio.
        weight = min(weight, MEMORY_WEIGHT / 2)
        known = PRIOR_WEIGHT + self.weight
        ratio = (self.ratio * known + bounded * weight) / (known + weight)
        return replace(self, ratio=ratio, weight=min(self.weight + weight, MEMORY_WEIGHT))

"""The last token count that the API reported, plus a calibrated estimate of the changes since.

    reported 41 200 ──┐
    [ what was sent then ][ added since ]   estimate of the addition x ratio ──► predict()
                          └ 1 900

What no estimate can see (tool definitions, a provider's own preamble) is inside the
reported number and so needs no guess. The ratio between reported and estimated tokens
is learned from how both grow from one request to the next; it starts at 1, or at the
`ratio` that an earlier conversation with the same model ended with. A value object:
`observe` returns a new anchor.
"""

from dataclasses import dataclass, replace

LOWEST_RATIO, HIGHEST_RATIO = 0.4, 3.0
# A prompt may contain this many tokens that the estimate misses: tool definitions, a hidden preamble.
UNSEEN_AT_MOST = 40_000
# How many estimated tokens the starting ratio is worth, and how many the learned one: the first so that one
# small odd step cannot swing it, the second so that it follows a conversation that turns to other material.
PRIOR_WEIGHT = 1_500
MEMORY_WEIGHT = 40_000


@dataclass(frozen=True, slots=True)
class UsageAnchor:
    """A reported prompt count, the estimate of the same messages, and what a token of estimate is really worth."""

    ratio: float = 1.0
    weight: float = 0.0  # estimated tokens that the ratio was learned from; bounded
    reported: int | None = None
    estimated: int = 0
    # A report on a short prompt, as (reported, estimated): it tells what the estimate does not see, which a
    # prediction after a compaction needs.
    short: tuple[int, int] | None = None

    def observe(self, reported_prompt_tokens: int, estimated_tokens: int) -> "UsageAnchor":
        """The anchor after a response: the count it reported, and the estimate of exactly the messages sent."""
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
        """The prompt tokens of messages with this estimate; before any report, the calibrated estimate alone."""
        estimated = max(0, estimated_tokens)
        if self.reported is None or self.short is None:
            return round(self.ratio * estimated)
        if estimated >= self.estimated:
            return self.reported + round(self.ratio * (estimated - self.estimated))
        return self._predict_below(self.reported, self.short, estimated)

    def _predict_below(self, reported: int, short: tuple[int, int], estimated: int) -> int:
        """After a compaction: on the line between two reports; below both, towards what the estimate does not see."""
        short_reported, short_estimated = short
        if short_estimated <= estimated and short_reported <= reported:
            slope = (reported - short_reported) / (self.estimated - short_estimated)
            return short_reported + round(slope * (estimated - short_estimated))
        base, base_estimated = short if short_estimated > estimated else (reported, self.estimated)
        # What is unseen cannot be less than nothing, so the ratio cannot exceed the whole.
        ratio = min(self.ratio, base / base_estimated)
        return max(0, base - round(ratio * (base_estimated - estimated)))

    def _from_whole(self, reported: int, estimated: int) -> "UsageAnchor":
        """The first report says little about the ratio, but bounds it: the unseen part is neither < 0 nor huge."""
        if estimated == 0:
            return self
        highest = reported / estimated
        lowest = (reported - UNSEEN_AT_MOST) / estimated
        return self._learn(min(max(self.ratio, lowest), highest), estimated)

    def _from_step(self, reported: int, estimated: int) -> "UsageAnchor":
        """Derive the ratio from the change in both numbers, which excludes the constant overhead."""
        if reported * estimated <= 0:
            return self  # the two moved apart: other tools, another system prompt
        return self._learn(reported / estimated, abs(estimated))

    def _learn(self, seen: float, weight: float) -> "UsageAnchor":
        bounded = min(max(seen, LOWEST_RATIO), HIGHEST_RATIO)
        # One step may replace at most half of what is remembered, whatever its size.
        weight = min(weight, MEMORY_WEIGHT / 2)
        known = PRIOR_WEIGHT + self.weight
        ratio = (self.ratio * known + bounded * weight) / (known + weight)
        return replace(self, ratio=ratio, weight=min(self.weight + weight, MEMORY_WEIGHT))

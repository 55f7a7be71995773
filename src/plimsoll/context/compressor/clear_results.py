"""Phase 1 on its own: clears old tool results and keeps everything else. No summary, no model call.

    head │ call, [cleared], call, [cleared], … │ tail, unchanged

A later summary describes a cleared result from the original, not from its stub.
"""

from collections.abc import Sequence

from plimsoll.caching import Clearing
from plimsoll.context.compressor.boundaries import Boundaries, find_boundaries
from plimsoll.context.compressor.plan import CompressorRules
from plimsoll.context.compressor.prune import is_large, prune_old_tool_results
from plimsoll.context.markers import find_summary, summary_body
from plimsoll.context.report import CompactionReport
from plimsoll.messages import Message, is_whole, repair
from plimsoll.models import estimate_message_tokens

_STUB_TOKENS = 60  # about


def clearing_of(messages: Sequence[Message], rules: CompressorRules) -> Clearing:
    """What clearing would remove, without describing the results."""
    tokens = list(map(estimate_message_tokens, messages))
    bounds = _bounds(messages, tokens, rules)
    large = [
        place
        for place in range(bounds.head_end, bounds.tail_start)
        if tokens[place] > _STUB_TOKENS and is_large(messages[place])
    ]
    removed = sum(tokens[place] - _STUB_TOKENS for place in large)
    return Clearing(removed, sum(tokens[: large[0]])) if large else Clearing()


def cleared(messages: Sequence[Message], rules: CompressorRules) -> tuple[list[Message], CompactionReport]:
    """The conversation with its old results cleared, and the report of it."""
    whole = list(messages) if is_whole(messages) else repair(messages)
    tokens = list(map(estimate_message_tokens, whole))
    bounds = _bounds(whole, tokens, rules)
    compacted, gone = prune_old_tool_results(whole, bounds.head_end, bounds.tail_start)
    compacted = rules.readable(compacted, whole)
    at = find_summary(whole)
    summary = "" if at is None else summary_body(whole[at])
    rules.remembered.keep_originals(summary, zip(compacted, whole, strict=True))
    report = CompactionReport(
        "compacted" if gone else "unchanged",
        f"cleared {len(gone)} old results; a summary would cost more than it spares"
        if gone
        else "no old result is large",
        len(messages),
        len(compacted),
        sum(tokens),
        sum(map(estimate_message_tokens, compacted)),
        cleared=len(gone),
        _describe_pruned=lambda: gone,
    )
    return compacted, report


def _bounds(messages: Sequence[Message], tokens: Sequence[int], rules: CompressorRules) -> Boundaries:
    return find_boundaries(messages, tokens, rules.budget.tail_tokens, rules.protect_last_n)

"""The report of a compaction, the same for both engines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from plimsoll.context.compressor.plan import CompactionPlan
from plimsoll.context.compressor.prune import clearable, large_results
from plimsoll.context.ledger import SummaryLine
from plimsoll.context.report import NO_MODEL_SUMMARY, CompactionReport
from plimsoll.messages import Message
from plimsoll.models import estimate_messages_tokens_rough

MEDIA_REMOVED = "old images and documents removed, to stay within the provider's limits"
NOTHING_BETWEEN = "there are no messages between the first exchange and the recent ones"


def unchanged(count: int, plan: CompactionPlan, reason: str) -> CompactionReport:
    """The report on `count` messages of which nothing could be removed."""
    tokens = plan.counted
    rearm = plan.sizes.configured.rearm_tokens(tokens, gained=False, tail_is_protected=False)
    return CompactionReport(
        "unchanged", reason, count, count, tokens, tokens, fixed=plan.sizes.fixed, rearm_tokens=rearm
    )


def without_media(
    report: CompactionReport, result: Sequence[Message], reduced: Sequence[Message]
) -> CompactionReport:
    """The report on a result from which old images and documents were removed as well."""
    saved = estimate_messages_tokens_rough(result) - estimate_messages_tokens_rough(reduced)
    return replace(
        report,
        outcome="compacted",
        reason=report.reason if report.outcome == "compacted" else MEDIA_REMOVED,
        tokens_after=max(0, report.tokens_after - saved),
        steps=(*report.steps, MEDIA_REMOVED),
    )


def compacted(
    count: int,
    before: int,
    plan: CompactionPlan,
    whole: Sequence[Message],
    result: Sequence[Message],
    *,
    summary: str = "",
    evidence: str = "",
    source: Literal["model", "deterministic"] = "deterministic",
    lines: tuple[SummaryLine, ...] = (),
    failures: tuple[str, ...] = (),
) -> CompactionReport:
    """The report on `count` messages with an estimate of `before` tokens that became `result`.

    `whole` are these messages as valid ones; the large tool results between head and tail are the cleared ones.
    """
    between = whole, plan.bounds.head_end, plan.bounds.tail_start
    left = plan.calibration.counted(estimate_messages_tokens_rough(result))
    return CompactionReport(
        outcome="compacted",
        reason=plan.steps[-1] if plan.steps else "",
        messages_before=count,
        messages_after=len(result),
        tokens_before=plan.calibration.counted(before),
        tokens_after=left,
        summary=summary,
        evidence=evidence,
        summary_source=source,
        lines=lines,
        steps=(*plan.steps, *map(NO_MODEL_SUMMARY.format, failures)),
        model_failures=failures,
        shortened=plan.shortened(),
        fixed=plan.sizes.fixed,
        rearm_tokens=plan.sizes.configured.rearm_tokens(
            left, gained=True, tail_is_protected=plan.is_tail_protected
        ),
        cleared=sum(1 for _ in large_results(*between)),
        _describe_pruned=lambda: tuple(clearable(*between)),
    )

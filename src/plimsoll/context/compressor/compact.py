"""One compaction by the built-in engine, as one function of its arguments.

    messages ─► plan: sizes, head, middle, tail ─► summary of the middle ─► assemble ─► gate ─► compacted messages
                (phase 2)                          (phase 3)    │  ▲        (phase 4)    │
                                                  too large: the ladder                   refused: clear old
                                                                                          results only (phase 1)

The summary replaces the tool results in the middle, so clearing them (phase 1) only matters if the gate refuses the
summary, or on its own (`clear_results.py`).

The result is valid, strictly smaller, and at or below the threshold if the fixed
part of the request (overhead, system prompt) and the newest request allow it; or it is the
conversation unchanged. The input is never mutated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plimsoll.context.budget import max_ledger_tokens
from plimsoll.context.compressor.assemble import assemble, summary_message
from plimsoll.context.compressor.boundaries import Boundaries
from plimsoll.context.compressor.ladder import clear_head_results, fit
from plimsoll.context.compressor.plan import SMALLEST_SUMMARY, CompactionPlan, CompressorRules, planned
from plimsoll.context.compressor.prune import prune_old_tool_results
from plimsoll.context.compressor.reports import NOTHING_BETWEEN, compacted, unchanged
from plimsoll.context.compressor.summarise import (
    NumberedMessages,
    Summary,
    SummaryJob,
    deterministic_summary,
    summarise,
)
from plimsoll.context.gate import refusal
from plimsoll.context.ledger import SummarySource, cited_lines
from plimsoll.context.report import CompactionReport
from plimsoll.messages import Message, is_whole, repair, without_named_handles
from plimsoll.models import estimate_message_tokens, estimate_tokens

_SUMMARY_SHARE = (
    0.6  # the summary's share of a target size without the fixed part; recent messages get the rest
)


@dataclass(frozen=True, slots=True)
class _SummaryLimits:
    """Token limits of a summary: its headings, and the whole text."""

    headings: int
    all: int


def compact(
    messages: Sequence[Message],
    rules: CompressorRules,
    current_tokens: int | None = None,
    focus: str | None = None,
    overhead_tokens: int | None = None,
) -> tuple[list[Message], CompactionReport]:
    """The compacted conversation and its report.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages.
    """
    plan = start = planned(messages, rules, current_tokens, overhead_tokens)
    whole, total = plan.messages, sum(plan.tokens)
    if not plan.can_shrink:
        return whole, unchanged(len(messages), plan, NOTHING_BETWEEN)
    plan, summary = _summarised_plan(plan, rules, focus)
    if summary and not rules.able_to_recall:
        # The summary may quote messages that an earlier compaction shortened.
        summary = replace(
            summary,
            headings=without_named_handles(summary.headings),
            evidence=without_named_handles(summary.evidence),
        )
    result = assemble(plan.messages, plan.bounds, summary.text if summary else "")
    result = rules.readable(result, whole)
    refused = refusal(whole, total, result)
    if refused:
        # The middle stays, so it must be valid too.
        whole = whole if is_whole(whole) else repair(whole)
        summary, result = None, only_cleared(whole, total, plan.bounds, rules)
        if not result:
            return whole, unchanged(len(messages), start, refused)
        rules.remembered.keep_originals(plan.previous, zip(result, whole, strict=True))
        plan = replace(start, bounds=plan.bounds).with_step(f"only cleared results: {refused}")
    if summary:
        source = _source(plan, rules)
        originals = source.originals_with(plan.with_originals())
        late = summary.late or (None if _has_arrived(plan, source) else source.late)
        numbers = _kept_numbers(plan, source)
        rules.remembered.keep(
            summary.text, SummarySource(summary.facts, source.earlier, originals, numbers, late)
        )
    return result, _compacted(len(messages), total, whole, result, plan, summary)


def only_cleared(
    whole: list[Message], total: int, bounds: Boundaries, rules: CompressorRules
) -> list[Message]:
    """The list with only large results between head and tail cleared; empty if refused."""
    cleared, _ = prune_old_tool_results(whole, bounds.head_end, bounds.tail_start)
    result = rules.readable(cleared, whole)
    return [] if refusal(whole, total, result) else result


def _summarised_plan(
    plan: CompactionPlan, rules: CompressorRules, focus: str | None
) -> tuple[CompactionPlan, Summary | None]:
    """Summarise the middle, and apply the ladder if the result is too large."""
    room = None
    if plan.sizes.limit_tokens < plan.sizes.trigger_tokens:
        # Call the model once, for a summary that fits: a second call costs as much, and excess text is wasted.
        plan, room = _with_summary_limits(plan)
        room = room if rules.summarizer else None  # code may use all the room that the target leaves
    has_middle = bool(plan.bounds.summary_role)
    summary = summarise(_job(plan, rules, focus, room), rules.summarizer) if has_middle else None
    late = summary.late if summary else None
    # The ladder may create a middle if there was none; reserve tokens for its summary.
    fitted = fit(plan, weight_of(summary.text) if summary else SMALLEST_SUMMARY)
    if fitted is not plan:
        summary = _extended(plan, fitted, rules, focus, summary)
    left = fitted.limit - fitted.size(weight_of(""))
    if summary and left > 0 and fitted.size(weight_of(summary.text)) > fitted.limit:
        job = _job(fitted, rules, focus, _SummaryLimits(min(left, fitted.summary_tokens), left))
        summary = deterministic_summary(job, summary.failure, summary)
    if summary and late:
        summary = replace(summary, late=late)
    return fitted, summary


def _with_summary_limits(plan: CompactionPlan) -> tuple[CompactionPlan, "_SummaryLimits"]:
    """The plan that fits with a summary of its share of the target, and the summary's limits."""
    not_fixed = max(0, plan.limit - int(plan.sizes.fixed.messages / plan.calibration.ratio))
    # The room that the recent messages leave is only known after they fit.
    headings = min(plan.wanted_summary_tokens, plan.limit // 4)
    ledger = max_ledger_tokens(plan.middle_tokens, estimate_tokens(plan.previous))
    wanted = min(headings + ledger + SMALLEST_SUMMARY, int(not_fixed * _SUMMARY_SHARE))
    plan = fit(clear_head_results(plan, wanted), wanted)
    free = plan.limit - plan.size(0) - SMALLEST_SUMMARY
    headings = min(headings, max(free, SMALLEST_SUMMARY))
    return plan, _SummaryLimits(headings, max(0, min(free, headings + plan.ledger_tokens)))


def _job(
    plan: CompactionPlan, rules: CompressorRules, focus: str | None, room: _SummaryLimits | None = None
) -> SummaryJob:
    runs, source = plan.bounds.middle, _source(plan, rules)
    numbers = source.numbered(len(plan.originals))
    leaves = [place for run in runs for place in run]
    last = max(leaves, default=-1)
    # The newest request may be between two parts of the middle: it stays, and the facts are read in that order.
    # If results of the first exchange were cleared, its calls are read with their original results.
    read = sorted(
        {
            *leaves,
            *(place for place in plan.bounds.kept if place < last),
            *(place for place in _cleared_head(plan) if place < last),
        }
    )
    lasting = rules.lasting(plan.originals)
    after = [place for part in plan.staying()[1:] for place in part if last < place < lasting]
    return SummaryJob(
        middle=source.as_said(plan.originals[place] for place in leaves),
        middle_tokens=plan.middle_tokens,
        budget=room.headings if room else plan.summary_tokens,
        ledger=room.all if room else plan.ledger_tokens,
        evidence=rules.evidence,
        kept=plan.stays(),
        opening=plan.opening,
        previous=source.newest(plan.previous),
        known=source.facts,
        earlier=source.earlier,
        focus=focus,
        view=plan.originals if runs else (),
        covered=(runs[0].start, runs[-1].stop - 1) if runs else (0, 0),
        read=_numbered(plan, source, read),
        after=_numbered(plan, source, after),
        opening_at=_opening_number(plan, numbers),
        custom=rules.custom,
    )


def _cleared_head(plan: CompactionPlan) -> list[int]:
    """The positions of calls and results in a first exchange with cleared results."""
    head = range(plan.bounds.head_end)
    if all(plan.messages[place] is plan.originals[place] for place in head):
        return []
    return [place for place in head if plan.originals[place].get("role") in ("assistant", "tool")]


def _numbered(plan: CompactionPlan, source: SummarySource, places: Sequence[int]) -> NumberedMessages:
    """The original messages at these positions, with their numbers."""
    numbers = source.numbered(len(plan.originals))
    return NumberedMessages(
        source.as_said(plan.originals[place] for place in places), [numbers[place] for place in places]
    )


def _opening_number(plan: CompactionPlan, numbers: Sequence[int]) -> int:
    """The number of the first request; -1 if it does not stay."""
    place = plan.opening_place
    return -1 if place is None else numbers[place]


def _extended(
    plan: CompactionPlan,
    fitted: CompactionPlan,
    rules: CompressorRules,
    focus: str | None,
    summary: Summary | None,
) -> Summary | None:
    """The summary after the ladder: a model updates its summary if the middle has grown.

    Code writes its summary again, because it can use the room that the ladder made.
    """
    if not fitted.bounds.summary_role:
        return None
    job = _job(fitted, rules, focus)
    if summary is None:
        return summarise(job, rules.summarizer)
    if summary.source == "deterministic":
        return deterministic_summary(job, summary.failure, summary)
    if fitted.bounds == plan.bounds:
        return summary
    source = _source(plan, rules)
    known = {position for run in plan.bounds.middle for position in run}
    added = [p for run in fitted.bounds.middle for p in run if p not in known]
    update = replace(
        job,
        middle=source.as_said(plan.originals[position] for position in added),
        read=job.read,  # avoids reading the facts twice
        middle_tokens=sum(plan.tokens[position] for position in added),
        previous=summary.text,
        known=summary.facts,
        view=(),  # the summary to update is not part of the conversation
    )
    return summarise(update, rules.summarizer)


def _source(plan: CompactionPlan, rules: CompressorRules) -> SummarySource:
    return rules.remembered.source_of(plan.previous, plan.opening)


def _kept_numbers(plan: CompactionPlan, source: SummarySource) -> tuple[int, ...]:
    """The numbers of the messages in the compacted view."""
    numbers = source.numbered(len(plan.originals))
    head, kept, tail = ([numbers[place] for place in part] for part in plan.staying())
    return (*head, -1, *kept, *tail)


def _has_arrived(plan: CompactionPlan, source: SummarySource) -> bool:
    """Whether a late text for the previous summary has arrived and was used."""
    return source.newest(plan.previous) != plan.previous


def weight_of(summary: str) -> int:
    """The tokens of a summary as a message."""
    return estimate_message_tokens(summary_message(summary, "assistant"))


def _compacted(
    count: int,
    total: int,
    whole: list[Message],
    result: list[Message],
    plan: CompactionPlan,
    summary: Summary | None,
) -> CompactionReport:
    if summary is None:
        return compacted(count, total, plan, whole, result)
    return compacted(
        count,
        total,
        plan,
        whole,
        result,
        summary=summary.headings,
        evidence=summary.evidence,
        source=summary.source,
        lines=cited_lines(summary.text, summary.sources, summary.now),
        failures=(summary.failure,) if summary.failure else (),
    )

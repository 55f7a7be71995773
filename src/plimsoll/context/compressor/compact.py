"""One compaction by the built-in engine, as one function of its arguments.

    messages ─► plan: sizes, head, middle, tail ─► summary of the middle ─► assemble ─► gate ─► lighter messages
                (phase 2)                          (phase 3)    │  ▲        (phase 4)    │
                                                  too heavy: the ladder                   refused: clear old
                                                                                          results only (phase 1)

Tool results in the middle leave with it, so clearing them (phase 1) has an effect of its own only where the gate
refuses the summary, and by itself (`clear_results.py`).

The result is valid, strictly smaller, and at or below the threshold wherever the fixed
part of the request (overhead, system prompt) and the newest request allow; or it is the
conversation unchanged. The input is never touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from plimsoll.context.budget import most_ledger_tokens
from plimsoll.context.compressor.assemble import assemble, summary_message
from plimsoll.context.compressor.boundaries import Boundaries
from plimsoll.context.compressor.ladder import clear_head_results, fit
from plimsoll.context.compressor.plan import SMALLEST_SUMMARY, CompactionPlan, CompressorRules, planned
from plimsoll.context.compressor.prune import clearable, prune_old_tool_results
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
from plimsoll.context.report import ClearedResult, CompactionReport
from plimsoll.messages import Message, is_whole, repair, without_named_handles
from plimsoll.models import estimate_message_tokens, estimate_tokens

_SUMMARY_SHARE = 0.6  # of what is not fixed of a target size: the summary's, before recent messages


@dataclass(frozen=True, slots=True)
class _Room:
    """Tokens of a summary that has to fit: its headings, and all of it."""

    headings: int
    all: int


def compact(
    messages: Sequence[Message],
    rules: CompressorRules,
    current_tokens: int | None = None,
    focus: str | None = None,
    overhead_tokens: int | None = None,
) -> tuple[list[Message], CompactionReport]:
    """The conversation made lighter, and the report of what was done.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages.
    """
    plan = start = planned(messages, rules, current_tokens, overhead_tokens)
    whole, total = plan.messages, sum(plan.tokens)
    if not plan.can_shrink:
        return whole, unchanged(len(messages), plan, NOTHING_BETWEEN)
    plan, summary = _lightened(plan, rules, focus)
    if summary and not rules.able_to_recall:
        # It may quote what an earlier compaction shortened.
        summary = replace(
            summary,
            headings=without_named_handles(summary.headings),
            evidence=without_named_handles(summary.evidence),
        )
    result = assemble(plan.messages, plan.bounds, summary.text if summary else "")
    result = rules.readable(result, whole)
    refused = refusal(whole, total, result)
    if refused:
        # The middle stays after all, so it has to be whole too.
        whole = whole if is_whole(whole) else repair(whole)
        summary, result = None, only_cleared(whole, total, plan.bounds, rules)
        if not result:
            return whole, unchanged(len(messages), start, refused)
        rules.remembered.keep_originals(plan.previous, zip(result, whole, strict=True))
        plan = replace(start, bounds=plan.bounds).with_step(f"only cleared results: {refused}")
    if summary:
        behind = _behind(plan, rules)
        originals = behind.originals_with(plan.with_originals())
        late = summary.late or (None if _has_arrived(plan, behind) else behind.late)
        numbers = _numbers_beside(plan, behind)
        rules.remembered.keep(
            summary.text, SummarySource(summary.facts, behind.earlier, originals, numbers, late)
        )
    return result, _compacted(len(messages), total, whole, result, plan, summary)


def only_cleared(
    whole: list[Message], total: int, bounds: Boundaries, rules: CompressorRules
) -> list[Message]:
    """The list with large results between head and tail cleared and everything else as it is; empty if refused."""
    cleared, _ = prune_old_tool_results(whole, bounds.head_end, bounds.tail_start)
    result = rules.readable(cleared, whole)
    return [] if refusal(whole, total, result) else result


def _lightened(
    plan: CompactionPlan, rules: CompressorRules, focus: str | None
) -> tuple[CompactionPlan, Summary | None]:
    """Summarise, and where the result is too heavy go down the ladder."""
    room = None
    if plan.sizes.limit_tokens < plan.sizes.trigger_tokens:
        # A model is asked once, for what fits: a second call costs as much, and what does not fit is thrown away.
        plan, room = _with_room(plan)
        room = room if rules.summarizer else None  # code may write all that the target leaves
    has_middle = bool(plan.bounds.summary_role)
    summary = summarise(_job(plan, rules, focus, room), rules.summarizer) if has_middle else None
    late = summary.late if summary else None
    # The ladder may make a middle where there was none; its summary will weigh something too.
    fitted = fit(plan, weight_of(summary.text) if summary else SMALLEST_SUMMARY)
    if fitted is not plan:
        summary = _extended(plan, fitted, rules, focus, summary)
    left = fitted.limit - fitted.size(weight_of(""))
    if summary and left > 0 and fitted.size(weight_of(summary.text)) > fitted.limit:
        job = _job(fitted, rules, focus, _Room(min(left, fitted.summary_tokens), left))
        summary = deterministic_summary(job, summary.failure)
    if summary and late:
        summary = replace(summary, late=late)
    return fitted, summary


def _with_room(plan: CompactionPlan) -> tuple[CompactionPlan, "_Room"]:
    """The parts made to fit beside a summary of its share of what is not fixed, and what it may say in it."""
    not_fixed = max(0, plan.limit - int(plan.sizes.fixed.messages / plan.calibration.ratio))
    # What the recent messages leave is known only after they were made to fit.
    headings = min(plan.wanted_summary_tokens, plan.limit // 4)
    ledger = most_ledger_tokens(plan.middle_tokens, estimate_tokens(plan.previous))
    wanted = min(headings + ledger + SMALLEST_SUMMARY, int(not_fixed * _SUMMARY_SHARE))
    plan = fit(clear_head_results(plan, wanted), wanted)
    free = plan.limit - plan.size(0) - SMALLEST_SUMMARY
    headings = min(headings, max(free, SMALLEST_SUMMARY))
    return plan, _Room(headings, max(0, min(free, headings + plan.ledger_tokens)))


def _job(
    plan: CompactionPlan, rules: CompressorRules, focus: str | None, room: _Room | None = None
) -> SummaryJob:
    runs, behind = plan.bounds.middle, _behind(plan, rules)
    numbers = behind.numbered(len(plan.originals))
    leaves = [place for run in runs for place in run]
    last = max(leaves, default=-1)
    # The newest request may stand between two parts of the middle: it stays, and its place in the state is there.
    # Of a first exchange whose results were cleared, the calls are read with their results.
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
        middle=behind.as_said(plan.originals[place] for place in leaves),
        middle_tokens=plan.middle_tokens,
        budget=room.headings if room else plan.summary_tokens,
        ledger=room.all if room else plan.ledger_tokens,
        evidence=rules.evidence,
        kept=plan.stays(),
        opening=plan.opening,
        previous=behind.newest(plan.previous),
        known=behind.facts,
        earlier=behind.earlier,
        focus=focus,
        view=plan.originals if runs else (),
        covered=(runs[0].start, runs[-1].stop - 1) if runs else (0, 0),
        read=_numbered(plan, behind, read),
        after=_numbered(plan, behind, after),
        opening_at=_opening_number(plan, numbers),
        custom=rules.custom,
    )


def _cleared_head(plan: CompactionPlan) -> list[int]:
    """The calls and results of a first exchange of which results were cleared."""
    head = range(plan.bounds.head_end)
    if all(plan.messages[place] is plan.originals[place] for place in head):
        return []
    return [place for place in head if plan.originals[place].get("role") in ("assistant", "tool")]


def _numbered(plan: CompactionPlan, behind: SummarySource, places: Sequence[int]) -> NumberedMessages:
    """The messages at these places as they were said, with their numbers."""
    numbers = behind.numbered(len(plan.originals))
    return NumberedMessages(
        behind.as_said(plan.originals[place] for place in places), [numbers[place] for place in places]
    )


def _opening_number(plan: CompactionPlan, numbers: Sequence[int]) -> int:
    """The number of the request that the conversation began with; -1 where it does not stay in the head."""
    head = plan.messages[: plan.bounds.head_end]
    return next((numbers[place] for place, one in enumerate(head) if one.get("role") == "user"), -1)


def _extended(
    plan: CompactionPlan,
    fitted: CompactionPlan,
    rules: CompressorRules,
    focus: str | None,
    summary: Summary | None,
) -> Summary | None:
    """The summary after the ladder: a model updates what it wrote, where more messages came to the middle.

    What code writes is written again, because it has the room that the ladder made.
    """
    if not fitted.bounds.summary_role:
        return None
    job = _job(fitted, rules, focus)
    if summary is None:
        return summarise(job, rules.summarizer)
    if summary.source == "deterministic":
        return deterministic_summary(job, summary.failure)
    if fitted.bounds == plan.bounds:
        return summary
    behind = _behind(plan, rules)
    known = {position for run in plan.bounds.middle for position in run}
    added = [p for run in fitted.bounds.middle for p in run if p not in known]
    update = replace(
        job,
        middle=behind.as_said(plan.originals[position] for position in added),
        read=job.read,  # what was read already is not read again
        middle_tokens=sum(plan.tokens[position] for position in added),
        previous=summary.text,
        known=summary.facts,
        view=(),  # the summary that is updated does not stand in the conversation
    )
    return summarise(update, rules.summarizer)


def _behind(plan: CompactionPlan, rules: CompressorRules) -> SummarySource:
    return rules.remembered.behind(plan.previous, plan.opening)


def _numbers_beside(plan: CompactionPlan, behind: SummarySource) -> tuple[int, ...]:
    """The numbers of the messages of the lighter view."""
    numbers = behind.numbered(len(plan.originals))
    head, kept, tail = ([numbers[place] for place in part] for part in plan.staying())
    return (*head, -1, *kept, *tail)


def _has_arrived(plan: CompactionPlan, behind: SummarySource) -> bool:
    """Whether a late text about the previous summary has arrived, and so was used."""
    return behind.newest(plan.previous) != plan.previous


def weight_of(summary: str) -> int:
    """What a summary weighs as a message."""
    return estimate_message_tokens(summary_message(summary, "assistant"))


def _compacted(
    count: int,
    total: int,
    whole: list[Message],
    result: list[Message],
    plan: CompactionPlan,
    summary: Summary | None,
) -> CompactionReport:
    pruned = partial(_cleared, whole, plan.bounds)
    if summary is None:
        return compacted(count, total, plan, result, pruned=pruned)
    return compacted(
        count,
        total,
        plan,
        result,
        summary=summary.headings,
        evidence=summary.evidence,
        source=summary.source,
        lines=cited_lines(summary.text, summary.sources, summary.now),
        failures=(summary.failure,) if summary.failure else (),
        pruned=pruned,
    )


def _cleared(whole: list[Message], bounds: Boundaries) -> tuple[ClearedResult, ...]:
    return tuple(clearable(whole, bounds.head_end, bounds.tail_start))

"""The four phases in order, as one function of its arguments.

    messages ─► 1 prune ─► 2 boundaries ─► 3 summary ─► 4 assemble ─► gate ─► lighter messages
                                               └── too heavy still: the ladder ──┘

The result is valid, strictly smaller, and at or below the threshold wherever the system
prompt and the newest request allow; or it is the conversation unchanged. The input is
never touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from plimsoll.context.budget import Budget, most_ledger_tokens
from plimsoll.context.compressor.assemble import assemble, summary_message
from plimsoll.context.compressor.boundaries import find_boundaries
from plimsoll.context.compressor.ladder import SMALLEST_SUMMARY, Plan, fit
from plimsoll.context.compressor.prune import clearable, prune_old_tool_results
from plimsoll.context.compressor.spend import spend_tail
from plimsoll.context.compressor.summarise import Job, Summary, deterministic_summary, summarise
from plimsoll.context.gate import refusal
from plimsoll.context.ledger import Behind, Remembered, skimmed_messages
from plimsoll.context.markers import summary_body
from plimsoll.context.report import Report
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.errors import InvalidConversation
from plimsoll.messages import Message, is_whole, repair, text_of
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough, estimate_tokens

# Reported counts hold tool schemas that the estimate cannot see; more than this is not a ratio but a mistake.
_MOST_SCALE = 2.0


@dataclass(frozen=True, slots=True)
class Rules:
    """What a compaction must keep to."""

    budget: Budget
    protect_last_n: int = 20
    summarizer: SummaryWriter | None = None
    remembered: Remembered = field(default_factory=Remembered)


@dataclass(frozen=True, slots=True)
class _Room:
    """Tokens of a summary that has to fit: what a model may say, and what it and code may say together."""

    said: int
    all: int


def compact(
    messages: Sequence[Message], rules: Rules, current_tokens: int | None = None, focus: str | None = None
) -> tuple[list[Message], Report]:
    """The conversation made lighter, and the report of what was done."""
    strange = next((n for n, message in enumerate(messages) if not isinstance(message, dict)), None)
    if strange is not None:
        raise InvalidConversation(f"compress() takes a list of message objects; item {strange} is none.")
    plan, limit = _plan_of(messages, rules, current_tokens)
    whole, total = plan.messages, sum(plan.tokens)
    if not _can_shrink(plan, limit):
        reason = "nothing lies between the first exchange and the recent messages"
        return whole, _unchanged(messages, total, reason)
    plan, summary = _lightened(plan, rules, limit, focus)
    result = assemble(plan.messages, plan.bounds, summary.text if summary else "")
    refused = refusal(whole, total, result)
    if refused:
        # The middle stays after all, so it has to be whole too.
        whole = whole if is_whole(whole) else repair(whole)
        result, _ = prune_old_tool_results(whole, plan.bounds.head_end, plan.bounds.tail_start)
        summary = None
        if refusal(whole, total, result):
            return whole, _unchanged(messages, total, refused)
        rules.remembered.keep_originals(_previous(plan), zip(result, whole, strict=True))
        plan = replace(plan, steps=(f"only cleared results: {refused}",))
    if summary:
        behind = _behind(plan, rules)
        originals = behind.originals_with(plan.shortened())
        late = summary.late or (None if _has_arrived(plan, behind) else behind.late)
        rules.remembered.keep(summary.text, Behind(summary.facts, behind.earlier, originals, late))
    return result, _compacted(len(messages), total, whole, result, plan, summary)


def has_content(messages: Sequence[Message], rules: Rules, current_tokens: int | None = None) -> bool:
    """Whether a compaction of these messages has anything to work on."""
    return _can_shrink(*_plan_of(messages, rules, current_tokens))


def _can_shrink(plan: Plan, limit: int) -> bool:
    return bool(plan.bounds.summary_role) or sum(plan.tokens) > limit


def _plan_of(messages: Sequence[Message], rules: Rules, current_tokens: int | None) -> tuple[Plan, int]:
    """The parts of the conversation, repaired where what stays needs it, and the tokens that it may have."""
    plan, limit = _planned(list(messages), rules, current_tokens)
    return (plan, limit) if _parts_are_whole(plan) else _planned(repair(messages), rules, current_tokens)


def _planned(messages: list[Message], rules: Rules, current_tokens: int | None) -> tuple[Plan, int]:
    """The parts of the conversation, and the tokens that it may have afterwards."""
    tokens = list(map(estimate_message_tokens, messages))
    scale = _scale(current_tokens, sum(tokens))
    tail_tokens = int(rules.budget.tail_tokens / scale)
    bounds = find_boundaries(messages, tokens, tail_tokens, rules.protect_last_n)
    # Who names a size means it.
    limit = min(int(rules.budget.threshold_tokens / scale), rules.budget.limit_tokens)
    return Plan(messages, tokens, bounds, messages), limit


def _parts_are_whole(plan: Plan) -> bool:
    """Whether what stays needs no repair; a fault in the middle leaves with it."""
    parts = [plan.messages[part.start : part.stop] for part in plan.staying()]
    return all(is_whole(part) for part in (parts if plan.bounds.middle else [plan.messages]))


def _lightened(plan: Plan, rules: Rules, limit: int, focus: str | None) -> tuple[Plan, Summary | None]:
    """Summarise, and where the result is too heavy go down the ladder."""
    plan, room = spend_tail(plan, rules.budget.tail_tokens), None
    if rules.summarizer and rules.budget.limit_tokens < rules.budget.threshold_tokens:
        # A model is asked once, for what fits: a second call costs as much, and what does not fit is thrown away.
        plan, room = _with_room(plan, rules, limit)
    has_middle = bool(plan.bounds.summary_role)
    summary = summarise(_job(plan, rules, focus, room), rules.summarizer) if has_middle else None
    late = summary.late if summary else None
    # The ladder may make a middle where there was none; its summary will weigh something too.
    fitted = fit(plan, limit, _weight(summary.text) if summary else SMALLEST_SUMMARY)
    if fitted is not plan:
        summary = _extended(plan, fitted, rules, focus, summary)
    left = limit - fitted.size(_weight(""))
    if summary and left > 0 and fitted.size(_weight(summary.text)) > limit:
        job = _job(fitted, rules, focus, _Room(0, left))
        summary = deterministic_summary(job, summary.failure)
    if summary and late:
        summary = replace(summary, late=late)
    return fitted, summary


def _with_room(plan: Plan, rules: Rules, limit: int) -> tuple[Plan, "_Room"]:
    """The parts made to fit beside a summary of at most half the size, and what model and code may say in it."""
    said = min(_budget(plan, rules), limit // 4)
    ledger = most_ledger_tokens(_middle_tokens(plan), estimate_tokens(_previous(plan)))
    plan = fit(plan, limit, min(said + ledger + SMALLEST_SUMMARY, limit // 2))
    free = limit - plan.size(0) - SMALLEST_SUMMARY
    return plan, _Room(said, max(0, min(free, said + _ledger_budget(plan, rules))))


def _job(plan: Plan, rules: Rules, focus: str | None, room: _Room | None = None) -> Job:
    runs, behind = plan.bounds.middle, _behind(plan, rules)
    return Job(
        middle=behind.as_said(message for run in runs for message in plan.originals[run.start : run.stop]),
        middle_tokens=_middle_tokens(plan),
        budget=room.said if room else _budget(plan, rules),
        ledger=room.all if room else _ledger_budget(plan, rules),
        is_shared=room is not None,
        kept=plan.stays(),
        opening=_opening(plan),
        previous=behind.newest(_previous(plan)),
        known=behind.facts,
        earlier=behind.earlier,
        focus=focus,
        view=plan.originals if runs else (),
        covered=(runs[0].start, runs[-1].stop - 1) if runs else (0, 0),
    )


def _extended(
    plan: Plan, fitted: Plan, rules: Rules, focus: str | None, summary: Summary | None
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
        middle_tokens=sum(plan.tokens[position] for position in added),
        previous=summary.text,
        known=summary.facts,
        view=(),  # the summary that is updated does not stand in the conversation
    )
    return summarise(update, rules.summarizer)


def _middle_tokens(plan: Plan) -> int:
    return sum(sum(plan.tokens[run.start : run.stop]) for run in plan.bounds.middle)


def _budget(plan: Plan, rules: Rules) -> int:
    """What a model may say."""
    return rules.budget.updated_summary_tokens(_middle_tokens(plan), estimate_tokens(_previous(plan)))


def _ledger_budget(plan: Plan, rules: Rules) -> int:
    """What code may say about the middle."""
    free = rules.budget.target_tokens - plan.size(0) - SMALLEST_SUMMARY
    return rules.budget.ledger_tokens(_middle_tokens(plan), estimate_tokens(_previous(plan)), free)


def _opening(plan: Plan) -> str:
    """The request that the conversation began with, if it stays in the head."""
    return next((text_of(m) for m in plan.messages[: plan.bounds.head_end] if m.get("role") == "user"), "")


def _behind(plan: Plan, rules: Rules) -> Behind:
    return rules.remembered.behind(_previous(plan), _opening(plan))


def _has_arrived(plan: Plan, behind: Behind) -> bool:
    """Whether a late text about the previous summary has arrived, and so was used."""
    previous = _previous(plan)
    return behind.newest(previous) != previous


def _previous(plan: Plan) -> str:
    at = plan.bounds.previous
    return "" if at is None else summary_body(plan.messages[at])


def _weight(summary: str) -> int:
    return estimate_message_tokens(summary_message(summary, "assistant"))


def _scale(current_tokens: int | None, estimated: int) -> float:
    """How much heavier the provider counts this conversation than the estimate does; never below 1."""
    if not current_tokens or not estimated:
        return 1.0
    return max(1.0, min(_MOST_SCALE, current_tokens / estimated))


def _unchanged(messages: Sequence[Message], tokens: int, reason: str) -> Report:
    return Report("unchanged", reason, len(messages), len(messages), tokens, tokens)


def _compacted(
    count: int, total: int, whole: list[Message], result: list[Message], plan: Plan, summary: Summary | None
) -> Report:
    bounds = plan.bounds
    steps = plan.steps + ((f"no model summary: {summary.failure}",) if summary and summary.failure else ())
    if summary and (skimmed := skimmed_messages(sum(map(len, bounds.middle)))):
        steps += (f"of the oldest {skimmed:,} messages code read only what people wrote",)
    return Report(
        outcome="compacted",
        reason=plan.steps[-1] if plan.steps else "",
        messages_before=count,
        messages_after=len(result),
        tokens_before=total,
        tokens_after=estimate_messages_tokens_rough(result),
        summary=summary.text if summary else "",
        summary_source=summary.source if summary else "deterministic",
        steps=steps,
        _describe_pruned=lambda: tuple(clearable(whole, bounds.head_end, bounds.tail_start)),
    )

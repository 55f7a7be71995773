"""The ladder: the order in which content is shortened if head, summary and tail do not fit.

    1  large results that the model has answered are cut to the lines that later turns used
    2  results become stubs with a handle: those of the tail, oldest first, then those of the head
    3  the tail shrinks to its token budget, below protect_last_n; the rest goes to the summary
    4  messages that are still too large are shortened to beginning, end and a handle
    5  the first exchange goes to the summary too
    6  only the system prompt, the opening request and the newest request stay

If everything fits, nothing changes. Otherwise the first three steps run until the conversation has room to grow, so
that the next turn does not compact again; the others run only until it fits. Results that the model has not seen are
shortened last. The system prompt and the newest request never change.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, chain

from plimsoll.context.compressor.boundaries import (
    opening_end,
    with_request_only,
    with_shorter_head,
    with_tail_at,
)
from plimsoll.context.compressor.plan import SMALLEST_SUMMARY, CompactionPlan
from plimsoll.context.compressor.prune import clearable, cleared_message
from plimsoll.context.compressor.shorten import shorten
from plimsoll.context.compressor.shrink_results import shrink_results
from plimsoll.context.markers import newest_own_request
from plimsoll.messages import SYSTEM_ROLES, Message, align_backward, leading_system_messages
from plimsoll.models import estimate_message_tokens

_TRIES = 12  # adjacent starts to try, because roles may move a tail slightly
_CAPS = (4_096, 2_048, 1_024, 512, 256, 128, 64, 32)  # tokens per message, tried in this order


def fit(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """The plan shortened to its limit with a summary of `summary_tokens`, if possible."""
    if plan.size(summary_tokens) <= plan.limit:
        return plan
    for make_room in (shrink_results, _stub_results, _shrink_tail):
        if plan.size(summary_tokens) > plan.aim:
            plan = make_room(plan, summary_tokens)
    for make_fit in (_shorten_large, _summarise_first_exchange, _keep_only_request):
        if plan.size(summary_tokens) > plan.limit:
            plan = make_fit(plan, summary_tokens)
    return plan


def clear_head_results(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """Clear the results of the first exchange, the oldest ones, if a summary of this size does not fit.

    The summary still covers them.
    """
    if plan.size(summary_tokens) <= plan.limit:
        return plan
    found = clearable(plan.originals, 0, min(plan.bounds.head_end, _first_unseen(plan)))
    changed = {item.index: cleared_message(plan.messages[item.index], item) for item in found}
    smaller = {
        place: stub for place, stub in changed.items() if estimate_message_tokens(stub) < plan.tokens[place]
    }
    if not smaller:
        return plan
    return plan.with_messages(smaller).with_step(f"cleared {len(smaller)} results of the first exchange")


def _stub_results(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """Clear results in the tail, then in the head; results that the model has not seen are left for later.

    A stub describes the original result, not one that an earlier step shortened.
    """
    unseen = _first_unseen(plan)
    excess = plan.size(summary_tokens) - plan.aim
    tail = clearable(plan.originals, plan.bounds.tail_start, unseen)
    head = clearable(plan.originals, 0, min(plan.bounds.head_end, unseen))
    changed: dict[int, Message] = {}
    for item in chain(tail, head):
        if excess <= 0:
            break
        stub = cleared_message(plan.messages[item.index], item)
        saved = plan.tokens[item.index] - estimate_message_tokens(stub)
        if saved > 0:
            changed[item.index] = stub
            excess -= saved
    if not changed:
        return plan
    return plan.with_messages(changed).with_step(f"cleared {len(changed)} recent results")


def _shrink_tail(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """Start the tail later: within its budget and with headroom, else at the first position that fits, else last."""
    starts = [n for n in range(plan.bounds.tail_start + 1, len(plan.messages)) if not _is_result(plan, n)]
    if not starts:
        return plan
    tokens_from = list(accumulate(reversed(plan.tokens), initial=0))[::-1]  # to the end
    # The part before the tail is about the same for every start, so only the tail matters.
    other_tokens = plan.size(summary_tokens) - tokens_from[plan.bounds.tail_start]
    negated_sizes = [-(other_tokens + tokens_from[start]) for start in starts]
    chosen: CompactionPlan | None = None
    for target in (min(plan.aim, other_tokens + plan.tail_limit), plan.aim, plan.limit):
        near = max(0, bisect_left(negated_sizes, -target) - 1)
        chosen = chosen or _first_that_fits(plan, starts[near : near + _TRIES], target, summary_tokens)
    if chosen is None and plan.size(summary_tokens) <= plan.limit:
        return plan  # it fits unchanged, and no later start makes room
    chosen = chosen or _moved(plan, starts[-1])
    if not chosen.bounds.middle:
        return plan
    gone = chosen.bounds.tail_start - plan.bounds.tail_start
    return chosen.with_step(f"summarised {gone} messages of the tail as well")


def _first_that_fits(
    plan: CompactionPlan, starts: list[int], target: int, summary_tokens: int
) -> CompactionPlan | None:
    """The plan for the first of these starts that meets the target; roles may cost a little."""
    for start in starts:
        moved = _moved(plan, start)
        if moved.bounds.middle and moved.size(summary_tokens) <= target:
            return moved
    return None


def _moved(plan: CompactionPlan, start: int) -> CompactionPlan:
    return replace(plan, bounds=with_tail_at(plan.messages, start))


def _shorten_large(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """Lower the size limit of every message except the system prompt and the newest request until all fits.

    Results that the model has not seen are shortened only if shortening all others is not enough.
    """
    seen = range(_first_unseen(plan))
    for positions in (seen, range(len(plan.messages))):
        plan, fits = _capped(plan, positions, summary_tokens)
        if fits:
            break
    return plan.with_step("shortened large messages")


def _capped(plan: CompactionPlan, positions: range, summary_tokens: int) -> tuple[CompactionPlan, bool]:
    """The plan with the kept messages at these positions shortened to leave headroom, or at least to fit."""
    capped, enough = plan, None
    for cap in _CAPS:
        changed = {
            position: shorten(plan.messages[position], cap)
            for position in _yielding(plan)
            if position in positions and plan.tokens[position] > cap
        }
        capped = plan.with_messages(changed)
        size = capped.size(summary_tokens)
        if size <= plan.limit and enough is None:
            enough = capped
        if size <= plan.aim:
            return capped, True
    return enough or capped, enough is not None


def _summarise_first_exchange(plan: CompactionPlan, _summary_tokens: int) -> CompactionPlan:
    """Move the reply of the first exchange, with all its tool calls, to the middle."""
    bounds = with_shorter_head(plan.messages, plan.bounds)
    while bounds and bounds.head_end > opening_end(plan.messages):
        bounds = with_shorter_head(plan.messages, bounds)
    return replace(plan, bounds=bounds).with_step("summarised the first exchange") if bounds else plan


def _keep_only_request(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """The last resort: keep only the system prompt, the opening request, a summary, and the newest request.

    If that still does not fit, drop the summary too.
    """
    bounds = with_request_only(plan.messages)
    if bounds.head_end > opening_end(plan.messages):
        bounds = with_shorter_head(plan.messages, bounds) or bounds
    if not bounds.summary_role:
        return plan
    bare = replace(plan, bounds=bounds).with_step("kept only the opening and the newest request")
    request = newest_own_request(plan.messages)
    first = leading_system_messages(plan.messages)
    kept = range(request, request + 1) if request is not None and request >= first else range(0)
    alone = replace(bare, bounds=replace(bounds, head_end=first, kept=kept, summary_role=""))
    fits_alone = alone.size(0) <= plan.limit < bare.size(min(summary_tokens, SMALLEST_SUMMARY))
    return alone.with_step("left out the summary") if fits_alone else bare


def _first_unseen(plan: CompactionPlan) -> int:
    """The position of the first result that no model has seen: those of the newest calls."""
    return align_backward(plan.messages, len(plan.messages) - 1)


def _is_result(plan: CompactionPlan, position: int) -> bool:
    return plan.messages[position].get("role") == "tool"


def _yielding(plan: CompactionPlan) -> Iterator[int]:
    """Positions that stay in the context but may be shortened."""
    request = newest_own_request(plan.messages)
    for position in chain.from_iterable(plan.staying()):
        if position != request and plan.messages[position].get("role") not in SYSTEM_ROLES:
            yield position

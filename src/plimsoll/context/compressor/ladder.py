"""When head, summary and tail do not fit the threshold: what yields, in which order.

    1  tool results become stubs with a handle: those of the tail, oldest first, then those of the head
    2  protect_last_n gives way: the oldest units of the tail go to the summary
    3  what is still too large is shortened: beginning, end and a handle
    4  the first exchange goes to the summary too
    5  everything goes but the system prompt, the opening request and the newest one

Each rung is climbed down only if the one before did not suffice, and aims a little
below the line so that the next turn does not compact again. The system prompt and
the newest request are never touched.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from plimsoll.context.compressor.boundaries import (
    Boundaries,
    with_request_only,
    with_shorter_head,
    with_tail_at,
)
from plimsoll.context.compressor.prune import clearable, cleared_message
from plimsoll.context.compressor.shorten import shorten
from plimsoll.context.markers import newest_own_request
from plimsoll.messages import SYSTEM_ROLES, Message, align_backward
from plimsoll.models import estimate_message_tokens

HEADROOM = 0.80
NOTE_TOKENS = 64  # the note's text and the block around it, with a margin
SMALLEST_SUMMARY = 160  # the headings and the sentence before them
_TRIES = 12  # neighbouring starts that are tried, because roles may move a tail a little
_CAPS = (4_096, 2_048, 1_024, 512, 256, 128, 64, 32)


@dataclass(frozen=True)
class Plan:
    """A compacted conversation in the making: the messages, what each weighs, and where they are cut.

    `originals` are the same messages before any of them was made smaller: what a summary is written from.
    """

    messages: list[Message]
    tokens: list[int]
    bounds: Boundaries
    originals: list[Message]
    steps: tuple[str, ...] = field(default=())

    def size(self, summary_tokens: int) -> int:
        """Tokens of the assembled conversation with a summary message of that many tokens."""
        bounds = self.bounds
        stays = sum(self.tokens[: bounds.head_end]) + sum(self.tokens[bounds.tail_start :])
        stays += sum(self.tokens[bounds.kept.start : bounds.kept.stop])
        return stays + (summary_tokens + NOTE_TOKENS if bounds.summary_role else 0)

    def staying(self) -> tuple[range, range, range]:
        """The places of head, newest request where it stands alone, and tail."""
        return (
            range(self.bounds.head_end),
            self.bounds.kept,
            range(self.bounds.tail_start, len(self.messages)),
        )

    def stays(self) -> list[Message]:
        """The messages that stand beside the summary."""
        return [message for part in self.staying() for message in self.messages[part.start : part.stop]]

    def shortened(self) -> Iterator[tuple[Message, Message]]:
        """The messages that stay, each with its original."""
        return ((self.messages[place], self.originals[place]) for part in self.staying() for place in part)

    def with_messages(self, changed: dict[int, Message]) -> "Plan":
        """The plan with some messages replaced by shorter ones."""
        messages, tokens = list(self.messages), list(self.tokens)
        for position, message in changed.items():
            messages[position], tokens[position] = message, estimate_message_tokens(message)
        return replace(self, messages=messages, tokens=tokens)


def fit(plan: Plan, limit: int, summary_tokens: int) -> Plan:
    """The plan made to fit `limit` with a summary of `summary_tokens`, as far as that is possible."""
    for rung in (_stub_results, _let_tail_go, _shorten_large, _let_head_go, _keep_only_request):
        if plan.size(summary_tokens) <= limit:
            return plan
        plan = rung(plan, limit, summary_tokens)
    return plan


def _stub_results(plan: Plan, limit: int, summary_tokens: int) -> Plan:
    """Clear results in the tail, then in the head; those that the model has not seen yet are left for later."""
    unseen = align_backward(plan.messages, len(plan.messages) - 1)
    excess = plan.size(summary_tokens) - int(limit * HEADROOM)
    tail = clearable(plan.messages, plan.bounds.tail_start, unseen)
    head = clearable(plan.messages, 0, min(plan.bounds.head_end, unseen))
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
    return replace(plan.with_messages(changed), steps=(*plan.steps, f"cleared {len(changed)} recent results"))


def _let_tail_go(plan: Plan, limit: int, summary_tokens: int) -> Plan:
    """Start the tail later: at the first place that leaves headroom, else the first that fits, else the last."""
    starts = [n for n in range(plan.bounds.tail_start + 1, len(plan.messages)) if not _is_result(plan, n)]
    if not starts:
        return plan
    behind = list(accumulate(reversed(plan.tokens), initial=0))[::-1]  # tokens from each position to the end
    # What stays in front is about the same for every start, so the tail alone tells where to look.
    stays = plan.size(summary_tokens) - behind[plan.bounds.tail_start]
    lighter = [-(stays + behind[start]) for start in starts]
    chosen: Plan | None = None
    for target in (int(limit * HEADROOM), limit):
        near = max(0, bisect_left(lighter, -target) - 1)
        chosen = chosen or _first_that_fits(plan, starts[near : near + _TRIES], target, summary_tokens)
    chosen = chosen or _moved(plan, starts[-1])
    if not chosen.bounds.middle:
        return plan
    gone = chosen.bounds.tail_start - plan.bounds.tail_start
    return replace(chosen, steps=(*plan.steps, f"summarised {gone} messages of the tail as well"))


def _first_that_fits(plan: Plan, starts: list[int], target: int, summary_tokens: int) -> Plan | None:
    """The first of these starts with which the plan is not larger than the target; roles may cost a little."""
    for start in starts:
        moved = _moved(plan, start)
        if moved.bounds.middle and moved.size(summary_tokens) <= target:
            return moved
    return None


def _moved(plan: Plan, start: int) -> Plan:
    return replace(plan, bounds=with_tail_at(plan.messages, start))


def _shorten_large(plan: Plan, limit: int, summary_tokens: int) -> Plan:
    """Cap every message but the system prompt and the newest request, lower and lower until all fits."""
    target, capped = int(limit * HEADROOM), plan
    enough: Plan | None = None
    for cap in _CAPS:
        changed = {
            position: shorten(plan.messages[position], cap)
            for position in _yielding(plan)
            if plan.tokens[position] > cap
        }
        capped = plan.with_messages(changed)
        size = capped.size(summary_tokens)
        if size <= limit and enough is None:
            enough = capped
        if size <= target:
            enough = capped
            break
    return replace(enough or capped, steps=(*plan.steps, "shortened large messages"))


def _let_head_go(plan: Plan, _limit: int, _summary_tokens: int) -> Plan:
    """The reply in the first exchange, with all its tool calls, joins the middle."""
    bounds = with_shorter_head(plan.messages, plan.bounds)
    while bounds and bounds.head_end > 2:
        bounds = with_shorter_head(plan.messages, bounds)
    return (
        replace(plan, bounds=bounds, steps=(*plan.steps, "summarised the first exchange")) if bounds else plan
    )


def _keep_only_request(plan: Plan, limit: int, summary_tokens: int) -> Plan:
    """The floor: system prompt, opening request, a summary as large as the room, and the newest request.

    Only where dropping the summary makes the difference, system prompt and newest request stand alone.
    """
    bounds = with_request_only(plan.messages)
    bounds = with_shorter_head(plan.messages, bounds) or bounds if bounds.head_end > 2 else bounds
    if not bounds.summary_role:
        return plan
    bare = replace(plan, bounds=bounds, steps=(*plan.steps, "kept only the opening and the newest request"))
    request = newest_own_request(plan.messages)
    first = 1 if plan.messages[0].get("role") in SYSTEM_ROLES else 0
    kept = range(request, request + 1) if request is not None and request >= first else range(0)
    alone = replace(bare, bounds=replace(bounds, head_end=first, kept=kept, summary_role=""))
    fits_alone = alone.size(0) <= limit < bare.size(min(summary_tokens, SMALLEST_SUMMARY))
    return replace(alone, steps=(*bare.steps, "left out the summary")) if fits_alone else bare


def _is_result(plan: Plan, position: int) -> bool:
    return plan.messages[position].get("role") == "tool"


def _yielding(plan: Plan) -> Iterator[int]:
    """Positions that stay in the context but may be shortened."""
    request = newest_own_request(plan.messages)
    for position in chain.from_iterable(plan.staying()):
        if position != request and plan.messages[position].get("role") not in SYSTEM_ROLES:
            yield position

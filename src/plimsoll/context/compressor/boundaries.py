"""Phase 2 of 4: decide which messages are head, middle and tail.

    [ head ][ ------------ middle ------------ ][ tail ]
     kept     summarised in phase 3               kept
                         [ request ]
                          kept too, if the newest request is here

The head is the system prompt and the first exchange. The tail fills the tail budget and has at
least `protect_last_n` messages. A cut never separates a tool call from its results, and a role
fits the summary at both boundaries. The list must be valid (see `messages.repair`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plimsoll.context.markers import can_be_recognised, find_summary, newest_own_request
from plimsoll.messages import Message, align_backward, fitting_role, leading_system_messages

PROTECT_FIRST_N = 3


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The positions of the parts and the role of the summary.

    If nothing is between head and tail, there is no summary and its role is empty.
    """

    head_end: int
    tail_start: int
    kept: range = range(0)
    summary_role: str = ""
    previous: int | None = None

    @property
    def kept_start(self) -> int:
        """The first message after the summary."""
        return self.kept.start if self.kept else self.tail_start

    @property
    def middle(self) -> list[range]:
        """Positions that the summary replaces, without the earlier summary."""
        runs = [range(self.head_end, self.kept_start)]
        if self.kept:
            runs.append(range(self.kept.stop, self.tail_start))
        if self.previous is not None and self.previous in runs[0]:
            runs[:1] = [range(self.head_end, self.previous), range(self.previous + 1, runs[0].stop)]
        return [run for run in runs if run]


def find_boundaries(
    messages: Sequence[Message], tokens: Sequence[int], tail_tokens: int, protect_last_n: int
) -> Boundaries:
    """The parts of the conversation, by the tail's token budget and minimum number of messages."""
    return with_tail_at(messages, find_tail_start(messages, tokens, tail_tokens, protect_last_n))


def find_tail_start(
    messages: Sequence[Message], tokens: Sequence[int], tail_tokens: int, protect_last_n: int
) -> int:
    """Walk back from the end until the budget is used; at least `protect_last_n` messages stay."""
    start, used = len(messages), 0
    while start > 0 and used + tokens[start - 1] <= tail_tokens:
        start -= 1
        used += tokens[start]
    return align_backward(messages, max(0, min(start, len(messages) - protect_last_n)))


def with_tail_at(messages: Sequence[Message], tail_start: int) -> Boundaries:
    """Boundaries for a tail that starts at `tail_start` or, if roles require it, a little earlier."""
    plan, floor = _cut_at(messages, tail_start)
    fitted = _fitted(messages, plan, floor, True) or _fitted(messages, plan, floor, False)
    return fitted or Boundaries(floor, floor, previous=plan.previous)


def with_request_only(messages: Sequence[Message]) -> Boundaries:
    """Boundaries that keep no tail at all, only the newest request, and as much of the head as roles allow."""
    return with_tail_at(messages, len(messages))


def _cut_at(messages: Sequence[Message], tail_start: int) -> tuple[Boundaries, int]:
    """The parts before a role for the summary is chosen, and the earliest start of the kept part."""
    previous = find_summary(messages)
    head_end = head_limit(messages)
    floor = head_end if previous is None else previous + 1
    tail_start = max(tail_start, floor)
    request = newest_own_request(messages)
    apart = request is not None and floor <= request < tail_start
    kept = range(request, request + 1) if apart and request is not None else range(0)
    return Boundaries(head_end, tail_start, kept, "", previous), floor


def _fitted(
    messages: Sequence[Message], plan: Boundaries, floor: int, recognisable: bool
) -> Boundaries | None:
    """The plan with a role for the summary, after the smallest change that allows one.

    `recognisable` allows only positions and roles by which a later compaction recognises the summary.

    First, the kept part starts one group earlier. In a long run of tool calls that does not help: there, the
    request of the run is kept before the tail. If the first exchange ends in a reply and a user message
    follows, the reply joins the middle. Finally, the kept part starts earlier and earlier.
    """
    if not plan.middle:
        return None
    earlier = _one_group_earlier(messages, plan, floor)
    fitted = _with_role(messages, plan, recognisable)
    if not fitted and earlier:
        fitted = _with_role(messages, earlier, recognisable)
    if fitted:
        return fitted
    apart = _with_own_request(messages, plan, floor)
    fitted = _with_role(messages, apart, recognisable) if apart else None
    for longer in (plan, apart):
        fitted = fitted or (_with_shorter_head(messages, longer, recognisable) if longer else None)
    while not fitted and earlier:
        fitted = _with_role(messages, earlier, recognisable)
        earlier = _one_group_earlier(messages, earlier, floor)
    return fitted


def _one_group_earlier(messages: Sequence[Message], plan: Boundaries, floor: int) -> Boundaries | None:
    if plan.kept_start <= floor:
        return None
    earlier = max(floor, align_backward(messages, plan.kept_start - 1))
    kept = range(earlier, plan.kept.stop) if plan.kept else plan.kept
    moved = replace(plan, kept=kept, tail_start=plan.tail_start if plan.kept else earlier)
    return moved if moved.middle else None


def _with_own_request(messages: Sequence[Message], plan: Boundaries, floor: int) -> Boundaries | None:
    """The plan that also keeps the last user message before a tail that starts with the assistant.

    That may be the last message of the head, which then ends before it.
    """
    if plan.kept or _role(messages, plan.tail_start) != "assistant":
        return None
    first = floor if plan.previous is not None else opening_end(messages)
    for position in range(plan.tail_start - 1, first - 1, -1):
        if messages[position].get("role") == "user":
            kept, head_end = range(position, position + 1), min(plan.head_end, position)
            return replace(plan, head_end=head_end, kept=kept)
    return None


def head_limit(messages: Sequence[Message]) -> int:
    """The end of the first three messages and the results of their calls, never past the earlier summary.

    If the system prompt has several messages, all of them and the first message after them are part of the head.
    """
    previous = find_summary(messages)
    end = min(max(PROTECT_FIRST_N, opening_end(messages)), len(messages))
    while end < len(messages) and messages[end].get("role") == "tool":
        end += 1
    return end if previous is None else min(end, previous)


def _with_role(messages: Sequence[Message], plan: Boundaries, recognisable: bool) -> Boundaries | None:
    """The plan with the head's end and the summary's role; None if no role fits both boundaries."""
    after = _role(messages, plan.kept_start)
    head_end = plan.head_end
    # The first exchange may end in tool calls. Before an assistant message, the head includes their results;
    # before a user message, the head ends before the call, so that the summary can have the assistant role.
    if _role(messages, head_end - 1) == "tool" and after == "user":
        head_end = align_backward(messages, head_end - 1)
    role = _summary_role(messages, head_end, after, recognisable)
    return replace(plan, head_end=head_end, summary_role=role) if role else None


def _summary_role(
    messages: Sequence[Message], head_end: int, after: str | None, recognisable: bool
) -> str | None:
    role = fitting_role(_role(messages, head_end - 1), after)
    if role and recognisable and not can_be_recognised(messages, head_end, role):
        return None
    return role


def with_shorter_head(messages: Sequence[Message], plan: Boundaries) -> Boundaries | None:
    """Move the head's last groups to the middle until a role fits; system prompt and opening always stay."""
    return _with_shorter_head(messages, plan, True) or _with_shorter_head(messages, plan, False)


def _with_shorter_head(
    messages: Sequence[Message], plan: Boundaries, recognisable: bool
) -> Boundaries | None:
    while plan.head_end > opening_end(messages):
        plan = replace(plan, head_end=align_backward(messages, plan.head_end - 1))
        if messages[plan.head_end].get("role") == "user" and plan.head_end == newest_own_request(messages):
            plan = replace(plan, kept=range(plan.head_end, plan.head_end + 1))
        role = _summary_role(messages, plan.head_end, _role(messages, plan.kept_start), recognisable)
        if role and plan.middle:
            return replace(plan, summary_role=role)
    return None


def opening_end(messages: Sequence[Message]) -> int:
    """The position after the system prompt and the first message."""
    return leading_system_messages(messages) + 1


def _role(messages: Sequence[Message], position: int) -> str | None:
    return messages[position].get("role") if 0 <= position < len(messages) else None

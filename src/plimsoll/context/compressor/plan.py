"""The plan of a compaction: messages, their tokens, the boundaries and the size limits.

    planned(messages) ─► shrunk, cut later, shortened by the ladder ─► assembled

Sizes inside a plan are estimates; `calibration` converts them to provider tokens. Both engines start here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from plimsoll.context.budget import Budget, FixedPart, Sizes, ledger_tokens
from plimsoll.context.calibration import Calibration, calibrate
from plimsoll.context.compressor.boundaries import Boundaries, find_boundaries, head_limit
from plimsoll.context.compressor.prune import describe
from plimsoll.context.ledger import NOTHING_ADDED, CustomPrompt, SummarySources
from plimsoll.context.markers import newest_own_request, summary_body
from plimsoll.context.report import ShortenedMessage
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.errors import InvalidConversation
from plimsoll.messages import (
    SYSTEM_ROLES,
    Message,
    answered_through,
    answers,
    is_whole,
    leading_system_messages,
    original_handle,
    repair,
    text_of,
    without_handle,
    without_harness_text,
)
from plimsoll.models import estimate_message_tokens, estimate_tokens

NOTE_TOKENS = 64  # the note's text and the block around it, with a margin
SMALLEST_SUMMARY = 160  # the headings and the sentence before them


@dataclass(frozen=True, slots=True)
class CompressorRules:
    """The rules of a compaction, for both engines."""

    budget: Budget
    protect_last_n: int = 20
    summarizer: SummaryWriter | None = None
    remembered: SummarySources = field(default_factory=SummarySources)
    evidence: bool = True  # whether quotes follow the headings
    custom: CustomPrompt = NOTHING_ADDED  # the user's additions to the summary prompt
    able_to_recall: bool = False  # whether the model has a tool that reads handles
    unanswered_may_change: bool = (
        False  # whether a client may change unanswered messages before the next request
    )

    def lasting(self, messages: Sequence[Message]) -> int:
        """The number of leading messages that a summary may take into account."""
        return answered_through(messages) if self.unanswered_may_change else len(messages)

    def readable(self, compacted: list[Message], before: Sequence[Message]) -> list[Message]:
        """The compacted list without handles that the model cannot use; given messages stay unchanged."""
        if self.able_to_recall:
            return compacted
        untouched = set(map(id, before))
        # A message of the conversation may read like a stub, and repairs copy messages.
        quoting = [message for message in before if "under handle h:" in text_of(message)[-100:]]
        return [
            message if id(message) in untouched or message in quoting else without_handle(message)
            for message in compacted
        ]


@dataclass(frozen=True)
class CompactionPlan:
    """The messages of a conversation, and which of them stay.

    `originals` are the same messages before any of them was shortened; the summary is written from them.
    """

    messages: list[Message]
    tokens: list[int]
    bounds: Boundaries
    originals: list[Message]
    sizes: Sizes
    calibration: Calibration = field(default_factory=Calibration)
    protect_last_n: int = 1
    steps: tuple[str, ...] = ()
    smallest: int = 0  # the tokens of the system prompt and the newest request, which always stay

    @property
    def limit(self) -> int:
        """The maximum size of the compacted messages."""
        limit = self._normal_limit
        return limit if self.smallest <= limit else max(limit, self._raised_limit)

    @property
    def aim(self) -> int:
        """The size to aim for once the tail must be shortened, which leaves headroom."""
        if self._normal_limit < self.smallest < self.limit:
            return (self.smallest + self.limit) // 2
        return self.calibration.estimate_for(min(self.sizes.limit_tokens, self.sizes.max_tokens_after))

    @property
    def tail_limit(self) -> int:
        """The maximum size of the tail once `protect_last_n` no longer applies."""
        return int(self.sizes.tail_tokens / self.calibration.ratio)

    @property
    def target(self) -> int:
        """The target size of the compacted messages."""
        return self.calibration.estimate_for(self.sizes.target_tokens)

    @property
    def counted(self) -> int:
        """The provider's count for the unchanged conversation."""
        return self.calibration.counted(sum(self.tokens))

    @property
    def is_tail_protected(self) -> bool:
        """Whether the protected messages fit and use up the headroom."""
        first = max(0, len(self.messages) - self.protect_last_n)
        changed = any(new is not old for new, old in zip(self.messages, self.originals, strict=True))
        tail_tokens = round(sum(self.tokens[first:]) * self.calibration.ratio)
        return (
            self.bounds.tail_start <= first
            and not changed
            and tail_tokens > self.sizes.configured.headroom_tokens
        )

    @property
    def can_shrink(self) -> bool:
        """Whether a compaction can remove anything."""
        return bool(self.bounds.summary_role) or sum(self.tokens) > self.limit

    @property
    def middle_tokens(self) -> int:
        """The tokens that the summary replaces, without the earlier summary."""
        return sum(sum(self.tokens[run.start : run.stop]) for run in self.bounds.middle)

    @property
    def previous(self) -> str:
        """The earlier summary; empty if there is none."""
        at = self.bounds.previous
        return "" if at is None else summary_body(self.messages[at])

    @property
    def opening(self) -> str:
        """The first request, if it stays and a person wrote it; else empty."""
        place = self.opening_place
        return "" if place is None else without_harness_text(self.messages[place])

    @property
    def opening_place(self) -> int | None:
        """The index of the first request, which may follow messages of programs; None if it does not stay."""
        for place, message in enumerate(self.messages):
            if message.get("role") == "user" and without_harness_text(message):
                return None if any(place in run for run in self.bounds.middle) else place
        return None

    @property
    def summary_tokens(self) -> int:
        """The token budget of the nine headings."""
        wanted = self.wanted_summary_tokens
        # A summary uses the headroom only if the tail leaves no other room.
        kept_tokens = self.size(0)
        free = self.aim - kept_tokens if self.aim - kept_tokens >= wanted // 2 else self.limit - kept_tokens
        maximum = min(int(self.sizes.summary_tokens / self.calibration.ratio), free)
        return min(wanted, max(maximum, SMALLEST_SUMMARY))

    @property
    def wanted_summary_tokens(self) -> int:
        """The token budget of the nine headings without size limits."""
        budget = self.sizes.budget
        wanted = budget.updated_summary_tokens(self.middle_tokens, estimate_tokens(self.previous))
        return min(wanted, budget.max_summary_tokens)

    @property
    def ledger_tokens(self) -> int:
        """The token budget of headings and evidence written by code."""
        kept_tokens = self.size(0) + SMALLEST_SUMMARY
        free = max(self.target - kept_tokens, min(self.sizes.useful_summary_tokens, self.aim - kept_tokens))
        return ledger_tokens(self.middle_tokens, estimate_tokens(self.previous), self.summary_tokens, free)

    @property
    def _normal_limit(self) -> int:
        return self.calibration.estimate_for(self.sizes.limit_tokens)

    @property
    def _raised_limit(self) -> int:
        """The limit for a newest request that exceeds the normal one.

        Dropping the rest would not get the conversation below the limit, so the summary keeps its room.
        """
        budget = self.sizes.budget
        trigger, window = map(self.calibration.estimate_for, (self.sizes.trigger_tokens, budget.window))
        if self.smallest < trigger:
            return min(trigger, self.smallest + budget.max_summary_tokens + NOTE_TOKENS)
        return (self.smallest + window) // 2 if self.smallest < window else 0

    def size(self, summary_tokens: int) -> int:
        """The size of the assembled conversation with a summary message of that many tokens."""
        bounds = self.bounds
        kept_tokens = sum(self.tokens[: bounds.head_end]) + sum(self.tokens[bounds.tail_start :])
        kept_tokens += sum(self.tokens[bounds.kept.start : bounds.kept.stop])
        return kept_tokens + (summary_tokens + NOTE_TOKENS if bounds.summary_role else 0)

    def staying(self) -> tuple[range, range, range]:
        """The positions of the head, of a separate newest request, and of the tail."""
        return (
            range(self.bounds.head_end),
            self.bounds.kept,
            range(self.bounds.tail_start, len(self.messages)),
        )

    def stays(self) -> list[Message]:
        """The messages that stay in addition to the summary."""
        return [message for part in self.staying() for message in self.messages[part.start : part.stop]]

    def with_originals(self) -> Iterator[tuple[Message, Message]]:
        """The messages that stay, each with its original."""
        return ((self.messages[place], self.originals[place]) for part in self.staying() for place in part)

    def with_messages(self, changed: dict[int, Message]) -> "CompactionPlan":
        """The plan with some messages replaced by shorter ones."""
        messages, tokens = list(self.messages), list(self.tokens)
        for position, message in changed.items():
            messages[position], tokens[position] = message, estimate_message_tokens(message)
        return replace(self, messages=messages, tokens=tokens)

    def with_step(self, step: str) -> "CompactionPlan":
        """The plan with another step for the report."""
        return replace(self, steps=(*self.steps, step))

    def shortened(self) -> tuple[ShortenedMessage, ...]:
        """The messages that stay in shortened form, for the report."""
        changed = [
            place
            for part in self.staying()
            for place in part
            if self.messages[place] is not self.originals[place]
        ]
        if not changed:
            return ()
        calls = {answer.result_at: answer.call for answer in answers(self.originals)}
        return tuple(
            ShortenedMessage(
                place,
                describe(self.originals[place], place, calls[place]).tool if place in calls else "",
                len(text_of(self.originals[place])),
                len(text_of(self.messages[place])),
                original_handle(self.originals[place]),
            )
            for place in changed
        )


def planned(
    messages: Sequence[Message],
    rules: CompressorRules,
    current_tokens: int | None = None,
    overhead_tokens: int | None = None,
    *,
    repairs_middle: bool = False,
) -> CompactionPlan:
    """The plan for a conversation; invalid messages that stay are repaired.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages. Invalid messages
    in the middle disappear with it; with `repairs_middle` they are repaired too.
    """
    strange = next((n for n, message in enumerate(messages) if not isinstance(message, dict)), None)
    if strange is not None:
        raise InvalidConversation(f"compress() takes a list of message objects; item {strange} is not one.")
    messages_before = list(messages)
    tokens = list(map(estimate_message_tokens, messages_before))
    # The provider's count is for the list before a repair.
    calibration = calibrate(sum(tokens), current_tokens, overhead_tokens)
    plan = _plan_of(messages_before, tokens, rules, calibration)
    parts = [messages_before[part.start : part.stop] for part in plan.staying()]
    if all(map(is_whole, parts if plan.bounds.middle and not repairs_middle else [messages_before])):
        return plan
    repaired = repair(messages_before)
    return _plan_of(repaired, list(map(estimate_message_tokens, repaired)), rules, calibration)


def _plan_of(
    messages: list[Message], tokens: list[int], rules: CompressorRules, calibration: Calibration
) -> CompactionPlan:
    budget = rules.budget
    sizes = budget.sizes(fixed_part(messages, tokens, head_limit(messages), calibration))
    tail_tokens = int(sizes.tail_tokens / calibration.ratio)
    bounds = find_boundaries(messages, tokens, tail_tokens, rules.protect_last_n)
    if bounds.summary_role:  # the role that fits the summary may have shortened the head
        sizes = budget.sizes(fixed_part(messages, tokens, bounds.head_end, calibration))
    return CompactionPlan(
        messages,
        tokens,
        bounds,
        messages,
        sizes,
        calibration,
        rules.protect_last_n,
        smallest=_smallest(messages, tokens),
    )


def _smallest(messages: Sequence[Message], tokens: Sequence[int]) -> int:
    """The tokens of the system prompt and the newest request."""
    request = newest_own_request(messages)
    places = {*range(leading_system_messages(messages)), *(() if request is None else (request,))}
    return sum(tokens[place] for place in places)


def fixed_part(
    messages: Sequence[Message], tokens: Sequence[int], end: int, calibration: Calibration
) -> FixedPart:
    """The part that no compaction reduces: the overhead, the system prompt and the first exchange, up to `end`.

    Results of calls in the first exchange are not part of it: they can be cleared like any other old result.
    """
    roles = [message.get("role") for message in messages[:end]]
    system = sum(tokens[place] for place, role in enumerate(roles) if role in SYSTEM_ROLES)
    results = sum(tokens[place] for place, role in enumerate(roles) if role == "tool")
    opening = sum(tokens[:end]) - system - results
    ratio = calibration.ratio
    return FixedPart(calibration.overhead, round(system * ratio), round(opening * ratio))

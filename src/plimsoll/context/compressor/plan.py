"""The plan of a compaction: messages, their tokens, the boundaries and the size limits.

    planned(messages) ─► shrunk, cut later, shortened by the ladder ─► assembled

Weights inside a plan are estimates; `calibration` turns them into what the provider counts. Both engines begin here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from plimsoll.context.budget import Budget, FixedPart, Sizes, ledger_tokens
from plimsoll.context.calibration import Calibration, calibrate
from plimsoll.context.compressor.boundaries import Boundaries, find_boundaries, head_limit
from plimsoll.context.compressor.prune import describe
from plimsoll.context.ledger import NOTHING_ADDED, CustomPrompt, SummarySources
from plimsoll.context.markers import summary_body
from plimsoll.context.report import ShortenedMessage
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.errors import InvalidConversation
from plimsoll.messages import (
    SYSTEM_ROLES,
    Message,
    answered_through,
    answers,
    is_whole,
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
    """What a compaction must keep to, in both engines."""

    budget: Budget
    protect_last_n: int = 20
    summarizer: SummaryWriter | None = None
    remembered: SummarySources = field(default_factory=SummarySources)
    evidence: bool = True  # whether quotes follow the headings
    custom: CustomPrompt = NOTHING_ADDED  # what a user added to the summary prompt
    able_to_recall: bool = False  # whether the model has a tool for the handles of what was cleared
    unanswered_may_change: bool = (
        False  # whether what no reply has followed yet may be said differently next time
    )

    def lasting(self, messages: Sequence[Message]) -> int:
        """How many messages at the beginning a summary may take into account."""
        return answered_through(messages) if self.unanswered_may_change else len(messages)

    def readable(self, lighter: list[Message], given: Sequence[Message]) -> list[Message]:
        """The lighter list as the model can follow it; messages that were given stay as they are."""
        if self.able_to_recall:
            return lighter
        untouched = set(map(id, given))
        # Somebody may have said what reads like a stub, and repairs copy messages.
        said = [one for one in given if "under handle h:" in text_of(one)[-100:]]
        return [one if id(one) in untouched or one in said else without_handle(one) for one in lighter]


@dataclass(frozen=True)
class CompactionPlan:
    """The messages of a conversation, and which of them stay.

    `originals` are the same messages before any of them was made smaller: what a summary is written from.
    """

    messages: list[Message]
    tokens: list[int]
    bounds: Boundaries
    originals: list[Message]
    sizes: Sizes
    calibration: Calibration = field(default_factory=Calibration)
    protect_last_n: int = 1
    steps: tuple[str, ...] = ()

    @property
    def limit(self) -> int:
        """What the compacted messages may weigh."""
        return self.calibration.estimate_for(self.sizes.limit_tokens)

    @property
    def aim(self) -> int:
        """What they should weigh once the tail has to give way: so much that the conversation can grow again."""
        return self.calibration.estimate_for(min(self.sizes.limit_tokens, self.sizes.roomy_tokens))

    @property
    def tail_limit(self) -> int:
        """What the tail may weigh once `protect_last_n` has to give way."""
        return int(self.sizes.tail_tokens / self.calibration.ratio)

    @property
    def target(self) -> int:
        """What the compacted messages should weigh."""
        return self.calibration.estimate_for(self.sizes.target_tokens)

    @property
    def counted(self) -> int:
        """What the provider counts for the conversation as it is."""
        return self.calibration.counted(sum(self.tokens))

    @property
    def is_tail_protected(self) -> bool:
        """Whether the messages that the settings protect fit, and take what else would be headroom."""
        first = max(0, len(self.messages) - self.protect_last_n)
        changed = any(new is not old for new, old in zip(self.messages, self.originals, strict=True))
        taken = round(sum(self.tokens[first:]) * self.calibration.ratio)
        return self.bounds.tail_start <= first and not changed and taken > self.sizes.headroom_tokens

    @property
    def can_shrink(self) -> bool:
        """Whether there is anything to work on."""
        return bool(self.bounds.summary_role) or sum(self.tokens) > self.limit

    @property
    def middle_tokens(self) -> int:
        """The weight of what the summary replaces, the earlier summary aside."""
        return sum(sum(self.tokens[run.start : run.stop]) for run in self.bounds.middle)

    @property
    def previous(self) -> str:
        """The earlier summary, empty where there is none."""
        at = self.bounds.previous
        return "" if at is None else summary_body(self.messages[at])

    @property
    def opening(self) -> str:
        """The request that the conversation began with, where it stays; never what a program wrote there."""
        for place, message in enumerate(self.messages):
            said = without_harness_text(message) if message.get("role") == "user" else ""
            if said:
                return "" if any(place in run for run in self.bounds.middle) else said
        return ""

    @property
    def summary_tokens(self) -> int:
        """What the nine headings may take."""
        wanted = self.wanted_summary_tokens
        # A summary takes no room from the conversation's growth unless the tail left none.
        stays = self.size(0)
        free = self.aim - stays if self.aim - stays >= wanted // 2 else self.limit - stays
        most = min(int(self.sizes.summary_tokens / self.calibration.ratio), free)
        return min(wanted, max(most, SMALLEST_SUMMARY))

    @property
    def wanted_summary_tokens(self) -> int:
        """What the nine headings would take if there were room for anything."""
        budget = self.sizes.budget
        wanted = budget.updated_summary_tokens(self.middle_tokens, estimate_tokens(self.previous))
        return min(wanted, budget.max_summary_tokens)

    @property
    def ledger_tokens(self) -> int:
        """What code may write, headings and evidence together."""
        stays = self.size(0) + SMALLEST_SUMMARY
        free = max(self.target - stays, min(self.sizes.useful_summary_tokens, self.aim - stays))
        return ledger_tokens(self.middle_tokens, estimate_tokens(self.previous), self.summary_tokens, free)

    def size(self, summary_tokens: int) -> int:
        """The weight of the assembled conversation with a summary message of that many tokens."""
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
        """The plan after something was done that the report names."""
        return replace(self, steps=(*self.steps, step))

    def shortened(self) -> tuple[ShortenedMessage, ...]:
        """The messages that stay in fewer words than they had, for the report."""
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
    """The plan for a conversation, repaired where what stays needs it.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages. A fault in the
    middle leaves with the middle; with `repairs_middle` it is repaired too.
    """
    strange = next((n for n, message in enumerate(messages) if not isinstance(message, dict)), None)
    if strange is not None:
        raise InvalidConversation(f"compress() takes a list of message objects; item {strange} is not one.")
    given = list(messages)
    tokens = list(map(estimate_message_tokens, given))
    # What the provider counted, it counted for the list before a repair.
    calibration = calibrate(sum(tokens), current_tokens, overhead_tokens)
    plan = _plan_of(given, tokens, rules, calibration)
    parts = [given[part.start : part.stop] for part in plan.staying()]
    if all(map(is_whole, parts if plan.bounds.middle and not repairs_middle else [given])):
        return plan
    mended = repair(given)
    return _plan_of(mended, list(map(estimate_message_tokens, mended)), rules, calibration)


def _plan_of(
    messages: list[Message], tokens: list[int], rules: CompressorRules, calibration: Calibration
) -> CompactionPlan:
    budget = rules.budget
    sizes = budget.sizes(fixed_part(messages, tokens, head_limit(messages), calibration))
    tail_tokens = int(sizes.tail_tokens / calibration.ratio)
    bounds = find_boundaries(messages, tokens, tail_tokens, rules.protect_last_n)
    if bounds.summary_role:  # the role that fits the summary may have shortened the head
        sizes = budget.sizes(fixed_part(messages, tokens, bounds.head_end, calibration))
    return CompactionPlan(messages, tokens, bounds, messages, sizes, calibration, rules.protect_last_n)


def fixed_part(
    messages: Sequence[Message], tokens: Sequence[int], end: int, calibration: Calibration
) -> FixedPart:
    """What no compaction reduces: the overhead, the system prompt and the first exchange, up to the `end`.

    Results of calls in the first exchange are not part of it: they can be cleared like any other old result.
    """
    roles = [message.get("role") for message in messages[:end]]
    system = sum(tokens[place] for place, role in enumerate(roles) if role in SYSTEM_ROLES)
    results = sum(tokens[place] for place, role in enumerate(roles) if role == "tool")
    opening = sum(tokens[:end]) - system - results
    ratio = calibration.ratio
    return FixedPart(calibration.overhead, round(system * ratio), round(opening * ratio))

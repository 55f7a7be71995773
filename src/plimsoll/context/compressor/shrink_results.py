"""The first step of the ladder: cuts large tool results to the parts that later turns used.

Only results of more than a quarter of the tail's budget are shortened, oldest first:

    an output that is repeated later     kept once, at its newest position
    a file that is read again later      only the newest reading is kept
    any other                            the lines that later turns used, its beginning and its end

Each keeps its handle. Results that the model has not answered are never shortened, and
results of ordinary size stay verbatim.
"""

from collections.abc import Iterator
from typing import Any

from plimsoll.context.compressor.plan import CompactionPlan
from plimsoll.context.compressor.prune import KEEP_CHARACTERS, cleared_message, describe, is_large
from plimsoll.context.compressor.shorten import fit_text, relevant_lines
from plimsoll.context.ledger.outcome import error_lines
from plimsoll.context.ledger.outcomes import command_of
from plimsoll.context.ledger.terms import terms_in
from plimsoll.context.ledger.write import kept_terms
from plimsoll.messages import (
    Message,
    ToolAnswer,
    align_backward,
    answers,
    arguments_of,
    arguments_text,
    call_name,
    original_handle,
    text_of,
    with_text,
    without_handle,
)
from plimsoll.models import estimate_message_tokens, estimate_tokens

BIG_SHARE = 0.25  # of the tail's budget
_LEFT_SHARE = 0.125  # of the tail's budget, for one shortened result
_EDGE_LINES = 3  # kept at the beginning and at the end


def shrink_results(plan: CompactionPlan, summary_tokens: int) -> CompactionPlan:
    """The plan with large results of head and tail cut to the used lines, until everything fits."""
    bounds, unseen = plan.bounds, align_backward(plan.messages, len(plan.messages) - 1)
    tail = _answers_in(plan.messages, range(bounds.tail_start, unseen))
    found = [*_answers_in(plan.messages, range(min(bounds.head_end, unseen))), *tail]
    limit, excess = int(plan.tail_limit * BIG_SHARE), plan.size(summary_tokens) - plan.aim
    repeated = dict(_repeated(plan.messages, tail))
    smaller: dict[int, Message] = {}
    for answer in found:
        place = answer.result_at
        if excess <= 0 or plan.tokens[place] <= limit:
            continue
        shorter = repeated.get(place) or _used_part(plan.messages, answer, int(plan.tail_limit * _LEFT_SHARE))
        saved = plan.tokens[place] - estimate_message_tokens(shorter)
        if saved > 0:
            smaller[place] = shorter
            excess -= saved
    if not smaller:
        return plan
    return plan.with_messages(smaller).with_step(f"shortened {len(smaller)} results to what was used")


def _answers_in(messages: list[Message], part: range) -> list[ToolAnswer]:
    """The tool results in a part of the conversation, with positions in the whole list."""
    return [
        ToolAnswer(answer.call_at + part.start, answer.result_at + part.start, answer.call)
        for answer in answers(messages[part.start : part.stop])
    ]


def _repeated(messages: list[Message], found: list[ToolAnswer]) -> Iterator[tuple[int, Message]]:
    """Results whose text or file is repeated later in the tail."""
    texts: set[str] = set()
    calls: set[str] = set()
    for answer in reversed(found):
        message = messages[answer.result_at]
        text, call = text_of(message), _same_call(answer.call)
        if is_large(message) and (text in texts or call in calls):
            item = describe(message, answer.result_at, answer.call)
            yield answer.result_at, cleared_message(message, item)
        if len(text) > KEEP_CHARACTERS:
            texts.add(text)
            calls.add(call)


def _same_call(call: dict[str, Any]) -> str:
    """A key that equal calls share; empty for commands, because their output may differ."""
    return (
        f"{call_name(call)} {arguments_text(call)}"
        if command_of(arguments_of(call)) is None
        else str(call.get("id"))
    )


def _used_part(messages: list[Message], answer: ToolAnswer, limit: int) -> Message:
    """The result's beginning, end, errors, and lines with terms that the agent used afterwards."""
    message = messages[answer.result_at]
    later = kept_terms(m for m in messages[answer.result_at + 1 :] if m.get("role") == "assistant")
    text = text_of(without_handle(message))  # the new last line replaces that of an earlier compaction
    lines = text.splitlines()
    errors = set(error_lines(text))
    wanted = [
        lambda line: line.strip() in errors,
        lambda line: not later.isdisjoint(terms_in(line)),
    ]
    parts = relevant_lines(lines, _EDGE_LINES, wanted, limit, estimate_tokens)
    if not parts:  # a single huge line
        parts = [fit_text(text, limit)]
    size = f"{len(text):,} characters"
    tail = (
        f"[shortened from {size} to what later turns used; full text under handle {original_handle(message)}]"
    )
    return with_text(message, "\n".join([*parts, tail]))

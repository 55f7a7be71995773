"""Phase 1 of 4: clear old tool results. No model call.

    tool: 5 KB of pytest output   ──►   [Old tool output cleared to save context space]
                                        terminal(command=pytest -x) · exit 1 · 5,012 characters
                                        2 failed, 8 passed in 0.41s
                                        full text under handle h:3f2a9c1b7d

Only results of more than 200 characters outside the protected head and tail are cleared.
The summary of phase 3 is written from the originals, never from these stubs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll.context.ledger.outcome import call_line
from plimsoll.context.ledger.outcomes import outcome_of
from plimsoll.context.report import ClearedResult
from plimsoll.messages import (
    Message,
    ToolAnswer,
    answers,
    call_name,
    media_of,
    original_handle,
    text_of,
    with_text,
)

PLACEHOLDER = "[Old tool output cleared to save context space]"
KEEP_CHARACTERS = 200  # results of at most this length stay
_STUB = re.compile(
    re.escape(PLACEHOLDER) + r"\n"
    # It ends with the handle if its reader can fetch the original.
    r"(?:(?s:.+)\nfull text under handle h:[0-9a-f]{10}|.+ · [\d,]+ characters(?: and \d+ media)?(?:\n.+)?)"
)


def prune_old_tool_results(
    messages: Sequence[Message], head_end: int, tail_start: int
) -> tuple[list[Message], tuple[ClearedResult, ...]]:
    """The list with large results between `head_end` and `tail_start` replaced by stubs, and the cleared results."""
    pruned = list(messages)
    cleared = tuple(clearable(messages, head_end, tail_start))
    for item in cleared:
        pruned[item.index] = cleared_message(messages[item.index], item)
    return pruned, cleared


def clearable(messages: Sequence[Message], head_end: int, tail_start: int) -> Iterator[ClearedResult]:
    """Descriptions of the results in the range that are large enough to clear."""
    for answer in large_results(messages, head_end, tail_start):
        yield describe(messages[answer.result_at], answer.result_at, answer.call)


def large_results(messages: Sequence[Message], head_end: int, tail_start: int) -> Iterator[ToolAnswer]:
    """The results in the range that are large enough to clear."""
    for answer in answers(messages[:tail_start]):
        if answer.result_at >= head_end and is_large(messages[answer.result_at]):
            yield answer


def is_large(message: Message) -> bool:
    """Whether a tool result is large enough to clear and not already cleared."""
    if message.get("role") != "tool":
        return False
    content = message.get("content")
    if isinstance(content, str):
        return len(content) > KEEP_CHARACTERS and not _is_stub(content)
    return bool(media_of(message)) or len(text_of(message)) > KEEP_CHARACTERS


def _is_stub(content: str) -> bool:
    """Whether a result is a stub, and not output that starts with one, such as a printed conversation."""
    return _STUB.fullmatch(content) is not None


def describe(message: Message, index: int, call: dict[str, Any]) -> ClearedResult:
    """Describe a result: its call, its outcome, and its handle."""
    text = text_of(message)
    outcome = outcome_of(call, text)
    size = f"{len(text):,} characters" + (f" and {len(media_of(message))} media" if media_of(message) else "")
    # Keep the stub of a short result short: it must not be larger than the result.
    line = f"{call_line(call, limit=max(24, min(160, len(text) // 8)))} · {outcome.status} · {size}"
    if outcome.line and len(text) > 3 * len(outcome.line):
        line += f"\n{outcome.line}"
    return ClearedResult(index, call_name(call), outcome.status, len(text), original_handle(message), line)


def cleared_message(message: Message, cleared: ClearedResult) -> Message:
    """The stub that replaces a cleared result."""
    return with_text(message, f"{PLACEHOLDER}\n{cleared.line}\nfull text under handle {cleared.handle}")

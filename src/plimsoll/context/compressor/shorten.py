"""Shortens a message that is too large: keeps its beginning, its end and a handle for the rest."""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from plimsoll.messages import (
    Message,
    arguments_of,
    arguments_text,
    excerpt,
    media_of,
    original_handle,
    text_of,
    without_handle,
)
from plimsoll.models import estimate_message_tokens, estimate_tokens

_MIN_TOKENS = 24  # of a shortened text or argument


def shorten(message: Message, limit: int) -> Message:
    """The message in about `limit` tokens or less: excerpts of text and arguments, placeholders for media."""
    if estimate_message_tokens(message) <= limit:
        return message
    shorter = copy.copy(message)  # keeps the type, which marks a message as a summary
    calls = message.get("tool_calls")
    share = limit
    if isinstance(calls, list) and calls:
        share = max(_MIN_TOKENS, limit // (len(calls) + 1))
        shorter["tool_calls"] = [
            _shorter_call(call, share) if isinstance(call, dict) else call for call in calls
        ]
    # Replace the line of an earlier compaction: an excerpt of it would contain an unusable handle.
    text = text_of(without_handle(message))
    if estimate_tokens(text) > share or media_of(message):
        named = "".join(f"\n[{part.get('type')} left out]" for part in media_of(message))
        handle = f"\n[full text under handle {original_handle(message)}]"
        room = share - estimate_tokens(named) - estimate_tokens(handle)
        shorter["content"] = fit_text(text, max(_MIN_TOKENS, room)) + named + handle
    for key in ("reasoning_content", "reasoning", "thinking_blocks", "reasoning_details"):
        shorter.pop(key, None)
    return shorter


def fit_text(text: str, tokens: int) -> str:
    """An excerpt of about `tokens` tokens, in any script."""
    size = min(len(text), tokens * 4)
    cut = excerpt(text, size)
    while size > 16 and estimate_tokens(cut) > tokens:
        size = size * 3 // 4
        cut = excerpt(text, size)
    return cut


def _shorter_call(call: dict[str, Any], limit: int) -> dict[str, Any]:
    if estimate_tokens(arguments_text(call)) <= limit:
        return call
    arguments = arguments_of(call) or {"arguments": arguments_text(call)}
    per_value = max(_MIN_TOKENS, limit // len(arguments))
    cut = {key: _shorter_value(value, per_value) for key, value in arguments.items()}
    return {**call, "function": {**call["function"], "arguments": json.dumps(cut, ensure_ascii=False)}}


def _shorter_value(value: Any, limit: int) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return value if estimate_tokens(text) <= limit else fit_text(text, limit)


def relevant_lines(
    lines: Sequence[str],
    edge: int,
    wanted: Sequence[Callable[[str], bool]],
    room: int,
    cost: Callable[[str], int],
) -> list[str]:
    """The first and last `edge` lines, then those that each test of `wanted` selects, as far as they fit.

    They keep their order, and `…` marks a gap.
    """
    shown: set[int] = set()
    ranked = [*range(min(edge, len(lines))), *range(max(0, len(lines) - edge), len(lines))]
    ranked += (number for is_wanted in wanted for number, line in enumerate(lines) if is_wanted(line))
    for number in dict.fromkeys(ranked):
        room -= cost(lines[number]) + 1
        if room >= 0:
            shown.add(number)
    parts: list[str] = []
    for number in sorted(shown):
        if number and number - 1 not in shown:
            parts.append("…")
        parts.append(lines[number])
    return parts

"""How large a conversation is, and how a size asked for becomes the one knob that every peer has.

    budget 12 000 ──► tail = budget − system prompt − summary ──► compact ──► 13 100: too large
                      tail − 1 100                            ──► compact ──► 11 900: taken

Tokens are characters / 4 everywhere, so that no peer's own counter favours it.
"""

from collections.abc import Callable, Sequence
from typing import Any

Message = dict[str, Any]
CHARS_PER_TOKEN = 4
MIN_TAIL = 200
ATTEMPTS = 6
SLACK = 1.02


def text_of(content: Any) -> str:
    """The text of a message's content, whatever shape it has."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or () if isinstance(part, dict))


def chars(messages: Sequence[Message]) -> int:
    """Characters that a model would read: texts, and names and arguments of tool calls."""
    total = 0
    for message in messages:
        total += len(text_of(message.get("content")))
        for call in message.get("tool_calls") or ():
            total += len(call["function"]["name"]) + len(call["function"]["arguments"])
    return total


def tokens(messages: Sequence[Message]) -> int:
    """Tokens at four characters each."""
    return chars(messages) // CHARS_PER_TOKEN


def newest_that_fit(sizes: Sequence[int], tail: int) -> int:
    """How many of the newest items stay within `tail` tokens; at least one."""
    used = 0
    for count, size in enumerate(reversed(sizes)):
        used += size
        if used > tail:
            return max(1, count)
    return max(1, len(sizes))


def fitted(attempt: Callable[[int], list[Message]], first_tail: int, budget: int) -> list[Message]:
    """The largest result within the budget that a few corrections of the tail give; else the smallest."""
    tail = max(MIN_TAIL, first_tail)
    best: list[Message] | None = None
    seen: list[list[Message]] = []  # kept alive, because callers know results by their identity
    for tried in range(ATTEMPTS):
        result = attempt(tail)
        seen.append(result)
        if best is None or _better(tokens(result), tokens(best), budget):
            best = result
        gap = budget - tokens(result)
        # Close enough below, or the knob has no effect any more.
        if 0 <= gap <= budget * 0.03 or (tail == MIN_TAIL and gap < 0):
            break
        tail = max(MIN_TAIL, tail + int(gap * (1.0 if tried < 3 else 0.5)))
    assert best is not None
    return best


def _better(new: int, old: int, budget: int) -> bool:
    limit = budget * SLACK
    if new <= limit and old <= limit:
        return new > old
    return new < old

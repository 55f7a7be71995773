"""Groups tool calls with their results, and finds where a conversation may be cut.

    user │ assistant(calls a, b) · tool a · tool b │ assistant │ user
         ^                                         ^           ^
         legal cuts: never between a call and its result

Providers reject a transcript that is cut inside such a group.
"""

from collections.abc import Sequence
from itertools import pairwise

from plimsoll.messages.calls import answers
from plimsoll.messages.content import Message


def safe_cuts(messages: Sequence[Message]) -> list[int]:
    """Positions where the conversation may be split, ascending; always including 0 and the length."""
    opened = [0] * (len(messages) + 1)
    for answer in answers(messages):
        opened[answer.call_at + 1] += 1
        opened[answer.result_at + 1] -= 1
    cuts, depth = [0], 0
    for position in range(1, len(messages) + 1):
        depth += opened[position]
        is_result = position < len(messages) and messages[position].get("role") == "tool"
        if depth == 0 and not is_result:
            cuts.append(position)
    return cuts


def groups(messages: Sequence[Message]) -> list[range]:
    """The ranges of messages that must stay together; in order, they cover every message."""
    return [range(start, end) for start, end in pairwise(safe_cuts(messages))]


def answered_through(messages: Sequence[Message]) -> int:
    """The number of messages up to and including the newest reply; a client may still change later ones."""
    last = len(messages)
    while last and messages[last - 1].get("role") != "assistant":
        last -= 1
    return last


def align_backward(messages: Sequence[Message], position: int) -> int:
    """The last safe cut at or before `position`: walks back past tool results to their call.

    Checks only adjacent messages, so the list must be valid (see `repair`).
    """
    while 0 < position < len(messages) and messages[position].get("role") == "tool":
        position -= 1
    return position

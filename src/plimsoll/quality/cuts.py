"""Cuts a conversation for measuring, and builds the baseline windows.

    system  user  …  user │ assistant  tool  assistant  …
    └──── history ──────┘   └─ continuation: hidden from the compactor ─┘

A cut follows a user message if the history is long enough and more messages follow.
"""

from collections.abc import Sequence

from plimsoll.messages import SYSTEM_ROLES, Message, is_harness_text
from plimsoll.quality.texts import CHARACTERS_PER_TOKEN, characters

CONTINUATION = 40  # messages after a cut that count
MIN_AFTER = 5  # messages
MIN_TOKENS = 30_000  # of history before a cut


def is_said_by_a_person(message: Message) -> bool:
    """Whether a person wrote this user message, not a program."""
    return message.get("role") == "user" and not is_harness_text(message)


def turns_of(messages: Sequence[Message], min_tokens: int = MIN_TOKENS) -> list[int]:
    """Every possible cut, as the number of messages before it."""
    found, size = [], 0
    for position, message in enumerate(messages):
        size += characters(message)
        enough = size >= min_tokens * CHARACTERS_PER_TOKEN and position + MIN_AFTER < len(messages)
        if enough and is_said_by_a_person(message):
            found.append(position + 1)
    return found


def spread(places: Sequence[int], count: int) -> list[int]:
    """At most `count` of the places, evenly spread, including the last one."""
    if len(places) <= count:
        return list(places)
    return [places[(number + 1) * len(places) // count - 1] for number in range(count)]


def recency_window(messages: Sequence[Message], max_tokens: int) -> list[Message]:
    """The system prompt and as many of the newest messages as fit."""
    system = [message for message in messages if message.get("role") in SYSTEM_ROLES]
    room = max_tokens * CHARACTERS_PER_TOKEN - sum(map(characters, system))
    kept: list[Message] = []
    for message in reversed(messages):
        if message.get("role") in SYSTEM_ROLES:
            continue
        room -= characters(message)
        if room < 0:
            break
        kept.append(message)
    return system + kept[::-1]


def first_and_last(messages: Sequence[Message], first: int = 3, last: int = 20) -> list[Message]:
    """The common cheap baseline: the first exchange and the newest messages."""
    return [*messages[:first], *messages[max(first, len(messages) - last) :]]

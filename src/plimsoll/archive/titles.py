"""A session's title, taken from the first request. Text that a program put there is never a title."""

from collections.abc import Iterable

from plimsoll.messages import Message, without_harness_text

LONGEST = 60  # characters


def title_of(messages: Iterable[Message]) -> str:
    """The first line of the first request, cut at a word; empty if there is none."""
    for message in messages:
        lines = without_harness_text(message).split("\n") if message.get("role") == "user" else []
        line = next((" ".join(line.split()) for line in lines if line.strip()), "")
        if line:
            return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rsplit(' ', 1)[0]}…"
    return ""

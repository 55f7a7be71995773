"""Handles: short names for content, made from the content itself.

The same content always has the same handle, on every machine and after every
restart, so a stub written today finds its original in any copy of the conversation.
"""

import copy
import hashlib
import json
import re
from typing import Any

from plimsoll.messages.content import Message, text_of

HANDLE_DIGITS = 10
# How the line ends that stands behind an excerpt. A handle inside of a text is only spoken of.
_NAMED = re.compile(r"full text under handle (h:[0-9a-f]{10})\]\s*\Z")

# The same at the end of every shorter form: a line, a line in brackets, or the second half of one.
_PROMISE = re.compile(
    r"(?:\n?\[full (?:text|content) under handle h:[0-9a-f]{10}\]|\nfull text under handle h:[0-9a-f]{10})\s*\Z"
    r"|; full (?:text|content) under handle h:[0-9a-f]{10}(?=\]\s*\Z)"
)
_HANDLE = re.compile(r"under handle (h:[0-9a-f]{10})")
# The same anywhere in a text of our own: a summary may quote a message that was shortened before.
_QUOTED = re.compile(
    r"\n?\[full (?:text|content) under handle h:[0-9a-f]{10}\]"
    r"|(?:; |\n)?full (?:text|content) under handle h:[0-9a-f]{10}"
)


def handle_of(message: Message) -> str:
    """The handle of a message's content, such as `h:3f2a9c1b7d`."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, default=str)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HANDLE_DIGITS // 2)
    return f"h:{digest.hexdigest()}"


def original_handle(message: Message) -> str:
    """The handle under which a message is found whole: the one that an excerpt names, otherwise its own."""
    named = _NAMED.search(text_of(message))
    return named[1] if named else handle_of(message)


def without_named_handles(text: str) -> str:
    """A text of our own, such as a summary, without the handles that it names."""
    return _QUOTED.sub("", text)


def without_handle(message: Message, *, is_own: bool = False) -> Message:
    """A shortened message for a reader that has no tool to fetch the whole: it does not name the handle.

    A message of our own, such as a summary, names none anywhere; in any other one only the line at the end of a
    text is ours.
    """
    pattern, content = _QUOTED if is_own else _PROMISE, message.get("content")
    plain = copy.copy(message)  # of the same type: our summary stays known as ours
    if isinstance(content, str):
        plain["content"] = _text_without(pattern, content)
    elif isinstance(content, list):
        plain["content"] = [_part_without(pattern, part) for part in content]
    return plain


def _part_without(pattern: re.Pattern[str], part: Any) -> Any:
    """A part of a message without the handles that it names: a part that was removed leaves a line of its own."""
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        return part
    return {**part, "text": _text_without(pattern, part["text"])}


def _text_without(pattern: re.Pattern[str], text: str) -> str:
    """A message that was shortened twice names its handle twice at its end."""
    named = _HANDLE.findall(text)[-1:]
    shorter = pattern.sub("", text)
    while shorter != text and named and _HANDLE.findall(shorter)[-1:] == named:
        text, shorter = shorter, pattern.sub("", shorter)
    return shorter

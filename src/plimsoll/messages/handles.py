"""Handles: short hashes that identify content.

The same content always has the same handle, on every machine and after every
restart, so a stub written today finds its original in any copy of the conversation.
"""

import copy
import hashlib
import json
import re
from typing import Any

from plimsoll.messages.content import Message, text_of

HANDLE_DIGITS = 10  # hexadecimal digits
# The end of the line that follows an excerpt. A handle elsewhere in a text is only mentioned.
_NAMED = re.compile(r"full text under handle (h:[0-9a-f]{10})\]\s*\Z")

# The same for every shortened form: a line, a line in brackets, or the second half of one.
_PROMISE = re.compile(
    r"(?:\n?\[full (?:text|content) under handle h:[0-9a-f]{10}\]|\nfull text under handle h:[0-9a-f]{10})\s*\Z"
    r"|; full (?:text|content) under handle h:[0-9a-f]{10}(?=\]\s*\Z)"
)
_HANDLE = re.compile(r"under handle (h:[0-9a-f]{10})")
# The same anywhere in text that Plimsoll wrote: a summary may quote a message that was already shortened.
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
    """The handle of the full message: the one named in an excerpt, otherwise the message's own."""
    named = _NAMED.search(text_of(message))
    return named[1] if named else handle_of(message)


def without_named_handles(text: str) -> str:
    """A text that Plimsoll wrote, such as a summary, without the handles it names."""
    return _QUOTED.sub("", text)


def without_handle(message: Message, *, is_own: bool = False) -> Message:
    """A shortened message without its handle, for a reader that has no tool to fetch the full text.

    From a message that Plimsoll wrote, such as a summary (`is_own`), all handles are removed. In any other message,
    Plimsoll wrote only the line at the end of a text.
    """
    pattern, content = _QUOTED if is_own else _PROMISE, message.get("content")
    plain = copy.copy(message)  # keeps the type, which marks a message as a summary
    if isinstance(content, str):
        plain["content"] = _text_without(pattern, content)
    elif isinstance(content, list):
        plain["content"] = [_part_without(pattern, part) for part in content]
    return plain


def _part_without(pattern: re.Pattern[str], part: Any) -> Any:
    """A content part without the handles it names."""
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        return part
    return {**part, "text": _text_without(pattern, part["text"])}


def _text_without(pattern: re.Pattern[str], text: str) -> str:
    """Remove the pattern repeatedly: a message that was shortened twice ends with two handles."""
    if "under handle h:" not in text:  # much faster than the pattern, and true of nearly every text
        return text
    named = _HANDLE.findall(text)[-1:]
    shorter = pattern.sub("", text)
    while shorter != text and named and _HANDLE.findall(shorter)[-1:] == named:
        text, shorter = shorter, pattern.sub("", shorter)
    return shorter

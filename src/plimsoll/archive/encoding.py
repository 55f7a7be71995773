"""Encodes messages as bytes and back; their digests and searchable text.

message ──► {"role":"tool","content":"…"}   keys in order, nothing added or dropped
        ──► digest                          independent of the order of keys
        ──► searchable text                 content, reasoning, tool names, decoded arguments
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.errors import InvalidConversation
from plimsoll.messages import (
    Message,
    arguments_of,
    arguments_text,
    call_name,
    handle_of,
    texts_of,
    tool_calls,
)
from plimsoll.models import estimate_message_tokens, media_bytes

_REASONING = ("reasoning_content", "reasoning")
# Scripts without spaces: each character is a word in the index.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_UNSPACED = re.compile(f"([{UNSPACED}])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class EncodedMessage:
    """A message ready to be stored."""

    role: str
    body: str
    digest: bytes
    handle: str
    tokens: int
    text: str
    media: int = 0  # bytes of images, sounds and files
    shown: str = ""  # the form that the model sees, if it differs from the message
    shown_tokens: int = 0


def encode(message: Message, tokens: int | None = None, shown: Message | None = None) -> EncodedMessage:
    """The message as stored; `tokens` is estimated if not given, `shown` is what the model sees."""
    return EncodedMessage(
        role=storable(str(message.get("role", ""))),
        body=to_json(message),
        digest=digest_of(message),
        handle=handle_of(message).removeprefix("h:"),
        tokens=estimate_message_tokens(message) if tokens is None else tokens,
        text=searchable(message),
        media=media_bytes(message),
        shown=to_json(shown) if shown else "",
        shown_tokens=estimate_message_tokens(shown) if shown else 0,
    )


def encode_each(
    messages: Sequence[Message],
    tokens: Sequence[int] | None = None,
    shown: Mapping[int, Message] | None = None,
) -> Iterator[EncodedMessage]:
    """All messages, each with its tokens and, by position, the form that the model sees, if given."""
    counts: Sequence[int | None] = [None] * len(messages) if tokens is None else tokens
    if len(counts) != len(messages):
        raise InvalidConversation(f"{len(messages)} messages came with {len(counts)} token counts.")
    forms = shown or {}
    for place, (message, count) in enumerate(zip(messages, counts, strict=True)):
        yield encode(message, count, forms.get(place))


def to_json(value: Any) -> str:
    """Compact JSON with the keys in order; lone surrogates are escaped, because no file can store them."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidConversation(
            f"A message cannot be stored because it is not valid JSON: {error}."
        ) from error
    return text


def digest_of(message: Message) -> bytes:
    """A 16-byte digest of a message."""
    text = json.dumps(message, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).digest()


def searchable(message: Message) -> str:
    """All searchable text of a message."""
    return "\n".join(piece for piece in _pieces(message) if piece)


def storable(text: str) -> str:
    """The text without characters that an index cannot store."""
    return _UNSTORABLE.sub(" ", text)


def spaced(text: str) -> str:
    """The text with scripts without spaces split into characters, so that a part of a sentence is found."""
    return _UNSPACED.sub(r" \1 ", text)


def _pieces(message: Message) -> Iterator[str]:
    for key in _REASONING:
        if isinstance(message.get(key), str):
            yield message[key]
    yield from texts_of(message)
    for call in tool_calls(message):
        yield call_name(call)
        arguments = arguments_of(call)
        if not arguments:
            yield arguments_text(call)
        # Decoded: in JSON text a line break is \n, which users do not search for.
        for name, value in arguments.items():
            yield f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"

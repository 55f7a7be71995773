"""Estimates token counts without a tokenizer, for content of any shape.

    text                 0.19 a character, 0.45 more if it is neither letter nor space; other weights by script
    message              4 + content + name + reasoning + 8 and the text of each tool call
    images, audio, files by their own rules (media.py), never by the bytes of base64

Appending text never lowers a count, and the count of a list is exactly the sum over its messages. Text is counted in
a few passes at memory speed. `anchor.py` learns the error for a model from reported usage.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plimsoll.messages import Message
from plimsoll.models.media import FILE_UNKNOWN, is_blob, media_tokens

MESSAGE_OVERHEAD = 4  # role and separators: 3 or 4 on OpenAI's wire
CALL_OVERHEAD = 8  # the frame around a tool call's name and arguments
REDACTED_THINKING = 256  # its length cannot be known from the encrypted text

# Hundredths of a token. Fitted to 28 000 texts of agent conversations (code, JSON, logs, prose), mean of o200k_base
# and cl100k_base: the mean error of a text is 6.5 %, against 13 % for the best single number of characters a token.
_PER_CHARACTER = 19
_PER_MARK = 45
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "
_PLAIN_OR_FOREIGN = _PLAIN + bytes(range(0x80, 0x100))
_ASCII = bytes(range(0x80))

# Hundredths per UTF-16 unit, by the unit's high byte; later lines override earlier ones. Each is about the geometric
# mean of the cost of prose in o200k_base and cl100k_base, so that the error is the same factor for both. The comment
# gives the two costs. Newer vocabularies are closer to the first, older ones to the second.
_SCRIPTS = (
    (90, 0x00, 0xFF),  # everything not named below; Georgian 0.35 / 2.11
    (72, 0x00, 0x02),  # Latin with accents 0.42 / 1.12
    (63, 0x03, 0x03),  # Greek 0.39 / 1.03
    (28, 0x04, 0x04),  # Cyrillic 0.21 / 0.36
    (66, 0x05, 0x05),  # Hebrew 0.39 / 1.12
    (48, 0x06, 0x07),  # Arabic 0.29 / 0.80
    (64, 0x09, 0x0D),  # Devanagari 0.33 / 1.19; Bengali 0.28 / 1.38; Tamil 0.33 / 1.50
    (64, 0x0E, 0x0F),  # Thai 0.38 / 1.06
    (72, 0x1E, 0x1E),  # Vietnamese 0.44 / 1.37
    (63, 0x1F, 0x1F),  # Greek with accents
    (120, 0x20, 0x22),  # dashes, quotation marks, arrows, mathematics: 1, and they split words
    (180, 0x23, 0x2B),  # technical signs, dingbats
    (45, 0x25, 0x25),  # box drawing 0.45 / 0.47: runs of it are one token
    (80, 0x30, 0x31),  # Kana and CJK punctuation 0.68 / 0.97
    (90, 0x32, 0x9F),  # Han, simplified 0.66 / 0.93, traditional 0.95 / 1.43
    (76, 0xAC, 0xD7),  # Hangul 0.59 / 0.98
    (100, 0xD8, 0xDF),  # emoji, two units each: 1.5 / 2.2 an emoji
)

# Fields that a provider needs but a model does not read, or reads as part of the overhead.
_IDS = ("id", "tool_use_id", "tool_call_id", "call_id", "uri", "filename")
_MARKS = ("type", "role", "index", "status", "format", "detail", "is_error", "cache_control", "logprobs")
_MIME = ("media_type", "mime_type", "mimeType")
_SILENT = frozenset((*_IDS, *_MARKS, *_MIME, "signature", "encrypted_content", "annotations", "citations"))
_STRUCTURED = frozenset({"input", "arguments", "parameters", "input_schema", "partial_json"})
_REASONING = frozenset({"reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks"})
_CALL_KEYS = {"name", "arguments"}


def _weights() -> bytes:
    table = bytearray(256)
    for weight, first, last in _SCRIPTS:
        table[first : last + 1] = bytes([weight]) * (last + 1 - first)
    return bytes(table)


_WEIGHT_OF = _weights()


def estimate_tokens(text: str) -> int:
    """The tokens of a text, rounded up; 0 for an empty text."""
    if text.isascii():
        marks = len(text.encode().translate(None, _PLAIN))
        return (_PER_CHARACTER * len(text) + _PER_MARK * marks + 99) // 100
    return (_hundredths(text) + 99) // 100


def estimate_message_tokens(message: Message | Any) -> int:
    """The tokens of everything that a model reads in one message; accepts any shape."""
    if type(message) is not dict and not isinstance(message, Mapping):
        return MESSAGE_OVERHEAD + _read(message)
    content = message.get("content")
    if type(content) is str:
        total = MESSAGE_OVERHEAD + (estimate_tokens(content) if content else 0)
    else:
        total = MESSAGE_OVERHEAD + (_read(content) if content else 0)
    # Nearly all messages have a role, content, and either calls or a call id, which is part of the overhead.
    if len(message) == 3:
        if "tool_call_id" in message:
            return total
        if "tool_calls" in message:
            return total + _calls_tokens(message["tool_calls"])
    return total + _other_fields_tokens(message) if len(message) > 2 else total


def estimate_messages_tokens_rough(messages: Iterable[Message]) -> int:
    """The tokens of a list of messages: the sum over the messages."""
    return sum(map(estimate_message_tokens, messages))


def estimate_tools_tokens(tools: Sequence[Any] | None) -> int:
    """The tokens of a request's tool definitions."""
    return sum(CALL_OVERHEAD + _json_tokens(tool) for tool in tools) if isinstance(tools, list | tuple) else 0


def _hundredths(text: str) -> int:
    """Hundredths of a token of a text in any script."""
    raw = text.encode("utf-8", "surrogatepass")
    marks = len(raw.translate(None, _PLAIN_OR_FOREIGN))
    foreign = raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    pages = foreign.encode("utf-16-le", "surrogatepass")[1::2]
    return _PER_CHARACTER * (len(text) - len(foreign)) + _PER_MARK * marks + sum(pages.translate(_WEIGHT_OF))


def _other_fields_tokens(message: Mapping[str, Any]) -> int:
    total = 0
    for key, value in message.items():
        if key == "tool_calls":
            total += _calls_tokens(value)
        elif key in ("name", "refusal") and isinstance(value, str):
            total += estimate_tokens(value)
        elif key == "function_call" and value is not None:
            total += _read(value) + CALL_OVERHEAD
        elif key == "audio" and isinstance(value, Mapping):
            total += _read(value.get("transcript"))
    if not _REASONING.isdisjoint(message):
        # Hosts repeat the same reasoning under several keys; the provider receives it once.
        total += _read(next((value for key, value in message.items() if key in _REASONING and value), None))
    return total


def _calls_tokens(calls: Any) -> int:
    if not isinstance(calls, list | tuple):
        return 0 if calls is None else _read(calls) + CALL_OVERHEAD
    total = CALL_OVERHEAD * len(calls)
    for call in calls:
        function = call.get("function") if type(call) is dict and len(call) == 3 else None
        if type(function) is dict and function.keys() == _CALL_KEYS:
            name, arguments = function["name"], function["arguments"]
            if type(name) is str and type(arguments) is str:
                total += len(name) // 4 + 1 + estimate_tokens(arguments)
                continue
        total += _read(call)
    return total


def _read(content: Any) -> int:
    """The tokens of content in any shape. A loop, not recursion, so that nesting depth is unlimited."""
    total, waiting = 0, [content]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            total += estimate_tokens(item)
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, Mapping):
            total += _part_tokens(item, waiting)
        else:
            total += _scalar_tokens(item)
    return total


def _part_tokens(part: Mapping[str, Any], waiting: list[Any]) -> int:
    """The tokens of a part itself; appends its texts and inner parts to `waiting`."""
    media = media_tokens(part)
    if media is not None:
        waiting.extend((part.get("title"), part.get("context")))
        return media
    kind = part.get("type")
    if kind == "redacted_thinking":
        return REDACTED_THINKING
    total = CALL_OVERHEAD if kind in ("tool_use", "server_tool_use", "function_call") else 0
    for key, value in part.items():
        if key in _SILENT:
            continue
        if is_blob(key, value):
            total += FILE_UNKNOWN
        elif key in _STRUCTURED and not isinstance(value, str):
            total += _json_tokens(value)
        else:
            waiting.append(value)
    return total


def _json_tokens(value: Any) -> int:
    """The tokens of a value as JSON, without serialising it."""
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            total += 1 + estimate_tokens(item)
        elif isinstance(item, Mapping):
            total += 1
            for key, inner in item.items():
                total += 2 + estimate_tokens(key) if isinstance(key, str) else 3
                waiting.append(inner)
        elif isinstance(item, list | tuple):
            total += 1 + len(item)
            waiting.extend(item)
        else:
            total += _scalar_tokens(item)
    return total


def _scalar_tokens(value: Any) -> int:
    if isinstance(value, bool):
        return 1
    if isinstance(value, int):
        return 1 + value.bit_length() // 10  # a token holds three digits
    return 4 if isinstance(value, float) else 0

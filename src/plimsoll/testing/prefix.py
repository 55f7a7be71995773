"""Checks that each request of a conversation extends the previous one.

    request n     [tools][system][m1][m2][m3]
    request n+1   [tools][system][m1][m2][m3][m4][m5]      the same bytes, then more

Wire bodies are compared byte for byte, except that cache_control markers are ignored
and a string equals one text part. A request with fewer messages than the previous one
is a compaction and starts a new sequence.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The fields of a body by dialect: chat completions and Anthropic, Responses, Gemini.
_MESSAGES = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction")


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """A request that does not extend the previous one of its conversation."""

    request: int
    before: int
    part: str

    def __str__(self) -> str:
        return f"request {self.request} does not extend request {self.before}: {self.part} changed"


def broken_prefixes(bodies: Iterable[Mapping[str, Any]]) -> list[PrefixBreak]:
    """Every break in a sequence of requests; model and first message identify a conversation."""
    latest: dict[str, tuple[int, list[tuple[str, str]]]] = {}
    breaks = []
    for number, body in enumerate(bodies):
        parts = prefix_parts(body)
        opening = next((text for name, text in parts if name == "messages[0]"), None)
        if opening is None:
            continue
        conversation = f"{body.get('model')} {opening}"
        before = latest.get(conversation)
        if before and len(parts) > len(before[1]):
            changed = next((old[0] for old, new in zip(before[1], parts, strict=False) if old != new), None)
            if changed:
                breaks.append(PrefixBreak(number, before[0], changed))
        latest[conversation] = (number, parts)
    return breaks


def prefix_parts(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The named parts that a provider's cache hashes, in order: tools, system, messages."""
    messages = next((body[name] for name in _MESSAGES if name in body), None)
    system = next((body[name] for name in _SYSTEM if name in body), None)
    parts = [("tools", _plain(body.get("tools") or [])), ("system", _plain(_blocks(system)))]
    for number, message in enumerate(messages if isinstance(messages, Sequence) else []):
        whole = (
            {**message, "content": _blocks(message.get("content"))}
            if isinstance(message, Mapping)
            else message
        )
        parts.append((f"messages[{number}]", _plain(whole)))
    return parts


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []


def _plain(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(_without_markers(value), ensure_ascii=False) if "cache_control" in text else text


def _without_markers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_markers(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(value, list | tuple):
        return [_without_markers(inner) for inner in value]
    return value

"""Anthropic's rules for `cache_control`: number, order, and blocks that cannot be cached."""

from collections.abc import Iterator
from typing import Any

from plimsoll.caching import MAX_BREAKPOINTS
from plimsoll.dialects.blocks.assistant import THINKING_TYPES
from plimsoll.messages.untyped import objects_in
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

MARKER = "cache_control"


def marker_refusals(body: dict[str, Any]) -> Iterator[Refusal]:
    """The errors in a request's markers, in reading order."""
    blocks = [*_places(body), ("", body)]  # the automatic marker comes after all others
    marked = [(path, block) for path, block in blocks if block.get(MARKER) is not None]
    for path, block in marked:
        yield from _wrong_marker(path, block)
    yield from _inside_results(body)
    if len(marked) > MAX_BREAKPOINTS:
        yield bad(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
    ttls = [_ttl(block) for _, block in marked]
    for index, (path, _) in enumerate(marked):
        if ttls[index] == "1h" and "5m" in ttls[:index]:
            yield bad(
                f"{_field(path, 'cache_control.ttl')}: a ttl='1h' cache_control block must not come after a ttl='5m' "
                f"cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
                f"`messages`."
            )


def _wrong_marker(path: str, block: dict[str, Any]) -> Iterator[Refusal]:
    kind = block.get("type")
    if kind in THINKING_TYPES:
        yield bad(f"{path}.{kind}.cache_control: Extra inputs are not permitted")
    elif kind == "text" and not str(block.get("text") or "").strip():
        yield bad(f"{path}.text: cache_control cannot be set for empty text blocks")
    elif _ttl(block) not in ("5m", "1h"):
        yield bad(f"{_field(path, 'cache_control.ephemeral.ttl')}: Input should be '5m' or '1h'")


def _field(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _places(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(objects_in(body.get("tools"))):
        yield f"tools.{index}", tool
    for index, block in enumerate(objects_in(body.get("system"))):
        yield f"system.{index}", block
    for number, message in enumerate(objects_in(body.get("messages"))):
        for index, block in enumerate(objects_in(message.get("content"))):
            yield f"messages.{number}.content.{index}", block


def _inside_results(body: dict[str, Any]) -> Iterator[Refusal]:
    """Blocks inside a tool result cannot be marked; only the whole result can."""
    for path, block in _places(body):
        if block.get("type") == "tool_result":
            for index, inner in enumerate(objects_in(block.get("content"))):
                if inner.get(MARKER) is not None:
                    where = f"{path}.tool_result.content.{index}.{inner.get('type')}"
                    yield bad(f"{where}.cache_control: Extra inputs are not permitted")


def _ttl(block: dict[str, Any]) -> str:
    marker = block[MARKER]
    return str(marker.get("ttl", "5m")) if isinstance(marker, dict) else ""

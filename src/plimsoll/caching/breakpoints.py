"""Sets `cache_control` markers on a message list, and reads them back.

    system_and_3:   [system*] ... [message*] [message*] [message*]      at most four markers, a rolling window

Markers go on a deep copy without earlier markers, so the caller's list never changes and no request has too many.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any

from plimsoll.caching.blocks import MARKER, Prompt, can_carry_marker
from plimsoll.errors import SettingError
from plimsoll.messages import SYSTEM_ROLES, Message, parts_of, tool_calls
from plimsoll.messages.untyped import list_of

LIFETIMES = {"5m": 300, "1h": 3600}
ROLLING = 3  # messages that `system_and_3` marks at the end
_ATOMS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A marker on one block of a prompt."""

    block: int
    ttl: str = "5m"


@dataclass(frozen=True, slots=True)
class BreakpointPlan:
    """The markers of one request: as blocks for the simulator, as positions in the message list for the wire."""

    breakpoints: tuple[Breakpoint, ...] = ()
    places: tuple[tuple[int, int | None], ...] = ()  # (message, part); None: on the message itself
    ttl: str = "5m"


def cache_marker(ttl: str = "5m") -> dict[str, str]:
    """The marker; five minutes is the provider's default and is omitted."""
    if ttl not in LIFETIMES:
        raise SettingError(f"prompt_caching.cache_ttl is {ttl!r}; it must be one of {', '.join(LIFETIMES)}.")
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def apply_anthropic_cache_control(
    messages: Sequence[Message], cache_ttl: str = "5m", native_anthropic: bool = False
) -> list[Message]:
    """A deep copy with markers on the system prompt and on the last three non-system messages."""
    marker = cache_marker(cache_ttl)
    copy = without_markers(messages)
    for index in system_and_3_messages(len(copy), lambda index: str(copy[index].get("role"))):
        _mark(copy[index], marker, native_anthropic)
    return copy


def system_and_3_messages(count: int, role: Callable[[int], str]) -> list[int]:
    """The messages that `system_and_3` marks: the system prompt and the last three that are not system."""
    opening = 0
    while opening < count and role(opening) in SYSTEM_ROLES:
        opening += 1
    # Searched from the end, so that a long conversation is not scanned for each request.
    spoken = (index for index in range(count - 1, opening - 1, -1) if role(index) not in SYSTEM_ROLES)
    return ([opening - 1] if opening else []) + list(islice(spoken, ROLLING))[::-1]


def without_markers(messages: Sequence[Message]) -> list[Message]:
    """A deep copy of the messages with every marker removed."""
    copy: list[Message] = [_copied(message) for message in messages]
    for message in copy:
        message.pop(MARKER, None)
        for inner in (message.get("content"), message.get("tool_calls")):
            for item in list_of(inner):
                if isinstance(item, dict):
                    item.pop(MARKER, None)
    return copy


def _copied(value: Any) -> Any:
    """A deep copy of JSON, several times faster than `deepcopy`; shared parts are no longer shared.

    Two messages may share a part. A marker on one must not appear on the other.
    """
    if type(value) is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    if type(value) is list:
        return [_copied(inner) for inner in value]
    return value if type(value) in _ATOMS else deepcopy(value)


def apply_plan(messages: Sequence[Message], plan: BreakpointPlan) -> list[Message]:
    """A deep copy with exactly the plan's markers."""
    copy = without_markers(messages)
    for index, part in plan.places:
        _put(copy[index], part, cache_marker(plan.ttl))
    return copy


def markable_block(prompt: Prompt, message: int, native_anthropic: bool) -> int | None:
    """The block that a marker on this message reaches; None if the route does not transport it.

    Only content parts transport a marker through an OpenAI-style route; on Anthropic's own API a marker on the
    message reaches its last call or result.
    """
    blocks = [index for index in prompt.span(message) if prompt[index].markable]
    in_content = [index for index in blocks if prompt[index].part is not None]
    if in_content:
        return in_content[-1]
    return blocks[-1] if blocks and native_anthropic else None


def system_and_3_blocks(prompt: Prompt, native_anthropic: bool) -> list[int]:
    """The blocks that `apply_anthropic_cache_control` marks, without changing the messages."""
    chosen = system_and_3_messages(prompt.count, prompt.role)
    found = (markable_block(prompt, message, native_anthropic) for message in chosen)
    return [block for block in found if block is not None]


def plan_of(prompt: Prompt, blocks: Iterable[int], ttl: str) -> BreakpointPlan:
    """A plan that marks the given blocks."""
    ordered = sorted(set(blocks))
    return BreakpointPlan(
        tuple(Breakpoint(block, ttl) for block in ordered),
        tuple((prompt[block].message, prompt[block].part) for block in ordered),
        ttl,
    )


def breakpoints_in(
    prompt: Prompt,
    messages: Sequence[Message],
    native_anthropic: bool = False,
    tools: Sequence[dict[str, Any]] = (),
) -> list[Breakpoint]:
    """The markers of a request as blocks of its prompt, without those that its route drops."""
    found = [
        Breakpoint(index, marker_ttl(tool[MARKER])) for index, tool in enumerate(tools) if MARKER in tool
    ]
    for index, message in enumerate(messages):
        marked = _marked_parts(prompt, index, message)
        if native_anthropic:
            marked += _marked_outside_content(prompt, index, message)
        found += [Breakpoint(block, marker_ttl(marker)) for block, marker in marked if marker]
    return found


def _marked_parts(prompt: Prompt, index: int, message: Message) -> list[tuple[int, Any]]:
    """Each content part of a message as a block, with its marker if it has one."""
    parts = message.get("content")
    if not isinstance(parts, list):
        return []
    blocks = [(block, prompt[block].part) for block in prompt.span(index)]
    return [
        (block, parts[part].get(MARKER))
        for block, part in blocks
        if part is not None and isinstance(parts[part], dict)
    ]


def _marked_outside_content(prompt: Prompt, index: int, message: Message) -> list[tuple[int, Any]]:
    """The tool calls of a message with their markers, and the block that a marker on the message itself reaches."""
    span = prompt.span(index)
    calls = [block for block in span if prompt[block].kind == "tool_use"]
    marked = list(zip(calls, [call.get(MARKER) for call in tool_calls(message)], strict=True))
    return marked + [(block, message.get(MARKER)) for block in span if prompt[block].markable][-1:]


def marker_ttl(marker: Any) -> str:
    """The lifetime of a marker; an invalid one counts as the default."""
    ttl = marker.get("ttl", "5m") if isinstance(marker, dict) else "5m"
    return ttl if ttl in LIFETIMES else "5m"


def _mark(message: Message, marker: dict[str, str], native_anthropic: bool) -> None:
    if message.get("role") == "tool":
        if native_anthropic:
            _put(message, None, marker)
    elif (part := _last_markable(message)) is not None:
        _put(message, part, marker)
    else:
        _put(message, None, marker)


def _last_markable(message: Message) -> int | None:
    """The last content part, unless the provider rejects a marker there: then the nearest one before it."""
    parts = parts_of(message)
    return next((index for index in range(len(parts) - 1, -1, -1) if can_carry_marker(parts[index])), None)


def _put(message: Message, part: int | None, marker: dict[str, str]) -> None:
    if part is None:
        message[MARKER] = dict(marker)
        return
    content = message.get("content")
    if not isinstance(content, list):
        content = message["content"] = [{"type": "text", "text": content}]
    old = content[part] if isinstance(content[part], dict) else {"type": "text", "text": str(content[part])}
    content[part] = {**old, MARKER: dict(marker)}

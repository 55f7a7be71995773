"""Cache breakpoints on a client's request, on the wire as it came.

    the client placed its own     they stay; where a compaction took the last one, the last message gets one
    it placed none                ours, where the model's provider takes them

The planner reads the canonical form; its choice is put on the same block of the wire, and nothing else of the
request changes.
"""

from dataclasses import dataclass
from typing import Any

from plimsoll.caching import (
    MAX_BREAKPOINTS,
    BlockChain,
    BreakpointPlan,
    CacheMemory,
    cache_marker,
    mark,
    plan_breakpoints,
    plan_system_and_3,
    remember,
)
from plimsoll.gateway.dropin.inquiry import MARKER
from plimsoll.gateway.dropin.rendering import Rendered
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.messages import Message

_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class MarkedBody:
    """A body with its markers, and what to hand to the next request of the conversation."""

    body: dict[str, Any]
    memory: CacheMemory | None = None


def mark_openai(
    body: dict[str, Any], facts: ModelFacts, memory: CacheMemory | None, now: float
) -> MarkedBody:
    """A chat completion's body with markers on its content parts."""
    chain = BlockChain(body.get("tools") or ())
    marked = mark(body["messages"], facts.policy, chain, memory, now=now, minimum=facts.card.cache.minimum)
    return MarkedBody({**body, "messages": marked.messages}, marked.memory)


def mark_anthropic(
    body: dict[str, Any], rendered: Rendered, facts: ModelFacts, memory: CacheMemory | None, now: float
) -> MarkedBody:
    """A message request's body with markers where the planner wants them."""
    prompt = rendered.prompt
    policy, minimum = facts.policy, facts.card.cache.minimum
    if policy.strategy == "system_and_3":
        plan: BreakpointPlan = plan_system_and_3(prompt, policy.ttl, True)
    else:
        plan = plan_breakpoints(
            prompt, memory, now=now, minimum=minimum, ttl=policy.ttl, native_anthropic=True
        )
    marked = dict(body)
    messages = list(body["messages"])
    for place, part in plan.places:
        owner = rendered.owner(place)
        if owner < 0:
            marked["system"] = _on_last(_blocks(marked.get("system")), policy.ttl)
        else:
            messages[owner] = _on_message(messages[owner], rendered.messages[place], part, policy.ttl)
    marked["messages"] = messages
    return MarkedBody(marked, remember(memory, prompt, plan, now=now, minimum=minimum))


def keep_rolling(body: dict[str, Any], ttl: str) -> dict[str, Any]:
    """A client's own markers after a compaction: the end of the messages has one, if it had one before."""
    messages = body.get("messages") or []
    if MARKER in body or any(_is_marked(message) for message in messages):
        return body
    placed = [block for name in ("tools", "system") for block in _blocks(body.get(name)) if MARKER in block]
    if not messages or len(placed) >= MAX_BREAKPOINTS:
        return body
    last = messages[-1]
    return {
        **body,
        "messages": [*messages[:-1], {**last, "content": _on_last(_blocks(last["content"]), ttl)}],
    }


def _on_message(message: dict[str, Any], canonical: Message, part: int | None, ttl: str) -> dict[str, Any]:
    """The wire message with a marker on the block that the planner means."""
    blocks = _blocks(message.get("content"))
    if canonical.get("role") == "tool":
        wanted = canonical.get("tool_call_id")
        places = [n for n, block in enumerate(blocks) if block.get("tool_use_id") == wanted]
    elif part is None:
        places = [n for n, block in enumerate(blocks) if block.get("type") == "tool_use"]
    else:
        others = ("tool_use", "tool_result")
        places = [
            n for n, block in enumerate(blocks) if block.get("type") not in others and _can_carry(block)
        ]
    if not places:
        return message
    blocks[places[-1]] = {**blocks[places[-1]], MARKER: cache_marker(ttl)}
    return {**message, "content": blocks}


def _on_last(blocks: list[dict[str, Any]], ttl: str) -> list[dict[str, Any]]:
    place = next((n for n in range(len(blocks) - 1, -1, -1) if _can_carry(blocks[n])), None)
    if place is not None:
        blocks[place] = {**blocks[place], MARKER: cache_marker(ttl)}
    return blocks


def _blocks(content: Any) -> list[dict[str, Any]]:
    """A list of its own of the blocks of a content; a text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _can_carry(block: dict[str, Any]) -> bool:
    kind = block.get("type")
    return kind not in _UNMARKABLE and (kind != "text" or bool(str(block.get("text") or "").strip()))


def _is_marked(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return any(MARKER in block for block in _blocks(content))

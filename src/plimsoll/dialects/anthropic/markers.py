"""Cache markers on the blocks of a messages request.

The planner reads the canonical form. Its choice is applied to the same block of the wire message, and nothing else in
the request changes.
"""

from typing import Any

from plimsoll.caching import (
    BreakpointPlan,
    cache_marker,
    plan_breakpoints,
    plan_system_and_3,
    remember,
)
from plimsoll.dialects.cache_markers import MARKER, blocks, can_carry, marked_on_last
from plimsoll.dialects.interfaces import CacheMarking, MarkedBody, Rendered
from plimsoll.messages import Message


def mark_body(body: dict[str, Any], rendered: Rendered, marking: CacheMarking) -> MarkedBody:
    """The body with markers at the planner's positions."""
    prompt, policy, minimum = rendered.prompt, marking.policy, marking.minimum
    if policy.strategy == "system_and_3":
        plan: BreakpointPlan = plan_system_and_3(prompt, policy.ttl, True)
    else:
        plan = plan_breakpoints(
            prompt, marking.memory, now=marking.now, minimum=minimum, ttl=policy.ttl, native_anthropic=True
        )
    marked = dict(body)
    messages = list(body["messages"])
    for place, part in plan.places:
        owner = rendered.owner(place)
        if owner < 0:
            marked["system"] = marked_on_last(blocks(marked.get("system")), policy.ttl)
        else:
            messages[owner] = _on_message(messages[owner], rendered.messages[place], part, policy.ttl)
    marked["messages"] = messages
    return MarkedBody(marked, remember(marking.memory, prompt, plan, now=marking.now, minimum=minimum))


def _on_message(message: dict[str, Any], canonical: Message, part: int | None, ttl: str) -> dict[str, Any]:
    """The wire message with a marker on the planner's block."""
    content = blocks(message.get("content"))
    if canonical.get("role") == "tool":
        wanted = canonical.get("tool_call_id")
        places = [n for n, block in enumerate(content) if block.get("tool_use_id") == wanted]
    elif part is None:
        places = [n for n, block in enumerate(content) if block.get("type") == "tool_use"]
    else:
        others = ("tool_use", "tool_result")
        places = [
            n for n, block in enumerate(content) if block.get("type") not in others and can_carry(block)
        ]
    if not places:
        return message
    content[places[-1]] = {**content[places[-1]], MARKER: cache_marker(ttl)}
    return {**message, "content": content}

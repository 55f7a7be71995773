"""agent-framework-core: `apply_compaction` with `SummarizationStrategy`, or without a model its window strategy.

    a model     `SummarizationStrategy`: oldest message groups, as many as 8 000 tokens hold, become one summary
    none        `ContextWindowCompactionStrategy`: old tool results are collapsed, then the oldest groups go

Defaults keep 4 messages and summarise 8 000 tokens' worth a call; the framework compacts before every model call, so
here it is applied again until nothing changes. A tail in tokens becomes `target_count` with no limit on what the
summary model is shown, and without a model the window. No second strategy cuts the result further, so that what a
failed summary does stays visible.
"""

import asyncio
import json
from typing import Any

from agent_framework import (
    ChatResponse,
    Content,
    ContextWindowCompactionStrategy,
    SummarizationStrategy,
    apply_compaction,
)
from agent_framework import Message as AgentMessage
from script import TOOL_ARGUMENTS, TOOL_NAME, Script
from sizing import newest_that_fit, text_of, tokens

Message = dict[str, Any]
OUTPUT_TOKENS = 8_192
MAX_PASSES = 100


class SummaryClient:
    """The chat client that the strategy asks."""

    def __init__(self, script: Script) -> None:
        self.script, self.additional_properties = script, {}

    async def get_response(self, messages: list[Any], **_: Any) -> ChatResponse:
        """One answer."""
        reply = self.script.reply("\n".join(message.text for message in messages))
        content = Content.from_text(reply.text)
        if reply.is_tool_call:
            content = Content.from_function_call("call_s", TOOL_NAME, arguments=TOOL_ARGUMENTS)
        answer = AgentMessage(role="assistant", contents=[content])
        return ChatResponse(messages=[answer], finish_reason=reply.finish_reason)


def compact(messages: list[Message], window: int, tail: int | None, script: Script) -> list[Message]:
    """Compacted as before each of the next model calls, until nothing changes."""
    sizes = [tokens([m]) for m in messages if m["role"] != "system"]
    strategy: Any
    if script.has_model:
        knobs: dict[str, Any] = {}
        if tail is not None:
            knobs = {"target_count": newest_that_fit(sizes, tail), "max_summary_input_tokens": None}
        strategy = SummarizationStrategy(client=SummaryClient(script), **knobs)
    elif tail is None:
        strategy = ContextWindowCompactionStrategy(
            max_context_window_tokens=window, max_output_tokens=min(OUTPUT_TOKENS, window // 4)
        )
    else:
        strategy = ContextWindowCompactionStrategy(
            max_context_window_tokens=tail,
            max_output_tokens=0,
            tool_eviction_threshold=1.0,
            truncation_threshold=1.0,
        )
    return from_agent_framework(asyncio.run(_settled(to_agent_framework(messages), strategy)))


async def _settled(history: list[Any], strategy: Any) -> list[Any]:
    result = await apply_compaction(history, strategy=strategy)
    for _ in range(MAX_PASSES):
        before = len(result)
        result = await apply_compaction(history, strategy=strategy)
        if len(result) == before:
            break
    return result


def round_trip(messages: list[Message]) -> list[Message]:
    """To the framework's types and back."""
    return from_agent_framework(to_agent_framework(messages))


def to_agent_framework(messages: list[Message]) -> list[Any]:
    """The same messages, one for one."""
    made = []
    for message in messages:
        text = text_of(message.get("content"))
        if message["role"] == "tool":
            contents = [Content.from_function_result(message["tool_call_id"], result=text)]
        else:
            contents = [Content.from_text(text)] if text or not message.get("tool_calls") else []
        for call in message.get("tool_calls") or ():
            function = call["function"]
            contents.append(
                Content.from_function_call(call["id"], function["name"], arguments=function["arguments"])
            )
        made.append(
            AgentMessage(role=message["role"], contents=contents, author_name=message.get("name"))
            if message["role"] == "user"
            else AgentMessage(role=message["role"], contents=contents)
        )
    return made


def from_agent_framework(history: list[Any]) -> list[Message]:
    """The same messages as OpenAI chat dicts."""
    made: list[Message] = []
    for message in history:
        role = str(getattr(message.role, "value", message.role))
        texts = [content.text or "" for content in message.contents if content.type == "text"]
        calls = [content for content in message.contents if content.type == "function_call"]
        for content in message.contents:
            if content.type == "function_result":
                text = content.result if isinstance(content.result, str) else json.dumps(content.result)
                made.append({"role": "tool", "tool_call_id": content.call_id, "content": text})
        if not texts and not calls:
            continue
        one: Message = {"role": role, "content": "\n".join(texts)}
        if role == "user" and message.author_name:
            one["name"] = message.author_name
        if calls:
            one["tool_calls"] = [_call(content) for content in calls]
        made.append(one)
    return made


def _call(content: Any) -> Message:
    arguments = (
        content.arguments if isinstance(content.arguments, str) else json.dumps(content.arguments or {})
    )
    return {
        "id": content.call_id,
        "type": "function",
        "function": {"name": content.name, "arguments": arguments},
    }

"""pydantic-ai-harness: `compact_now` on a `FallbackCompaction`: summarise, or where that fails, keep the newest.

The chain of `SummarizingCompaction` and `SlidingWindowCompaction` is the one that its documentation gives for
summaries that can fail. Defaults: the last 20 messages and the first
request stay, tool results are shown to the summary model with 500 characters. A tail in tokens becomes `keep_tokens`.
"""

import asyncio
import json
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError, ModelTimeoutError
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import _conversation_summary_text
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.compaction import (
    FallbackCompaction,
    SlidingWindowCompaction,
    SummarizingCompaction,
    compact_now,
)
from script import TOOL_ARGUMENTS, TOOL_NAME, ModelDown, Script
from sizing import text_of

Message = dict[str, Any]


def compact(messages: list[Message], window: int, tail: int | None, script: Script) -> list[Message]:
    """The chain on the whole history, as a `/compact` command would run it."""
    knobs: dict[str, Any] = {"max_messages": 1}
    sliding = {**knobs, "keep_messages": 20}
    if tail is not None:
        knobs["keep_tokens"] = tail
        sliding = knobs
    chain = [SummarizingCompaction(**knobs), SlidingWindowCompaction(**sliding)]
    strategy = FallbackCompaction(max_fraction=0.85, context_window=window, fallback_chain=chain)
    model = FunctionModel(lambda history, _: _respond(script, history))
    return from_pydantic(asyncio.run(compact_now(strategy, to_pydantic(messages), model=model)))


def round_trip(messages: list[Message]) -> list[Message]:
    """To pydantic-ai's types and back."""
    return from_pydantic(to_pydantic(messages))


def _respond(script: Script, history: list[ModelMessage], _: AgentInfo | None = None) -> ModelResponse:
    asked = "\n".join(str(getattr(part, "content", "")) for message in history for part in message.parts)
    try:
        reply = script.reply(asked)
    except ModelDown as error:
        raise ModelHTTPError(error.status_code, "scripted", str(error)) from error
    except TimeoutError as error:
        raise ModelTimeoutError("scripted", str(error)) from error
    if reply.is_tool_call:
        return ModelResponse(parts=[ToolCallPart(TOOL_NAME, TOOL_ARGUMENTS)], finish_reason="tool_call")
    return ModelResponse(
        parts=[TextPart(reply.text)], finish_reason="length" if reply.finish_reason == "length" else "stop"
    )


def to_pydantic(messages: list[Message]) -> list[ModelMessage]:
    """The same messages; results of one assistant message share a request, as pydantic-ai's own runs have it."""
    made: list[ModelMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        text = text_of(message.get("content"))
        if message["role"] == "assistant":
            parts: list[Any] = [TextPart(text)] if text or not message.get("tool_calls") else []
            for call in message.get("tool_calls") or ():
                function = call["function"]
                names[call["id"]] = function["name"]
                parts.append(ToolCallPart(function["name"], function["arguments"], tool_call_id=call["id"]))
            made.append(ModelResponse(parts=parts))
            continue
        part: Any
        if message["role"] == "system":
            part = SystemPromptPart(text)
        elif message["role"] == "user":
            part = UserPromptPart(text)
        else:
            identity = message["tool_call_id"]
            part = ToolReturnPart(message.get("name") or names.get(identity, ""), text, tool_call_id=identity)
        last = made[-1] if made else None
        belongs = isinstance(last, ModelRequest) and (
            (message["role"] == "tool" and isinstance(last.parts[-1], ToolReturnPart))
            or (message["role"] == "user" and isinstance(last.parts[-1], SystemPromptPart))
        )
        if belongs and isinstance(last, ModelRequest):
            last.parts = [*last.parts, part]
        else:
            made.append(ModelRequest(parts=[part]))
    return made


def from_pydantic(history: list[ModelMessage]) -> list[Message]:
    """The same messages as OpenAI chat dicts; a summary as the text that a provider would be sent."""
    made: list[Message] = []
    for message in history:
        if isinstance(message, ModelResponse):
            made.append(_assistant(message))
            continue
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                made.append({"role": "system", "content": part.content})
            elif isinstance(part, ToolReturnPart):
                tool = {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name}
                made.append({**tool, "content": part.model_response_str()})
            elif isinstance(part, CompactionPart):
                made.append({"role": "user", "content": _conversation_summary_text(part.content)})
            else:
                content = part.content if isinstance(part.content, str) else _joined(part.content)
                made.append({"role": "user", "content": content})
    return made


def _assistant(response: ModelResponse) -> Message:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    made: Message = {"role": "assistant", "content": text}
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        made["tool_calls"] = [
            {
                "id": part.tool_call_id,
                "type": "function",
                "function": {
                    "name": part.tool_name,
                    "arguments": part.args if isinstance(part.args, str) else json.dumps(part.args or {}),
                },
            }
            for part in calls
        ]
    return made


def _joined(content: Any) -> str:
    return "\n".join(item if isinstance(item, str) else getattr(item, "content", "") for item in content)

"""strands-agents: `SummarizingConversationManager.reduce_context()`, as the agent loop calls it on an overflow.

Where no model is there at all: `SlidingWindowConversationManager`, its way without one. Defaults: the oldest 30 % of
the messages are summarised, at least 10 stay, again while the window is exceeded. A tail in tokens becomes
`preserve_recent_messages` with `summary_ratio=0.8`, repeated until only the tail stands.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from script import TOOL_ARGUMENTS, TOOL_NAME, Script
from sizing import newest_that_fit, text_of, tokens
from strands import Agent
from strands.agent.conversation_manager import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

Message = dict[str, Any]
MAX_PASSES = 8


class SummaryModel(Model):
    """Streams what the script says."""

    def __init__(self, script: Script, window: int) -> None:
        self.script, self.config = script, {"context_window_limit": window}

    def update_config(self, **model_config: Any) -> None:
        """Nothing is configurable."""

    def get_config(self) -> dict[str, Any]:
        """The window."""
        return self.config

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """Not asked for by either manager."""
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """One answer as the events of a stream."""
        reply = self.script.reply(json.dumps(messages, ensure_ascii=False))
        yield {"messageStart": {"role": "assistant"}}
        if reply.is_tool_call:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": TOOL_NAME, "toolUseId": "call_s"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(TOOL_ARGUMENTS)}}}}
            yield {"contentBlockStop": {}}
        elif reply.text:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": reply.text}}}
            yield {"contentBlockStop": {}}
        reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
        yield {"messageStop": {"stopReason": reasons[reply.finish_reason]}}


def compact(messages: list[Message], window: int, tail: int | None, script: Script) -> list[Message]:
    """Overflow after overflow, until the history fits."""
    system = [m for m in messages if m["role"] == "system"]
    history = to_strands([m for m in messages if m["role"] != "system"])
    keep = None
    if tail is not None:
        keep = newest_that_fit([tokens(from_strands([one])) for one in history], tail)
    manager = _manager(keep, script)
    model = SummaryModel(script, window)
    agent = Agent(
        model=model,
        messages=history,
        system_prompt=text_of(system[0]["content"]) if system else None,
        conversation_manager=manager,
        callback_handler=None,
    )
    for _ in range(MAX_PASSES):
        before = len(agent.messages)
        manager.reduce_context(agent, ContextWindowOverflowException("prompt is too long"))
        fits = tokens(system + from_strands(agent.messages)) <= window
        if len(agent.messages) >= before or (len(agent.messages) <= keep + 2 if keep else fits):
            break
    return system + from_strands(agent.messages)


def _manager(keep: int | None, script: Script) -> Any:
    if not script.has_model:
        # Shortening the oldest result once per overflow is its first aid; here the window itself is measured.
        return SlidingWindowConversationManager(
            **({} if keep is None else {"window_size": keep}), should_truncate_results=False
        )
    if keep is None:
        return SummarizingConversationManager()
    return SummarizingConversationManager(summary_ratio=0.8, preserve_recent_messages=keep)


def round_trip(messages: list[Message]) -> list[Message]:
    """To strands' types and back."""
    system = [m for m in messages if m["role"] == "system"]
    return system + from_strands(to_strands([m for m in messages if m["role"] != "system"]))


def to_strands(messages: list[Message]) -> list[Any]:
    """The same messages; results of one assistant message share a user message, as strands has it."""
    made: list[Any] = []
    for message in messages:
        text = text_of(message.get("content"))
        if message["role"] == "tool":
            result = {"toolUseId": message["tool_call_id"], "status": "success", "content": [{"text": text}]}
            if made and made[-1]["role"] == "user" and "toolResult" in made[-1]["content"][-1]:
                made[-1]["content"].append({"toolResult": result})
            else:
                made.append({"role": "user", "content": [{"toolResult": result}]})
            continue
        blocks: list[Any] = [{"text": text}] if text or not message.get("tool_calls") else []
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = json.loads(function["arguments"] or "{}")
            blocks.append(
                {"toolUse": {"toolUseId": call["id"], "name": function["name"], "input": arguments}}
            )
        made.append({"role": message["role"], "content": blocks})
    return made


def from_strands(history: list[Any]) -> list[Message]:
    """The same messages as OpenAI chat dicts."""
    made: list[Message] = []
    for message in history:
        calls: list[Message] = []
        texts: list[str] = []
        for block in message["content"]:
            if "toolResult" in block:
                result = block["toolResult"]
                text = "\n".join(
                    item["text"] if "text" in item else json.dumps(item) for item in result["content"]
                )
                made.append({"role": "tool", "tool_call_id": result["toolUseId"], "content": text})
            elif "toolUse" in block:
                use = block["toolUse"]
                arguments = json.dumps(use["input"], ensure_ascii=False)
                calls.append(
                    {
                        "id": use["toolUseId"],
                        "type": "function",
                        "function": {"name": use["name"], "arguments": arguments},
                    }
                )
            else:
                texts.append(block.get("text", ""))
        if texts or calls:
            one: Message = {"role": message["role"], "content": "\n".join(texts)}
            made.append({**one, "tool_calls": calls} if calls else one)
    return made

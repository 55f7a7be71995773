"""OpenAI chat dicts ⇄ LangChain messages, the two models that an agent needs here, and one turn of that agent.

    messages ──► agent (middleware under test) ──► Recorder: what the main model was about to read ──► messages

Shared by langchain and deepagents, whose middleware both sit in the same agent loop.
"""

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from script import TOOL_ARGUMENTS, TOOL_NAME, Script
from sizing import text_of

Message = dict[str, Any]


class Recorder(BaseChatModel):
    """The main model: keeps what it is asked and answers at once."""

    profile: Any = None
    seen: list[Any] = []  # noqa: RUF012 - a pydantic field; every instance gets its own

    @property
    def _llm_type(self) -> str:
        return "recorder"

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


class SummaryModel(BaseChatModel):
    """The summary model: says what the script says."""

    profile: Any = None
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        script: Script = self.script
        reply = script.reply("\n".join(text_of(message.content) for message in messages))
        calls = [{"name": TOOL_NAME, "args": TOOL_ARGUMENTS, "id": "call_s"}] if reply.is_tool_call else []
        message = AIMessage(
            reply.text, tool_calls=calls, response_metadata={"finish_reason": reply.finish_reason}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def run_turn(messages: list[Message], main: Recorder, middleware: Any) -> list[Message]:
    """What the main model is sent when the agent takes its next step on these messages."""
    system = text_of(messages[0]["content"]) if messages[0]["role"] == "system" else None
    rest = messages[1:] if system is not None else messages
    agent = create_agent(model=main, tools=[], middleware=[middleware], system_prompt=system)
    agent.invoke({"messages": to_langchain(rest)})
    return from_langchain(main.seen[-1])


def to_langchain(messages: list[Message]) -> list[AnyMessage]:
    """The same messages in LangChain's types."""
    return [_to_one(message) for message in messages]


def _to_one(message: Message) -> AnyMessage:
    text = text_of(message.get("content"))
    if message["role"] == "system":
        return SystemMessage(text)
    if message["role"] == "user":
        return HumanMessage(text, name=message.get("name"))
    if message["role"] == "tool":
        return ToolMessage(text, tool_call_id=message["tool_call_id"], name=message.get("name"))
    calls = [
        {"name": c["function"]["name"], "args": json.loads(c["function"]["arguments"] or "{}"), "id": c["id"]}
        for c in message.get("tool_calls") or ()
    ]
    return AIMessage(text, tool_calls=calls)


def from_langchain(messages: list[AnyMessage]) -> list[Message]:
    """The same messages as OpenAI chat dicts."""
    roles = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
    result = []
    for message in messages:
        made: Message = {"role": roles[message.type], "content": text_of(message.content)}
        if message.name and message.type in ("human", "tool"):
            made["name"] = message.name
        if isinstance(message, ToolMessage):
            made["tool_call_id"] = message.tool_call_id
        if isinstance(message, AIMessage) and message.tool_calls:
            made["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {
                        "name": call["name"],
                        "arguments": json.dumps(call["args"], ensure_ascii=False),
                    },
                }
                for call in message.tool_calls
            ]
        result.append(made)
    return result

"""What a codec sends of signed thinking and of images, in the host's own messages.

task     {"host": …}, on standard input
result   {"bound": […], "later": […], "free": […]}, the last line of its output: the signatures in the view after a
         compaction, one turn later, and for a model that accepts older thinking; and `images`, see `_images`
"""

import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}

from plimsoll.integrations import HistoryCompactor, WrittenMessage

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. " * 5
TURNS = 30
PIXELS = [b"first-image", b"second-image", b"third-image"]


def _agent_framework() -> tuple[Any, Callable[[str], Any], Callable[[int], list[Any]]]:
    from agent_framework import Content, Message

    from plimsoll.integrations.agent_framework_messages import AgentFrameworkCodec

    def turn(n: int) -> list[Any]:
        thinking = Content.from_text_reasoning(text=f"thought {n}", protected_data=f"signed{n}.")
        call = Content.from_function_call(f"c{n}", "look", arguments="{}")
        result = Content.from_function_result(f"c{n}", result=FILLER)
        return [Message("assistant", [thinking, "Look.", call]), Message("tool", [result])]

    return AgentFrameworkCodec(), lambda text: Message("user", [text]), turn


def _inspect_ai() -> tuple[Any, Callable[[str], Any], Callable[[int], list[Any]]]:
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        ContentReasoning,
        ContentText,
    )
    from inspect_ai.tool import ToolCall

    from plimsoll.integrations.inspect_ai_messages import InspectCodec

    def turn(n: int) -> list[Any]:
        thinking = ContentReasoning(reasoning=f"thought {n}", signature=f"signed{n}.")
        call = ToolCall(id=f"c{n}", function="look", arguments={})
        said = ChatMessageAssistant(content=[thinking, ContentText(text="Look.")], tool_calls=[call])
        return [said, ChatMessageTool(content=FILLER, tool_call_id=f"c{n}", function="look")]

    return InspectCodec(), lambda text: ChatMessageUser(content=text), turn


def _openhands() -> tuple[Any, Callable[[str], Any], Callable[[int], list[Any]]]:
    from openhands.sdk.event import ActionEvent, MessageEvent
    from openhands.sdk.llm import Message, MessageToolCall, TextContent, ThinkingBlock

    from plimsoll.integrations.openhands import OpenHandsCodec

    def said(role: str, text: str, **more: Any) -> Any:
        message = Message(role=role, content=[TextContent(text=text)], **more)
        return MessageEvent(source="environment", llm_message=message)

    def turn(n: int) -> list[Any]:
        action = ActionEvent(
            thought=[TextContent(text="Look.")],
            thinking_blocks=[ThinkingBlock(thinking=f"thought {n}", signature=f"signed{n}.")],
            tool_name="look",
            tool_call_id=f"c{n}",
            tool_call=MessageToolCall(id=f"c{n}", name="look", arguments="{}", origin="completion"),
            llm_response_id=f"r{n}",
        )
        return [action, said("tool", FILLER, tool_call_id=f"c{n}", name="look")]

    return OpenHandsCodec(), lambda text: said("user", text), turn


def _pydantic_ai() -> tuple[Any, Callable[[str], Any], Callable[[int], list[Any]]]:
    from pydantic_ai import messages as host

    from plimsoll.integrations.pydantic_ai_messages import PydanticAiCodec

    def turn(n: int) -> list[Any]:
        thinking = host.ThinkingPart(f"thought {n}", signature=f"signed{n}.", provider_name="anthropic")
        call = host.ToolCallPart("look", "{}", f"c{n}")
        result = host.ToolReturnPart("look", FILLER, f"c{n}")
        return [host.ModelResponse([thinking, host.TextPart("Look."), call]), host.ModelRequest([result])]

    return PydanticAiCodec(), lambda text: host.ModelRequest([host.UserPromptPart(text)]), turn


def _llama_index() -> tuple[Any, Callable[[str], Any], Callable[[int], list[Any]]]:
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock

    from plimsoll.integrations.llama_index_messages import LlamaIndexCodec

    def turn(n: int) -> list[Any]:
        signature = {"signature": f"signed{n}."}
        thinking = ThinkingBlock(content=f"thought {n}", additional_information=signature)
        call = ToolCallBlock(tool_call_id=f"c{n}", tool_name="look", tool_kwargs={})
        said = ChatMessage(role="assistant", blocks=[thinking, TextBlock(text="Look."), call])
        named = {"tool_call_id": f"c{n}"}
        return [said, ChatMessage(role="tool", content=FILLER, additional_kwargs=named)]

    return LlamaIndexCodec(), lambda text: ChatMessage(role="user", content=text), turn


def _langchain() -> tuple[Any, Callable[[str], Any], Callable[[int], list[Any]]]:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    from plimsoll.integrations.langchain_messages import LangChainCodec

    def turn(n: int) -> list[Any]:
        thinking = {"type": "thinking", "thinking": f"thought {n}", "signature": f"signed{n}."}
        text = {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}
        call = {"name": "look", "args": {}, "id": f"c{n}"}
        said = AIMessage([thinking, text], id=f"said{n}", tool_calls=[call])
        return [said, ToolMessage(FILLER, tool_call_id=f"c{n}", name="look", status="error")]

    return LangChainCodec(), HumanMessage, turn


def _kept_fields(messages: list[Any]) -> bool:
    """Whether every reply has its id and its cache marker."""
    replies = [one for one in messages if one.type == "ai"]
    return all(one.id and "ephemeral" in str(one.content) for one in replies)


def _with_images(host: str) -> Any:
    """A message with three images; None where the test has none for this host."""
    if host == "pydantic-ai":
        from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

        images = [BinaryContent(one, media_type="image/png") for one in PIXELS]
        return ModelRequest([UserPromptPart(["See these.", *images])])
    if host == "llama-index":
        from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock

        blocks = [ImageBlock(image=one, image_mimetype="image/png") for one in PIXELS]
        return ChatMessage(role="user", blocks=[TextBlock(text="See these."), *blocks])
    if host == "agent-framework":
        from agent_framework import Content, Message

        contents = [Content.from_data(one, "image/png") for one in PIXELS]
        return Message("user", ["See these.", *contents])
    return None


def _images(host: str, codec: Any) -> list[Any]:
    """The parts of a message with three images after a compaction removed the second one, as it is read again."""
    message = _with_images(host)
    if message is None:
        return []
    said = codec.decode([message])[0].messages[0]
    parts = list(said["content"])
    parts[2] = {"type": "text", "text": "[image removed]"}
    changed = codec.encode([WrittenMessage({**said, "content": parts}, (message,), 0)])
    content: list[Any] = codec.decode(changed)[0].messages[0]["content"]
    return [one["type"] if one["type"] != "text" else one["text"] for one in content]


def _signatures(messages: list[Any]) -> list[str]:
    return re.findall(r"signed\d+(?=\.)", "".join(map(_all_of, messages)))


def _all_of(message: Any) -> str:
    """Everything in a message; some hosts print only a part."""
    dump = getattr(message, "model_dump", None) or getattr(message, "to_dict", None)
    return str(dump()) if dump else repr(message)


def _checked(host: str) -> dict[str, Any]:
    codec, asked, turn = _HOSTS[host]()
    history = [asked("Look at all of them."), *(one for n in range(TURNS) for one in turn(n))]
    result: dict[str, Any] = {"images": _images(host, codec)}
    for name, model in (("bound", "claude-opus-5.5"), ("free", "claude-opus-4.5")):
        with HistoryCompactor(window=6_000, protect_last_n=6) as compactor:
            view = compactor.view(codec, history, model=model, force=True)
            later = compactor.view(codec, [*history, *turn(TURNS)], model=model)
        assert view.compacted
        assert not later.compacted
        assert len(view.messages) < len(history)
        if host == "langchain":
            assert _kept_fields(view.messages)
        result |= {name: _signatures(view.messages), f"{name}_later": _signatures(later.messages)}
    return result


_HOSTS = {
    "agent-framework": _agent_framework,
    "inspect-ai": _inspect_ai,
    "openhands": _openhands,
    "pydantic-ai": _pydantic_ai,
    "llama-index": _llama_index,
    "langchain": _langchain,
}

if __name__ == "__main__":
    found = _checked(json.load(sys.stdin)["host"])
    print()
    print(json.dumps(found), flush=True)

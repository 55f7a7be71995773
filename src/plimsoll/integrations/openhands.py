"""OpenHands: a condenser. The event log keeps every event.

    agent = Agent(llm=llm, tools=tools, condenser=PlimsollCondenser(window=64_000))

    step n      condense ──► Condensation    an event in the log with the summary; it forgets nothing
    step n+1    condense ──► View            what the model sees, the same until the next compaction

A `Condensation` alone cannot express a shortened tool result or a summary with the assistant role, so each step's
view is built from the whole log.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, PrivateAttr

from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, Part, arguments_text, call_name, parts_of, text_of, tool_calls

with host_package("openhands", "openhands"):
    from openhands.sdk.context.condenser.base import CondenserBase, NoCondensationAvailableException
    from openhands.sdk.context.view import View
    from openhands.sdk.event import (
        ActionEvent,
        Condensation,
        LLMConvertibleEvent,
        MessageEvent,
        SystemPromptEvent,
    )
    from openhands.sdk.llm import ImageContent, MessageToolCall, TextContent
    from openhands.sdk.llm import Message as HostMessage

_OPTIONS = ("window", "threshold", "target_tokens", "protect_last_n", "model", "archive", "summarizer")
_OFF = ("cache_enabled", "force_string_serializer", "send_reasoning_content")
_PLAIN = {"vision_enabled": True, "function_calling_enabled": True, **dict.fromkeys(_OFF, False)}


class OpenHandsCodec:
    """Events. The actions of one reply are one assistant message."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """Each batch of actions, and each other event, is a group."""
        groups: list[list[Any]] = []
        for event in messages:
            reply = event.llm_response_id if isinstance(event, ActionEvent) else None
            if reply and groups and getattr(groups[-1][0], "llm_response_id", None) == reply:
                groups[-1].append(event)
            else:
                groups.append([event])
        return [HostGroup(len(group), _canonical(group)) for group in groups]

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """Events that are sent but never stored."""
        return [
            MessageEvent(source="environment", llm_message=_host_message(message.message))
            for message in written
        ]


_CODEC = OpenHandsCodec()


class PlimsollCondenser(CondenserBase):
    """Compacts conversations before model calls. The fields are those of `AdapterOptions`."""

    window: int | None = None
    threshold: float = 0.5
    target_tokens: int | None = None
    protect_last_n: int = 20
    model: str = ""
    archive: str | None = None
    summarizer: Any = Field(default=None, exclude=True)  # not stored with the agent

    _history: HistoryCompactor | None = PrivateAttr(default=None)

    @property
    def history(self) -> HistoryCompactor:
        """The compactor, created on first use."""
        if self._history is None:
            self._history = HistoryCompactor(**{name: getattr(self, name) for name in _OPTIONS})
        return self._history

    def handles_condensation_requests(self) -> bool:
        """True: an overflow leads to a compaction."""
        return True

    def condense(self, view: Any, agent_llm: Any = None) -> Any:
        """The view for this step, or the event of a compaction."""
        return self._result(view, self.history.view(_CODEC, view.events, **_asked(view, agent_llm)))

    async def acondense(self, view: Any, agent_llm: Any = None) -> Any:
        """The same for asynchronous agents."""
        seen = await self.history.view_async(_CODEC, view.events, **_asked(view, agent_llm))
        return self._result(view, seen)

    def _result(self, view: Any, seen: HostView[Any]) -> Any:
        if seen.compacted:
            summary = seen.report.whole_summary if seen.report else None
            return Condensation(summary=summary, llm_response_id="plimsoll")
        if view.unhandled_condensation_request:
            raise NoCondensationAvailableException("The request is too long, and nothing is left to compact.")
        return View(events=seen.messages)


def _asked(view: Any, llm: Any) -> dict[str, Any]:
    """Other known facts about the request."""
    prompts = [event for event in view.events[:1] if isinstance(event, SystemPromptEvent)]
    tools = [tool.to_openai_tool() for prompt in prompts for tool in prompt.tools]
    known = {"tools": tools, "force": view.unhandled_condensation_request}
    if llm is None:
        return known
    return {**known, "model": llm.model.rpartition("/")[2], "reported": _reported(view.events, llm)}


def _reported(events: Sequence[Any], llm: Any) -> int | None:
    """The count for this conversation's newest reply: conversations may share a model and its metrics."""
    replies = (getattr(event, "llm_response_id", None) for event in reversed(events))
    newest = next((reply for reply in replies if reply), None)
    usages = reversed(llm.metrics.token_usages)
    return next((usage.prompt_tokens for usage in usages if usage.response_id == newest), None)


def _canonical(group: list[Any]) -> list[Message]:
    return [message.to_chat_dict(**_PLAIN) for message in LLMConvertibleEvent.events_to_messages(group)]


def _host_message(message: Message) -> Any:
    calls = [
        MessageToolCall(
            id=call["id"], name=call_name(call), arguments=arguments_text(call), origin="completion"
        )
        for call in tool_calls(message)
    ]
    names = {key: message[key] for key in ("tool_call_id", "name") if message.get(key)}
    content = [_content(part) for part in parts_of(message)]
    thinking = message.get("thinking_blocks") or []
    return HostMessage(
        role=message["role"], content=content, tool_calls=calls or None, thinking_blocks=thinking, **names
    )


def _content(part: Part) -> Any:
    if part.get("type") == "image_url":
        return ImageContent(image_urls=[part["image_url"]["url"]])
    return TextContent(text=text_of({"content": [part]}))

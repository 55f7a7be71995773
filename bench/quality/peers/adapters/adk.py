"""google-adk: event compaction by token threshold, the check that its request processor makes before a model call.

    messages ──► session events ──► compaction event (summary of a range) ──► contents for the next request

ADK has no defaults: a threshold and a number of raw events to keep must be given. The threshold is met at once,
because the benchmark decides when; 20 events are kept. (Its other trigger, a sliding window of invocations, leaves no
raw event directly after a compaction, so this one is the kinder.) A tail in tokens becomes `event_retention_size`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.compaction import _run_compaction_for_token_threshold_config
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events.event import Event
from google.adk.flows.llm_flows.context._contents import _get_contents
from google.adk.models import BaseLlm, LlmResponse
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, FinishReason, FunctionCall, FunctionResponse, Part
from script import TOOL_ARGUMENTS, TOOL_NAME, Script
from sizing import newest_that_fit, text_of, tokens

Message = dict[str, Any]
NAME = "assistant_agent"
EVENTS_KEPT = 20


class SummaryModel(BaseLlm):
    """Says what the script says."""

    model: str = "scripted"
    script: Any = None

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        """One answer."""
        script: Script = self.script
        reply = script.reply(
            "".join(part.text or "" for content in llm_request.contents for part in content.parts)
        )
        part = Part(text=reply.text)
        if reply.is_tool_call:
            part = Part(function_call=FunctionCall(name=TOOL_NAME, args=TOOL_ARGUMENTS, id="call_s"))
        reason = FinishReason.MAX_TOKENS if reply.finish_reason == "length" else FinishReason.STOP
        yield LlmResponse(content=Content(role="model", parts=[part]), finish_reason=reason)


def compact(messages: list[Message], _window: int, tail: int | None, script: Script) -> list[Message]:
    """The session's events, the check before the next model call, and what that call would be sent."""
    system = [m for m in messages if m["role"] == "system"]
    events = to_events([m for m in messages if m["role"] != "system"])
    kept = EVENTS_KEPT
    if tail is not None:
        kept = newest_that_fit([tokens(from_contents([event.content])) for event in events], tail)
    contents = asyncio.run(_compacted(events, kept, script))
    return system + from_contents(contents)


async def _compacted(events: list[Event], kept: int, script: Script) -> list[Content]:
    service = InMemorySessionService()
    session = await service.create_session(app_name="bench", user_id="user", session_id="session")
    for event in events:
        await service.append_event(session, event)
    model = SummaryModel(script=script)
    await _run_compaction_for_token_threshold_config(
        config=EventsCompactionConfig(
            summarizer=LlmEventSummarizer(llm=model), token_threshold=1, event_retention_size=kept
        ),
        session=session,
        session_service=service,
        agent=LlmAgent(name=NAME, model=model),
        agent_name=NAME,
        current_branch=None,
    )
    return _contents(session.events)


def _contents(events: list[Event]) -> list[Content]:
    return _get_contents(None, events, NAME, preserve_function_call_ids=True)


def round_trip(messages: list[Message]) -> list[Message]:
    """To events, through ADK's own assembly of a request, and back."""
    system = [m for m in messages if m["role"] == "system"]
    return system + from_contents(_contents(to_events([m for m in messages if m["role"] != "system"])))


def to_events(messages: list[Message]) -> list[Event]:
    """One event per message, results of one assistant message together; a user's message opens an invocation."""
    events: list[Event] = []
    names: dict[str, str] = {}
    invocation = 0
    for message in messages:
        text = text_of(message.get("content"))
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            name = message.get("name") or names.get(identity, "tool")
            part = Part(function_response=FunctionResponse(id=identity, name=name, response={"result": text}))
            if events and events[-1].get_function_responses():
                events[-1].content.parts.append(part)
                continue
            author, role, parts = NAME, "user", [part]
        elif message["role"] == "user":
            invocation += 1
            author, role, parts = "user", "user", [Part(text=text)]
        else:
            author, role = NAME, "model"
            parts = [Part(text=text)] if text or not message.get("tool_calls") else []
            for call in message.get("tool_calls") or ():
                function = call["function"]
                names[call["id"]] = function["name"]
                arguments = json.loads(function["arguments"] or "{}")
                parts.append(
                    Part(function_call=FunctionCall(id=call["id"], name=function["name"], args=arguments))
                )
        events.append(
            Event(
                author=author,
                invocation_id=f"invocation_{invocation}",
                timestamp=float(len(events) + 1),
                content=Content(role=role, parts=parts),
            )
        )
    return events


def from_contents(contents: list[Content]) -> list[Message]:
    """The contents of a request as OpenAI chat dicts."""
    made: list[Message] = []
    for content in contents:
        texts: list[str] = []
        calls: list[Message] = []
        for part in content.parts or ():
            if part.function_response:
                response = part.function_response.response or {}
                text = response["result"] if set(response) == {"result"} else json.dumps(response)
                identity = {"role": "tool", "tool_call_id": part.function_response.id}
                made.append({**identity, "name": part.function_response.name, "content": text})
            elif part.function_call:
                call = part.function_call
                arguments = json.dumps(call.args or {}, ensure_ascii=False)
                function = {"name": call.name, "arguments": arguments}
                calls.append({"id": call.id, "type": "function", "function": function})
            elif part.text is not None:
                texts.append(part.text)
        if texts or calls:
            one: Message = {
                "role": "assistant" if content.role == "model" else "user",
                "content": "\n".join(texts),
            }
            made.append({**one, "tool_calls": calls} if calls else one)
    return made

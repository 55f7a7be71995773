"""The wire formats of the server: bodies, streams, headers, the list of models."""

import json
import time
from collections.abc import Sequence
from typing import Any

from plimsoll.dialects import ChatRequest, Reply, SseEvent, anthropic, openai
from plimsoll.dialects.sse import json_event
from plimsoll.models import card_for
from plimsoll.testing.scripted_server.replies import steps_of
from plimsoll.testing.scripted_server.rules.refusal import Dialect

_PING = SseEvent("ping", '{"type":"ping"}')
_SINCE = "2025-01-01T00:00:00Z"
_SINCE_SECONDS = 1_735_689_600


def decode(dialect: Dialect, body: dict[str, Any]) -> ChatRequest:
    """The canonical request."""
    return anthropic.decode_request(body) if dialect == "anthropic" else openai.decode_request(body)


def headers(dialect: Dialect, request_id: str) -> dict[str, str]:
    """What every response of the provider carries."""
    if dialect == "anthropic":
        return {"request-id": request_id, "anthropic-organization-id": "scripted"}
    return {"x-request-id": request_id, "openai-version": "2020-10-01", "openai-processing-ms": "1"}


def body_of(dialect: Dialect, reply: Reply) -> dict[str, Any]:
    """The body of a reply that is not streamed."""
    if dialect == "anthropic":
        return anthropic.encode_reply(reply)
    body = openai.encode_reply(reply, int(time.time()))
    choice = body["choices"][0]
    choice["message"].setdefault("refusal", None)
    return {**body, "choices": [{**choice, "logprobs": None}], "service_tier": "default"}


def events_of(dialect: Dialect, reply: Reply, request: ChatRequest) -> list[SseEvent]:
    """The events of a reply that is streamed, the last ones included."""
    encoder: anthropic.StreamEncoder | openai.StreamEncoder
    if dialect == "anthropic":
        encoder = anthropic.StreamEncoder()
    else:
        encoder = openai.StreamEncoder(created=int(time.time()), include_usage=request.include_usage)
    events = [event for step in steps_of(reply) for event in encoder.encode(step)] + encoder.finish()
    if dialect == "anthropic":
        opened = next((i for i, e in enumerate(events) if e.event == "content_block_start"), 0)
        events.insert(opened + 1, _PING)
    return events


def failure_event(dialect: Dialect, kind: str, message: str) -> SseEvent:
    """The event with which a provider breaks a stream off; `kind` may be a type that no provider has."""
    if dialect == "anthropic":
        return json_event(anthropic.encode_error(kind, message), "error")
    return json_event(openai.encode_error(kind, message))


def models_body(dialect: Dialect, names: Sequence[str]) -> dict[str, Any]:
    """The list of models."""
    entries = [model_body(dialect, name) for name in names]
    if dialect == "openai":
        return {"object": "list", "data": entries}
    return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def model_body(dialect: Dialect, name: str) -> dict[str, Any]:
    """One model."""
    if dialect == "openai":
        return {"id": name, "object": "model", "created": _SINCE_SECONDS, "owned_by": card_for(name).family}
    shown = name.replace("-", " ").title()
    return {"type": "model", "id": name, "display_name": shown, "created_at": _SINCE}


def parsed(dialect: Dialect, raw: bytes) -> dict[str, Any] | str:
    """The body as an object, or the provider's complaint that it is none."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        if dialect == "anthropic":
            return f"The request body is not valid JSON: {error}"
        return (
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
            "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
        )
    return body if isinstance(body, dict) else "Input should be an object"

"""Lantern: a wire format of nobody's, to show that the gateway serves any dialect.

    POST /lantern/{model}/answer      model and stream flag are in the path
    POST /lantern/{model}/stream
    x-lantern-token: KEY, or ?token=KEY
    ?as=array                         the events of a stream as one JSON array

    {"preamble": "Be brief.",
     "turns": [{"from": "person", "say": "Where is the Anna?"},
               {"from": "model", "say": "", "calls": [{"do": "lookup", "with": {"key": "Anna"}}]},
               {"from": "tools", "outcomes": [{"do": "lookup", "gave": "Pier 4."}]}],
     "abilities": [{"do": "lookup", "about": "Look it up.", "takes": {…}}],
     "longest": 300,
     "continues": "lan_7"}            the server keeps what was said up to this reply

    {"reply": "lan_8", "turn": {…}, "ended": "done", "tally": {"read": 40, "reused": 0, "wrote": 5}}
    {"fault": {"name": "TooLong", "text": "…"}}

Calls and outcomes have no ids: outcomes come in the order of the calls. There are no cache markers.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lantern_wire import (
    ENDS,
    LanternDecoder,
    LanternEncoder,
    assistant_message,
    ended_with,
    model_turn,
    preamble_with_note,
    tally_of,
)

from plimsoll.dialects import (
    ChatRequest,
    Dialect,
    Reply,
    SseEvent,
    Usage,
)
from plimsoll.dialects.addresses import base_path, path_segment, with_path
from plimsoll.dialects.interfaces import Body, ReplyDecoder, ReplyEncoder, WireMessage
from plimsoll.dialects.mapping import Findings
from plimsoll.dialects.message_lists import listed_messages
from plimsoll.dialects.sse import json_event
from plimsoll.errors import InvalidConversation, MalformedReply
from plimsoll.messages import SYSTEM_ROLES, Message, text_of
from plimsoll.models import ModelCard

FIELDS = ("preamble", "turns", "abilities", "longest", "continues")
FAULTS = {401: "BadToken", 404: "NotThere", 413: "TooLarge", 429: "SlowDown"}
SPEAKERS = ("person", "model", "tools")


class LanternDialect(Dialect):
    """The wire format above."""

    name = "lantern"
    title = "Lantern"
    api_mode = "lantern"
    path_prefixes = ("/lantern",)
    answer_paths = ("/lantern/{model}/answer", "/lantern/{model}/stream")
    models_paths = ("/lantern/models",)
    key_header = "x-lantern-token"
    key_prefix = ""
    key_parameter = "token"
    messages_field = "turns"
    limit_fields = ("longest",)
    usage_field = "tally"
    text_fields = ("say", "with")
    keeps_replies = True

    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        ending = f"/{path_segment(model)}/{'stream' if is_stream else 'answer'}" if model else ""
        return with_path(base_url, base_path(base_url) + ending)

    def models_url(self, base_url: str) -> str:
        return with_path(base_url, f"{base_path(base_url)}/models")

    def serves_address(self, base_url: str) -> bool:
        return base_path(base_url).endswith("/lantern")

    def model_of(self, body: Body, path: str) -> str:
        return (self.path_values(path) or {}).get("model", "")

    def with_model(self, body: Body, model: str) -> Body:
        return body

    def is_stream(self, body: Body, path: str) -> bool:
        return path.endswith("/stream")

    def is_array_stream(self, path: str, query: bytes) -> bool:
        return path.endswith("/stream") and b"as=array" in query

    def continues(self, body: Body) -> str:
        return str(body.get("continues") or "")

    def expanded(self, body: Body, earlier: Sequence[WireMessage]) -> Body:
        whole = {**body, "turns": [*earlier, *self.messages(body)]}
        del whole["continues"]
        return whole

    def lead(self, body: Body) -> tuple[Message, ...]:
        preamble = body.get("preamble")
        if not preamble:
            return ()
        # One text for each line, so that a note that was added is a block of its own again.
        parts = [{"type": "text", "text": text} for text in str(preamble).split("\n\n")]
        return ({"role": "system", "content": parts if len(parts) > 1 else str(preamble)},)

    def messages(self, body: Body) -> list[WireMessage]:
        turns = listed_messages(body, "turns")
        for index, turn in enumerate(turns):
            if not isinstance(turn, dict) or turn.get("from") not in SPEAKERS:
                raise InvalidConversation(f"turn {index}: `from` must be one of {', '.join(SPEAKERS)}")
        return turns

    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        changed = {**body, "turns": list(messages)}
        if has_note:
            changed["preamble"] = preamble_with_note(str(body.get("preamble") or ""))
        return changed

    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        turn = messages[index]
        if turn["from"] == "person":
            return [{"role": "user", "content": str(turn.get("say") or "")}]
        if turn["from"] == "model":
            return [assistant_message(turn, f"call_{index}")]
        outcomes = [one for one in turn.get("outcomes") or () if isinstance(one, dict)]
        return [
            {
                "role": "tool",
                "tool_call_id": f"call_{index - 1}_{nth}",
                "name": str(outcome.get("do")),
                "content": str(outcome.get("gave") or ""),
            }
            for nth, outcome in enumerate(outcomes)
        ]

    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        turns: list[WireMessage] = []
        for message in messages:
            if message.get("role") == "assistant":
                turns.append(model_turn(message))
            elif message.get("role") == "tool":
                outcome = {"do": message.get("name") or "", "gave": text_of(message)}
                if not turns or turns[-1]["from"] != "tools":
                    turns.append({"from": "tools", "outcomes": []})
                turns[-1]["outcomes"].append(outcome)
            else:
                turns.append({"from": "person", "say": text_of(message)})
        return turns

    def rough_messages(self, body: Body) -> list[Message]:
        return [{"role": "user", "content": json.dumps([body.get("preamble"), body.get("turns")])}]

    def tools(self, body: Body) -> list[dict[str, Any]]:
        abilities = body.get("abilities")
        return [one for one in abilities if isinstance(one, dict)] if isinstance(abilities, list) else []

    def canonical_tools(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {
                "type": "function",
                "function": {
                    "name": one.get("do"),
                    "description": one.get("about"),
                    "parameters": one.get("takes"),
                },
            }
            for one in tools
        ]

    def with_limits(self, body: Body, limits: Any) -> Body:
        return {**body, **limits}

    def usage(self, raw: Any) -> Usage | None:
        if not isinstance(raw, dict):
            return None
        read, reused, wrote = (int(raw.get(name) or 0) for name in ("read", "reused", "wrote"))
        prompt = read + reused
        return Usage(prompt, wrote, prompt + wrote, input_tokens=read, cache_read_tokens=reused)

    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        turns = self.messages(body)
        said = [message for index in range(len(turns)) for message in self.canonical(turns, index)]
        return ChatRequest(
            model=self.model_of(body, path),
            messages=(*self.lead(body), *said),
            tools=tuple(self.canonical_tools(self.tools(body))),
            max_tokens=body.get("longest"),
            stream=self.is_stream(body, path),
        )

    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        lead = [message for message in request.messages if message.get("role") in SYSTEM_ROLES]
        said = [message for message in request.messages if message.get("role") not in SYSTEM_ROLES]
        abilities = [
            {
                "do": function["name"],
                "about": function.get("description"),
                "takes": function.get("parameters"),
            }
            for tool in request.tools
            if isinstance(function := tool.get("function"), dict)
        ]
        body = {
            "preamble": "\n\n".join(map(text_of, lead)) or None,
            "turns": self.written(said, request.model),
            "abilities": abilities or None,
            "longest": request.max_tokens,
        }
        return {name: value for name, value in body.items() if value is not None}

    def decode_reply(self, body: Any) -> Reply:
        if not isinstance(body, dict) or not isinstance(body.get("turn"), dict):
            raise MalformedReply(f"the provider's reply holds no turn: {str(body)[:200]}")
        reply_id, ended = str(body.get("reply") or ""), str(body.get("ended"))
        message = assistant_message(body["turn"], reply_id)
        usage = self.usage(body.get("tally"))
        return Reply(message, ENDS.get(ended, "stop"), usage, reply_id, native_finish_reason=ended)

    def encode_reply(self, reply: Reply, request_body: Body, created: int) -> Body:
        return {
            "reply": reply.id,
            "turn": model_turn(reply.message),
            "ended": ended_with(reply.finish_reason),
            "tally": tally_of(reply.usage),
        }

    def decoder(self) -> ReplyDecoder:
        return LanternDecoder(self)

    def encoder(self, request_body: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        return LanternEncoder()

    def untranslatable(self, body: Body, upstream: str) -> Findings:
        findings = Findings(dropped={name: None for name in body if name not in FIELDS})
        if self.continues(body):
            findings.refused["continues"] = None
        return findings

    def adapted(self, request: ChatRequest) -> ChatRequest:
        return replace(request, extra={})

    def field_name(self, field: str, request: ChatRequest) -> str:
        return field

    def models_body(self, names: Sequence[str]) -> Body:
        return {"models": list(names)}

    def model_body(self, name: str) -> Body:
        return {"model": name}

    def error_kind(self, status: int) -> str:
        return FAULTS.get(status, "Broken" if status >= 500 else "BadRequest")

    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        return {"fault": {"name": self.error_kind(status), "text": message}}

    def failure_event(self, status: int, message: str, begun: SseEvent | None = None) -> SseEvent:
        return json_event(self.error_body(status, message), "fault")

    def is_error(self, body: Body) -> bool:
        return bool(body.get("fault"))

    def error_fields(self, body: Any) -> Any:
        fault = body.get("fault") if isinstance(body, dict) else None
        if not isinstance(fault, dict):
            return body
        return {"error": {"type": fault.get("name"), "message": fault.get("text")}}

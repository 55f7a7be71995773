"""A response of `:generateContent` ⇄ the canonical reply.

canonical        Google
stop             STOP, and all unlisted reasons
tool_calls       STOP, with a functionCall in the content
length           MAX_TOKENS
content_filter   SAFETY · RECITATION · BLOCKLIST · PROHIBITED_CONTENT · SPII · LANGUAGE · IMAGE_*, a blocked prompt
"""

from collections.abc import Callable, Sequence
from typing import Any

from plimsoll.dialects.blocks.assistant import message_from
from plimsoll.dialects.blocks.tool_ids import new_call_id
from plimsoll.dialects.finish import FinishReason
from plimsoll.dialects.gemini.conversation import decode_contents, encode_contents
from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.usage import usage_from_gemini, usage_to_gemini
from plimsoll.errors import MalformedReply
from plimsoll.messages import Message, tool_calls
from plimsoll.messages.untyped import object_of

_FILTERED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "JAILBREAK",
    }
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)
_WORDS: dict[FinishReason, str] = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
_OTHER_STOPS = frozenset(
    {"OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"}
    | {"CONTINUATION", "IMAGE_OTHER", "NO_IMAGE"}
)
_NAMED = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})
_CANDIDATE = frozenset({"content", "finishReason", "index"})


def finish_from_gemini(native: Any, has_calls: bool) -> FinishReason | None:
    """The canonical reason; None while the reply has not ended."""
    if not isinstance(native, str) or native == "FINISH_REASON_UNSPECIFIED":
        return None
    if native == "MAX_TOKENS":
        return "length"
    if native in _FILTERED:
        return "content_filter"
    return "tool_calls" if has_calls else "stop"


def finish_to_gemini(reason: FinishReason | None, native: str | None) -> str | None:
    """Google's reason; the provider's own if it is Google's and still applies."""
    is_own = native in _FILTERED or native in _OTHER_STOPS
    if is_own and finish_from_gemini(native, reason == "tool_calls") == reason:
        return native
    return _WORDS[reason] if reason else None


def encode_reply(reply: Reply) -> dict[str, Any]:
    """The body of a response."""
    extra = dict(reply.extra.get("gemini", {}))
    parts = model_parts(reply.message)
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}}
    finish = finish_to_gemini(reply.finish_reason, reply.native_finish_reason)
    candidate |= {"finishReason": finish} if finish else {}
    body: dict[str, Any] = {"candidates": [{**candidate, "index": 0, **extra.pop("candidate", {})}]}
    if reply.usage:
        body["usageMetadata"] = usage_to_gemini(reply.usage)
    body |= {"modelVersion": reply.model} if reply.model else {}
    body |= {"responseId": reply.id} if reply.id else {}
    return {**body, **extra}


def decode_reply(body: Any, make_id: Callable[[], str] = new_call_id) -> Reply:
    """Decode a provider's response; `make_id` creates the ids of calls without one."""
    body, candidate = _candidate(camel_cased(body[0] if isinstance(body, list) and len(body) == 1 else body))
    blocked = _blocked(body)
    message = named(message_of(candidate.get("content")), make_id)
    native = candidate.get("finishReason", blocked)
    # The reasons for a blocked prompt, which has no candidate, are others than those of a candidate.
    finish = finish_from_gemini(native, bool(tool_calls(message))) if candidate else "content_filter"
    rest = {name: value for name, value in candidate.items() if name not in _CANDIDATE}
    extra = {name: value for name, value in body.items() if name not in _NAMED}
    extra |= {"candidate": rest} if rest else {}
    return Reply(
        message=message,
        finish_reason=finish,
        usage=usage_from_gemini(body.get("usageMetadata")),
        id=str(body.get("responseId") or ""),
        model=str(body.get("modelVersion") or ""),
        native_finish_reason=native if isinstance(native, str) else None,
        extra={"gemini": extra} if extra else {},
    )


def model_parts(message: Message) -> list[dict[str, Any]]:
    """The parts of a reply, including its thoughts."""
    contents = encode_contents([{"role": "user", "content": "."}, message])[1][1:]
    return [part for content in contents for part in content["parts"]]


def message_of(content: Any) -> Message:
    """The canonical message in the content of a candidate."""
    messages = decode_contents(None, [{**content, "role": "model"}]) if isinstance(content, dict) else []
    return messages[0] if messages else message_from([])


def named(message: Message, make_id: Callable[[], str]) -> Message:
    """The message with ids for the calls that have no provider id."""
    if not tool_calls(message):
        return message
    calls: Sequence[dict[str, Any]] = message["tool_calls"]
    renamed = [
        {**call, "id": make_id()} if str(call["id"]).startswith("unnamed-") else call for call in calls
    ]
    return {**message, "tool_calls": renamed}


def _candidate(body: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A response and its first candidate; empty for a blocked prompt. Raises `MalformedReply`."""
    if isinstance(body, dict):
        candidates = body.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        if isinstance(first, dict):
            return body, first
        if _blocked(body):
            return body, {}
    raise MalformedReply(f"the provider's reply has no candidate: {str(body)[:200]}")


def _blocked(body: Any) -> str | None:
    """Why a prompt was blocked; None if it was not."""
    reason = object_of(object_of(body).get("promptFeedback")).get("blockReason")
    return reason if isinstance(reason, str) else None

"""The interface of a provider that the scripted server simulates.

    Dialect             paths, requests, replies, streams, errors
    ScriptedProvider    ids, response headers, rejected requests, and their error messages

To serve another dialect, subclass `ScriptedProvider` and pass an instance to `ScriptedServer(providers=...)`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from plimsoll.dialects import ChatRequest, Dialect, Reply, SseEvent
from plimsoll.testing.scripted_server.faults import STATUS_OF, Fault
from plimsoll.testing.scripted_server.replies import steps_of
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

_GARBAGE = b'data: {"this is": not JSON\n\n'


class ScriptedProvider(ABC):
    """A provider of one dialect."""

    dialect: ClassVar[Dialect]
    request_prefix: ClassVar[str] = "req_"
    reply_prefix: ClassVar[str] = "reply_"
    call_prefix: ClassVar[str] = "call_"
    breakdown_status: ClassVar[int] = 500  # the status of an error in the middle of a stream
    garbage: ClassVar[bytes] = _GARBAGE

    def headers(self, request_id: str) -> dict[str, str]:
        """The headers of every response."""
        return {"x-request-id": request_id}

    def key_of(self, headers: Mapping[str, str]) -> str:
        """The key of a request, which also identifies the cache's workspace."""
        value = headers.get(self.dialect.key_header, "")
        return value.removeprefix(self.dialect.key_prefix).strip()

    def header_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """The error for invalid headers; checked before the key."""
        return None

    @abstractmethod
    def key_refusal(self, key: str) -> Refusal:
        """The error for an invalid or missing key."""

    @abstractmethod
    def not_json(self, error: Exception) -> str:
        """The error message for a body that is not JSON."""

    @abstractmethod
    def shape_refusals(self, body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
        """The errors in the basic shape of a body, checked before it is decoded."""

    @abstractmethod
    def refusals(self, checked: CheckedRequest) -> Iterator[Refusal]:
        """The errors that reject a request."""

    @abstractmethod
    def usual_refusal(self, status: int) -> Refusal:
        """The default error for a status."""

    @abstractmethod
    def quota_refusal(self) -> Refusal:
        """The error for an account without credit."""

    def unknown_model(self, name: str) -> Refusal:
        """The error for an unknown model."""
        return self.usual_refusal(404)

    def too_large(self, size: int, limit: int) -> Refusal:
        """The error for a body that is too large."""
        return self.usual_refusal(413)

    def too_many_images(self, count: int, limit: int) -> Refusal:
        """The error for too many images in one request."""
        return bad(f"Image count {count} exceeds limit {limit} per request.")

    def refusal_of(self, fault: Fault) -> Refusal:
        """The error for a fault with a status, with the fault's own message if it has one."""
        status = fault.status or STATUS_OF[fault.kind]
        usual = self.quota_refusal() if fault.kind == "quota" else self.usual_refusal(status)
        headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
        return replace(
            usual,
            status=fault.status or usual.status,
            kind=fault.type or usual.kind,
            message=fault.message or usual.message,
            code=fault.code or usual.code,
            headers=headers,
        )

    def error_body(self, refusal: Refusal, request_id: str) -> dict[str, Any]:
        """The body of an error response."""
        return self.dialect.error_body(refusal.status, refusal.message, refusal.kind, refusal.code)

    @abstractmethod
    def failure_event(self, kind: str, message: str) -> SseEvent:
        """The event that ends a stream with an error; `kind` may be a type that no provider has."""

    def reply_body(self, reply: Reply) -> dict[str, Any]:
        """The body of a reply that is not streamed."""
        return self.dialect.encode_reply(reply, {}, int(time.time()))

    def events(self, reply: Reply, request: ChatRequest) -> list[SseEvent]:
        """All events of a streamed reply, including the final ones."""
        encoder = self.dialect.encoder({}, int(time.time()), request.include_usage)
        return [event for step in steps_of(reply) for event in encoder.encode(step)] + encoder.finish()

    def models_body(self, names: Sequence[str]) -> dict[str, Any]:
        """The list of models."""
        return self.dialect.models_body(names)

    def model_body(self, name: str) -> dict[str, Any]:
        """One model."""
        return self.dialect.model_body(name)

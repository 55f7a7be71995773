"""A request's body, with limits on its size, its depth and the time it takes to arrive."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from plimsoll.gateway.edge import jsontext
from plimsoll.gateway.edge.structure import has_more_elements, is_deeper
from plimsoll.gateway.settings import Limits

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Refused(Exception):
    """A request that is answered with an error of the gateway's own."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message


class ClientLeft(Exception):
    """The client closed its connection before it had sent everything."""


async def read_body(receive: Receive, length: bytes | None, limits: Limits) -> bytes:
    """All bytes of the body."""
    if length is not None and length.isdigit() and int(length) > limits.body_bytes:
        raise _too_large(limits)
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeft
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > limits.body_bytes:
                    raise _too_large(limits)
                if not message.get("more_body"):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except TimeoutError:
        told = f"The request was not whole within {limits.body_seconds:g} s."
        raise Refused(408, "timeout_error", told) from None


def parse_body(raw: bytes, limits: Limits) -> dict[str, Any]:
    """The body as an object."""
    if has_more_elements(raw, limits.elements):
        told = f"The request's body has more than {limits.elements:,} elements (gateway.element_limit)."
        raise Refused(413, "request_too_large", told)
    try:
        body = jsontext.read(raw)
    except (ValueError, RecursionError) as error:
        told = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(
            400, "invalid_request_error", f"The request's body is not valid JSON: {told}."
        ) from None
    if not isinstance(body, dict):
        told = f"The request's body must be an object, not {type(body).__name__}."
        raise Refused(400, "invalid_request_error", told)
    if is_deeper(body, limits.depth):
        told = f"The request's body is nested more than {limits.depth} levels deep (gateway.depth_limit)."
        raise Refused(400, "invalid_request_error", told)
    model = body.get("model")
    if isinstance(model, str) and len(model) > limits.name_characters:
        told = (
            f"The model's name has {len(model):,} characters; at most {limits.name_characters} are allowed."
        )
        raise Refused(400, "invalid_request_error", told)
    return body


async def left(receive: Receive) -> None:
    """Return when the client has closed its connection."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return


def _too_large(limits: Limits) -> Refused:
    return Refused(413, "request_too_large", f"The request has more than {limits.body_bytes:,} bytes.")

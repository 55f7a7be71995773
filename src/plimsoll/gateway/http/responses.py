"""Responses to a client: whole, in pieces, or an error in its dialect."""

from collections.abc import Sequence

from plimsoll.dialects import Dialect
from plimsoll.gateway.asgi import Header, Send
from plimsoll.gateway.http import jsontext

JSON: Header = (b"content-type", b"application/json")
EVENTS: Header = (b"content-type", b"text/event-stream; charset=utf-8")


async def send_whole(send: Send, status: int, headers: Sequence[Header], body: bytes) -> None:
    """Send a whole response."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_error(
    send: Send,
    dialect: Dialect,
    status: int,
    message: str,
    *,
    kind: str | None = None,
    code: str | None = None,
    headers: Sequence[Header] = (),
) -> None:
    """Send an error in the format of the client's dialect."""
    await send_whole(
        send, status, [*headers, JSON], jsontext.write(dialect.error_body(status, message, kind, code))
    )

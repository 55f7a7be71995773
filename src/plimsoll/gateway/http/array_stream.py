"""Sends the events of a stream as the items of one JSON array, for clients that ask for it.

    data: {"a": 1}␤␤data: {"b": 2}␤␤        ─►      [{"a": 1}␤,␤{"b": 2}␤]

Other answers pass unchanged, except errors: they become the only item of an array.
"""

from collections.abc import MutableMapping
from typing import Any

from plimsoll.dialects import SseParser
from plimsoll.gateway.asgi import Send
from plimsoll.gateway.http.responses import JSON


def as_json_array(send: Send) -> Send:
    """`send` for a client that reads a JSON array."""
    parser, is_stream, items = SseParser(), False, 0

    async def sending(message: MutableMapping[str, Any]) -> None:
        nonlocal is_stream
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            is_stream = any(name == b"content-type" and b"event-stream" in value for name, value in headers)
            kept = [
                (name, value) for name, value in headers if name not in (b"content-type", b"content-length")
            ]
            message = {**message, "headers": [*kept, JSON]}
        else:
            message = {**message, "body": framed(message.get("body", b""), message.get("more_body", False))}
        await send(message)

    def framed(body: bytes, more: bool) -> bytes:
        nonlocal items
        found = [event.data.encode() for event in parser.feed(body)] if is_stream else [body]
        pieces = []
        for item in filter(bytes.strip, found):
            pieces.append((b",\n" if items else b"[") + item)
            items += 1
        if not more:
            pieces.append(b"]" if items else b"[]")
        return b"\n".join(pieces)

    return sending

"""The gateway's own keys, taken out of everything that a client receives.

    upstream ─► status, headers, body or events ─► masked ─► client

Some upstreams quote the key that they were sent: in an error, in an event of a stream, in a header, also cut short.
What is masked keeps its length, so no other byte of an answer changes.
"""

from collections.abc import MutableMapping, Sequence
from typing import Any

from plimsoll.gateway.asgi import Send

_LEAST = 16  # bytes of the start or the end of a key that are masked; shorter ones occur in ordinary text
_MASK = b"[key]"


def masking(send: Send, secrets: Sequence[str]) -> Send:
    """`send` without these secrets. Each message must hold whole events, so that no secret is split."""
    keys = [secret.encode() for secret in secrets if secret]
    if not keys:
        return send

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [(name, without(value, keys)) for name, value in message.get("headers", ())]
            message = {**message, "headers": headers}
        elif message.get("body"):
            message = {**message, "body": without(message["body"], keys)}
        await send(message)

    return sending


def without(data: bytes, keys: Sequence[bytes]) -> bytes:
    """The bytes with each key, and each long start or end of one, masked at the same length."""
    for key in keys:
        if key in data:
            data = data.replace(key, _masked(len(key)))
        start, end = key[:_LEAST], key[-_LEAST:]
        if len(key) > _LEAST and start in data:
            data = _without_starts(data, key, start)
        if len(key) > _LEAST and end in data:
            data = _without_starts(data[::-1], key[::-1], end[::-1])[::-1]
    return data


def _without_starts(data: bytes, key: bytes, start: bytes) -> bytes:
    pieces, at = [], 0
    while (found := data.find(start, at)) >= 0:
        length = len(start)
        while length < len(key) and data[found + length : found + length + 1] == key[length : length + 1]:
            length += 1
        pieces += [data[at:found], _masked(length)]
        at = found + length
    return b"".join([*pieces, data[at:]])


def _masked(length: int) -> bytes:
    return _MASK.ljust(length, b"*")[:length]

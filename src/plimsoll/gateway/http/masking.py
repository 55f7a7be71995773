"""Masks the gateway's own keys in everything that a client receives.

    upstream ─► status, headers, body or events ─► masked ─► client

Some upstreams quote the key that they received, whole or truncated: in an error, an event of a stream, or a header.
Masking keeps the length, so no other byte of an answer changes.
"""

from collections.abc import MutableMapping, Sequence
from typing import Any

from plimsoll.gateway.asgi import Send

_MIN_BYTES = 16  # masked from this many bytes of a key's start or end; shorter parts occur in ordinary text
_MASK = b"[key]"


def masking(send: Send, secrets: Sequence[str]) -> Send:
    """`send` without these secrets. Each message must contain whole events, so that no secret is split."""
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


class StreamMask:
    """Masks keys in a stream of pieces, also across the end of a piece."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._keys = [secret.encode() for secret in secrets if secret]
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """The bytes to pass on. A possible start of a key is held back until the next piece."""
        if not self._keys:
            return piece
        data = self._held + piece
        for key in self._keys:
            data = data.replace(key, _masked(len(key)))
        ready = len(data) - max(_open_end(data, key) for key in self._keys)
        self._held = data[ready:]
        return without(data[:ready], self._keys)

    def rest(self) -> bytes:
        """The bytes that were held back, at the end of the stream."""
        rest, self._held = self._held, b""
        return without(rest, self._keys)


def _open_end(data: bytes, key: bytes) -> int:
    """How many bytes at the end may be the start of a key or of a masked part of it."""
    longest = range(min(len(key) - 1, len(data)), 0, -1)
    return next((length for length in longest if data[-length:] in key), 0)


def without(data: bytes, keys: Sequence[bytes]) -> bytes:
    """The bytes with each key, and each long start or end of one, masked with the same length."""
    for key in keys:
        if key in data:
            data = data.replace(key, _masked(len(key)))
        start, end = key[:_MIN_BYTES], key[-_MIN_BYTES:]
        if len(key) > _MIN_BYTES and start in data:
            data = _without_starts(data, key, start)
        if len(key) > _MIN_BYTES and end in data:
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

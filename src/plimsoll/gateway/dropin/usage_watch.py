"""Reads the usage in a reply that is passed on, without delaying it.

    data: {"type":"content_block_delta",…}      passed on unread
    data: {"type":"message_delta","usage":{…}}   passed on, and read

Only lines that mention usage are parsed; in quoted text the quotes are escaped.
"""

from typing import Any

from plimsoll.dialects import Dialect, Usage
from plimsoll.gateway.http import jsontext

_LONGEST_LINE = 1_000_000  # bytes of one event; a longer one has no usage


class UsageWatch:
    """Feed it the bytes of a stream and read the usage at the end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect, self._sign = dialect, usage_marker(dialect)
        self._rest = b""
        self._seen: dict[str, Any] = {}
        self._usage: Usage | None = None  # what `_seen` says, once somebody asked
        self.is_final = False  # the usage covers the whole reply, not only its start

    def feed(self, piece: bytes) -> None:
        """Read a piece of the stream."""
        if self._rest:
            piece = self._rest + piece
        cut = piece.rfind(b"\n") + 1
        if self._sign in piece[:cut]:
            for line in piece[:cut].split(b"\n"):
                if self._sign in line and line.startswith(b"data:"):
                    self._read(line[5:])
        rest = piece[cut:]
        self._rest = rest if len(rest) <= _LONGEST_LINE else b""

    def usage(self) -> Usage | None:
        """The usage reported so far."""
        if self._usage is None and self._seen:
            self._usage = self._dialect.usage(self._seen)
        return self._usage

    def _read(self, data: bytes) -> None:
        try:
            event = jsontext.read(data)
        except (ValueError, RecursionError):
            return
        found = self._dialect.usage_of_event(event) if isinstance(event, dict) else None
        if found is not None:
            usage, self.is_final = found
            # Later numbers replace earlier ones, field by field.
            self._usage = None
            self._seen |= {key: value for key, value in usage.items() if value is not None}


def usage_in(dialect: Dialect, body: bytes) -> Usage | None:
    """The usage of a reply that is not streamed."""
    if usage_marker(dialect) not in body:
        return None
    try:
        reply = jsontext.read(body)
    except (ValueError, RecursionError):
        return None
    return dialect.usage(reply.get(dialect.usage_field)) if isinstance(reply, dict) else None


def usage_marker(dialect: Dialect) -> bytes:
    """Bytes that every line with usage contains."""
    return b'"%b"' % dialect.usage_field.encode()

"""Shortens long text to its beginning and end, and bounds streamed bytes.

    [ head ........ ][ … 1,204,331 characters left out … ][ ........ tail ]

The end shows how a command failed, the beginning what it was about.
"""

from plimsoll.messages import excerpt

KEPT_BYTES = 4_000_000  # of one output, for the archive; the rest is only counted


def shortened(text: str, limit: int) -> tuple[str, str | None]:
    """The text within the limit, and the whole text if it was shortened."""
    return (text, None) if len(text) <= limit else (excerpt(text, limit), text)


class BoundedBytes:
    """The start and end of a stream of any length, in bounded memory."""

    def __init__(self, max_bytes: int = KEPT_BYTES) -> None:
        self._half = max_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def take(self, chunk: bytes) -> bool:
        """Add a chunk. Returns False: it never asks to stop."""
        self.total += len(chunk)
        room = max(0, self._half - len(self._head))
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Trimmed occasionally, not each time: a program may write byte by byte.
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]
        return False

    @property
    def head(self) -> bytes:
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The end, unless it is part of the head."""
        return bytes(self._tail[-self._half :])

    @property
    def left_out(self) -> int:
        """Dropped bytes between head and tail."""
        return self.total - len(self._head) - min(len(self._tail), self._half)

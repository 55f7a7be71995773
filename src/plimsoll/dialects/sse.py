"""Server-sent events: bytes as they arrive ⇄ events.

    b"event: ping\\ndata: {\\"a\\"" · b": 1}\\n\\n"   ->   SseEvent(event="ping", data='{"a": 1}')

Chunks may end anywhere, inside a character or between CR and LF. Comments are
skipped, and several data lines are joined. An incomplete event at the end of a
stream is never delivered, because its data may be truncated.
"""

import json
from dataclasses import dataclass
from typing import Any

from plimsoll.errors import MalformedReply

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its name, if it has one, and its data as text."""

    event: str | None
    data: str

    @property
    def is_done(self) -> bool:
        """Whether this is OpenAI's end marker."""
        return self.data.strip() == DONE

    def decoded(self) -> dict[str, Any] | None:
        """The data as an object; None for the end marker and for events without data."""
        if self.is_done or not self.data.strip():
            return None
        try:
            data = json.loads(self.data)
        except (ValueError, RecursionError) as error:
            raise MalformedReply(f"the stream sent an event that is not JSON: {self.data[:80]!r}") from error
        if not isinstance(data, dict):
            raise MalformedReply(f"the stream sent an event that is not an object: {self.data[:80]!r}")
        return data

    def encode(self) -> bytes:
        """The event as bytes."""
        lines = [f"event: {self.event}"] if self.event else []
        lines += [f"data: {line}" for line in self.data.split("\n")]
        return ("\n".join(lines) + "\n\n").encode("utf-8", "backslashreplace")


def json_event(data: dict[str, Any], event: str | None = None) -> SseEvent:
    """An event with an object as data, on one line, with keys in the given order."""
    return SseEvent(event, json.dumps(data, ensure_ascii=False, separators=(",", ":")))


class SseParser:
    """Parses bytes incrementally; `feed()` returns the completed events."""

    def __init__(self) -> None:
        self._rest: list[
            bytes
        ] = []  # the pieces of the unfinished line; joining them each time would be quadratic
        self._held = False  # whether the last piece ended with a CR that may be half of a CRLF
        self._event: str | None = None
        self._data: list[str] = []
        self._started = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes."""
        if not chunk:
            return []
        # A CR at the end may be half of a CRLF, so hold it until the next chunk.
        text, self._held = (b"\r" if self._held else b"") + chunk, chunk.endswith(b"\r")
        if self._held:
            text = text[:-1]
        first, *lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest.append(first)
        if not lines:
            return []
        lines.insert(0, b"".join(self._rest))
        self._rest = [lines.pop()]
        events = []
        for line in lines:
            event = self._line(line.decode("utf-8", "replace"))
            if event is not None:
                events.append(event)
        return events

    def _line(self, line: str) -> SseEvent | None:
        if not self._started:
            self._started = True
            line = line.removeprefix("\ufeff")
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        return None

    def _dispatch(self) -> SseEvent | None:
        event, data = self._event, self._data
        self._event, self._data = None, []
        return SseEvent(event, "\n".join(data)) if data else None

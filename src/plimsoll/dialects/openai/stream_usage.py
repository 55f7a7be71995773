"""Usage in a streamed chat completion, which servers report only on request.

The gateway requests it for clients whose keys have limits, and removes it if the client did not request it.
"""

import json
import re
from typing import Any

_EVENT = re.compile(rb".*?(?:\r?\n\r?\n|\Z)", re.DOTALL)
_ONLY_USAGE = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_NO_USAGE = re.compile(rb',\s*"usage"\s*:\s*null')  # quotes inside strings are escaped


def can_ask_for_usage(body: dict[str, Any]) -> bool:
    """Whether the client did not state whether the stream reports usage."""
    options = body.get("stream_options")
    return options is None or (isinstance(options, dict) and options.get("include_usage") is not True)


def with_usage_asked(body: dict[str, Any]) -> dict[str, Any]:
    """The body with a request for usage."""
    return {**body, "stream_options": {**(body.get("stream_options") or {}), "include_usage": True}}


def without_usage(events: bytes) -> bytes:
    """Complete events without the one that only reports usage."""
    if _ONLY_USAGE.search(events):
        kept = (event for event in _EVENT.findall(events) if not _reports_only_usage(event))
        events = b"".join(kept)
    return _NO_USAGE.sub(b"", events)


def _reports_only_usage(event: bytes) -> bool:
    lines = (line[5:] for line in event.splitlines() if line.startswith(b"data:"))
    try:
        data = json.loads(b"\n".join(lines))
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("choices") == [] and isinstance(data.get("usage"), dict)

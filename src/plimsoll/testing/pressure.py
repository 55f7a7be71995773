"""Checks that no request tells a model how full its window is.

    "You have 4,000 tokens left." · "82 % of your context is used" · "context window is nearly full"

Such sentences make models give up early on complex work. The check covers the whole
request: system prompt, tool definitions, tool results, summaries.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_CONTEXT_CHARACTERS = 40  # characters shown on either side of a match
_DATA = re.compile(r"[A-Za-z0-9+/=_-]{500,}+")  # base64 of an image; searching megabytes of it takes seconds
_WINDOW = r"(?:context(?: window| length| space| budget)?|token (?:budget|limit)|window)"
_PRESSURE = re.compile(
    rf"""
      \d\s*%\s+(?:of\s+)?(?:the\s+|your\s+|its\s+)?(?:{_WINDOW}\b|full\b)
    | (?:tokens?|context|room)\s+(?:are\s+|is\s+)?(?:left|remaining|remain)\b
    | (?:remaining|left[- ]over)\s+(?:context|tokens?)\b
    | {_WINDOW}\s+(?:is|are|has)\s+(?:\w+\s+){{0,3}}?(?:full|filling|filled|used|exhausted|left|\d)
    | {_WINDOW}\s+usage\b
    | running\s+(?:out\s+of|low\s+on)\s+(?:{_WINDOW}|tokens?|space|room)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def window_usage_mentions(bodies: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every passage in the requests that states how full the window is, once each, with its context."""
    found: dict[str, None] = {}
    seen: set[int] = set()  # requests repeat earlier content
    for body in bodies:
        for part in _parts(body):
            words = _DATA.sub("", json.dumps(part, ensure_ascii=False))
            if hash(words) in seen:
                continue
            seen.add(hash(words))
            for match in _PRESSURE.finditer(words):
                found[
                    words[max(0, match.start() - _CONTEXT_CHARACTERS) : match.end() + _CONTEXT_CHARACTERS]
                ] = None
    return list(found)


def _parts(body: Mapping[str, Any]) -> Iterator[Any]:
    for name, value in body.items():
        yield name
        yield from value if isinstance(value, list) else (value,)

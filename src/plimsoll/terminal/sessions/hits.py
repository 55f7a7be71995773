"""Displays search hits: the location and a snippet with the match highlighted.

20261115-094512-quiet-harbour  12  user  2026-11-15 09:45
    … cfg = parse_config(path) …
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.padding import Padding
from rich.text import Text

from plimsoll.archive import SearchHit, SearchPage
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.times import format_time

_MARK = "bold black on yellow"


def shown(page: SearchPage) -> Iterator[Text | Padding]:
    """Each hit in two lines."""
    for hit in page.hits:
        yield Text.assemble(
            (hit.session, "cyan"),
            "  ",
            (str(hit.sequence), "bold"),
            (f"  {plain(hit.role)}  {format_time(hit.time)}", "dim"),
        )
        yield Padding(_marked(hit), (0, 0, 0, 4))


def _marked(hit: SearchHit) -> Text:
    """The snippet, built piece by piece, because removing control characters shifts the marks."""
    text, at = Text(), 0
    for start, end in hit.marks:
        start = max(start, at)
        text.append(plain(hit.snippet[at:start]))
        text.append(plain(hit.snippet[start:end]), _MARK)
        at = max(at, end)
    text.append(plain(hit.snippet[at:]))
    return text


def facts(hit: SearchHit) -> dict[str, Any]:
    """A hit as JSON."""
    return asdict(hit)

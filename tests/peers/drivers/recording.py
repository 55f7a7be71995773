"""What an adapter asked of the core: each request in canonical form, and the view that it got.

    {"asked": {"system": […], "tools": […], "reported": …, "force": …}, "messages": […], "view": […], "compacted": …}
    {"observed": 1234}      what the provider counted for the request before
    {"replaced": true}      the host's history is the view from here on

Runs in the environment of a host, beside Plimsoll.
"""

import json
from pathlib import Path
from typing import Any


def record(history: Any, file: Path) -> None:
    """Write down what this `HistoryCompactor` is asked, one JSON object a line."""
    lines = file.open("w", encoding="utf-8")
    view, view_async, observe, replaced = history.view, history.view_async, history.observe, history.replaced

    def write(entry: dict[str, Any]) -> None:
        lines.write(json.dumps(entry) + "\n")
        lines.flush()

    def kept(codec: Any, messages: Any, asked: dict[str, Any], found: Any) -> Any:
        log = [one for group in codec.decode(messages) for one in group.messages]
        given = {**asked, "system": list(asked.get("system", ())), "conversation": ""}
        write({"asked": given, "messages": log, "view": found.canonical, "compacted": found.compacted})
        return found

    def viewed(codec: Any, messages: Any, **asked: Any) -> Any:
        return kept(codec, list(messages), asked, view(codec, messages, **asked))

    async def viewed_async(codec: Any, messages: Any, **asked: Any) -> Any:
        return kept(codec, list(messages), asked, await view_async(codec, messages, **asked))

    def observed(found: Any, tokens: int) -> None:
        write({"observed": tokens})
        observe(found, tokens)

    def replaced_by(codec: Any, found: Any) -> None:
        write({"replaced": True})
        replaced(codec, found)

    history.view, history.view_async = viewed, viewed_async
    history.observe, history.replaced = observed, replaced_by

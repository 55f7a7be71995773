"""A client of sessions over real HTTP, and what the tests about it share."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from gateway_server import RunningGateway, settings_for, with_gateway

from plimsoll.settings.gateway import GatewaySessions
from plimsoll.testing.scripted_server import ScriptedServer

MODEL = "gpt-4.1"


@contextmanager
def serving(
    server: ScriptedServer,
    home: Path,
    limits: GatewaySessions | None = None,
    shutdown_seconds: float = 5.0,
    **sections: Any,
) -> Iterator["Sessions"]:
    """A gateway, and a client of it."""
    sections["model"] = {"name": MODEL, **sections.get("model", {})}
    settings = settings_for(server, "openai", **sections)
    shared = (limits or settings.gateway.sessions).model_copy(update={"lease_seconds": 5.0})
    settings = with_gateway(settings, sessions=shared, shutdown_seconds=shutdown_seconds)
    with (
        RunningGateway(settings, home) as running,
        httpx.Client(base_url=running.url, timeout=60) as http,
    ):
        yield Sessions(http, running)


class Sessions:
    """The operations that tests use most."""

    def __init__(self, http: httpx.Client, gateway: RunningGateway) -> None:
        self.http, self.gateway = http, gateway

    def begin(self, **body: Any) -> str:
        response = self.http.post("/sessions", json=body)
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def say(self, id: str, content: Any, key: str = "", **body: Any) -> httpx.Response:
        headers = {"idempotency-key": key} if key else {}
        return self.http.post(f"/sessions/{id}/messages", json={"content": content, **body}, headers=headers)

    def stream(self, id: str, content: Any, key: str = "", **body: Any) -> list[tuple[str, dict[str, Any]]]:
        response = self.say(id, content, key, stream=True, **body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        return events_of(response.text)

    def log(self, id: str) -> list[dict[str, Any]]:
        """All messages, read page by page."""
        found: list[dict[str, Any]] = []
        first: int | None = 1
        while first is not None:
            page = self.http.get(f"/sessions/{id}/messages", params={"first": first, "limit": 3}).json()
            found += [one["message"] for one in page["messages"]]
            first = page["next"]
        return found

    def view(self, id: str) -> list[dict[str, Any]]:
        return list(self.http.get(f"/sessions/{id}/view").json()["messages"])


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream: name and data."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(
            line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":")
        )
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [str(message.get("content")) for message in messages]

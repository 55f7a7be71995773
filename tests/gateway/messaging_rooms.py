"""What tests of messaging share: settings, a gateway that can be killed, and looks into its archive."""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from plimsoll.archive import ArchiveStore, CompactionEvent
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.messages import Message
from plimsoll.testing.scripted_server import ScriptedServer

PATIENCE = 180.0


def waited(condition: Callable[[], Any], seconds: float = PATIENCE, pause: float = 0.02) -> Any:
    """The first true value that the condition has."""
    ends = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(pause)
    return value


def settings_of(server: ScriptedServer, **sections: Any) -> dict[str, Any]:
    """A configuration whose model is the scripted server."""
    model = {"provider": "anthropic", "base_url": server.anthropic_url, "name": "claude-sonnet-4.5"}
    model |= sections.pop("model", {})
    return {"model": model, "compression": {"background": False}, **sections}


def checked(sections: dict[str, Any]) -> Settings:
    return Settings.model_validate(sections)


class GatewayProcess:
    """`python -m plimsoll.gateway` on a home folder of its own."""

    def __init__(self, home: Path, sections: dict[str, Any], environ: dict[str, str]) -> None:
        home.mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (home / "config.yaml").write_text(json.dumps(sections), "utf-8")  # JSON is YAML
        self._said = (home / "gateway.log").open("ab")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "plimsoll.gateway", "--port", str(self.port)],
            env={**kept, "PLIMSOLL_HOME": str(home), "HOME": str(home), **environ},
            cwd=home,
            stdout=self._said,
            stderr=self._said,
        )

    def __enter__(self) -> "GatewayProcess":
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(40)
        self._said.close()


def looked(home: Path, look: Callable[[ArchiveStore], Awaitable[Any]]) -> Any:
    """What is in the archive of a home folder."""

    async def inside() -> Any:
        async with await open_archive(None, home) as store:
            return await look(store)

    return asyncio.run(inside())


def logs(home: Path) -> list[list[Message]]:
    """The messages of every session, the oldest session first."""

    async def look(store: ArchiveStore) -> list[list[Message]]:
        found = sorted(await store.sessions(), key=lambda session: session.created)
        logs = [await store.for_owner(session.owner).messages(session.id) for session in found]
        return [[one.message for one in log] for log in logs]

    found: list[list[Message]] = looked(home, look)
    return found


def compactions(home: Path) -> list[CompactionEvent]:
    async def look(store: ArchiveStore) -> list[CompactionEvent]:
        sessions = await store.sessions()
        return [event for one in sessions for event in await store.for_owner(one.owner).compactions(one.id)]

    found: list[CompactionEvent] = looked(home, look)
    return found


def leases_run_out(home: Path) -> None:
    """Advance a minute for processes that wait for one that was killed."""
    with closing(sqlite3.connect(home / "archive.db")) as db, db:
        db.execute("UPDATE leases SET expires = 0")


def said_by_people(log: list[Message]) -> list[str]:
    return [str(message["content"]) for message in log if message["role"] == "user"]


def answers(log: list[Message]) -> list[str]:
    return [str(message["content"]) for message in log if message["role"] == "assistant"]

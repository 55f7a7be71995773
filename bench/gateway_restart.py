"""A gateway that is killed with SIGKILL, again and again, under clients that continue at once.

    python bench/gateway_restart.py                  200 kills
    python bench/gateway_restart.py --kills 20

    client ─► gateway ✝ ─► the next life, on the same files ─► scripted server

Each client keeps its whole history and sends its next request as soon as it has an answer; where the gateway dies, it
sends the request again to the next life. The moments are random: in the middle of a request, right behind an answer,
while a conversation is compacted or stored. Bars: each conversation has one session from its first compaction on,
each request extends the one before or follows a compaction that is stored, and every compaction is used.
"""

import argparse
import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from plimsoll.archive import ArchiveStore
from plimsoll.archive.open_archive import open_archive
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.prefix import prefix_parts
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, call, say

MODEL, WINDOW, FILLER = "claude-sonnet-4-5", 6_000, "The harbour master wrote down every ship that came in. "
TOOL = {"name": "lookup", "description": "Look it up.", "input_schema": {"type": "object"}}
LONGEST = 60  # messages of a conversation, after which its client begins another one


def model(request: ChatRequest) -> ScriptedAnswer:
    """Looks up what it is asked about, then answers."""
    newest = request.messages[-1]
    word = text_of(newest).split(":", 1)[0][:40]
    if newest.get("role") == "tool":
        return say(f"The register says {word}.")
    return say(f"Let me see {word}.") + call("lookup", key=word)


class Gateway:
    """One life after another. A process that has imported everything forks each of them, so that they start fast."""

    def __init__(self, url: str, home: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._parent = subprocess.Popen(
            [sys.executable, __file__, "--fork", str(self.port), url, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._begin()

    def kill(self) -> None:
        """End this life in the middle of whatever it does, and begin the next."""
        self._begin()

    def stop(self) -> None:
        self._parent.communicate()

    def _begin(self) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write("\n")
        self._parent.stdin.flush()
        self._parent.stdout.readline()


@dataclass
class Client:
    """A client that keeps its history; what it was told about its session."""

    number: int
    url: str
    history: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)  # of each conversation, every name that it was told
    conversation: int = 0
    answers: int = 0
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        return f"client {self.number} conversation {self.conversation}"

    async def run(self, told: dict[str, list[str]], stop: asyncio.Event) -> None:
        async with httpx.AsyncClient(timeout=30) as http:
            while not stop.is_set():
                if len(self.history) > LONGEST:
                    self.history, self.conversation = [], self.conversation + 1
                self._say()
                message = await self._asked(http, told)
                self.history.append(message)
                self.answers += 1
                self.answered.set()

    def _say(self) -> None:
        last = self.history[-1] if self.history else None
        calls = [block for block in (last or {}).get("content", ()) if block["type"] == "tool_use"]
        text = f"{self.name} ship {len(self.history)}: where does it lie? {FILLER * 6}"
        results = [
            {
                "type": "tool_result",
                "tool_use_id": one["id"],
                "content": f"pier {len(self.history)}: {FILLER * 12}",
            }
            for one in calls
        ]
        self.history.append({"role": "user", "content": results or [{"type": "text", "text": text}]})

    async def _asked(self, http: httpx.AsyncClient, told: dict[str, list[str]]) -> dict[str, Any]:
        """The answer, whichever life gives it."""
        system = f"You serve {self.name}."
        body = {"model": MODEL, "max_tokens": 64, "system": system, "tools": [TOOL], "messages": self.history}
        headers = {"x-api-key": "client-key", "anthropic-version": "2023-06-01"}
        while True:
            try:
                response = await http.post(f"{self.url}/v1/messages", json=body, headers=headers)
            except httpx.TransportError:
                await asyncio.sleep(0.01)
                continue
            response.raise_for_status()
            if "x-plimsoll-session" in response.headers:
                told.setdefault(self.name, []).append(response.headers["x-plimsoll-session"])
            return {"role": "assistant", "content": response.json()["content"]}


def breaks(bodies: list[dict[str, Any]]) -> tuple[list[str], Counter[str]]:
    """Requests that neither extend the one before nor are a compaction, and how many compactions were used."""
    latest: dict[str, list[tuple[str, str]]] = {}
    found, compactions = [], Counter[str]()
    for body in bodies:
        name = str(body["system"][0]["text"] if isinstance(body["system"], list) else body["system"])
        parts = [part for part in prefix_parts(body) if part[0] != "system"]
        before = latest.get(name)
        if before is not None and parts[: len(before)] != before:
            if len(parts) < len(before):
                compactions[name] += 1
            elif parts != before[: len(parts)]:
                place = next(old[0] for old, new in zip(before, parts, strict=False) if old != new)
                found.append(f"{name}: {place} changed")
        latest[name] = parts
    return found, compactions


async def _stored(home: Path) -> tuple[int, int]:
    """Sessions, and compactions in them."""

    async def look(store: ArchiveStore) -> tuple[int, int]:
        sessions = await store.sessions(limit=10_000)
        events = [e for s in sessions for e in await store.for_owner(s.owner).compactions(s.id)]
        return len(sessions), sum(event.outcome == "compacted" for event in events)

    async with await open_archive(None, home) as store:
        return await look(store)


async def _run(gateway: Gateway, kills: int, clients: int, seed: int) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    stop, chance = asyncio.Event(), random.Random(seed)
    speaking = [Client(number, f"http://127.0.0.1:{gateway.port}") for number in range(clients)]
    tasks = [asyncio.create_task(client.run(told, stop)) for client in speaking]
    for number in range(kills):
        for _ in range(chance.randrange(1, 6)):  # answers between two kills
            client = chance.choice(speaking)
            client.answered.clear()
            await asyncio.wait(
                [asyncio.create_task(client.answered.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED
            )
        # Right behind an answer half of the time; else somewhere in the requests that follow.
        await asyncio.sleep(chance.choice((0.0, chance.uniform(0, 0.05))))
        await asyncio.to_thread(gateway.kill)
        if (number + 1) % 20 == 0:
            print(f"  {number + 1} kills, {sum(client.answers for client in speaking)} answers", flush=True)
    stop.set()
    await asyncio.gather(*tasks)
    return told


def run(kills: int, clients: int, seed: int) -> bool:
    """Everything, from the servers to the verdict."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(model, model=MODEL, window=WINDOW) as server:
        gateway = Gateway(server.anthropic_url, Path(folder))
        try:
            told = asyncio.run(_run(gateway, kills, clients, seed))
        finally:
            gateway.stop()
        bodies = [
            seen.body
            for seen in server.requests
            if seen.body and seen.status == 200 and "system" in seen.body
        ]  # a summary has none
        sessions, compactions = asyncio.run(_stored(Path(folder)))
    broken, used = breaks(bodies)
    changed = {name: sorted(set(names)) for name, names in told.items() if len(set(names)) > 1}
    rows = {
        "kills": kills,
        "requests that were answered": len(bodies),
        "conversations that were compacted": len(told),
        "sessions in the archive": sessions,
        "compactions stored / used": f"{compactions} / {sum(used.values())}",
        "seconds": f"{time.monotonic() - began:.0f}",
    }
    for name, value in rows.items():
        print(f"  {name:36} {value}")
    bars = {
        "one session for each conversation": not changed and sessions <= len(told),
        "every request extends the one before, or follows a compaction": not broken,
        "every stored compaction is used": sum(used.values()) <= compactions,
    }
    for name, holds in bars.items():
        print(f"  {'ok  ' if holds else 'FAIL'} {name}")
    for what in (*[f"{name}: {found}" for name, found in changed.items()][:5], *broken[:5]):
        print(f"       {what}")
    return all(bars.values())


def fork(port: int, url: str, home: str) -> None:
    """For each line that is read, kill the gateway that runs and fork the next one; a line is the answer."""
    import uvicorn

    from plimsoll.config import Settings
    from plimsoll.gateway.app import build_app

    settings = Settings.model_validate({
        "model": {"provider": "anthropic", "base_url": url, "context_length": WINDOW},
        "compression": {"protect_last_n": 4},
        "gateway": {"compaction_workers": 0},
    })  # fmt: skip
    life = 0

    def end() -> None:
        if life:
            os.kill(life, signal.SIGKILL)
            os.waitpid(life, 0)

    for _ in sys.stdin:
        end()
        life = os.fork()
        if life:
            print("begun", flush=True)
            continue
        app = build_app(settings, environ={}, home=Path(home))
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)
        os._exit(0)
    end()


def main() -> int:
    if sys.argv[1:2] == ["--fork"]:
        fork(int(sys.argv[2]), sys.argv[3], sys.argv[4])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261115)
    options = parser.parse_args()
    print(f"{options.kills} kills, {options.clients} clients that continue at once, pid {os.getpid()}")
    return 0 if run(options.kills, options.clients, options.seed) else 1


if __name__ == "__main__":
    sys.exit(main())

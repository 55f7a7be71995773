"""Two gateway processes on one PostgreSQL under load, one of them killed every few seconds.

    python bench/gateway_kill.py                     two minutes
    python bench/gateway_kill.py --seconds 20

    clients ─► process A ✝ ─┐
            └► process B ───┴─► PostgreSQL      the model is a scripted server

Every message has a key and is sent again, to whichever process, until it is answered; some are sent to both at
once. Afterwards the log of every session is compared with what the clients were told. Bars: no acknowledged
message lost, none stored twice, no turn within another, every answer the one that is stored, no session held
by a dead process for longer than its lease.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from plimsoll.agent.agent import PROCESS_ENDED
from plimsoll.archive import OPERATOR, Archive
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of, validate
from plimsoll.testing.scripted_server import Fault, ScriptedServer, fault, say

sys.path.append(str(Path(__file__).parents[1] / "tests" / "archive"))

MODEL, WINDOW = "gpt-4.1", 16_000
_LEASES = (
    "SELECT l.session, l.holder FROM leases l WHERE l.purpose = 'turn' AND l.holder <> '' "
    "AND l.expires > extract(epoch FROM clock_timestamp())"
)
_GRACE = 0.7  # seconds: the look at the leases is taken every so often


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done."""

    seconds: float = 120.0
    sessions: int = 8
    clients: int = 10
    lease: float = 5.0  # the shortest that the settings allow
    between_kills: tuple[float, float] = (2.0, 5.0)
    seed: int = 20261115


@dataclass(slots=True)
class Told:
    """What clients were told: by message, where it was accepted and how it was answered."""

    sent: dict[str, str] = field(default_factory=dict)  # message -> session
    accepted: dict[str, int] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    repeats: int = 0
    waits: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Report:
    """What came of it."""

    kills: int = 0
    messages: int = 0
    accepted: int = 0
    answered: int = 0
    repeats: int = 0
    compactions: Counter[str] = field(default_factory=Counter)
    left_unanswered: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    interleaved: list[str] = field(default_factory=list)
    other_answers: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    invalid_views: list[str] = field(default_factory=list)
    longest_held: float = 0.0  # seconds that a session was held by a dead process
    waits: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def faults(self, lease: float) -> list[str]:
        """Every bar that was missed."""
        missed = {
            "lost": self.lost,
            "stored twice": self.doubled,
            "interleaved": self.interleaved,
            "answered otherwise": self.other_answers,
            "not finished": self.unfinished,
            "view not valid": self.invalid_views,
        }
        told = [f"{name}: {found[:5]}" for name, found in missed.items() if found]
        if self.longest_held > lease + _GRACE:
            told.append(f"a session was held by a dead process for {self.longest_held:.1f} s")
        return told


def model(request: ChatRequest) -> Fault:
    """Answers with the name of the message, after a while."""
    name = text_of(request.messages[-1]).split(".")[0]
    return fault("slow", seconds=random.uniform(0.02, 0.25), then=say(f"Answer to {name}."))


class Gateways:
    """Two processes; the one that is killed is started again."""

    def __init__(self, model_url: str, archive_url: str, home: Path, lease: float) -> None:
        self._arguments = [model_url, archive_url, str(home), str(lease)]
        self.ports = [_free_port() for _ in range(2)]
        self._processes = [self._start(port) for port in self.ports]
        self.died: dict[int, float] = {}

    def kill(self, which: int) -> None:
        process = self._processes[which]
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.died[process.pid] = time.monotonic()
        self._processes[which] = self._start(self.ports[which])

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    async def ready(self) -> None:
        async with httpx.AsyncClient() as client:
            for port in self.ports:
                for _ in range(600):
                    with suppress(httpx.TransportError):
                        if (await client.get(f"http://127.0.0.1:{port}/openapi.json")).status_code == 200:
                            break
                    await asyncio.sleep(0.1)

    def _start(self, port: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, __file__, "--serve", str(port), *self._arguments])


@contextmanager
def _running(gateways: Gateways) -> Iterator[Gateways]:
    try:
        yield gateways
    finally:
        gateways.stop()


class Client:
    """Sends messages until each of them is answered."""

    def __init__(self, number: int, plan: Plan, ports: list[int], sessions: list[str], told: Told) -> None:
        self._random = random.Random(plan.seed + number)
        self._number, self._ports, self._sessions, self._told = number, ports, sessions, told
        self._http = httpx.AsyncClient(timeout=httpx.Timeout(40.0, connect=2.0))

    async def run(self, until: float) -> None:
        async with self._http:
            count = 0
            while time.monotonic() < until:
                name = f"client {self._number} message {count}"
                count += 1
                session = self._random.choice(self._sessions)
                self._told.sent[name] = session
                began = time.monotonic()
                tries = [self._delivered(session, name)]
                if self._random.random() < 0.15:
                    tries.append(self._delivered(session, name))
                await asyncio.gather(*tries)
                self._told.waits.append(time.monotonic() - began)

    async def _delivered(self, session: str, name: str) -> None:
        """One message, sent again with the same key until there is an answer."""
        body = {"content": f"{name}. " + "The tide tables of that week are below. " * 12}
        while True:
            port = self._random.choice(self._ports)
            url = f"http://127.0.0.1:{port}/sessions/{session}/messages"
            stream = self._random.random() < 0.5
            try:
                answer = await self._once(url, name, {**body, "stream": stream})
            except (httpx.HTTPError, ValueError) as error:
                self._told.statuses[type(error).__name__] += 1
                answer = None
            if answer is not None:
                known = self._told.answers.setdefault(name, answer["text"])
                if known != answer["text"]:
                    self._told.answers[name] = f"two answers: {known} / {answer['text']}"
                self._told.accepted[name] = answer["first"]
                self._told.repeats += answer["repeated"]
                return
            await asyncio.sleep(self._random.uniform(0.05, 0.3))

    async def _once(self, url: str, name: str, body: dict) -> dict | None:
        headers = {"idempotency-key": name.replace(" ", "-")}
        async with self._http.stream("POST", url, json=body, headers=headers) as response:
            self._told.statuses[str(response.status_code)] += 1
            if response.status_code != 200:
                await response.aread()
                return None
            if not body["stream"]:
                return json.loads(await response.aread())
            event = ""
            async for line in response.aiter_lines():
                kind, _, value = line.partition(": ")
                if kind == "event":
                    event = value
                elif kind == "data" and event == "accepted":
                    self._told.accepted.setdefault(name, json.loads(value)["number"])
                elif kind == "data" and event == "done":
                    return json.loads(value)
        return None


async def _kill(gateways: Gateways, plan: Plan, until: float, report: Report) -> None:
    chance = random.Random(plan.seed)
    while True:
        await asyncio.sleep(chance.uniform(*plan.between_kills))
        if time.monotonic() >= until:
            return
        gateways.kill(chance.randrange(2))
        report.kills += 1


async def _watch_leases(gateways: Gateways, url: str, report: Report) -> None:
    """How long sessions are held by processes that are dead."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        while True:
            for _, holder in await (await db.execute(_LEASES)).fetchall():
                died = gateways.died.get(int(holder.split("-")[1]))
                if died is not None:
                    report.longest_held = max(report.longest_held, time.monotonic() - died)
            await asyncio.sleep(0.2)


async def _judge(archive: Archive, sessions: list[str], told: Told, report: Report) -> None:
    """Compare what is stored with what the clients were told."""
    stored: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for session in sessions:
        log = await archive.messages(session)
        for place, one in enumerate(log):
            if one.role != "user":
                continue
            name = text_of(one.message).split(".")[0]
            after = log[place + 1] if place + 1 < len(log) else None
            answer = text_of(after.message) if after and after.role == "assistant" else ""
            stored[name].append((session, one.sequence, answer))
            if answer.startswith(PROCESS_ENDED):
                report.left_unanswered += 1
            elif answer != f"Answer to {name}.":
                report.interleaved.append(f"{session} {one.sequence}: {answer!r}")
        view = [item.message for item in await archive.items(session)]
        report.invalid_views += [f"{session}: {fault}" for fault in validate(view)]
        report.compactions.update(f"{e.trigger} {e.outcome}" for e in await archive.compactions(session))
    report.doubled = [name for name, places in stored.items() if len(places) > 1]
    for name, number in told.accepted.items():
        if (told.sent[name], number) not in [(session, at) for session, at, _ in stored[name]]:
            report.lost.append(name)
        elif name in told.answers and told.answers[name] != stored[name][0][2]:
            report.other_answers.append(f"{name}: {told.answers[name]!r} / {stored[name][0][2]!r}")
    report.unfinished = [name for name in told.sent if name not in told.answers]


async def _run(plan: Plan, model_url: str, archive_url: str, home: Path) -> Report:
    report, told = Report(), Told()
    with _running(Gateways(model_url, archive_url, home, plan.lease)) as gateways:
        await gateways.ready()
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{gateways.ports[0]}") as client:
            begun = [(await client.post("/sessions", timeout=30)).json()["id"] for _ in range(plan.sessions)]
        until = time.monotonic() + plan.seconds
        clients = [Client(n, plan, gateways.ports, begun, told) for n in range(plan.clients)]
        async with _beside(_watch_leases(gateways, archive_url, report)):
            speaking = asyncio.gather(*(client.run(until) for client in clients))
            await _kill(gateways, plan, until, report)
            with suppress(TimeoutError):  # what is left then is told as not finished
                await asyncio.wait_for(speaking, 60 + 4 * plan.lease)
    async with await open_archive(archive_url, home) as store:
        archive = store.for_owner(OPERATOR)
        await _judge(archive, begun, told, report)
    report.messages, report.accepted = len(told.sent), len(told.accepted)
    report.answered, report.repeats = len(told.answers), told.repeats
    report.waits, report.statuses = sorted(told.waits), told.statuses
    return report


@asynccontextmanager
async def _beside(work: object) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)  # type: ignore[arg-type]
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def run(plan: Plan) -> Report:
    """Everything, from the servers to the verdict."""
    import postgres_server

    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer(model, model=MODEL, window=200_000) as server,
    ):
        url = postgres_server.server().url_for(Path(folder))
        return asyncio.run(_run(plan, server.openai_url, url, Path(folder)))


def serve(port: int, model_url: str, archive_url: str, home: str, lease: float) -> None:
    """One gateway process."""
    import uvicorn

    from plimsoll.gateway.app import build_app

    settings = Settings.model_validate({
        "model": {"provider": "scripted", "base_url": model_url, "name": MODEL, "context_length": WINDOW},
        "archive": {"url": archive_url},
        "gateway": {"sessions": {"lease_seconds": lease, "patience_seconds": 30.0, "waiting": 64}},
    })  # fmt: skip
    app = build_app(settings, environ={}, home=Path(home))
    uvicorn.run(
        app, host="127.0.0.1", port=port, log_level="error", access_log=False, timeout_graceful_shutdown=5
    )


def show(report: Report, plan: Plan) -> bool:
    """The table and the bars; whether all of them hold."""
    waits = report.waits or [0.0]
    middle, most, worst = waits[len(waits) // 2], waits[int(len(waits) * 0.95)], waits[-1]
    rows = {
        "seconds": f"{plan.seconds:.0f}",
        "kills": report.kills,
        "messages sent": report.messages,
        "acknowledged": report.accepted,
        "answered": report.answered,
        "answers given again": report.repeats,
        "turns that a kill left unanswered": report.left_unanswered,
        "compactions": dict(report.compactions),
        "wait p50 / p95 / max": f"{middle:.2f} / {most:.2f} / {worst:.2f} s",
        "held by a dead process, longest": f"{report.longest_held:.2f} s (lease {plan.lease:g} s)",
        "answers of the gateways": dict(report.statuses),
    }
    for name, value in rows.items():
        print(f"  {name:34} {value}")
    bars = {
        "no acknowledged message lost": not report.lost,
        "no message stored twice": not report.doubled,
        "no turn within another": not report.interleaved,
        "every answer the stored one": not report.other_answers,
        "every message answered in the end": not report.unfinished,
        "every view valid": not report.invalid_views,
        "no session held longer than its lease": report.longest_held <= plan.lease + _GRACE,
    }
    for name, holds in bars.items():
        print(f"  {'ok  ' if holds else 'FAIL'} {name}")
    for fault_found in report.faults(plan.lease):
        print(f"       {fault_found}")
    return all(bars.values())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def main() -> int:
    if sys.argv[1:2] == ["--serve"]:
        port, model_url, archive_url, home, lease = sys.argv[2:]
        serve(int(port), model_url, archive_url, home, float(lease))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--lease", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=20261115)
    options = parser.parse_args()
    plan = Plan(seconds=options.seconds, lease=options.lease, seed=options.seed)
    print(f"Two gateways, {plan.sessions} sessions, {plan.clients} clients, pid {os.getpid()}")
    return 0 if show(run(plan), plan) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Mixed abuse of a running gateway beside ordinary traffic.

    python bench/abuse.py                    five minutes
    python bench/abuse.py --minutes 60

    3 owners × (OpenAI, Anthropic, session) ─┐
    bad bodies, slow clients, disconnects   ─┼─► plimsoll gateway, two processes ─► scripted model
    kill -9 every minute, a full disk       ─┘            └─► archive on a small tmpfs

Afterwards the archive is compared with what the clients were told. Bars: nothing acknowledged is lost, no
owner's text reaches another one, memory stays flat, and every ordinary request is answered or cleanly refused (a
status and an error body in the dialect of its client; never 500, never a hang).

The archive is on a tmpfs of its own, which a file fills for a minute. Mounting it needs root or user namespaces: the
script starts itself again in a mount namespace, which ends with it.
"""

import argparse
import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import httpx
import psutil

from abuse_attacks import Attacker
from abuse_traffic import MODEL, Observed, Owner, clients, model
from plimsoll.archive import ArchiveStore, key_owner
from plimsoll.archive.key_format import new_key
from plimsoll.archive.keys import KeyLimits
from plimsoll.archive.open_archive import open_archive
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer

NAMES = ("amber", "birch", "coral")
WINDOW = 16_000
DISK_MB = 600  # an hour of this traffic stores about 150 MB
_INSIDE = "PLIMSOLL_ABUSE_INSIDE"
# The allocator keeps what a burst needed; a leak of one request's body per second would exceed both in minutes.
GROWTH, SLACK = 1.15, 20_000_000
# Both are small, so that they are full in the first minutes and growth after that is a leak.
CONVERSATION_MEMORY = 16_000_000
OPEN_SESSIONS = 8
_CONFIG = """\
model: {{provider: anthropic, base_url: {url}, name: {model}, context_length: {window}}}
gateway: {{receive_seconds: 20, send_seconds: 30, sessions: {{lease_seconds: 5, patience_seconds: 40, open: 4}}}}
"""


@dataclass(slots=True)
class Sample:
    """Memory at one moment."""

    moment: float
    survivor: int  # bytes of the gateway process that is never killed
    files: int  # descriptors of that process
    total: int  # bytes of all processes


@dataclass(slots=True)
class Verdict:
    """What was found when the traffic had ended."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    inconsistent: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # tracebacks in the gateway's log
    stored: int = 0
    sessions: int = 0


class GatewayProgram:
    """`plimsoll gateway` with two processes; the oldest is never killed, so that its memory can be followed."""

    def __init__(self, home: Path, temporary: Path, port: int, log: Path) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        environ |= {
            "PLIMSOLL_HOME": str(home), "TMPDIR": str(temporary), "ANTHROPIC_API_KEY": "upstream-key",
            "PLIMSOLL_GATEWAY__CONVERSATION_MEMORY": str(CONVERSATION_MEMORY),
            "PLIMSOLL_GATEWAY__SESSIONS__OPEN": str(OPEN_SESSIONS),
        }  # fmt: skip
        program = str(Path(sys.executable).parent / "plimsoll")
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [program, "gateway", "--port", str(port), "--workers", "2"],
                env=environ,
                stdout=file,
                stderr=file,
            )
        self._root = psutil.Process(self._process.pid)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def workers(self) -> list[psutil.Process]:
        """The processes that serve requests, the oldest first."""
        found = [child for child in self._root.children() if "spawn_main" in " ".join(_command(child))]
        return sorted(found, key=lambda process: process.create_time())

    def kill(self) -> None:
        """kill -9 of the youngest process, and of a compaction process of the other one."""
        serving = self.workers()
        for victim in (*serving[1:][-1:], *(serving[0].children()[:1] if serving else ())):
            with suppress(psutil.NoSuchProcess):
                victim.kill()

    def sample(self) -> Sample | None:
        serving = self.workers()
        try:
            total = sum(_memory(one) for one in (self._root, *self._root.children(recursive=True)))
            return Sample(time.monotonic(), _memory(serving[0]), serving[0].num_fds(), total)
        except (psutil.NoSuchProcess, IndexError):
            return None

    def stop(self) -> int:
        """End it as a service manager does; its exit code."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(90)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return -9


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return list(process.cmdline())
    return []


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return int(process.memory_info().rss)
    return 0


async def _make_owners(home: Path) -> list[Owner]:
    owners = []
    async with await open_archive(None, home) as store:
        for name in NAMES:
            made = new_key()
            await store.keys.add(made.id, name, made.digest, KeyLimits())
            owners.append(Owner(name, made.text, f"mark-{name}-{secrets.token_hex(4)}"))
    return owners


async def _ready(url: str, gateway: GatewayProgram) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(600):
            with suppress(httpx.TransportError):
                if (await client.get(f"{url}/healthz")).status_code == 200 and len(gateway.workers()) == 2:
                    return
            if not gateway.is_running:
                break
            await asyncio.sleep(0.1)
    sys.exit("The gateway did not start; --log FILE keeps its log.")


async def _kill_regularly(gateway: GatewayProgram, every: float, until: float, observed: Observed) -> None:
    while time.monotonic() + every < until:
        await asyncio.sleep(every)
        start = time.monotonic()
        observed.kills.append((start, float("inf")))
        await asyncio.to_thread(gateway.kill)
        observed.kills[-1] = start, time.monotonic()


async def _fill_disk(disk: Path, after: float, seconds: float) -> None:
    """Leave no byte free for a while."""
    await asyncio.sleep(after)
    ballast = disk / "ballast"
    ends = time.monotonic() + seconds
    with ballast.open("wb", buffering=0) as file:
        while time.monotonic() < ends:
            with suppress(OSError):
                while True:  # also takes what was freed meanwhile
                    file.write(bytes(4_096))
            await asyncio.sleep(0.2)
    ballast.unlink()


async def _watch_memory(gateway: GatewayProgram, until: float, samples: list[Sample]) -> None:
    while time.monotonic() < until:
        taken = await asyncio.to_thread(gateway.sample)
        if taken is not None:
            samples.append(taken)
        await asyncio.sleep(2.0)


async def _abuse(
    gateway: GatewayProgram, disk: Path, owners: list[Owner], port: int, seconds: float, observed: Observed
) -> list[Sample]:
    """Everything at once, until the time is over."""
    url, until, samples = f"http://127.0.0.1:{port}", time.monotonic() + seconds, list[Sample]()
    every, full = min(60.0, seconds / 5), min(60.0, seconds / 5)
    attackers = [Attacker(number, owners[number % len(owners)], port, observed) for number in range(8)]
    async with asyncio.TaskGroup() as group:
        for client in clients(owners, url, observed):
            group.create_task(client.run(until))
        group.create_task(attackers[0].bad_requests(until))
        for attacker in attackers[1:3]:
            group.create_task(attacker.disconnects(until))
        for attacker in attackers[3:]:
            group.create_task(attacker.slow_requests(until))
        group.create_task(_kill_regularly(gateway, every, until, observed))
        group.create_task(_fill_disk(disk, 0.4 * seconds, full))
        group.create_task(_watch_memory(gateway, until, samples))
    return samples


async def _read_as_owners(url: str, owners: list[Owner], verdict: Verdict) -> None:
    """Read every session as each owner does over HTTP, and look for what belongs to the others."""
    for owner in owners:
        others = [other.mark for other in owners if other is not owner]
        headers = {"authorization": f"Bearer {owner.key}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            for mark in others:
                found = (await client.get("/search", params={"text": mark})).raise_for_status()
                if mark in found.json().get("matches", found.text):
                    verdict.mixed.append(f"{owner.name} finds {mark} by searching")
            ids: list[str] = []
            while page := (await client.get("/sessions", params={"limit": 200, "offset": len(ids)})).json()[
                "sessions"
            ]:
                ids += [session["id"] for session in page]
            for id in ids:
                for path in (f"/sessions/{id}/view", f"/sessions/{id}/messages?limit=1000"):
                    text = (await client.get(path)).raise_for_status().text
                    verdict.mixed += [
                        f"{owner.name} reads {mark} at {path}" for mark in others if mark in text
                    ]


async def _read_archive(store: ArchiveStore, observed: Observed, verdict: Verdict) -> None:
    """Compare what is stored with what the clients were told."""
    verdict.inconsistent = await store.check()
    ids = {key.name: key.id for key in (await store.keys.snapshot()).keys}
    said: dict[str, Counter[str]] = {}
    for name, id in ids.items():
        archive, counted = store.for_owner(key_owner(id)), Counter[str]()
        logs: dict[str, list[str]] = {}
        for session in await archive.sessions(limit=1_000_000):
            log = [text_of(one.message) for one in await archive.messages(session.id)]
            logs[session.id] = log
            counted.update(text.split(" ", 1)[0] for text in log)
            verdict.stored += len(log)
        verdict.sessions += len(logs)
        said[name] = counted
        for message, (owner, session_id, number) in observed.accepted.items():
            if owner != name:
                continue
            log = logs.get(session_id, [])
            if not (0 < number <= len(log) and log[number - 1].startswith(f"{message} [")):
                verdict.lost.append(f"{message}, accepted as message {number} of {session_id}")
            elif counted[message] > 1:
                verdict.doubled.append(message)
            elif message in observed.replies and observed.replies[message] not in log[number:]:
                verdict.lost.append(f"the answer to {message}")
    for owner, names in observed.left_out.items():
        verdict.lost += [f"{name}, left out of a view" for name in sorted(names) if not said[owner][name]]


def _thirds(samples: list[Sample], value: str) -> tuple[float, float, float]:
    size = max(1, len(samples) // 3)
    parts = (samples[:size], samples[size : 2 * size], samples[2 * size :])
    first, middle, last = (median([getattr(one, value) for one in part] or [0]) for part in parts)
    return first, middle, last


def _show(seconds: float, observed: Observed, samples: list[Sample], verdict: Verdict, code: int) -> bool:
    """The table and the bars; whether all of them hold."""
    waits = sorted(observed.waits) or [0.0]
    middle, most = len(waits) // 2, int(len(waits) * 0.95)
    memory, total, files = (_thirds(samples, value) for value in ("survivor", "total", "files"))
    rows = {
        "minutes": f"{seconds / 60:g}",
        "ordinary requests answered": f"{sum(observed.answered.values()):,} {dict(observed.answered)}",
        "ordinary requests refused": dict(observed.refused),
        "ordinary requests severed by a kill": observed.severed,
        "wait p50 / p95 / max": " / ".join(f"{waits[place]:.2f}" for place in (middle, most, -1)) + " s",
        "answers to a compacted view": observed.compacted,
        "kills": len(observed.kills),
        "abusive requests": f"{sum(observed.abuse.values()):,} {dict(observed.abuse)}",
        "acknowledged in sessions": len(observed.accepted),
        "left out of views": sum(len(names) for names in observed.left_out.values()),
        "stored": f"{verdict.stored:,} messages in {verdict.sessions} sessions",
        "memory by thirds, one process": " / ".join(f"{value / 1e6:.0f}" for value in memory) + " MB",
        "memory by thirds, all processes": " / ".join(f"{value / 1e6:.0f}" for value in total) + " MB",
        "open files by thirds": " / ".join(f"{value:.0f}" for value in files),
    }
    for name, value in rows.items():
        print(f"  {name:36} {value}")
    bars: dict[str, list[str]] = {
        "nothing acknowledged is lost": verdict.lost,
        "nothing is stored twice": verdict.doubled,
        "no owners are mixed up": [*observed.mixed, *verdict.mixed],
        "every ordinary request is answered or cleanly refused": observed.broken,
        "every abuse is refused in time, never with 500": observed.mishandled,
        "the archive is consistent": verdict.inconsistent,
        "the log has no unhandled error": verdict.errors,
        "the gateway ends cleanly": [] if code in (0, -signal.SIGTERM, 143) else [f"exit code {code}"],
        "memory stays flat": [] if memory[2] <= GROWTH * memory[1] + SLACK else ["it grew in the last third"],
        "open files stay flat": [] if files[2] <= 1.5 * files[1] + 20 else ["they grew"],
        "all kinds of clients were answered": [] if len(observed.answered) == 3 and observed.compacted else ["no"],
    }  # fmt: skip
    for name, found in bars.items():
        print(f"  {'FAIL' if found else 'ok  '} {name}{f' ({len(found)})' if found else ''}")
        for example in found[:8]:
            print(f"         {example}")
    return not any(bars.values())


def run(seconds: float, disk: Path, log: Path) -> bool:
    """The whole run, from the servers to the verdict."""
    home, temporary, observed, verdict = disk / "home", disk / "tmp", Observed(), Verdict()
    home.mkdir(), temporary.mkdir()
    owners = asyncio.run(_make_owners(home))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with ScriptedServer(partial(model, observed), model=MODEL, window=200_000, keep_requests=False) as server:
        config = _CONFIG.format(url=server.anthropic_url, model=MODEL, window=WINDOW)
        (home / "config.yaml").write_text(config, "utf-8")
        gateway = GatewayProgram(home, temporary, port, log)
        code = -1

        async def traffic() -> list[Sample]:
            url = f"http://127.0.0.1:{port}"
            await _ready(url, gateway)
            samples = await _abuse(gateway, disk, owners, port, seconds, observed)
            await _read_as_owners(url, owners, verdict)
            return samples

        try:
            samples = asyncio.run(traffic())
        finally:
            code = gateway.stop()
    text = log.read_text("utf-8", "replace")
    verdict.errors = [f"Traceback …{part[:2000]}" for part in text.split("Traceback")[1:]][:20]

    async def read() -> None:
        async with await open_archive(None, home) as store:
            await _read_archive(store, observed, verdict)

    asyncio.run(read())
    return _show(seconds, observed, samples, verdict, code)


@contextmanager
def _small_disk() -> Iterator[Path]:
    """A file system of its own, mounted where only this process and its children see it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--log", type=Path, help="keep the gateway's log in this file")
    options = parser.parse_args()
    if os.environ.get(_INSIDE) != "1":
        inside = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--user", "--map-root-user"])]
        # In place of this process, so that a signal reaches the one that ends the gateway.
        os.execvpe(inside[0], [*inside, sys.executable, *sys.argv], {**os.environ, _INSIDE: "1"})
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    print(f"Gateway with two processes, {len(NAMES)} owners, {options.minutes:g} minutes, pid {os.getpid()}")
    with _small_disk() as disk, tempfile.TemporaryDirectory() as folder:
        return 0 if run(60 * options.minutes, disk, options.log or Path(folder) / "gateway.log") else 1


if __name__ == "__main__":
    sys.exit(main())

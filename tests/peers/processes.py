"""Processes of the peer tests: the gateway as people start it, and clients. All on loopback and all bounded."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from plimsoll.testing.scripted_server import ScriptedServer

PROGRAM = str(Path(sys.executable).parent / "plimsoll")
CLIENT_SECONDS = 900  # a client with forty turns takes a minute or two; only one that hangs takes so long
# Whatever a client wants from elsewhere fails at once, instead of leaving this machine.
LOOPBACK_ONLY = {
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}

KEYS = {f"{name}_API_KEY": "any" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
# The path after a provider's root, by dialect; from the address the gateway knows the dialect.
API_PATHS = {"openai": "/v1", "responses": "/v1/responses", "anthropic": "", "gemini": "/v1beta"}


class ClientFailed(AssertionError):
    """A client ended badly or too late; says what it printed."""


def run_client(
    command: Sequence[str],
    task: Mapping[str, Any],
    folder: Path,
    environment: Mapping[str, str],
    files: Mapping[str, str] | None = None,
) -> Any:
    """Run one driver in a folder and a HOME of its own with these files; what it wrote last, mostly answers."""
    home = folder / "home"
    home.mkdir(parents=True)
    for path, text in (files or {}).items():
        file = home / path.removeprefix("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **KEYS,
        **LOOPBACK_ONLY,
    }
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, complained = process.communicate(json.dumps(task), CLIENT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ClientFailed(f"{command[0]} did not end within {CLIENT_SECONDS} s") from error
    finally:
        _end_group(process)
    if process.returncode != 0:
        raise ClientFailed(
            f"{command} ended with {process.returncode}\n{printed[-3000:]}\n{complained[-6000:]}"
        )
    return json.loads(printed.strip().splitlines()[-1])


def _end_group(process: subprocess.Popen[str]) -> None:
    """End the client and every process that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


class GatewayProcess:
    """A running `plimsoll gateway`."""

    def __init__(self, url: str, log: Path) -> None:
        self.url, self.log = url, log

    def compactions(self) -> int:
        """How many compactions have shortened a view since it started."""
        figures = httpx.get(f"{self.url}/metrics", timeout=60).text
        lines = re.findall(r"^plimsoll_compactions_total\{([^}]*)\} ([\d.]+)", figures, re.MULTILINE)
        return sum(int(float(value)) for labels, value in lines if 'outcome="compacted"' in labels)


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


def upstream_settings(upstream: ScriptedServer, dialect: str) -> dict[str, str]:
    """The settings of a gateway in front of this server."""
    return {
        "MODEL__PROVIDER": "anthropic" if dialect == "anthropic" else "scripted",
        "MODEL__BASE_URL": upstream.url + API_PATHS[dialect],
    }


@contextmanager
def running_gateway(home: Path, settings: Mapping[str, str]) -> Iterator[GatewayProcess]:
    """The command in a process of its own; `settings` are variables without their `PLIMSOLL_`."""
    home.mkdir(exist_ok=True)
    port = free_port()
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environ |= {"PLIMSOLL_HOME": str(home)}
    environ |= {f"PLIMSOLL_{name}": value for name, value in settings.items()}
    log = home / "gateway.log"
    with running([PROGRAM, "gateway", "--port", str(port)], environ, log, f"http://127.0.0.1:{port}/healthz"):
        yield GatewayProcess(f"http://127.0.0.1:{port}", log)


@contextmanager
def running(command: Sequence[str], environ: Mapping[str, str], log: Path, health: str) -> Iterator[None]:
    """A server in a process of its own, from its first answer on; it writes its log beside its files."""
    with log.open("w") as file:
        process = subprocess.Popen(command, env=environ, stdout=file, stderr=file, cwd=log.parent)
    try:
        _wait_for(process, health, log)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(retries=0), timeout=60) as client:
        for _ in range(6_000):  # ten minutes; only one that hangs takes so long
            try:
                client.get(url)
                return
            except httpx.TransportError:  # it does not listen yet
                pass
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(f"the server ended with {process.returncode}: {log.read_text('utf-8')}")
    raise AssertionError(f"the server does not listen: {log.read_text('utf-8')}")

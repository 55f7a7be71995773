"""`plimsoll gateway` as a person starts it: real processes, a signal at the end."""

import os
import resource
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from clients import AnthropicClient, converse, http, model

from plimsoll.gateway.client_lines import client_address
from plimsoll.testing.scripted_server import ScriptedServer

PROGRAM = str(Path(sys.executable).parent / "plimsoll")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@contextmanager
def started(server: ScriptedServer, home: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = free_port()
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environ |= {
        "PLIMSOLL_HOME": str(home),
        "PLIMSOLL_MODEL__PROVIDER": "anthropic",
        "PLIMSOLL_MODEL__BASE_URL": server.anthropic_url,
        "PLIMSOLL_MODEL__CONTEXT_LENGTH": "8000",
        "PLIMSOLL_COMPRESSION__PROTECT_LAST_N": "4",
    }
    command = [PROGRAM, "gateway", "--port", str(port), *options]
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            try:
                assert http().get(f"http://127.0.0.1:{port}/v1/models").status_code == 200
                break
            except httpx.TransportError:  # it does not listen yet
                pass
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(40)
        if process.stderr:
            process.stderr.close()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_command_serves_a_long_conversation_and_ends_on_a_signal(workers: str, tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=8_000) as server,
        started(server, tmp_path, "--workers", workers) as (url, process),
    ):
        client = AnthropicClient(url)
        # A connection each time, so that the processes take turns.
        client.headers = {**client.headers, "connection": "close"}
        converse(client, 24)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
    assert process.returncode in (0, -signal.SIGTERM, 143)
    assert all(seen.status == 200 for seen in server.requests)


def on_a_taken_port(home: Path, **settings: str) -> tuple[int, subprocess.CompletedProcess[str]]:
    """The command as it starts and ends because it cannot listen; the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [PROGRAM, "gateway", "--port", str(port)],
            env={**os.environ, "PLIMSOLL_HOME": str(home), **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )
    return port, done


def test_a_port_in_use_is_a_sentence(tmp_path: Path) -> None:
    port, done = on_a_taken_port(tmp_path)
    assert done.returncode == 2
    assert "context.engine" not in done.stderr
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use. Choose" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_lines_for_clients_appear_only_when_the_port_is_bound(tmp_path: Path) -> None:
    _, done = on_a_taken_port(tmp_path)
    assert done.stderr.startswith("Starting on 127.0.0.1 port ")
    assert "Point a client at it" not in done.stderr


def test_the_command_shows_a_line_to_copy_for_each_client(tmp_path: Path) -> None:
    with ScriptedServer(model) as server, started(server, tmp_path) as (url, process):
        assert process.stderr is not None
        before = "".join(iter(process.stderr.readline, "Point a client at it:\n"))
        lines = [process.stderr.readline().rstrip("\n") for _ in range(6)]
    assert "  # " not in before
    names = [line.split("  # ")[1] for line in lines]
    assert names == ["Claude Code", "Codex", "Gemini CLI", "aider", "OpenAI SDKs", "Anthropic SDKs"]
    assert max(map(len, lines)) <= 80
    for line in lines:
        words = shlex.split(line, comments=True)  # what a shell makes of the whole line
        assert url in " ".join(words)
        assert "#" not in words


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8787"),
        ("::1", "http://[::1]:8787"),
        ("0.0.0.0", f"http://{socket.gethostname()}:8787"),
        ("::", f"http://{socket.gethostname()}:8787"),
    ],
)
def test_clients_are_shown_an_address_that_they_can_reach(host: str, address: str) -> None:
    assert client_address(host, 8787) == address


def test_the_command_says_that_another_engine_serves_sessions_alone(tmp_path: Path) -> None:
    _, done = on_a_taken_port(tmp_path, PLIMSOLL_CONTEXT__ENGINE="lcm")
    assert "context.engine lcm serves sessions. Conversations of API clients are compacted by" in done.stderr


def test_the_command_takes_as_many_open_files_as_the_system_allows(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))  # as a shell with a low limit
    try:
        with ScriptedServer(model) as server, started(server, tmp_path) as (_, process):
            limits = psutil.Process(process.pid).rlimit(psutil.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert limits[0] == min(hard, 65_536)

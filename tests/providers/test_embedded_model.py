"""The real embedded model: both dialects, cached tokens, a real overflow, a process that goes when it should."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from plimsoll.dialects import ChatRequest, Reply
from plimsoll.errors import AuthenticationFailed, ContextOverflow, LocalModelError
from plimsoll.providers import Client, Endpoint, LocalServer, connect, resolve
from plimsoll.providers.local import model_path, shared_server, stop_shared
from plimsoll.settings.model import ModelSettings

Dialect = Literal["openai", "anthropic"]
BOTH = pytest.mark.parametrize("dialect", ["openai", "anthropic"])
WINDOW = 1_024


def ask(text: str, *before: dict[str, str], limit: int = 12) -> ChatRequest:
    return ChatRequest("", (*before, {"role": "user", "content": text}), max_tokens=limit, temperature=0.0)


def completed(endpoint: Endpoint, request: ChatRequest) -> Reply:
    async def exchange() -> Reply:
        async with Client(endpoint) as client:
            return await client.complete(request)

    return asyncio.run(exchange())


def gone(pid: int, within: float = 120.0) -> bool:
    """Whether a process ends in time."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@BOTH
def test_it_answers_in_both_dialects(small_model: LocalServer, dialect: Dialect):
    reply = completed(small_model.endpoint(dialect), ask("Say good morning."))
    assert reply.message["content"].strip()
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 10
    assert 0 < reply.usage.completion_tokens <= 12


@pytest.mark.slow
@BOTH
def test_it_streams_in_both_dialects(small_model: LocalServer, dialect: Dialect):
    async def exchange() -> tuple[int, Reply]:
        async with (
            Client(small_model.endpoint(dialect)) as client,
            client.stream(ask("Count to five.")) as stream,
        ):
            steps = [step async for step in stream]
            return len(steps), stream.reply

    steps, reply = asyncio.run(exchange())
    assert steps > 5
    assert reply.message["content"].strip()
    assert reply.usage is not None
    assert reply.usage.completion_tokens > 0


@pytest.mark.slow
@BOTH
def test_cached_tokens_rise_from_turn_to_turn(small_model: LocalServer, dialect: Dialect):
    messages: list[dict[str, str]] = [
        {"role": "system", "content": f"You count ships. Your wire is {dialect}."}
    ]
    cached = []
    for turn in range(3):
        reply = completed(small_model.endpoint(dialect), ask(f"Ship {turn} comes in. " * 4, *messages))
        messages += [{"role": "user", "content": f"Ship {turn} comes in. " * 4}, reply.message]
        assert reply.usage is not None
        cached.append(reply.usage.cache_read_tokens or 0)
    assert cached[0] < cached[1] < cached[2]
    assert cached[2] > 50


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("stream", [False, True])
def test_a_real_overflow_is_read_with_its_numbers(small_model: LocalServer, dialect: Dialect, stream: bool):
    async def exchange() -> None:
        async with Client(small_model.endpoint(dialect)) as client:
            if not stream:
                await client.complete(ask("ship " * 1_500))
            async for _ in client.stream(ask("ship " * 1_500)):
                pass

    with pytest.raises(ContextOverflow) as raised:
        asyncio.run(exchange())
    assert raised.value.limit == WINDOW
    assert raised.value.requested is not None
    assert raised.value.requested > 1_500


@pytest.mark.slow
def test_no_other_user_of_the_machine_may_use_it(small_model: LocalServer):
    right = small_model.endpoint()
    wrong = Endpoint("local", right.base_url, "openai", "another-key-0123", right.model)
    with pytest.raises(AuthenticationFailed):
        completed(wrong, ask("Hello."))
    assert right.key is not None
    assert right.key not in repr(small_model) + repr(right)
    arguments = Path(f"/proc/{small_model.pid}/cmdline").read_text()
    assert right.key not in arguments


@pytest.mark.slow
def test_auto_finds_it_and_one_server_serves_the_program(embedded_home: Path, alone_on_the_machine: None):
    async def nobody(_: str) -> None:
        return None

    async def exchange() -> tuple[Reply, int, int]:
        settings = ModelSettings()
        resolution = await resolve(settings, {}, home=embedded_home, probe=nobody)
        first = await connect(resolution.endpoint, home=embedded_home, context_length=512)
        async with first:
            reply = await first.complete(ask("Hello."))
        second = await connect(resolution.endpoint, home=embedded_home, context_length=512)
        async with second:
            assert second.endpoint == first.endpoint
        server = await shared_server(model_path(embedded_home), context_length=512, home=embedded_home)
        before = server.pid
        os.kill(before, signal.SIGKILL)
        while server.alive:
            await asyncio.sleep(0.02)
        again = await shared_server(model_path(embedded_home), context_length=512, home=embedded_home)
        return reply, before, again.pid

    try:
        reply, before, after = asyncio.run(exchange())
    finally:
        stop_shared()
    assert reply.message["content"].strip()
    assert before != after
    assert gone(after)


PARENT = """
import asyncio, sys, time
from pathlib import Path
from plimsoll.providers.local import shared_server
server = asyncio.run(shared_server(Path(sys.argv[1]), context_length=512, home=Path(sys.argv[2])))
print(server.pid, flush=True)
{then}
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["exit", "killed"])
def test_the_server_ends_with_the_program(
    embedded_home: Path, tmp_path: Path, end: str, alone_on_the_machine: None
):
    then = "time.sleep(60)" if end == "killed" else ""
    arguments = [
        sys.executable,
        "-c",
        PARENT.format(then=then),
        str(model_path(embedded_home)),
        str(tmp_path),
    ]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if end == "killed":
            parent.kill()
    assert gone(pid)


@pytest.fixture
def alone_on_the_machine(request: pytest.FixtureRequest, small_model: LocalServer) -> None:
    """`small_model` holds the lock that keeps other workers' servers away."""


@pytest.mark.slow
def test_a_file_that_is_no_model_is_one_sentence(embedded_home: Path, tmp_path: Path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"this is no model")
    with pytest.raises(LocalModelError, match=r"broken\.gguf could not be loaded") as raised:
        asyncio.run(LocalServer.start(broken, log=tmp_path / "log"))
    assert "\n" not in str(raised.value)


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path):
    pytest.importorskip("xllamacpp", reason="a model on this machine needs xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 200)
    (tmp_path / "file").write_text("not a folder")
    # The log has no place, and still it is the model that is told about.
    with pytest.raises(LocalModelError, match=r"broken\.gguf could not be loaded"):
        asyncio.run(LocalServer.start(broken, log=tmp_path / "file" / "logs" / "local-model.log"))


def test_a_model_that_is_not_here_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    serves: Callable[[], bool] = lambda: True  # noqa: E731
    monkeypatch.setattr("plimsoll.providers.local.server.can_serve", serves)
    with pytest.raises(LocalModelError, match="plimsoll models fetch"):
        asyncio.run(LocalServer.start(model_path(tmp_path)))
    with pytest.raises(LocalModelError, match="no model file"):
        asyncio.run(LocalServer.start(tmp_path / "x.gguf"))
    monkeypatch.setattr("plimsoll.providers.local.server.can_serve", lambda: False)
    with pytest.raises(LocalModelError, match="pip install"):
        asyncio.run(LocalServer.start(tmp_path / "x.gguf"))


@pytest.mark.slow
def test_a_smaller_window_of_the_same_file_needs_no_second_process(
    embedded_home: Path, alone_on_the_machine: None
):
    async def started() -> list[int]:
        servers = [
            await shared_server(model_path(embedded_home), context_length=window, home=embedded_home)
            for window in (1_024, 512, 1_024)
        ]
        return [server.pid for server in servers]

    try:
        assert len(set(asyncio.run(started()))) == 1
    finally:
        stop_shared()

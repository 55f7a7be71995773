"""Each setting under `gateway` changes something that can be seen. Those of the door, the log and the figures are
tested where these are.
"""

import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from clients import http, sent
from gateway_keys import (
    ASK,
    MODELS,
    PATHS,
    add_key,
    answering,
    ask,
    environment,
    error_of,
    gateway_program,
    used_so_far,
    wait_until_healthy,
)
from gateway_server import RunningGateway, settings_for
from pydantic import ValidationError

from plimsoll.config import Settings, all_keys
from plimsoll.testing.scripted_server import ScriptedServer, fault, say
from ports import free_port

PLIMSOLL = str(Path(sys.executable).with_name("plimsoll"))


def started(home: Path, config: str, *arguments: str) -> "subprocess.Popen[str]":
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(config, "utf-8")
    return subprocess.Popen(
        [PLIMSOLL, "gateway", *arguments], env=environment(home), stderr=subprocess.PIPE, text=True
    )


def ended(process: "subprocess.Popen[str]") -> str:
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    return said


def test_host_port_and_workers_are_where_the_gateway_listens(tmp_path: Path) -> None:
    port = free_port("127.0.0.2")
    running = started(tmp_path, f"gateway:\n  host: 127.0.0.2\n  port: {port}\n  workers: 2\n")
    wait_until_healthy(f"http://127.0.0.2:{port}", running)
    assert f"on 127.0.0.2 port {port} with 2 processes" in ended(running)


def test_a_flag_outranks_the_setting(tmp_path: Path) -> None:
    port = free_port()
    running = started(tmp_path, "gateway:\n  port: 1\n  workers: 2\n", "--port", str(port), "--workers", "1")
    wait_until_healthy(f"http://127.0.0.1:{port}", running)
    assert f"port {port} with 1 process." in ended(running)


def test_receive_seconds_ends_a_request_that_does_not_arrive(tmp_path: Path) -> None:
    settings = {"gateway": {"receive_seconds": 0.3}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        port = int(gateway.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            slow.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{")
            assert b" 408 " in slow.recv(65_536)


def test_send_seconds_cuts_off_a_client_that_takes_nothing(tmp_path: Path) -> None:
    text = "The harbour master wrote down every ship. " * 400_000
    settings = {"gateway": {"send_seconds": 0.5}}
    with (
        ScriptedServer([say(text)]) as server,
        RunningGateway(settings_for(server, **settings), tmp_path) as gateway,
    ):
        port = int(gateway.url.rpartition(":")[2])
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            lazy.connect(("127.0.0.1", port))
            body = httpx.Request(
                "POST",
                "http://h",
                json={"model": MODELS["anthropic"], **ASK, "max_tokens": 9_000_000, "stream": True},
            ).content
            head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
            lazy.sendall(head.encode() + body)
            for _ in range(200):
                found = http().get(gateway.url + "/metrics").text
                under_way = re.search(r"^plimsoll_requests_under_way (\S+)$", found, re.MULTILINE)
                asked = 'path="/v1/messages"' in found
                if asked and under_way and float(under_way[1]) == 1:
                    return
                time.sleep(0.05)
    pytest.fail("the client was waited for")


def test_connections_is_how_many_are_served_at_once(tmp_path: Path) -> None:
    with (
        answering() as server,
        gateway_program(tmp_path, server, config="gateway:\n  connections: 2\n") as (url, _),
    ):
        port = int(url.rpartition(":")[2])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        try:
            assert ask(url, connection="close").status_code == 503
        finally:
            for one in held:
                one.close()


def test_the_limits_on_requests_are_those_of_the_settings(tmp_path: Path) -> None:
    config = "gateway:\n  header_limit: 2000\n  body_limit: 5000\n  element_limit: 100\n  depth_limit: 10\n"
    with answering() as server, gateway_program(tmp_path, server, config=config) as (url, _):
        path = url + PATHS["anthropic"]
        long = http().post(path, json={}, headers={"x-long": "a" * 3_000})
        large = http().post(path, json={"a": "b" * 6_000})
        many = http().post(path, json={"a": [1] * 200})
        deep = http().post(path, content=b'{"a":' * 20 + b"1" + b"}" * 20)
    assert [answer.status_code for answer in (long, large, many, deep)] == [431, 413, 413, 400]
    assert "gateway.element_limit" in many.text
    assert "gateway.depth_limit" in deep.text
    assert server.requests == []


def test_shutdown_seconds_is_how_long_an_answer_under_way_is_waited_for(tmp_path: Path) -> None:
    slow = fault("slow", seconds=60.0, then=say("Too late."))
    config = "gateway:\n  shutdown_seconds: 1\n"
    with (
        ScriptedServer([slow]) as server,
        gateway_program(tmp_path, server, config=config) as (url, running),
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as waiting,
    ):
        body = httpx.Request("POST", "http://h", json={"model": MODELS["anthropic"], **ASK}).content
        head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
        waiting.sendall(head.encode() + body)
        while not server.requests:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=30)  # half of what the answer would take


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("waiting", -1), ("open", -1), ("patience_seconds", 0), ("lease_seconds", 4.9), ("lease_seconds", 3_601),
        ("hygiene_seconds", 0.5), ("tools", ["shell"]), ("tools", "terminal"), ("patience", 5),
    ],
)  # fmt: skip
def test_a_setting_of_sessions_out_of_its_range_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        Settings.model_validate({"gateway": {"sessions": {key: value}}})


def test_limit_wait_seconds_is_how_long_a_request_waits_for_others_of_its_key(tmp_path: Path) -> None:
    key = add_key(tmp_path, tokens_per_day=30)
    settings = {"gateway": {"limit_wait_seconds": 0.2}}
    slow = fault("slow", seconds=3.0, then=say("On the mast."))
    with (
        ScriptedServer([slow]) as server,
        RunningGateway(settings_for(server, **settings), tmp_path) as gateway,
        ThreadPoolExecutor(1) as threads,
    ):
        first = threads.submit(ask, gateway.url, key=key)
        assert server.wait_until(lambda: len(server.requests) == 1)
        refused = ask(gateway.url, key=key)
        assert first.result().status_code == 200
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) <= 10
    assert "requests in progress may use the rest" in error_of(refused)["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_on_disconnect_finish_charges_what_the_provider_billed_for_an_unread_reply(
    tmp_path: Path, stream: bool
) -> None:
    key = add_key(tmp_path)
    slow = fault("slow", seconds=0.2, then=say("On the mast. " * 40))
    settings = {"gateway": {"on_disconnect": "finish"}}
    body = {"model": MODELS["anthropic"], **ASK, "max_tokens": 900, "stream": stream}
    with (
        ScriptedServer([slow]) as server,
        RunningGateway(settings_for(server, **settings), tmp_path) as gateway,
    ):
        with sent(gateway.url + PATHS["anthropic"], body, {"x-api-key": key}):
            assert server.wait_until(lambda: len(server.requests) == 1)
        assert server.wait_until(lambda: server.requests[0].is_done)
    (asked,) = server.requests
    assert asked.usage is not None
    assert not asked.is_abandoned
    assert used_so_far(tmp_path)["laptop"].tokens == asked.usage.total_tokens


@pytest.mark.parametrize("workers", [0, 1])
def test_compaction_workers_is_how_many_processes_compact(tmp_path: Path, workers: int) -> None:
    said = [
        {"role": role, "content": f"{role} {number}: " + "The tide comes in. " * 60}
        for number in range(60)
        for role in ("user", "assistant")
    ]
    body = {
        "model": MODELS["anthropic"],
        "max_tokens": 20,
        "messages": [*said, {"role": "user", "content": "Go on."}],
    }
    settings = {"gateway": {"compaction_workers": workers}, "model": {"context_length": 40_000}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        before = set(psutil.Process().children())
        reply = http().post(f"{gateway.url}/v1/messages", json=body)
        assert reply.headers["x-plimsoll-view"] == "compacted"
        started = set(psutil.Process().children()) - before
        assert len(started) == workers
    assert not any(process.is_running() for process in started)


def test_every_setting_of_the_gateway_is_named_in_a_test() -> None:
    written = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    # Messaging services have settings of their own below it.
    names = [
        setting.path[-1]
        for setting in all_keys()
        if setting.path[0] == "gateway" and (len(setting.path) == 2 or setting.path[1] == "sessions")
    ]
    assert [name for name in names if name not in written] == []

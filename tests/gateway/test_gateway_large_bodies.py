"""Large bodies hold up nobody: they are read in a worker process, or in a thread where there is none."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from clients import http
from gateway_server import RunningGateway, settings_for
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.agent import Workers
from plimsoll.archive import OPERATOR
from plimsoll.context.markers import QuotedSummary
from plimsoll.dialects import OPENAI, dialect_named
from plimsoll.gateway.dropin import analysis
from plimsoll.gateway.dropin.analysis import assembled, frame_of, pieces_of
from plimsoll.gateway.dropin.body_reader import MODULE, BodyReader
from plimsoll.gateway.dropin.chain import chain_of, root_of
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.request_writer import RequestWriter
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import LARGE_BYTES, Refused, parse_body
from plimsoll.settings.gateway import GatewaySection
from plimsoll.testing.scripted_server import ScriptedServer

ROOT = root_of(b"caller", "anthropic")
PATH = "/v1/chat/completions"


def body_of(turns: int = 80, **more: Any) -> dict[str, Any]:
    """A request of more than `LARGE_BYTES`."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a harbour pilot."}]
    for turn in range(turns):
        messages += [
            {"role": "user", "content": f"What of ship {turn}? " + "The tide is high. " * 100},
            {"role": "assistant", "content": f"Ship {turn} lies at pier {turn % 7}. " * 10},
        ]
    return {"model": "gpt-4.1", "messages": [*messages, {"role": "user", "content": "Go on."}], **more}


def large() -> bytes:
    raw = json.dumps(body_of()).encode()
    assert len(raw) > LARGE_BYTES
    return raw


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    pool = Workers(1, modules=[MODULE])
    assert pool.wait_until_ready(120)
    yield pool
    pool.close()


def workers_of(gateway: RunningGateway) -> Workers:
    found = gateway.within.reader._workers
    assert found is not None
    assert found.wait_until_ready(120)
    return found


def parses_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads of this process that parse a large body."""
    threads: list[str] = []
    original = jsontext.read_request

    def recorded(raw: bytes) -> Any:
        if len(raw) >= LARGE_BYTES:
            threads.append(threading.current_thread().name)
        return original(raw)

    monkeypatch.setattr(jsontext, "read_request", recorded)
    return threads


@pytest.mark.parametrize("number", [0, 1])
def test_a_large_body_is_never_parsed_in_the_thread_of_the_event_loop(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parses = parses_of(monkeypatch)
    raw = large()
    with (
        ScriptedServer() as server,
        RunningGateway(
            settings_for(server, "openai", gateway={"compaction_workers": number}), tmp_path
        ) as gateway,
    ):
        if number:
            workers_of(gateway)
        assert http().post(gateway.url + PATH, content=raw).status_code == 200
    assert server.requests[-1].raw == raw
    assert [name.startswith("gateway-body") for name in parses] == ([] if number else [True])


@pytest.mark.parametrize("upstream", ["openai", "anthropic"])
def test_what_a_large_request_becomes_is_written_outside_the_thread_of_the_event_loop(
    upstream: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    original = RequestWriter.write_now

    def recorded(self: RequestWriter, out: Any) -> None:
        threads.append(threading.current_thread().name)
        original(self, out)

    monkeypatch.setattr(RequestWriter, "write_now", recorded)
    with (
        ScriptedServer() as server,
        RunningGateway(
            settings_for(server, upstream, model={"name": "claude-sonnet-4-5"}), tmp_path
        ) as gateway,
    ):
        body = body_of(80)
        for turns in (1, 80):
            asked = {**body, "messages": body["messages"][: 2 * turns]}
            assert http().post(gateway.url + PATH, json=asked).status_code == 200
    assert [name == "gateway" for name in threads] == [True, False]


def test_other_requests_are_served_while_a_large_body_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, goes_on = threading.Event(), threading.Event()
    original = jsontext.read_request

    def slow(raw: bytes) -> Any:
        if len(raw) >= LARGE_BYTES:
            arrived.set()
            goes_on.wait(30)
        return original(raw)

    monkeypatch.setattr(jsontext, "read_request", slow)
    with (
        ScriptedServer() as server,
        RunningGateway(
            settings_for(server, "openai", gateway={"compaction_workers": 0}), tmp_path
        ) as gateway,
        ThreadPoolExecutor(1) as client,
    ):
        waiting = client.submit(http().post, gateway.url + PATH, content=large())
        assert arrived.wait(30)
        small = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Ahoy."}]}
        assert http().post(gateway.url + PATH, json=small).status_code == 200
        assert not waiting.done()
        assert not goes_on.is_set()
        goes_on.set()
        assert waiting.result().status_code == 200


def test_other_requests_are_served_while_the_worker_process_is_stopped(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
        ThreadPoolExecutor(1) as client,
    ):
        (pid,) = workers_of(gateway).processes
        os.kill(pid, signal.SIGSTOP)
        try:
            waiting = client.submit(http().post, gateway.url + PATH, content=large())
            assert http().get(f"{gateway.url}/healthz").status_code == 200
            assert not waiting.done()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert waiting.result().status_code == 200


def test_a_worker_that_is_killed_while_it_reads_a_body_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_over = threading.Event()
    original = Workers.run_short

    def recorded(self: Workers, *arguments: Any, **named: Any) -> Any:
        handed_over.set()
        return original(self, *arguments, **named)

    monkeypatch.setattr(Workers, "run_short", recorded)
    raw = large()
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
        ThreadPoolExecutor(1) as client,
    ):
        pool = workers_of(gateway)
        (pid,) = pool.processes
        process = psutil.Process(pid)
        os.kill(pid, signal.SIGSTOP)
        waiting = client.submit(http().post, gateway.url + PATH, content=raw)
        assert handed_over.wait(30)
        os.kill(pid, signal.SIGKILL)
        assert waiting.result().status_code == 200
        assert server.requests[-1].raw == raw
        assert psutil.wait_procs([process], timeout=30)[0] == [process]
        assert workers_of(gateway) is pool
        assert http().post(gateway.url + PATH, content=raw).status_code == 200
        assert pool.processes != [pid]


def test_a_conversation_of_large_bodies_is_known_again(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        RunningGateway(
            settings_for(server, "openai", model={"context_length": 200_000}), tmp_path
        ) as gateway,
    ):
        workers_of(gateway)
        conversations, lengths = gateway.within.conversations, []
        assert conversations is not None
        for turns in (70, 75, 80):
            body = body_of(turns)
            asked = {**body, "messages": body["messages"][:-2]}  # up to the last question
            assert http().post(gateway.url + PATH, json=asked).status_code == 200
            (conversation,) = conversations.all()
            lengths.append(len(conversation.log))
    assert lengths == [139, 149, 159]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b'{"messages": [' + b" " * LARGE_BYTES, 400),
        (b"[" + b" " * LARGE_BYTES + b"]", 400),
        (b"[" * 2 * LARGE_BYTES, 413),
        (b'{"messages": ' + b"[" * 200 + b"]" * 200 + b"}" + b" " * LARGE_BYTES, 400),
        (b'{"model": "' + b"m" * LARGE_BYTES + b'"}', 400),
    ],
    ids=["broken", "no object", "too many elements", "too deep", "too long a name"],
)
def test_a_large_body_is_refused_in_the_same_words_wherever_it_is_read(
    raw: bytes, status: int, workers: Workers
) -> None:
    with pytest.raises(Refused) as here:
        parse_body(raw, GatewaySection())
    for reader in (BodyReader(workers), BodyReader()):
        with pytest.raises(Refused) as there:
            asyncio.run(reader.read(raw, OPENAI, ROOT, GatewaySection()))
        assert there.value.args == here.value.args
        assert (there.value.status, there.value.kind) == (status, here.value.kind)
        reader.close()


def test_messages_that_are_no_conversation_reach_the_upstream_as_they_came(tmp_path: Path) -> None:
    raw = json.dumps({"model": "m", "messages": [{"role": 7, "content": "x" * LARGE_BYTES}]}).encode()
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, "openai", model={"context_length": 8_000}), tmp_path) as gateway,
    ):
        workers_of(gateway)
        http().post(gateway.url + PATH, content=raw)
    assert server.requests[-1].raw == raw


texts = st.text(max_size=12)
blocks = st.one_of(
    texts.map(lambda text: {"type": "text", "text": text}),
    texts.map(lambda text: {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}),
    texts.map(lambda text: {"type": "tool_result", "tool_use_id": "t1", "content": text}),
    texts.map(lambda text: {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": text}}),
    st.just({"type": "text", "text": "[CONTEXT COMPACTION] Earlier turns were compacted\n## Goal\nNone."}),
)
messages = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    texts | st.lists(blocks, min_size=1, max_size=3),
)
leads = st.sampled_from([[], [{"role": "system", "content": "Be brief."}]])


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@given(lead=leads, said=st.lists(messages, max_size=12), size=st.integers(1, 5))
def test_a_body_in_pieces_is_the_body_with_what_the_event_loop_would_find_in_it(
    name: str, lead: list[Any], said: list[Any], size: int
) -> None:
    dialect = dialect_named(name)
    system = {"messages": [*lead, *said]} if name == "openai" else {"system": lead, "messages": said}
    body = {"model": "m", **system, "tools": [{"name": "look", "input_schema": {"type": "object"}}]}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(analysis, "GROUP_MESSAGES", size)
        pieces = list(pieces_of(dialect, ROOT, GatewaySection(), json.dumps(body).encode()))
    found, known = assembled(dialect, pieces)
    assert found == body
    assert list(found) == list(body)
    here = ClientRequest(dialect, b"", body, (), OPERATOR)
    assert known is not None
    assert known.frame == frame_of(dialect, here.lead, here.tools)
    one, other = (ClientConversation(dialect, here.lead, OPERATOR) for _ in range(2))
    one.extend(here.messages, chain_of(ROOT, map(dialect.unmarked, here.messages)))
    other.extend(ClientRequest(dialect, b"", found, (), OPERATOR).messages, known.chain, known)
    assert (one.chain, one.ends, one.log, one.tokens) == (other.chain, other.ends, other.log, other.tokens)
    assert [type(m) for m in one.log] == [type(m) for m in other.log]


def test_a_quoted_summary_is_still_known_as_one_when_a_worker_read_it(workers: Workers) -> None:
    said = (
        "[CONTEXT COMPACTION] Earlier turns were compacted into a summary.\n\n## Goal\n" + "x" * LARGE_BYTES
    )
    raw = json.dumps({"messages": [{"role": "user", "content": said}]}).encode()
    reader = BodyReader(workers)
    body, known = asyncio.run(reader.read(raw, OPENAI, ROOT, GatewaySection()))
    reader.close()
    assert known is not None
    assert known.canonical == [body["messages"]]
    assert isinstance(known.canonical[0][0], QuotedSummary)

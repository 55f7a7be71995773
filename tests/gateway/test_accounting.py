"""Every token is charged to the key and stored with the conversation that caused it, however its request ends."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from clients import FILLER, OpenAIClient, http, sent
from gateway_keys import add_key, used_so_far
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import UsageRecord
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, fault, say
from ports import free_port

BENCH = Path(__file__).parents[2] / "bench"
WINDOW = 8_000
SUMMARY = "## Goal\nKeep the log.\n## Progress\n### Done\n- Ships were written down.\n"


@pytest.fixture
def accounting(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """`bench/accounting.py`, which is no part of the package."""
    monkeypatch.syspath_prepend(str(BENCH))
    import accounting

    yield accounting
    sys.modules.pop("accounting", None)


@pytest.mark.rewrites_history("many conversations talk to one server at the same time")
def test_two_keys_are_charged_to_the_token_what_the_provider_billed(
    tmp_path: Path, accounting: ModuleType
) -> None:
    found = accounting.account(300, tmp_path, free_port())
    assert found.charged == found.billed
    assert found.billed.keys() == {"busy", "quiet"}, "no request has words of both keys"
    assert found.summaries["busy"] > 0
    assert {"answered", "left"} <= found.happened.keys()


class Summaries:
    """A summary model that writes when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_write = threading.Event(), threading.Event()

    def __call__(self, request: ChatRequest) -> ScriptedAnswer:
        self.asked.set()
        self.may_write.wait(60)
        return say(SUMMARY)


def settings_with(
    server: ScriptedServer, writer: ScriptedServer, idle: float = 10.0, **compression: object
) -> Settings:
    small = {"model": "small", "provider": "custom", "base_url": writer.openai_url, "idle_timeout": idle}
    return settings_for(
        server,
        "openai",
        model={"context_length": WINDOW},
        compression={"protect_last_n": 4, **compression},
        auxiliary={"compression": small},
    )


def client_with(gateway: RunningGateway, key: str) -> OpenAIClient:
    client = OpenAIClient(gateway.url)
    client.headers = {"authorization": f"Bearer {key}"}
    return client


def talk_until(client: OpenAIClient, happened: threading.Event) -> None:
    for number in range(40):
        client.say(f"ship{number}: {FILLER * 8}")
        if happened.wait(0.2):
            return
    raise AssertionError("it did not happen")


def billed(server: ScriptedServer) -> int:
    return sum(one.usage.total_tokens for one in server.requests if one.usage)


def test_a_summary_in_the_background_is_charged_to_the_key_whose_conversation_it_is(tmp_path: Path) -> None:
    busy, quiet = add_key(tmp_path, "busy"), add_key(tmp_path, "quiet")
    summaries = Summaries()
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(summaries) as writer,
        RunningGateway(settings_with(server, writer), tmp_path) as gateway,
    ):
        talk_until(client_with(gateway, busy), summaries.asked)  # its summary is being prepared
        spent = billed(server)
        summaries.may_write.set()
        assert writer.wait_until(lambda: all(one.is_done for one in writer.requests))
        # The other key compacts next: it must not find the first one's bill.
        other = client_with(gateway, quiet)
        for number in range(20):
            other.say(f"boat{number}: {FILLER * 8}")
    own = sum(one.usage.total_tokens for one in writer.requests if one.usage and "ship" in _said(one.request))
    used = used_so_far(tmp_path)
    assert own > 0
    assert used["busy"].tokens == spent + own
    assert used["quiet"].tokens == billed(server) - spent + billed(writer) - own


def test_a_client_that_leaves_during_its_compaction_pays_for_the_summary(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    summaries = Summaries()
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(summaries) as writer,
        RunningGateway(settings_with(server, writer, background=False), tmp_path) as gateway,
    ):
        said = [
            {"role": role, "content": f"{number} {FILLER * 12}"}
            for number in range(14)
            for role in ("user", "assistant")
        ]
        body = {"model": "gpt-4.1", "messages": [*said, {"role": "user", "content": "Go on."}]}
        with sent(f"{gateway.url}/v1/chat/completions", body, {"authorization": f"Bearer {key}"}):
            assert summaries.asked.wait(60)
        summaries.may_write.set()
        assert writer.wait_until(lambda: all(one.is_done for one in writer.requests))
    assert not server.requests
    assert used_so_far(tmp_path)["laptop"].tokens == billed(writer) > 0


def test_every_attempt_at_a_summary_is_stored_with_its_conversation(tmp_path: Path) -> None:
    """An empty answer and a tool call are billed like any other; then another model is asked."""
    key = add_key(tmp_path)
    attempts = iter([fault("empty"), fault("tool_call")])
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: next(attempts, say(SUMMARY))) as writer,
        RunningGateway(settings_with(server, writer, background=False), tmp_path) as gateway,
    ):
        client = client_with(gateway, key)
        for number in range(30):
            client.say(f"ship{number}: {FILLER * 8}")
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
    stored = [one for one in _usage(tmp_path) if one.purpose == "summary"]
    tokens = sum(one.input + one.cache_read + one.cache_write + one.output for one in stored)
    # The main model replaces a summary model that fails.
    stand_in = [
        one.usage for one in server.requests if one.usage and one.request and len(one.request.messages) == 1
    ]
    assert len(stored) == len(writer.requests) + len(stand_in) >= 3
    assert tokens == billed(writer) + sum(usage.total_tokens for usage in stand_in)
    assert used_so_far(tmp_path)["laptop"].tokens == billed(server) + billed(writer)


def test_a_summary_that_arrives_after_its_turn_is_charged_and_stored(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    late = Summaries()
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(late) as writer,
    ):
        settings = settings_with(server, writer, idle=0.1, background=False)
        with RunningGateway(settings, tmp_path) as gateway:
            client = client_with(gateway, key)
            talk_until(client, late.asked)
            late.may_write.set()
            assert writer.wait_until(lambda: all(one.is_done for one in writer.requests))
    stored = [one for one in _usage(tmp_path) if one.purpose == "summary"]
    assert sum(one.input + one.output for one in stored) == billed(writer) > 0
    assert used_so_far(tmp_path)["laptop"].tokens == billed(server) + billed(writer)


def test_a_session_over_http_pays_for_a_summary_that_was_prepared_and_never_used(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    summaries = Summaries()
    headers = {"authorization": f"Bearer {key}"}
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(summaries) as writer,
        RunningGateway(settings_with(server, writer), tmp_path) as gateway,
    ):
        sessions = f"{gateway.url}/sessions"
        id = http().post(sessions, json={}, headers=headers).json()["id"]
        for number in range(40):
            said = {"content": f"ship{number}: {FILLER * 8}"}
            assert http().post(f"{sessions}/{id}/messages", json=said, headers=headers).status_code == 200
            if summaries.asked.wait(0.2):
                break
        summaries.may_write.set()
        assert writer.wait_until(lambda: bool(writer.requests) and writer.requests[0].is_done)
    stored = [one for one in _usage(tmp_path) if one.purpose == "summary"]
    assert sum(one.input + one.output for one in stored) == billed(writer) > 0
    assert used_so_far(tmp_path)["laptop"].tokens == billed(server) + billed(writer)


def _said(request: ChatRequest | None) -> str:
    return "\n".join(map(text_of, request.messages)) if request else ""


def _usage(home: Path) -> list[UsageRecord]:
    """What all sessions have stored."""

    async def work() -> list[UsageRecord]:
        async with await open_archive(None, home) as store:
            found = []
            for session in await store.sessions():
                found += await store.for_owner(session.owner).usage(session.id)
            return found

    return asyncio.run(work())

"""What the gateway remembers of a conversation can be lost and found again; nobody meets another's."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from clients import AnthropicClient, OpenAIClient, converse, http, model
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import OPERATOR
from plimsoll.archive.open_archive import open_archive
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.testing.prefix import broken_prefixes
from plimsoll.testing.scripted_server import ScriptedServer

WINDOW = 8_000
SMALL: dict[str, Any] = {"model": {"context_length": WINDOW}, "compression": {"protect_last_n": 4}}


def view_of(client: AnthropicClient | OpenAIClient) -> str:
    assert client.last is not None
    return client.last.headers["x-plimsoll-view"]


def test_a_conversation_continues_with_its_view_after_a_restart(tmp_path: Path) -> None:
    with ScriptedServer(model, window=WINDOW) as server:
        settings = settings_for(server, **SMALL)
        with RunningGateway(settings, tmp_path) as first:
            client = AnthropicClient(first.url)
            converse(client, 20)
            session = client.last.headers["x-plimsoll-session"] if client.last else ""
        before = len(server.requests)
        with RunningGateway(settings, tmp_path) as second:
            client.url = second.url
            converse(client, 1, first=20)
            assert view_of(client) == "compacted"
            assert client.last is not None
            assert client.last.headers["x-plimsoll-session"] == session
    # The net of the suite compares the requests of both lives: the second goes on where the first ended.
    assert len(server.requests[before].body["messages"]) > 3  # type: ignore[index]


@pytest.mark.rewrites_history("a branch does not extend the request before it")
def test_a_branch_that_uses_the_view_of_its_sibling_gets_the_siblings_session(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        converse(client, 20)
        assert client.last is not None
        session = client.last.headers["x-plimsoll-session"]
        client.history[-1:] = [{"role": "assistant", "content": "Another answer."}]
        client.history.append({"role": "user", "content": "Go on from there."})
        client.ask()
        assert view_of(client) == "compacted"
        assert client.last.headers["x-plimsoll-session"] == session


def test_two_processes_take_turns_on_one_conversation(tmp_path: Path) -> None:
    with ScriptedServer(model, window=WINDOW) as server:
        settings = settings_for(server, "openai", **SMALL)
        with RunningGateway(settings, tmp_path) as one, RunningGateway(settings, tmp_path) as two:
            client = OpenAIClient(one.url)
            for number in range(26):
                client.url = (one, two)[number % 2].url
                converse(client, 1, first=number)
    assert all(seen.status == 200 for seen in server.requests)
    bodies = [seen.body for seen in server.requests if seen.body]
    assert broken_prefixes(bodies) == []
    assert len({seen.path for seen in server.requests}) == 1


def test_state_that_was_forgotten_is_found_again_in_the_archive(tmp_path: Path) -> None:
    few = RuntimeOptions(conversations=1)
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path, few) as gateway,
    ):
        first, second = AnthropicClient(gateway.url), AnthropicClient(gateway.url, system="Be long.")
        first.say("hulk: a first question of its own")
        for number in range(16):
            converse(first, 1, first=number)
            converse(second, 1, first=100 + number)
            assert gateway.within.conversations is not None
            assert len(gateway.within.conversations) <= 1
        assert view_of(first) == view_of(second) == "compacted"
    assert all(seen.status == 200 for seen in server.requests)


def test_another_caller_with_the_same_words_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        mine, named = AnthropicClient(gateway.url), AnthropicClient(gateway.url)
        other = AnthropicClient(gateway.url)
        other.headers = {**other.headers, "x-api-key": "another-key"}
        named.headers = {**named.headers, "x-session-id": "quiet-harbour"}
        for client in (mine, other, named):
            converse(client, 18)
        sessions = {
            client.last.headers["x-plimsoll-session"] for client in (mine, other, named) if client.last
        }
    assert len(sessions) == 3
    assert all("x-session-id" not in seen.headers for seen in server.requests)


def test_the_archive_contains_every_word_up_to_the_last_answer_that_came_back(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, "openai", **SMALL), tmp_path) as gateway,
    ):
        client = OpenAIClient(gateway.url)
        converse(client, 20)
        session = client.last.headers["x-plimsoll-session"] if client.last else ""
    sent = client.history[:-2]  # the last answer comes back with the next question, and the result before it

    async def stored() -> list[Any]:
        async with await open_archive(None, tmp_path) as store:
            archive = store.for_owner(OPERATOR)
            assert await archive.compactions(session)
            assert (await archive.usage_total(session)).requests > 0
            return [one.message for one in await archive.messages(session)]

    assert asyncio.run(stored()) == sent


@pytest.mark.rewrites_history("a person takes the compaction back, which is what the test is about")
def test_a_compaction_that_a_person_undoes_is_undone_for_the_client(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=900_000) as server,
        RunningGateway(settings_for(server, "openai", **SMALL), tmp_path) as gateway,
    ):
        client = OpenAIClient(gateway.url)
        number = 0
        while not client.last or view_of(client) == "log":
            converse(client, 1, first=number)
            number += 1
        session = client.last.headers["x-plimsoll-session"]

        async def undo() -> None:
            async with await open_archive(None, tmp_path) as store:
                archive = store.for_owner(OPERATOR)
                await archive.undo(session)

        asyncio.run(undo())
        # What a person has taken back is not done again at the next chance.
        converse(client, 1, first=number)
        assert view_of(client) == "log"
        assert len((server.requests[-1].body or {})["messages"]) == len(client.history) - 1
    assert all(seen.status == 200 for seen in server.requests)


def test_switched_off_a_request_is_sent_unchanged(tmp_path: Path) -> None:
    with (
        ScriptedServer(window=900_000) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        long = [{"role": "user", "content": "word " * 20_000}]
        raw = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": long}, indent=1).encode()
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "x-plimsoll": "off"}
        response = http().post(f"{gateway.url}/v1/messages", content=raw, headers=headers)
        assert response.status_code == 200
        assert response.headers["x-plimsoll-view"] == "log"
    assert server.requests[0].raw == raw
    assert "x-plimsoll" not in server.requests[0].headers


@pytest.mark.rewrites_history("the second model's threshold is lower, so the conversation is compacted")
def test_a_models_own_threshold_decides_when_its_conversations_are_compacted(tmp_path: Path) -> None:
    views = {"claude-opus-4-1": "log", "claude-sonnet-4-5": "compacted"}
    settings = {"models": {"claude-opus-*": {"threshold": 0.95}}, "model": {"context_length": 16_000}}
    talk = [{"role": "user", "content": "Begin."}, {"role": "assistant", "content": "Ok."}]
    for n in range(12):
        said = f"{n} " + "word " * 800
        talk += [{"role": "user", "content": said}, {"role": "assistant", "content": "Ok."}]
    talk.append({"role": "user", "content": "Go on."})
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    with (
        ScriptedServer(model) as server,
        RunningGateway(settings_for(server, "anthropic", **settings), tmp_path) as gateway,
    ):
        for name, view in views.items():
            body = {"model": name, "max_tokens": 50, "messages": talk}
            answer = http().post(f"{gateway.url}/v1/messages", json=body, headers=headers)
            assert (answer.status_code, answer.headers["x-plimsoll-view"]) == (200, view)

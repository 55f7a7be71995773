"""Clients of OpenAI Responses: compacted, translated and answered as without the gateway."""

from pathlib import Path
from typing import Any

import pytest
from clients import (
    AnthropicClient,
    OpenAIClient,
    ResponsesClient,
    converse,
    http,
    last_turn,
    model,
    same_without_gateway,
)
from gateway_server import RunningGateway, settings_for
from postgres_server import server as postgres

from plimsoll.dialects import ChatRequest, SseParser
from plimsoll.testing.prefix import broken_prefixes
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, fault, think

WINDOW, TURNS = 8_000, 16
CLIENTS: dict[str, Any] = {"openai": OpenAIClient, "anthropic": AnthropicClient, "responses": ResponsesClient}
PAIRS = [
    ("responses", "responses"),
    ("responses", "openai"),
    ("responses", "anthropic"),
    ("responses", "gemini"),
    ("openai", "responses"),
    ("anthropic", "responses"),
]


def thinking_model(request: ChatRequest) -> ScriptedAnswer:
    return think("Where may it lie?") + model(request)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("client", "upstream"), PAIRS)
def test_a_long_conversation_is_compacted_and_answered_as_without_the_gateway(
    client: str, upstream: str, stream: bool, tmp_path: Path
) -> None:
    make = CLIENTS[client]
    direct = same_without_gateway(lambda url: make(url, stream=stream), TURNS, thinking_model)
    with (
        ScriptedServer(thinking_model, model="gpt-4.1", window=WINDOW) as server,
        RunningGateway(settings_for(server, upstream, model={"context_length": WINDOW}), tmp_path) as gateway,
    ):
        name = "claude-sonnet-4-5" if upstream == "anthropic" else "gpt-4.1"
        asking = make(gateway.url, stream=stream, model=name)
        assert converse(asking, TURNS) == direct
        assert asking.last.headers["x-plimsoll-view"] == "compacted"
        seen = server.requests
    assert [one.refusal for one in seen if one.refusal] == []
    assert {one.dialect for one in seen} == {upstream}
    last = last_turn(seen).request
    assert last is not None
    assert sum("[Note: Some earlier conversation turns" in str(one) for one in last.messages) == 1
    assert sum("[CONTEXT COMPACTION]" in str(one.get("content")) for one in last.messages) == 1
    assert broken_prefixes(one.body or {} for one in seen) == []
    assert last_turn(seen).usage.cache_read_tokens > 0


def test_a_websocket_upgrade_is_answered_so_that_the_client_continues_with_http(tmp_path: Path) -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "a",
    }
    with ScriptedServer() as server, RunningGateway(settings_for(server, "responses"), tmp_path) as gateway:
        asked = http().get(f"{gateway.url}/v1/responses", headers=upgrade)
        assert asked.status_code == 426
        assert "POST" in asked.json()["error"]["message"]
        assert http().get(f"{gateway.url}/v1/responses").status_code == 405
        said = ResponsesClient(gateway.url, model="gpt-4.1")
        assert said.say("Hello")


FACT = "The code word of the harbour is Albatross."


def _compacted(client: ResponsesClient, *, by_path: bool) -> list[dict[str, Any]]:
    """The history that a client keeps after a compaction: its user's messages and the item."""
    if by_path:
        body = {"model": client.body["model"], "input": client.history}
        reply = http().post(f"{client.url}/v1/responses/compact", json=body, headers=client.headers).json()
        assert reply["object"] == "response.compaction"
        return list(reply["output"])
    client.history.append({"type": "compaction_trigger"})
    items = client.ask()
    assert [item["type"] for item in items] == ["compaction"]
    return [item for item in client.history if item.get("role") == "user"][-1:] + items


@pytest.mark.parametrize("upstream", ["responses", "anthropic"])
@pytest.mark.parametrize(("by_path", "stream"), [(False, True), (False, False), (True, False)])
@pytest.mark.rewrites_history("the client compacts its history")
def test_a_client_that_asks_for_a_compaction_gets_a_readable_item_that_every_upstream_understands(
    upstream: str, by_path: bool, stream: bool, tmp_path: Path
) -> None:
    with (
        ScriptedServer(model, model="gpt-4.1", window=WINDOW) as server,
        RunningGateway(settings_for(server, upstream, model={"context_length": WINDOW}), tmp_path) as gateway,
    ):
        client = ResponsesClient(gateway.url, stream=stream)
        client.say(f"ship0: remember this. {FACT}")
        converse(client, 5, first=1)
        before = len(server.requests)
        client.history = _compacted(client, by_path=by_path)
        asked = [one for one in server.requests[before:] if "compaction" in str(one.body.get("input"))]
        assert asked == [], "the upstream is not asked to compact"
        text = client.history[-1]["encrypted_content"]
        assert text.startswith("[CONTEXT COMPACTION]")
        assert "Albatross" in text
        client.say("ship9: where does it lie?")
        last = server.requests[-1]
    assert last.refusal is None
    assert "Albatross" in str(last.request.messages)
    assert "ship9: where does it lie?" in str(last.request.messages)
    assert "compaction" not in {item.get("type") for item in last.body.get("input", [])}


def test_a_request_for_a_compaction_of_nothing_is_refused(tmp_path: Path) -> None:
    with ScriptedServer() as server, RunningGateway(settings_for(server, "responses"), tmp_path) as gateway:
        body = {"model": "gpt-4.1", "input": [{"type": "compaction_trigger"}]}
        reply = http().post(f"{gateway.url}/v1/responses", json=body, headers={"authorization": "Bearer k"})
    assert reply.status_code == 400
    assert "no conversation" in reply.json()["error"]["message"]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("upstream", ["responses", "openai"])
def test_a_response_is_continued_after_a_restart_by_its_owner_only(
    upstream: str, store: str, tmp_path: Path
) -> None:
    with ScriptedServer(model, model="gpt-4.1") as server:
        url = postgres().url_for(tmp_path) if store == "postgres" else None
        settings = settings_for(server, upstream, archive={"url": url})
        with RunningGateway(settings, tmp_path) as gateway:
            client = ResponsesClient(gateway.url, continues=True)
            client.say(f"ship1: {FACT}")
        with RunningGateway(settings, tmp_path) as gateway:
            client.url = gateway.url
            client.say("ship2: where does it lie?")
            assert "Albatross" in str(server.requests[-1].request.messages)
            stranger = ResponsesClient(gateway.url, continues=True)
            stranger.headers = {"authorization": "Bearer another"}
            stranger.previous = client.previous
            stranger.history = [{"role": "user", "content": "What did they say?"}]
            assert stranger.post().status_code == 400
            assert not any(
                "What did they say?" in str(one.request) and one.status == 200 for one in server.requests
            )


def test_a_response_that_the_client_does_not_store_is_not_kept(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, model="gpt-4.1") as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        client = ResponsesClient(gateway.url, continues=True, store=False)
        client.tools = []
        client.say("ship1: where does it lie?")
        client.history = [{"role": "user", "content": "And now?"}]
        assert client.post().status_code == 400


OVERFLOW = "Your input exceeds the context window of this model. Please adjust your input and try again."


@pytest.mark.parametrize("client", ["responses", "anthropic"])
@pytest.mark.rewrites_history("an overflow is compacted away")
def test_an_overflow_that_openai_reports_inside_a_stream_is_compacted_away_or_reported_to_the_client(
    client: str, tmp_path: Path
) -> None:
    # Two events are whole: created and in_progress.
    inside = {"after": 2, "type": "context_length_exceeded", "message": OVERFLOW}
    with (
        ScriptedServer(model, model="gpt-4.1") as server,
        RunningGateway(settings_for(server, "responses"), tmp_path) as gateway,
    ):
        asking = CLIENTS[client](gateway.url, stream=True, model="gpt-4.1")
        converse(asking, 8)
        before = len(server.requests)
        server.inject(fault("stream_error", **inside))
        assert "ship9" in asking.say("ship9: where does it lie?")
        refused, *others = server.requests[before:]
        again = next(one for one in others if "ship9" in str(one.body) and one.body.get("tools"))
        assert "[CONTEXT COMPACTION]" not in str(refused.body)
        assert "[CONTEXT COMPACTION]" in str(again.body)
        server.inject(fault("stream_error", times=None, **inside))
        with pytest.raises(AssertionError):
            asking.say("And now?")
    told = asking.last
    assert told.status_code == (200 if client == "responses" else 400)
    assert ("context_length_exceeded" if client == "responses" else "context window") in told.text


@pytest.mark.parametrize("upstream", ["responses", "anthropic"])
def test_a_stream_that_is_cut_off_ends_with_the_failure_of_the_response_that_began(
    upstream: str, tmp_path: Path
) -> None:
    with (
        ScriptedServer([fault("cut", after=6)], model="gpt-4.1") as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        body = {"model": "gpt-4.1", "input": "Hello.", "stream": True}
        answer = http().post(
            f"{gateway.openai_url}/responses", json=body, headers={"authorization": "Bearer key"}
        )
    events = [event.decoded() or {} for event in SseParser().feed(answer.content)]
    assert [event["type"] for event in events][:: len(events) - 1] == ["response.created", "response.failed"]
    assert events[-1]["response"]["id"] == events[0]["response"]["id"] != ""

"""A client keeps its whole history; the upstream sees a view that stays within the window and extends itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from clients import AnthropicClient, OpenAIClient, converse, http, model, same_without_gateway
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer

WINDOW = 8_000
SMALL = {"model": {"context_length": WINDOW}, "compression": {"protect_last_n": 4}}
CLIENTS = {"anthropic": AnthropicClient, "openai": OpenAIClient}


def view_of(client: AnthropicClient | OpenAIClient) -> str:
    assert client.last is not None
    return client.last.headers["x-plimsoll-view"]


def prompts(server: ScriptedServer) -> list[int]:
    return [seen.usage.prompt_tokens for seen in server.requests if seen.usage]


def asked(server: ScriptedServer) -> list[dict[str, Any]]:
    """The requests of the conversation itself. A summary, which has no tools, may be asked for at any time."""
    return [seen.body for seen in server.requests if seen.body and seen.body.get("tools")]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("upstream", ["anthropic", "openai"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_answers_are_the_same_and_the_window_is_never_exceeded(
    dialect: str, upstream: str, stream: bool, tmp_path: Path
) -> None:
    make = lambda url: CLIENTS[dialect](url, stream=stream)  # noqa: E731
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, upstream, **SMALL), tmp_path) as gateway,
    ):
        client = make(gateway.url)
        answers = converse(client, 24)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
        before, after = (
            int(client.last.headers[f"x-plimsoll-tokens-{name}"]) for name in ("before", "after")
        )
        assert before > WINDOW > after
    assert all(seen.status == 200 for seen in server.requests)
    assert max(prompts(server)) <= WINDOW
    assert answers == same_without_gateway(make, 24)


def test_after_a_compaction_the_prefix_is_read_from_the_cache_within_two_turns(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, model="claude-sonnet-4-5", window=20_000) as server,
        RunningGateway(settings_for(server, model={"context_length": 20_000}), tmp_path) as gateway,
    ):
        converse(AnthropicClient(gateway.url, system="Be brief. " * 900), 60)
    usages = [seen.usage for seen in server.requests if seen.usage]
    drops = [n for n in range(1, len(usages)) if usages[n].prompt_tokens < usages[n - 1].prompt_tokens]
    assert drops
    for place in drops:
        later = usages[place + 1 : place + 5]  # two turns are four requests here
        assert any((u.cache_read_tokens or 0) > 0.8 * u.prompt_tokens for u in later), place


def test_a_request_below_the_line_is_sent_byte_for_byte(tmp_path: Path) -> None:
    body = b'{"model": "gpt-4.1",  "messages": [{"role": "user", "content": "caf\\u00e9"}], "odd": {"kept": 1.0}}'
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        response = http().post(f"{gateway.url}/v1/chat/completions", content=body)
        assert response.status_code == 200
    assert server.requests[0].raw == body


def was_compacted_before_the_last_turn(server: ScriptedServer) -> bool:
    """Whether both requests of the last turn extend those before; on a busy machine a summary comes later."""
    sizes = [len(body["messages"]) for body in asked(server)[-3:]]
    return sizes == sorted(sizes)


@pytest.mark.rewrites_history("the client edits a message, which is what the test is about")
def test_a_client_that_edits_a_late_message_forks_after_the_compaction(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        converse(client, 30)
        while not was_compacted_before_the_last_turn(server):
            converse(client, 1, first=len(client.history))
        compacted = asked(server)[-1]
        client.history[-4] = {"role": "user", "content": "brig: another question instead"}
        del client.history[-3:]
        client.ask()
    edited = asked(server)[-1]
    shared = [
        a for a, b in zip(compacted["messages"], edited["messages"], strict=False) if _plain(a) == _plain(b)
    ]
    assert len(shared) >= len(edited["messages"]) - 2
    assert "brig" in json.dumps(edited["messages"][-1])


@pytest.mark.rewrites_history("the client goes back to its beginning, which is what the test is about")
def test_a_client_that_rewinds_to_its_beginning_is_not_shown_what_came_later(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        converse(client, 30)
        client.history = [
            *client.history[:12],
            {"role": "user", "content": "sloop: and this one? " + "x " * 9_000},
        ]
        client.ask()
    sent = json.dumps(asked(server)[-1])
    assert "ship2" in sent
    assert "ship20" not in sent


@pytest.mark.rewrites_history("the client goes back, which is what the test is about")
@pytest.mark.parametrize("turns", [2, 11, 23, 33])  # the 12th, 17th, 24th and 30th are compacted
def test_a_client_that_rewinds_sees_what_reaches_no_further_and_can_be_compacted_anew(
    turns: int, tmp_path: Path
) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        converse(client, 36)
        client.history = client.history[: 4 * turns]
        answers = converse(client, 14, first=100)
        assert view_of(client) == "compacted"
    back = json.dumps(asked(server)[-28]["messages"])
    assert "ship0" in back
    assert all(seen.status == 200 for seen in server.requests)
    assert answers[-1].startswith("The register says: ship113")
    assert f"ship{turns}:" not in back


def test_what_a_compaction_remembers_counts_as_memory_of_its_conversation(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, **SMALL), tmp_path) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        converse(client, 14)
        (known,) = gateway.within.conversations.all()
        assert known.compactor is not None
        remembered = known.compactor.engine.remembered.memory
        request = len(json.dumps(client.history))
        assert remembered > 10_000
        assert known.memory_bytes > request + remembered


def _plain(message: Any) -> str:
    return json.dumps(message).replace('"cache_control": {"type": "ephemeral"}', "").replace(", }", "}")

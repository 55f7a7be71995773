"""Many turns with tools in a small window: nothing refused, nothing lost, the cache kept warm."""

import asyncio
import json

import pytest
from conversing import answering, talk, wish

from plimsoll.agent import Compacted, TextReceived
from plimsoll.context.markers import is_summary
from plimsoll.messages import text_of
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.testing.scripted_server import ScriptedServer

WINDOW = 32_000


@pytest.mark.slow
def test_250_turns_lose_nothing_and_are_never_refused(tmp_path):
    with ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server:
        events, stored, view, _ = asyncio.run(talk(server, tmp_path, 250, sentences=45))
        seen = list(server.requests)
    compactions = [e.event for e in events if isinstance(e, Compacted) and e.event.outcome == "compacted"]
    assert len(compactions) >= 10
    assert [request.status for request in seen] == [200] * len(seen)
    said = [text_of(s.message) for s in stored if s.role == "user"]
    assert said == [wish(n) for n in range(250)]
    assert len(stored) == 1 + 250 * 4
    assert sum(map(is_summary, view)) == 1
    for request in seen:
        assert request.usage.prompt_tokens < WINDOW
        newest = [m for m in request.request.messages if m["role"] == "user"][-1]
        assert "#" in text_of(newest)
    assert estimate_messages_tokens_rough(view) < WINDOW // 2


def test_every_request_is_about_the_newest_message_word_for_word(tmp_path):
    with ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server:
        asyncio.run(talk(server, tmp_path, 40))
        asked = [
            text_of(r.request.messages[-1])
            for r in server.requests
            if r.request.messages[-1]["role"] == "user"
        ]
    assert asked == [wish(n) for n in range(40)]


def test_no_request_tells_the_model_how_full_its_window_is(tmp_path):
    with ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server:
        asyncio.run(talk(server, tmp_path, 60))
        wire = "\n".join(json.dumps(request.body) for request in server.requests).lower()
    for phrase in (
        "context window",
        "tokens left",
        "tokens remaining",
        "context usage",
        "running out",
        "% full",
    ):
        assert phrase not in wire


def test_most_of_every_prompt_is_read_from_the_cache(tmp_path):
    with ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server:
        asyncio.run(talk(server, tmp_path, 40))
        usages = [request.usage for request in server.requests][10:]
    read = sum(usage.cache_read_tokens or 0 for usage in usages)
    assert read > 0.7 * sum(usage.prompt_tokens for usage in usages)


def test_a_session_continues_in_another_process(tmp_path):
    with ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server:
        _, stored, view, id = asyncio.run(talk(server, tmp_path, 30))
        _, later, view_later, _ = asyncio.run(talk(server, tmp_path, 5, session=id))
    assert [s.message for s in later[: len(stored)]] == [s.message for s in stored]
    assert view_later[: len(view)] == view
    assert len(later) == len(stored) + 20


def test_the_answer_arrives_in_pieces(tmp_path):
    with ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server:
        events, *_ = asyncio.run(talk(server, tmp_path, 1))
    pieces = [event.text for event in events if isinstance(event, TextReceived)]
    assert len(pieces) > 1
    assert "".join(pieces).startswith("Found: record 0")

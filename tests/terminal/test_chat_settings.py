"""Each setting that only a conversation under way can show changes something in `plimsoll chat`."""

import pytest
from chatting import chat, configured, talked

from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer, call, say

LONG = "word " * 2_400


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def small(server, *lines):
    cards = "  cards:\n    small: {window: 12000, prices: {input: 1000, output: 1000}}\n"
    compression = "compression:\n  protect_last_n: 2\n" + "".join(f"  {line}\n" for line in lines)
    return configured(server, cards + compression, "small")


def is_summary_request(seen):
    return not seen.body.get("tools")


@pytest.mark.rewrites_history("a compaction of so few messages is no shorter than the request before it")
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_compression_enabled_decides_whether_it_compacts_by_itself(home, enabled):
    with ScriptedServer(lambda request: say(LONG)) as server:
        done = talked(home, said="one\ntwo\nthree\n", config=small(server, f"enabled: {enabled}"))
    assert ("compacted" in done.stderr) is (enabled == "true")


@pytest.mark.parametrize("background", [True, False])
def test_compression_background_decides_whether_a_summary_is_prepared_before_it_is_due(home, background):
    prepared = []

    def answer(request):
        if not request.tools:
            return say("no summary")
        newest = text_of(dict(request.messages[-1]))
        if newest == "four":  # past the soft threshold, not yet due
            prepared.append(server.wait_until(lambda: any(map(is_summary_request, server.requests)), 3))
        return say("short" if newest == "four" else "word " * 1_200)

    with ScriptedServer(answer) as server:
        config = small(server, f"background: {str(background).lower()}")
        done = talked(home, said="one\ntwo\nthree\nfour\n", config=config)
    assert prepared == [background], done.stderr


def test_agent_max_requests_ends_the_turn(home):
    with ScriptedServer(lambda request: call("terminal", command="true")) as server:
        done = talked(home, "-q", "Loop.", config=configured(server, "agent:\n  max_requests: 3\n"))
        assert len(server.requests) == 3
    assert "This turn has reached its limit of 3 requests" in done.stderr


def test_agent_max_seconds_ends_the_turn(home):
    with ScriptedServer(lambda request: call("terminal", command="sleep 0.2")) as server:
        done = talked(home, "-q", "Loop.", config=configured(server, "agent:\n  max_seconds: 0.1\n"))
        assert len(server.requests) == 1
    assert "its limit is 0 s" in done.stderr


def test_agent_max_money_ends_the_turn(home):
    with ScriptedServer(lambda request: call("terminal", command="true")) as server:
        config = small(server) + "agent:\n  max_money: 0.5\n"
        done = talked(home, "-q", "Loop.", config=config)
        assert len(server.requests) == 1  # some 1,700 tokens at $1,000 a million
    assert "its limit is $0.50" in done.stderr


def test_archive_url_says_where_the_words_are_kept(home, tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    with ScriptedServer() as server:
        talked(home, "-q", "Hello?", config=configured(server, f"archive:\n  url: sqlite://{elsewhere}\n"))
    assert elsewhere.exists()
    assert not (home / "archive.db").exists()
    assert chat(home, "--continue", config="").returncode == 2

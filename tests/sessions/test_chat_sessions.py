"""`plimsoll chat`: what /compress says of a short talk, what /model changes, what a stopped answer leaves."""

import re

from chatting import configured, talked

from plimsoll.testing.scripted_server import ScriptedServer


def test_compress_says_that_there_is_nothing_yet(tmp_path):
    with ScriptedServer() as server:
        done = talked(tmp_path / "home", said="one\ntwo\nthree\n/compress\n", config=configured(server))
    assert re.search(r"^nothing to compress yet \(7 messages, [\d,]+ tokens\)$", done.stderr, re.M)
    assert "→" not in done.stderr


def test_after_model_the_summaries_follow_the_new_model(tmp_path):
    with ScriptedServer() as server:
        said = "one\n/engine\n/model gpt-5-nano\n/engine\ntwo\n/new\nthree\n"
        done = talked(tmp_path / "home", said=said, config=configured(server))
        asked = [seen.body["model"] for seen in server.requests]
    before, after = (line for line in done.stdout.splitlines() if line.startswith("summaries"))
    assert "gpt-5-nano" in after
    assert before != after
    assert asked == ["gpt-5", "gpt-5-nano", "gpt-5-nano"]

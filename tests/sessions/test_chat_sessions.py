"""`plimsoll chat`: what /compress says of a short conversation, what /model changes, what a stopped answer leaves."""

import re

import pytest
from chat_in_process import run_chat
from chatting import configured, talked

from plimsoll.testing.scripted_server import ScriptedServer


def test_compress_says_that_there_is_nothing_yet(tmp_path):
    with ScriptedServer() as server:
        done = talked(tmp_path / "home", said="one\ntwo\nthree\n/compress\n", config=configured(server))
    assert re.search(r"^nothing to compact yet \(7 messages, [\d,]+ tokens\)$", done.stderr, re.M)
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


@pytest.mark.parametrize("engine", ["compressor", "lcm"])
def test_after_model_conversations_are_compacted_as_the_new_model_is_configured(tmp_path, engine):
    more = f"""
context: {{engine: {engine}}}
auxiliary: {{compression: {{provider: main}}}}
models:
  gpt-5: {{threshold: 0.6}}
  gpt-5-nano: {{threshold: 0.3, target_ratio: 0.4, summary_model: gpt-4.1-mini}}
"""
    budgets = []

    def look(chat):
        compactor = chat.opened.conversation.agent.compactor
        budgets.append(
            (compactor.engine.budget.threshold, compactor.engine.budget.target_ratio, compactor.model)
        )

    with ScriptedServer() as server:
        run_chat(
            tmp_path / "home",
            server,
            "one",
            "/model gpt-5-nano",
            "/model gpt-5",
            "/status",
            more=more,
            act=look,
        )
    assert budgets[1:] == [(0.6, 0.2, "gpt-5"), (0.3, 0.4, "gpt-4.1-mini"), (0.6, 0.2, "gpt-5")]

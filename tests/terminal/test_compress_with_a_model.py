"""`plimsoll compress` with a summary model, and `plimsoll config explain` about it."""

import json
import os
import pty
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from plimsoll.messages import validate
from plimsoll.terminal.main import plimsoll
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

KEY = "sk-ant-the-key-of-this-test-0123"
GOOD = (
    "## Goal\nBuild the API.\n## Progress\n### Done\nThe model has written this.\n### In Progress\nTests.\n"
)
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def run(empty_home):
    return lambda *arguments: CliRunner().invoke(plimsoll, [str(argument) for argument in arguments])


@pytest.fixture
def anthropic(monkeypatch):
    """Anthropic's API on loopback, with a key in the environment as people have it."""
    with ScriptedServer(lambda request: say(GOOD), api_key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def written(tmp_path, name="talk.json"):
    talk = [{"role": "system", "content": "s"}, {"role": "user", "content": f"Log in with {SECRET}."}]
    for number in range(30):
        talk.append(
            {"role": "assistant", "content": f"Step {number} with {SECRET}. " + "It went well. " * 60}
        )
        talk.append({"role": "user", "content": f"And step {number + 1}?"})
    path = tmp_path / name
    path.write_text(json.dumps(talk))
    return path


def facts(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_with_a_key_in_the_environment_its_cheap_model_writes_the_summary(run, anthropic):
    (one,) = facts(run("compress", "--example", "--json"))
    assert one["summary_source"] == "model"
    assert one["valid"] is True
    assert {request.request.model for request in anthropic.requests} == {"claude-haiku-4-5"}


def test_no_model_never_touches_the_network(run, anthropic):
    (one,) = facts(run("compress", "--example", "--json", "--no-model"))
    assert one["summary_source"] == "deterministic"
    assert anthropic.requests == anthropic.lookups == []


def test_without_a_key_or_a_configured_model_no_request_is_sent(run, monkeypatch):
    with ScriptedServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        (one,) = facts(run("compress", "--example", "--json"))
        assert one["summary_source"] == "deterministic"
        assert server.requests == server.lookups == [], "not even looked for"


def test_a_configured_address_is_asked(run, monkeypatch):
    with ScriptedServer(lambda request: say(GOOD)) as server:
        monkeypatch.setenv("PLIMSOLL_AUXILIARY__COMPRESSION__BASE_URL", server.openai_url)
        monkeypatch.setenv("PLIMSOLL_AUXILIARY__COMPRESSION__MODEL", "qwen")
        (one,) = facts(run("compress", "--example", "--json"))
        assert one["summary_source"] == "model"
        assert server.requests[0].request.model == "qwen"


@pytest.mark.parametrize(
    "broken", [fault(401, times=None), fault("long", times=None), fault("tool_call", times=None)]
)
def test_a_model_that_fails_is_reported_and_plimsoll_writes_itself(run, anthropic, tmp_path, broken):
    anthropic.inject(broken)
    out = tmp_path / "out.json"
    result = run("compress", written(tmp_path), "--window", "8K", "--json", "-o", out)
    (one,) = facts(result)
    assert one["summary_source"] == "deterministic"
    assert "note: no model summary: " in result.stderr
    assert "code wrote the summary." in result.stderr
    assert KEY not in result.output
    assert validate(json.loads(out.read_text())) == []


def test_many_conversations_share_the_model(run, anthropic, tmp_path):
    paths = [written(tmp_path, f"talk-{number}.json") for number in range(10)]
    found = facts(run("compress", *paths, "--window", "8K", "--json"))
    assert [one["source"] for one in found] == [str(path) for path in paths]
    assert {one["summary_source"] for one in found} == {"model"}


def test_one_failure_of_many_conversations_is_reported_once(run, anthropic, tmp_path):
    anthropic.inject(fault(400, times=None, message="not today"))
    paths = [written(tmp_path, f"talk-{number}.json") for number in range(5)]
    result = run("compress", *paths, "--window", "8K", "--json")
    assert (
        result.stderr.count("claude-haiku-4-5 at Anthropic: Anthropic rejected the request (400: not today)")
        == 1
    )
    assert result.stderr.count("not today") == 2, "and once for the main model, which was asked next"
    assert "note: 5 conversations: no model summary" in result.stderr


def test_secrets_of_the_conversation_reach_neither_the_model_nor_the_summary(run, anthropic, tmp_path):
    out = tmp_path / "out.json"
    run("compress", written(tmp_path), "--window", "8K", "-o", out)
    assert anthropic.requests
    assert not any(SECRET.encode() in request.raw for request in anthropic.requests)
    summary = next(
        m["content"] for m in json.loads(out.read_text()) if "[CONTEXT COMPACTION]" in str(m["content"])
    )
    assert "The model has written this." in summary
    assert SECRET not in summary


def test_a_named_model_without_its_key_is_a_notice(run, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_AUXILIARY__COMPRESSION__MODEL", "gpt-5-mini")
    result = run("compress", "--example", "--json")
    assert facts(result)[0]["summary_source"] == "deterministic"
    assert "OPENAI_API_KEY" in result.stderr


def test_the_embedded_model_that_is_not_here_is_a_notice(run, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_AUXILIARY__COMPRESSION__PROVIDER", "local")
    result = run("compress", "--example", "--json")
    assert facts(result)[0]["summary_source"] == "deterministic"
    assert "plimsoll models fetch" in result.stderr or ".[local]" in result.stderr


def test_a_terminal_shows_which_model_writes_and_why(anthropic, tmp_path):
    ours, theirs = pty.openpty()
    code = "from plimsoll.terminal.main import main; main()"
    said = b""

    def listen():
        nonlocal said
        while b"\n" not in said:
            said += os.read(ours, 1_000)

    listening = threading.Thread(target=listen)
    listening.start()
    environ = {**os.environ, "PLIMSOLL_HOME": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", code, "compress", "--example"], env=environ, stdout=subprocess.DEVNULL,
        stderr=theirs, check=True, timeout=60,
    )  # fmt: skip
    listening.join(10)
    os.close(ours)
    os.close(theirs)
    line = "summaries: auto → claude-haiku-4-5 at Anthropic, because ANTHROPIC_API_KEY is set"
    assert line in said.decode()


def test_explain_says_who_writes_the_summaries_now_and_why(run, monkeypatch):
    assert (
        "auto → no model, because none is configured"
        in run("config", "explain", "auxiliary.compression.model").stdout
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    shown = run("config", "explain", "auxiliary.compression.provider").stdout
    assert "now:        auto → claude-haiku-4-5 at Anthropic, because ANTHROPIC_API_KEY is set." in shown
    assert KEY not in shown


def test_explain_says_who_the_main_model_is_now_and_why(run, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    shown = run("config", "explain", "model.provider").stdout
    assert "now:        ANTHROPIC_API_KEY is set, so Anthropic answers" in shown
    monkeypatch.setenv("PLIMSOLL_MODEL__NAME", "gpt-5")
    result = run("config", "explain", "model.provider")
    assert result.exit_code == 0
    assert "set OPENAI_API_KEY" in result.stdout

"""`plimsoll chat` against the scripted server: turns, tools, compactions, commands, pipes, interruptions."""

import json
import re
import signal
import subprocess

import pytest
from chatting import chat, configured, environment, talked

from plimsoll.messages import handle_of, text_of, validate
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say
from preloaded import PLIMSOLL

KEEPER = {"role": "tool", "content": "lantern-keeper\nexit code: 0"}
LONG = "word " * 2_400  # about 2,400 tokens
SMALL = "  cards:\n    small: {window: 12000}\ncompression:\n  protect_last_n: 2\n  background: false\n"
ROOMY = SMALL.replace("12000", "32000")  # five long answers do not reach the threshold
COMPACTED = re.compile(
    r"^compacted (\d+) → (\d+) messages, [\d.]+K? → [\d.]+K? tokens, \d+\.\d s waited, undo with /undo$", re.M
)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def talkative(request):
    """Answers at length; summaries it is asked for are of no use."""
    return say(f"Answer {len(request.messages)}. {LONG}")


def grown(home, server, *after, turns=4, more=SMALL, marker="small"):
    lines = [f"question number {number}" for number in range(1, turns + 1)]
    return talked(home, said="\n".join([*lines, *after]) + "\n", config=configured(server, more, marker))


# Start-up


def start(home, *arguments, config="", **variables):
    return talked(home, *arguments, config=config, **variables).stderr.splitlines()


def test_the_start_up_lines_say_session_model_context_and_caching(home):
    lines = start(home, "--model", "claude-sonnet-4.5", ANTHROPIC_API_KEY="sk-ant-0")
    assert re.fullmatch(r"⚓ Session: \d{8}-\d{6}-[a-z]+-[a-z]+ \(new\)", lines[0])
    assert lines[1].startswith("🧭 Model: claude-sonnet-4.5. model.name is claude-sonnet-4.5, so Anthropic")
    assert lines[2] == "📏 Context: 200,000 tokens, compaction at 100,000"
    assert lines[3] == "💾 Prompt caching: ENABLED (native Anthropic, 5m TTL)"


def test_the_caching_line_for_claude_via_openrouter(home):
    lines = start(home, "--model", "anthropic/claude-sonnet-4.5", OPENROUTER_API_KEY="sk-or-0")
    assert "💾 Prompt caching: ENABLED (Claude via OpenRouter, 5m TTL)" in lines


def test_an_hour_via_openrouter_is_stated_with_its_rule_below_the_caching_line(home):
    config = "prompt_caching:\n  cache_ttl: 1h\n"
    lines = start(home, "--model", "anthropic/claude-sonnet-4.5", config=config, OPENROUTER_API_KEY="sk-or-0")
    at = lines.index("💾 Prompt caching: ENABLED (Claude via OpenRouter, 1h TTL)")
    assert "OpenRouter passes the 1h TTL on" in lines[at + 1]


def test_the_caching_line_where_it_is_off(home):
    config = "prompt_caching:\n  strategy: none\n"
    lines = start(home, "--model", "claude-sonnet-4.5", config=config, ANTHROPIC_API_KEY="sk-ant-0")
    assert "💾 Prompt caching: off (prompt_caching.strategy is none)" in lines


def test_with_compaction_off_the_context_line_names_the_setting(home):
    config = "compression:\n  enabled: false\n"
    lines = start(home, "--model", "claude-sonnet-4.5", config=config, ANTHROPIC_API_KEY="sk-ant-0")
    assert "📏 Context: 200,000 tokens, manual compaction only (compression.enabled is false)" in lines


def test_a_model_without_a_key_is_a_sentence(home):
    done = chat(home, "--model", "claude-sonnet-4.5", config="")
    assert done.returncode == 2
    assert done.stderr.startswith("plimsoll: ")
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_no_key_is_ever_shown(home):
    done = talked(home, said="/engine\n/model\n", config="", ANTHROPIC_API_KEY="sk-ant-secret-of-this-test")
    assert "secret-of-this-test" not in done.stdout + done.stderr


# One answer, and pipes


def test_a_question_is_answered_on_standard_output_alone(home):
    with ScriptedServer([say("Forty-two.")]) as server:
        done = talked(home, "-q", "What is six times seven?", config=configured(server))
    assert done.stdout == "Forty-two.\n"
    assert "⚓ Session" in done.stderr


def test_a_question_can_come_from_standard_input(home):
    with ScriptedServer() as server:
        done = talked(home, "-q", "-", said="several\nlines\n", config=configured(server))
    assert done.stdout == "You said: several\nlines\n"


def test_an_empty_question_is_a_mistake(home):
    assert chat(home, "-q", "-", said=" \n", config="").returncode == 2


def test_each_line_of_a_pipe_is_a_turn(home):
    with ScriptedServer() as server:
        done = talked(home, said="one\n\ntwo\n", config=configured(server))
        assert [text_of(dict(m)) for m in server.requests[1].body["messages"][1:]] == [
            "one",
            "You said: one",
            "two",
        ]
    assert done.stdout == "You said: one\nYou said: two\n"


def test_the_answer_streams(home):
    with ScriptedServer([say("Word by word.")]) as server:
        talked(home, "-q", "Hello?", config=configured(server))
        assert server.requests[0].body["stream"] is True


def test_no_control_sequence_of_a_model_reaches_the_terminal(home):
    with ScriptedServer([say("\x1b]0;title\x07red \x1b[31mtext")]) as server:
        done = talked(home, "-q", "Hello?", config=configured(server))
    assert "\x1b" not in done.stdout


# Tools


def test_a_tool_call_is_folded_to_one_line(home):
    script = [call("terminal", command="echo one; echo two failed; exit 3"), say("It failed.")]
    with ScriptedServer(script) as server:
        done = talked(home, "-q", "Run it.", config=configured(server))
    assert done.stdout == "It failed.\n"
    lines = [line for line in done.stderr.splitlines() if line.startswith("●")]
    assert len(lines) == 1
    shape = r"● terminal\(command=echo one; echo two failed; exit 3\) … exit 3: .*two failed.*  \d+\.\d s"
    assert re.fullmatch(shape, lines[0])


def test_a_dangerous_call_is_refused_without_a_terminal_and_runs_with_yes(home):
    outside = home.parent / "precious"
    outside.mkdir()
    for arguments, survives in (((), True), (("--yes",), False)):
        with ScriptedServer([call("terminal", command=f"rm -rf {outside}"), say("Well.")]) as server:
            talked(home, "-q", "Delete it.", *arguments, config=configured(server))
        assert outside.exists() is survives


# Failures


def test_a_failure_of_the_provider_is_a_sentence_and_the_session_continues(home):
    with ScriptedServer([fault(401), say("Back again.")]) as server:
        done = chat(home, said="one\ntwo\n", config=configured(server))
        second = server.requests[1].body["messages"]
    assert done.returncode == 1
    assert done.stdout == "Back again.\n"
    assert "401" in done.stderr
    assert "Traceback" not in done.stderr
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]


def test_a_single_question_that_fails_ends_with_an_error(home):
    with ScriptedServer([fault(401)]) as server:
        done = chat(home, "-q", "Hello?", config=configured(server))
    assert done.returncode == 1
    assert done.stdout == ""


def test_an_interrupt_stops_the_turn_and_leaves_a_valid_history(home):
    with ScriptedServer([fault("hang"), say("Here I am.")]) as server:
        home.mkdir()
        (home / "config.yaml").write_text(configured(server), "utf-8")
        waiting = subprocess.Popen(
            [PLIMSOLL, "chat", "-q", "Are you there?"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(home), cwd=home,
        )  # fmt: skip
        assert server.wait_until(lambda: bool(server.requests), 60)
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate()
        assert waiting.returncode == 1
        assert said.splitlines()[-1].startswith("stopped; what was shown is kept")
        done = talked(home, "--continue", "-q", "And now?")
        messages = server.requests[-1].body["messages"]
    assert done.stdout == "Here I am.\n"
    assert [text_of(dict(message)) for message in messages[1:]] == [
        "Are you there?",
        "[interrupted by the user]",
        "And now?",
    ]
    assert validate(messages) == []


# Sessions


def test_a_session_is_resumed_by_the_beginning_of_its_id_and_shows_what_was_said(home):
    with ScriptedServer() as server:
        first = talked(home, "-q", "Remember the harbour.", config=configured(server))
        id = re.search(r"Session: (\S+) ", first.stderr)[1]
        done = talked(home, "--session", id[:18], "-q", "Where were we?")
        assert len(server.requests[1].body["messages"]) == 4
    assert f"⚓ Session: {id} (resumed, 3 messages, “Remember the harbour.”)" in done.stderr
    assert "2 user      Remember the harbour." in done.stderr


def test_a_session_in_which_nothing_was_said_is_not_kept(home):
    with ScriptedServer() as server:
        talked(home, config=configured(server))
        done = chat(home, "--continue")
    assert done.returncode == 2
    assert "no session to continue" in done.stderr


def test_new_begins_another_session_and_sessions_lists_both(home):
    with ScriptedServer() as server:
        done = talked(home, said="one\n/new\ntwo\n/sessions\n", config=configured(server))
        assert len(server.requests[1].body["messages"]) == 2
    ids = re.findall(r"Session: (\S+) \(new\)", done.stderr)
    assert len(set(ids)) == 2
    assert all(re.search(rf"^ ?{id} .* 3 .* just now", done.stdout, re.M) for id in ids)


def test_search_and_recall_bring_back_what_was_said(home):
    answer = say("The lighthouse stands at 54 degrees.")
    with ScriptedServer([call("terminal", command="echo lantern-keeper"), answer]) as server:
        said = f"Where is it?\n/search lighthouse\n/recall {handle_of(KEEPER)}\n/recall h:0000000000\n"
        done = chat(home, said=said, config=configured(server))
    assert "this session · message 5 · assistant" in done.stdout
    assert KEEPER["content"] in done.stdout
    assert "No content in this session has the handle h:0000000000." in done.stderr
    assert done.returncode == 1


def test_an_unknown_command_names_the_nearest(home):
    with ScriptedServer() as server:
        done = chat(home, said="/contxt\n/quit\nnever said\n", config=configured(server))
        assert server.requests == []
    assert "There is no command /contxt. Did you mean /context? " in done.stderr


# Compaction


def test_a_compaction_is_one_quiet_line(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server)
        assert COMPACTED.search(done.stderr), done.stderr
        assert "compacted" not in done.stdout
        last = server.requests[-1].body["messages"]
    assert text_of(dict(last[-1])) == "question number 4"
    assert any("[CONTEXT COMPACTION]" in text_of(dict(message)) for message in last)


def test_a_vain_compaction_says_why(home):
    with ScriptedServer() as server:
        done = talked(home, said="hello\n/compress\n", config=configured(server))
    assert "nothing to compact yet (3 messages, " in done.stderr


def test_compress_takes_a_focus_to_the_summary_model(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server, "/compress the harbour lights", turns=5, more=ROOMY)
        asked = [json.dumps(seen.body) for seen in server.requests]
    assert COMPACTED.search(done.stderr), done.stderr
    assert any("the harbour lights" in body for body in asked)


def test_a_preview_changes_nothing(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server, "/compress --preview", "and then", turns=5, more=ROOMY)
        assert len(server.requests) == 6
        assert len(server.requests[-1].body["messages"]) == 12
    assert "before" in done.stdout
    assert "Nothing was changed." in done.stderr


@pytest.mark.rewrites_history("undoing a compaction brings the earlier messages back")
def test_undo_brings_back_what_the_model_saw(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server, "/compress", "/undo", "and then", turns=5, more=ROOMY)
        messages = server.requests[-1].body["messages"]
    assert re.search(r"Undone: the model sees \d+ → 11 messages", done.stderr)
    assert [text_of(dict(m)) for m in messages if m["role"] == "user"] == [
        *(f"question number {number}" for number in range(1, 6)),
        "and then",
    ]


@pytest.mark.rewrites_history("undoing a compaction brings the earlier messages back")
@pytest.mark.rewrites_history("messages are dropped, which is what is tested")
def test_a_dropped_message_leaves_the_next_request_and_comes_back_with_undo(home):
    with ScriptedServer(lambda request: say(f"Answer {len(request.messages)}.")) as server:
        lines = ("/drop 3 --preview", "/drop 2 3", "three", "/undo", "/redo", "/undo", "four")
        done = talked(
            home, said="\n".join(("one", "two", *lines)) + "\n", config=configured(server, ROOMY, "small")
        )
        said = [[text_of(one) for one in request.body["messages"]] for request in server.requests]
    assert "Would drop message 3: " in done.stderr
    assert "Dropped messages 2, 3: " in done.stderr
    assert said[2][1:] == ["two", "Answer 4.", "three"]
    assert said[3][1:] == ["one", "Answer 2.", "two", "Answer 4.", "three", "Answer 4.", "four"]


def test_what_was_undone_is_not_compacted_again_at_once(home):
    with ScriptedServer(talkative) as server:
        assert COMPACTED.search(grown(home, server, "/undo", turns=3).stderr)
        again = talked(home, "--continue", "-q", "short")
    assert not COMPACTED.search(again.stderr), again.stderr


def test_a_pinned_message_stays_word_for_word(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server, "/pin 4", "/compress", "/context", "go on", turns=5, more=ROOMY)
        last = json.dumps(server.requests[-1].body["messages"])
    assert "◆ 4 user: question number 2" in done.stdout
    assert "question number 2" in last
    pinned = int(re.search(r"◆ pinned +([\d,]+)", done.stdout)[1].replace(",", ""))
    assert pinned > 0


def test_context_shows_every_category_and_they_add_up(home):
    with ScriptedServer() as server:
        done = talked(home, said="hello\n/context\n", config=configured(server))
    names = ("system", "tools", "pinned", "summary", "conversation", "free", "window")
    found = {name: int(re.search(rf"{name} +([\d,]+)", done.stdout)[1].replace(",", "")) for name in names}
    assert sum(found[name] for name in names[:-1]) == found["window"]
    assert all(found[name] for name in ("system", "tools", "conversation"))


def test_usage_counts_requests_and_cache(home):
    with ScriptedServer() as server:
        done = talked(home, said="hello\nand again\n/usage\n", config=configured(server))
    assert re.search(r"requests +2\b", done.stdout)
    assert re.search(r"cache hits +\d+ %", done.stdout)


def test_another_model_with_a_smaller_window_compacts_at_once(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server, "/model small", "go on", turns=5, marker="gpt-5")
        models = [seen.body["model"] for seen in server.requests]
    assert models[0] == "gpt-5"
    assert models[-1] == "small"
    assert COMPACTED.search(done.stderr), done.stderr
    assert "📏 Context: 12,000 tokens, compaction at 6,000" in done.stderr


def test_every_request_is_valid_and_none_says_how_full_the_window_is(home):
    with ScriptedServer(talkative) as server:
        done = grown(home, server, turns=8)
        assert all(seen.refusal is None for seen in server.requests)
        bodies = [seen.body for seen in server.requests if seen.body.get("tools")]
    assert len(COMPACTED.findall(done.stderr)) >= 2
    assert len(bodies) == 8
    told = re.compile(
        r"\d\s*%|context (?:window|length|limit)|tokens? (?:left|used|remain)|remaining tokens|running out",
        re.I,
    )
    for body in bodies:
        assert not told.search(json.dumps([body["tools"], body["messages"]], ensure_ascii=False))


def test_a_session_continues_with_its_last_model(home):
    key = {"OPENAI_API_KEY": "sk-0"}
    with ScriptedServer() as server:
        cards = "model:\n  cards:\n    gpt-5-mini: {window: 90000}\n"
        at = {**key, "OPENAI_BASE_URL": server.openai_url}
        first = talked(home, said="/model gpt-5-mini\nhello\n", config=cards, **at)
        assert server.requests[-1].body["model"] == "gpt-5-mini", first.stderr
        done = talked(home, "--continue", "-q", "again", **at)
        assert server.requests[-1].body["model"] == "gpt-5-mini"
    assert "🧭 Model: gpt-5-mini. This session last used gpt-5-mini." in done.stderr

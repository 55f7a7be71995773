"""Commands that users of other chats expect: sessions, exports, the clipboard, the engine."""

import json
import os
import re
import stat

import httpx
import pytest
from chat_in_process import InteractiveScreen, run_chat
from rich.console import Console

from plimsoll.archive import Session
from plimsoll.errors import Conflict
from plimsoll.messages import text_of
from plimsoll.terminal.chat import session_commands
from plimsoll.terminal.chat.context_usage import ContextUsage, context_bar
from plimsoll.terminal.chat.picker import Choice, ChoiceList
from plimsoll.terminal.chat.session_commands import _rows
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def asked(request):
    return [text_of(dict(message)) for message in request.body["messages"] if message["role"] == "user"]


@pytest.mark.rewrites_history("two sessions take turns")
def test_clear_starts_a_session_and_resume_continues_the_one_before(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "/clear", "two", "/sessions")
        first, second = done.sessions[0], done.sessions[1]
        assert first != second
        assert f"The previous session is kept: /resume {first}" in done.notices
        again = run_chat(home, server, f"/resume {first}", "three", f"/resume {second[:-2]}", "four")
    assert [asked(request) for request in server.requests] == [
        ["one"],
        ["two"],
        ["one", "three"],
        ["two", "four"],
    ]
    assert again.sessions == [first, first, second, second]


def test_a_session_that_cannot_be_resumed_leaves_the_chat_where_it_was(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "/resume nowhere", "two")
    assert len(set(done.sessions)) == 1
    assert asked(server.requests[-1]) == ["one", "two"]
    assert "nowhere" in done.notices


def test_the_picker_filters_by_words_moves_and_never_leaves_its_rows():
    rows = ChoiceList([Choice(str(n), f"session-{n} {'ship' if n % 2 else 'sea'}") for n in range(30)])
    for letter in "ship session-1":
        rows.type(letter)
    assert {choice.value for choice in rows.matching} == {"1", "11", "13", "15", "17", "19"}
    rows.move(100)
    assert rows.chosen == "19"
    assert [here for here, _ in rows.lines(80, 4)] == [False, False, False, True]
    rows.type("nothing")
    assert rows.chosen is None
    for _ in "nothing":
        rows.erase()
    assert rows.chosen == "1"


@pytest.mark.rewrites_history("a fork leaves out the later messages")
def test_fork_continues_in_a_copy_and_the_original_stays(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "two", "/fork 3", "three")
        assert asked(server.requests[-1]) == ["one", "three"]
        back = run_chat(home, server, f"/resume {done.sessions[0]}", "four")
    assert asked(server.requests[-1]) == ["one", "two", "four"]
    assert done.sessions[1] != done.sessions[3]
    assert back.sessions[-1] == done.sessions[0]


def test_retry_asks_the_last_request_again_without_the_answer_before(home):
    with ScriptedServer([say("Bad."), say("Better.")]) as server:
        done = run_chat(home, server, "How deep is it?", "/retry")
        first, second = (request.body["messages"] for request in server.requests)
    assert [message["content"] for message in second] == [message["content"] for message in first]
    assert done.out == "Bad.\nBetter.\n"
    assert f"/resume {done.sessions[0]} shows the previous answer" in done.notices


def test_export_writes_markdown_html_and_json_and_overwrites_no_named_file(home, tmp_path):
    script = [
        call("terminal", command="echo '<b>deep</b>'"),
        say("It is **deep** <script>alert(1)</script>."),
    ]
    with ScriptedServer(script) as server:
        done = run_chat(
            home,
            server,
            "How deep?",
            "/export",
            "/export html",
            "/export j.json",
            "/export json j.json",
            "/export x.y",
        )
    name = done.sessions[0]
    assert "It is **deep**" in (tmp_path / f"{name}.md").read_text("utf-8")
    page = (tmp_path / f"{name}.html").read_text("utf-8")
    assert "It is <strong>deep</strong> &lt;script&gt;" in page
    assert "<script" not in page
    assert "<b>" not in page
    stored = json.loads((tmp_path / "j.json").read_text("utf-8"))
    assert [message["role"] for message in stored["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert "j.json already exists and was not changed" in done.notices
    assert "'x.y' is no format, and no file that ends in .md, .html or .json" in done.notices


def test_copy_hands_the_last_answer_to_the_program_of_the_desktop(home, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    xclip = programs / "xclip"
    xclip.write_text(f"#!/bin/sh\ncat > {tmp_path}/clipboard\n", "utf-8")
    xclip.chmod(xclip.stat().st_mode | stat.S_IXUSR)
    environ = {"DISPLAY": ":7", "PATH": f"{programs}:{os.environ['PATH']}"}
    with ScriptedServer([say("Twelve fathoms.")]) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", environ["PATH"])
        done = run_chat(home, server, "How deep?", "/copy", "/copy 99", environ=environ)
    assert (tmp_path / "clipboard").read_text("utf-8") == "Twelve fathoms."
    assert "15 characters copied with xclip." in done.notices
    assert "There is no message 99; this session has 3." in done.notices


def test_without_a_desktop_copy_says_that_the_terminal_may_not_accept_the_text(home):
    with ScriptedServer([say("Twelve fathoms.")]) as server:
        done = run_chat(home, server, "How deep?", "/copy", environ={"PATH": "/nowhere"})
    assert "15 characters sent to the terminal." in done.notices
    assert "copied" not in done.notices


def test_edit_puts_what_the_editor_wrote_at_the_prompt(home, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s, at noon\\n" "$(cat $1)" > $1\n', "utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    with ScriptedServer() as server:
        assert run_chat(home, server, "/edit How deep", screen=InteractiveScreen).draft == "How deep, at noon"
        assert "/edit needs a terminal" in run_chat(home, server, "/edit").notices


def test_model_and_engine_survive_new(home):
    cards = "  cards:\n    small: {window: 12000}\n"
    with ScriptedServer() as server:
        done = run_chat(
            home, server, "/model small", "/engine lcm", "one", "/new", "two", "/engine", more=cards
        )
        assert [request.body["model"] for request in server.requests] == ["small", "small"]
    assert len(set(done.sessions)) == 2
    assert re.search(r"(?:engine|name) +lcm", done.out.split("two")[-1]), done.out


def test_switching_to_an_unknown_model_says_that_its_window_is_assumed(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "/model gpt-99", "/model gpt-5")
    assert done.notices.count("assumes a context window of 200,000 tokens") == 1


def test_a_mention_of_a_missing_file_is_sent_as_text_with_a_note(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "Why does @harbour.py fail?", screen=InteractiveScreen)
        assert len(server.requests) == 1
    assert "There is no file harbour.py, so nothing was attached for it." in done.notices


def test_an_unknown_engine_is_refused_and_the_one_before_stays(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "/engine lmc", "one")
    assert "The engine was not changed" in done.notices
    assert len(server.requests) == 1


def test_tools_lists_each_tool_with_its_tokens(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "/tools")
    assert re.search(r"^terminal +\d+ +\S", done.out, re.M)
    assert re.search(r"^recall +\d+ +\S", done.out, re.M)


def test_unpin_of_a_message_that_does_not_exist_says_only_that(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "/unpin 99")
    assert "there is no message 99" in done.notices
    assert "was not pinned" not in done.notices


def test_a_failed_request_in_a_pipe_is_said_to_be_tried_again(home):
    with ScriptedServer([fault(503), say("Twelve.")]) as server:
        done = run_chat(home, server, "How deep?")
    assert done.out == "Twelve.\n"
    assert "the provider answered 503; trying again" in done.notices


def test_the_picker_shows_titles_at_80_columns():
    sessions = [
        Session("20261115-094512-quiet-harbour", "Fix", "gpt-5", "compressor", 0.0, 0.0, 1, 900),
        Session("20261114-171003-low-bay", "Move", "gpt-5", "compressor", 0.0, 0.0, 118, 96_000),
    ]
    wide = _rows(sessions, 0.0)
    assert not any("tok" in row.shown(60) for row in wide)  # no size is cut
    rows = [row.shown(80) for row in wide]
    assert rows[0].index("Fix") == rows[1].index("Move")
    assert "Fix · 1 message, " in rows[0]
    assert rows[1].index("Move") < 60


def test_the_picker_leaves_out_sessions_without_a_message(home, monkeypatch):
    offered = []

    async def pick(_title, choices):
        offered.extend(choice.line for choice in choices)

    monkeypatch.setattr(session_commands, "pick", pick)

    async def store(chat):
        system = {"role": "system", "content": "You help."}
        for title, said in (("", []), ("Depth", [{"role": "user", "content": "How deep?"}])):
            session = await chat.archive.create_session(title=title)
            await chat.archive.append(session.id, [system, *said], turn="one")

    with ScriptedServer() as server:
        run_chat(home, server, store, "/resume", screen=InteractiveScreen)
    assert len(offered) == 1
    assert "Depth" in offered[0]


def test_unpin_says_that_a_message_was_not_pinned(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "/unpin 2", "/pin 2", "/unpin 2")
    assert done.notices.count("Message 2 was not pinned.") == 1
    assert "Message 2 stays word for word through every compaction." in done.notices
    assert done.notices.count("Message 2 is no longer pinned.") == 1


def test_a_mistyped_command_names_the_close_ones(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "/compat", "/reusme")
        assert server.requests == []
    assert "Did you mean /compact" in done.notices
    assert "Did you mean /resume" in done.notices


def test_the_other_names_do_the_same(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "/compact", "/compress", "/cost", "/usage")
    assert done.notices.count("nothing to compact yet") == 2
    assert len(re.findall(r"requests +1\b", done.out)) == 2


@pytest.mark.parametrize("threshold", [1_000, 5_000, 9_900])
def test_the_threshold_is_marked_at_its_place_below_the_bar(threshold):
    parts = {"system": 500, "tools": 900, "pinned": 0, "summary": 0, "conversation": 3_000, "free": 5_600}
    console = Console(width=67)
    with console.capture() as shown:
        console.print(context_bar(ContextUsage(parts, 10_000, threshold), 67))
    bar, mark, _, *legend = shown.get().splitlines()
    assert len(bar) == 65
    assert mark.index("▲") == min(59, round(threshold / 10_000 * 60))
    assert f"compaction at {threshold:,}" in mark
    bars = {line.split()[1]: line.count(line[0]) - 1 for line in legend[:6]}
    assert bars["conversation"] > bars["tools"] > bars["system"] > 0
    assert bars["pinned"] == bars["free"] == 0


def test_a_conflict_reloads_the_session(home):
    opened = []

    def act(chat):
        if not opened:

            async def conflict(*_arguments, **_options):
                raise Conflict("Another process has written.")

            chat.opened.conversation.say = conflict
        opened.append(chat.opened)

    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "two", act=act)
    assert "Another process has written. The session was reloaded" in done.notices
    assert opened[0] is not opened[1]
    assert asked(server.requests[-1]) == ["two"]


def test_inspect_shows_the_session_on_a_page_that_ends_with_the_chat(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "/inspect", "one", "/inspect --no-browser")
    assert "There is nothing to inspect yet." in done.notices
    address = re.search(r"Inspector: (http://127\.0\.0\.1:\d+\S*)", done.notices)
    assert address, done.notices
    with pytest.raises(httpx.ConnectError):
        httpx.get(address[1], timeout=5)

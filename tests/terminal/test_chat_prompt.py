"""What a person types at the prompt: Ctrl-C, drafts, pastes, files, images, shell commands, vi keys."""

import asyncio
import base64
from pathlib import Path

import pytest
from chat_in_process import InteractiveScreen, run_chat, type_keys
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.key_binding.vi_state import InputMode

from plimsoll.errors import Conflict
from plimsoll.messages import text_of
from plimsoll.terminal.chat.attachments import Attachments, mentioned, missing_files
from plimsoll.terminal.chat.completion import ChatCompleter
from plimsoll.terminal.chat.line_keys import TOGETHER, Hint
from plimsoll.terminal.chat.terminal_style import code_theme, editing_mode
from plimsoll.testing.scripted_server import ScriptedServer

CTRL_C, CTRL_D, ENTER, UP, CTRL_V = "\x03", "\x04", "\r", "\x1b[A", "\x16"
ESCAPE, ALT_ENTER = "\x1b", "\x1b\r"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


async def until(condition):
    """Wait for something that the chat does."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


def has_read_escape():
    """Whether Escape has arrived as a key of its own: it waits for Enter, or it has ended the typing."""
    app = get_app()
    return bool(app.key_processor.key_buffer) or app.vi_state.input_mode is InputMode.NAVIGATION


def said(request):
    return text_of(dict(request.body["messages"][-1]))


def test_control_c_clears_the_line_and_up_brings_the_draft_back(home):
    async def keys(send, _chat):
        send(f"a long draft{CTRL_C}")
        await until(lambda: "a long draft" in get_app().current_buffer.history.get_strings())
        send(UP)
        await until(lambda: get_app().current_buffer.text == "a long draft")
        send(f", finished{ENTER}")
        await until(lambda: len(server.requests) == 1)
        send(CTRL_D)

    with ScriptedServer() as server:
        type_keys(home, server, keys)
        assert said(server.requests[0]) == "a long draft, finished"


def test_control_c_on_an_empty_line_asks_and_a_key_or_a_while_withdraws_the_question(home):
    hint = Hint(seconds=0.05)
    seen = []

    async def keys(send, _chat):
        send(CTRL_C)
        await until(lambda: hint.text)
        seen.append(hint.text)
        await until(lambda: not hint.text)  # by itself
        hint.seconds = 60.0
        send(CTRL_C)
        await until(lambda: hint.text)
        send("x\x7f")  # by a key
        await until(lambda: not hint.text)
        send(CTRL_C)
        await until(lambda: hint.text)
        seen.append("still here")
        send(CTRL_C)

    with ScriptedServer() as server:
        type_keys(home, server, keys, hint=hint)
    assert seen == ["Press Ctrl-C again to leave; the session is kept.", "still here"]


def test_a_paste_of_several_lines_is_one_message_and_a_long_one_is_folded(home):
    long = "\n".join(f"line {number}" for number in range(50))
    shown = []

    async def keys(send, _chat):
        send(f"\x1b[200~one\r\ntwo\x1b[201~ and{ENTER}")
        await until(lambda: len(server.requests) == 1)
        await until(lambda: get_app().current_buffer.text == "")
        send(f"Look: \x1b[200~{long}\x1b[201~")
        await until(lambda: "paste" in get_app().current_buffer.text)
        shown.append(get_app().current_buffer.text)
        send(ENTER)
        await until(lambda: len(server.requests) == 2)
        send(CTRL_D)

    with ScriptedServer() as server:
        type_keys(home, server, keys)
        assert said(server.requests[0]) == "one\ntwo and"
        assert said(server.requests[1]) == f"Look: {long}"
    assert shown == ["Look: [paste 1: 50 lines]"]


def test_a_named_file_and_an_image_go_along(home, tmp_path):
    (tmp_path / "depth.txt").write_text("twelve fathoms\n", "utf-8")
    (tmp_path / "a chart.png").write_bytes(PNG)
    with ScriptedServer() as server:
        run_chat(
            home,
            server,
            'Compare @depth.txt, with @"a chart.png". Ask me@sea.example.',
            screen=InteractiveScreen,
        )
        content = server.requests[0].body["messages"][-1]["content"]
    assert content[0]["text"].startswith("Compare @depth.txt, with")
    assert "depth.txt: lines 1-1 of 1\ntwelve fathoms" in content[0]["text"]
    assert content[1]["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert len(content) == 2


def test_a_file_that_cannot_be_attached_sends_nothing_and_keeps_the_draft(home, tmp_path):
    (tmp_path / "blob.bin").write_bytes(bytes(range(256)) * 8)
    with ScriptedServer() as server:
        done = run_chat(home, server, "Read @blob.bin", screen=InteractiveScreen)
        assert server.requests == []
    assert done.draft == "Read @blob.bin"
    assert "blob.bin is a binary file" in done.notices


def test_text_from_a_pipe_attaches_no_file_and_runs_no_command(home, tmp_path):
    (tmp_path / "secret.txt").write_text("twelve", "utf-8")
    with ScriptedServer() as server:
        run_chat(home, server, "Read @secret.txt", "!touch made")
        assert [said(request) for request in server.requests] == ["Read @secret.txt", "!touch made"]
    assert not (tmp_path / "made").exists()


def test_a_shell_command_runs_at_once_and_its_output_goes_along_once(home):
    with ScriptedServer() as server:
        done = run_chat(
            home, server, "!echo twelve; exit 3", "How deep?", "And now?", screen=InteractiveScreen
        )
        first, second = server.requests
    assert "twelve\nexit code: 3" in done.out
    assert said(first) == "I ran `echo twelve; exit 3`:\n\ntwelve\nexit code: 3\n\nHow deep?"
    assert said(second) == "And now?"


def test_an_image_from_the_clipboard_is_a_mark_in_the_line(home, tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "clip.png").write_bytes(PNG)
    (programs / "xclip").write_text(f"#!/bin/sh\ncat {tmp_path}/clip.png\n", "utf-8")
    (programs / "xclip").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    environ = {"DISPLAY": ":7", "PATH": f"{programs}:/usr/bin:/bin"}

    async def keys(send, _chat):
        send(CTRL_V)
        await until(lambda: "[image 1]" in get_app().current_buffer.text)
        send(f"What is it?{ENTER}")
        await until(lambda: len(server.requests) == 1)
        send(CTRL_D)

    with ScriptedServer() as server:
        type_keys(home, server, keys, environ=environ)
        content = server.requests[0].body["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert content[0]["text"] == "[image 1] What is it?"


def test_the_path_of_an_image_that_is_dropped_on_the_terminal_becomes_a_mention(tmp_path):
    image = tmp_path / "a chart.png"
    image.write_bytes(PNG)
    escaped = str(image).replace(" ", "\\ ")
    quoted, address = f"'{image}'", f"file://{str(image).replace(' ', '%20')}"
    for pasted in (escaped, quoted, address):
        assert Attachments().fold(pasted) == f'@"{image}" '
    assert Attachments().fold("/nowhere/chart.png") == "/nowhere/chart.png"


@pytest.mark.parametrize(
    "line", ["What is on chart.png?", "Compare (chart.png).", "chart.png: why?", "See 'chart.png'!"]
)
def test_an_image_is_found_next_to_punctuation(tmp_path, line):
    (tmp_path / "chart.png").write_bytes(PNG)
    assert mentioned(line, tmp_path) == [tmp_path / "chart.png"]


def test_a_mistyped_file_is_named_and_other_words_with_an_at_sign_are_not(tmp_path):
    (tmp_path / "app.py").touch()
    line = "Why @ap.py, @src/ap.py? And @app.py. Ask @anna, me@example.org or @types/node, @property @1.5"
    assert missing_files(line, tmp_path) == ["ap.py", "src/ap.py"]


@given(st.text())
def test_reading_a_line_for_files_never_fails_and_names_only_files_that_exist(line):
    assert all(path.exists() for path in mentioned(line, Path("/usr")) if '@"' not in line)


@given(st.lists(st.text()))
def test_folded_pastes_unfold_to_what_was_pasted(texts):
    attachments = Attachments()
    marks = [attachments.fold(text * 500) for text in texts]
    unfolded = [attachments.unfolded(mark) for mark in marks]
    assert all(one == text * 500 for one, text in zip(unfolded, texts, strict=True) if "[paste" not in text)


def test_an_unsent_message_is_offered_at_the_next_prompt(home):
    def act(chat):
        async def conflict(*_arguments):
            raise Conflict("Another process has written.")

        chat.opened.conversation.say = conflict

    with ScriptedServer() as server:
        done = run_chat(home, server, "How deep?", act=act, screen=InteractiveScreen)
    assert done.draft == "How deep?"


def test_a_message_that_was_not_sent_keeps_its_paste_and_the_output_that_goes_along(home):
    long = "a line\n" * 40
    marks = []

    def act(chat):
        if marks:
            return
        say = chat.opened.conversation.say

        async def conflict(*_arguments):
            chat.opened.conversation.say = say
            raise Conflict("Another process has written.")

        chat.opened.conversation.say = conflict
        chat.attachments.add_output("pytest", "1 failed")
        marks.append(chat.attachments.fold(long))

    with ScriptedServer() as server:
        run_chat(
            home,
            server,
            "Read [paste 1: 41 lines]",
            "Read [paste 1: 41 lines]",
            act=act,
            screen=InteractiveScreen,
        )
        said = [str(one.request.messages[-1]["content"]) for one in server.requests]
    assert marks == ["[paste 1: 41 lines]"]
    assert any(long in one and "1 failed" in one for one in said)


def test_marks_are_numbered_over_the_whole_chat():
    attachments = Attachments()
    first = attachments.add_image(b"one")
    attachments.sent()
    assert attachments.add_image(b"two") != first


def test_paths_are_completed_after_an_at_sign(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").touch()
    (tmp_path / "src" / "a b.py").touch()
    (tmp_path / ".hidden").touch()
    completer = ChatCompleter(place=lambda: tmp_path)

    def completed(text):
        return [one.text for one in completer.get_completions(Document(text), CompleteEvent())]

    assert completed("look at @") == ["@src/"]
    assert completed("look at @.h") == ["@.hidden"]
    assert completed("look at @src/a") == ['@"src/a b.py"', "@src/app.py"]
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "depth.txt").touch()
    assert completed("@my") == ['@"my notes/']
    assert completed('@"my notes/') == ['@"my notes/depth.txt"']
    assert mentioned('@"my notes/depth.txt', tmp_path) == [tmp_path / "my notes" / "depth.txt"]
    assert completed("me@s") == []
    assert completed("@nowhere/") == []


@pytest.mark.parametrize(
    ("inputrc", "mode"),
    [
        ("set editing-mode vi\n", EditingMode.VI),
        ("set editing-mode emacs\n", EditingMode.EMACS),
        ("$if Bash\nset editing-mode vi\n$endif\n", EditingMode.EMACS),
        ("", EditingMode.EMACS),
    ],
)
def test_the_prompt_has_the_keys_that_readline_has(tmp_path, inputrc, mode):
    (tmp_path / ".inputrc").write_text(inputrc, "utf-8")
    assert editing_mode({}, tmp_path) is mode
    other = tmp_path / "other"
    other.write_text("set editing-mode vi", "utf-8")
    assert editing_mode({"INPUTRC": str(other)}, tmp_path) is EditingMode.VI


def test_enter_after_escape_sends_the_line_in_vi_mode_and_alt_enter_begins_a_new_one(home, tmp_path):
    (tmp_path / "inputrc").write_text("set editing-mode vi\n", "utf-8")

    async def keys(send, _chat):
        send("one")
        send(ALT_ENTER)
        await until(lambda: get_app().current_buffer.text == "one\n")
        send("two")
        send(ESCAPE)
        await until(has_read_escape)
        await asyncio.sleep(2 * TOGETHER)  # a person presses the next key later
        send(ENTER)
        await until(lambda: len(server.requests) == 1)
        await until(lambda: get_app().current_buffer.text == "")
        send(CTRL_D)

    with ScriptedServer() as server:
        type_keys(home, server, keys, environ={"INPUTRC": str(tmp_path / "inputrc")})
        assert said(server.requests[0]) == "one\ntwo"


def test_code_on_a_light_background_has_dark_colours():
    assert code_theme({"COLORFGBG": "0;15"}) == "ansi_light"
    assert code_theme({"COLORFGBG": "15;0"}) == "ansi_dark"
    assert code_theme({}) == "ansi_dark"

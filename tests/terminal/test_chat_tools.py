"""Tools in the chat: diffs, folded output, progress, and how edits are treated."""

import asyncio

import pytest
from chat_in_process import InteractiveScreen, run_chat, type_keys
from click.testing import CliRunner
from rich.console import Console

from plimsoll.terminal.chat.approval import _prompt, _show
from plimsoll.terminal.chat.folded_outputs import LINES, FoldedOutputs, diff_lines, diff_size
from plimsoll.terminal.chat.status_lines import running_line
from plimsoll.terminal.main import plimsoll
from plimsoll.testing.scripted_server import ScriptedServer, call, say
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion

SHIFT_TAB, CTRL_D = "\x1b[Z", "\x04"
DIFF = "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_the_chat_asks_about_an_edit_and_accept_stays_after_new(home, tmp_path):
    asked = []

    async def approve(question):
        asked.append(question.preview)
        return ApprovalAnswer(True, always=True)

    write = call("write_file", path="depth.txt", content="twelve\n")
    script = [write, say("Written."), write, say("Again.")]
    with ScriptedServer(script) as server:
        done = run_chat(
            home, server, "Write.", "/new", "Write.", "/edits", screen=InteractiveScreen, approve=approve
        )
    assert len(asked) == 1
    assert "+twelve" in asked[0]
    assert (tmp_path / "depth.txt").exists()
    assert "Edit mode accept: changes inside the project are made at once." in done.notices


def test_edits_takes_a_mode_and_refuses_others(home):
    with ScriptedServer() as server:
        done = run_chat(home, server, "/edits plan", "/edits never", "/edits ask", screen=InteractiveScreen)
    assert "Edit mode plan: nothing is changed" in done.notices
    assert "'never' is not ask, accept or plan" in done.notices
    assert "There is no user to ask here" in done.notices


def test_shift_tab_cycles_through_the_modes(home):
    seen = []

    async def keys(send, chat):
        for _ in range(3):
            before = chat.edits.mode
            send(SHIFT_TAB)
            while chat.edits.mode == before:
                await asyncio.sleep(0.005)
            seen.append(chat.edits.mode)
        send(CTRL_D)

    async def approve(_question):
        return ApprovalAnswer(True)

    with ScriptedServer() as server:
        type_keys(home, server, keys, approve=approve)
    assert seen == ["accept", "plan", "ask"]


def test_output_is_folded_and_unfolds_from_the_newest_on():
    folded = FoldedOutputs()
    assert folded.add("one", "a single line") == []
    assert folded.add("two", "a\nb\nc\n") == [("└ 3 lines, Ctrl-O shows them", "dim")]
    assert folded.add("three", "d\ne") == [("└ 2 lines, Ctrl-O shows them", "dim")]
    assert [folded.next(), folded.next(), folded.next()] == [("three", "d\ne"), ("two", "a\nb\nc\n"), None]


def test_a_short_diff_is_shown_and_a_long_one_is_folded():
    folded = FoldedOutputs()
    assert folded.add("patch", DIFF) == [("@@ -1 +1 @@", "cyan"), ("-old", "red"), ("+new", "green")]
    assert folded.next() is None
    shown = folded.add("patch", DIFF + "\n+x" * 40)
    assert len(shown) == LINES + 1
    assert shown[-1] == ("└ 31 more lines, Ctrl-O shows them", "dim")
    assert folded.next() is not None


def test_one_folded_line_is_counted_in_the_singular():
    assert FoldedOutputs().add("patch", DIFF + "\n+x" * 10)[-1] == ("└ 1 more line, Ctrl-O shows it", "dim")
    question = ApprovalQuestion("1", "patch", {}, "changes a", ("all edits",), DIFF)
    assert "v = view 1 more line, " in _prompt(question, 1)


def test_the_line_of_a_change_counts_its_added_and_removed_lines():
    assert diff_size(DIFF) == "+1 −1"
    assert diff_size(DIFF + "\n+++ x" * 3) == "+4 −1"
    assert diff_size("exit code: 0") == ""


def test_a_change_that_was_refused_is_shown_when_it_is_made_later(home, tmp_path):
    (tmp_path / "depth.txt").write_text("eleven\n", "utf-8")

    async def approve(_question):
        return ApprovalAnswer(False)

    change = call("patch", path="depth.txt", old_string="eleven", new_string="twelve")
    folded = []

    class FoldingScreen(InteractiveScreen):
        def fold(self, call, output):
            folded.append((output, self.asked_about))

    with ScriptedServer([change, say("Refused."), change, say("Changed.")]) as server:
        run_chat(home, server, "Change it.", "/edits accept", "Again.", screen=FoldingScreen, approve=approve)
    assert "+twelve" in folded[-1][0]
    assert folded[-1][1] == ""  # the diff counts as not shown yet


@pytest.mark.parametrize("width", [20, 40, 77])
def test_a_running_call_shows_time_and_its_last_line_within_the_width(width):
    assert running_line("terminal(command=make)", 0.4, "", 77) == "terminal(command=make)"
    assert running_line("terminal(command=make)", 71.9, "", 77) == "terminal(command=make) · 1 min 11 s"
    line = running_line("terminal(command=make all the harbours)", 12, "compiling lighthouse.c " * 4, width)
    assert len(line) <= width
    assert " · 12 s · " in line


def test_the_question_about_a_diff_offers_to_view_the_rest():
    question = ApprovalQuestion("1", "patch", {}, "changes a", ("all edits",), DIFF)
    assert (
        _prompt(question, 0) == "  make this change? [y/N, a = accept all edits from now on, or say why not] "
    )
    assert "v = view 31 more lines" in _prompt(question, 31)


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("ls \x1b[;$(./x)", "ls \\x1b[;$(./x)"),  # a terminal takes `ESC [ ; $ ( . / x` for a sequence
        ("ls \x1b;reboot", "ls \\x1b;reboot"),
        ("echo \u202etoober # \u2066", "echo \\u202etoober # \\u2066"),
        ("ls\rrm -r .", "ls\\rrm -r ."),
        ("cat a\u200bb \U000e0041 \ud800", "cat a\\u200bb \\U000e0041 \\ud800"),
        ("cat <<E\n\tif 漢字 é 👩‍🚀\nE", "cat <<E\n\tif 漢字 é 👩\\u200d🚀\nE"),
    ],
)
def test_what_a_person_approves_is_shown_with_every_character_that_runs(capsys, hidden, shown):
    _show(ApprovalQuestion("1", "terminal", {"command": hidden}, "may change files"), Console())
    assert capsys.readouterr().out == f"⚠ terminal(command={shown}) may change files.\n"
    _show(ApprovalQuestion("1", "mcp_demo_run", {"script": hidden}, "is destructive"), Console())
    assert f"script={' '.join(shown.split())})" in capsys.readouterr().out
    diff = f"--- a\n+++ a\n@@ -1 +1 @@\n-old\n+{hidden}\n"
    assert [line for line, _ in diff_lines(diff)][2:] == f"+{shown}".split("\n")


def test_an_error_that_quotes_a_file_prints_nothing_that_a_terminal_acts_on(home, tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_HOME", str(home))
    home.mkdir()
    (home / "config.yaml").write_text('"\\e]0;owned\\a\\e[2J\\u202e": 1\n', "utf-8")
    result = CliRunner().invoke(plimsoll, ["config", "check"])
    assert "owned" in result.output
    assert not set(result.output) & set("\x1b\x07\u202e")


def test_a_diff_shows_every_changed_line_also_one_that_looks_like_its_head():
    diff = "--- a.js\n+++ a.js\n@@ -1,2 +1,2 @@\n x = 1;\n--- y;\n+++ [][run()];"
    assert [line for line, _ in diff_lines(diff)] == diff.splitlines()[2:]

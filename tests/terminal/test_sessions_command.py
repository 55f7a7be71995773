"""What `plimsoll sessions` promises at the command line."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from plimsoll.archive import OPERATOR, Archive, CompactionEvent, draft_of
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context.ledger import SourceReference, SummaryLine, as_json
from plimsoll.errors import UnknownSession, UserError
from plimsoll.messages import handle_of
from plimsoll.terminal.sessions import command
from plimsoll.terminal.sessions.command import sessions
from plimsoll.terminal.sessions.times import parse_time, time_ago

SUMMARY = "[CONTEXT COMPACTION] Earlier turns were compacted.\n\n## Goal\nfix the loader\n\n## Progress\nhalf"
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "terminal", "arguments": '{"command": "pytest -x"}'},
}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be careful."},
    {"role": "user", "content": "Fix parse_config \x1b[31mplease"},
    {"role": "assistant", "content": "I look.", "reasoning_content": "hmm", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "1 failed\n" + "long line " * 40},
    {"role": "assistant", "content": "It is the loader."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Go on"}, {"type": "image_url", "image_url": {"url": "x"}}],
    },
]
Run = Callable[..., Result]


@pytest.fixture
def home(empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "home"


def run(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(sessions, arguments, **more)


def out(*arguments: str, **more: Any) -> str:
    result = run(*arguments, **more)
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.stdout


def in_archive(home: Path, work: Callable[[Archive], Coroutine[Any, Any, Any]]) -> Any:
    async def inside() -> Any:
        async with await SqliteStore.open(home / "archive.db") as store:
            archive = store.for_owner(OPERATOR)
            return await work(archive)

    return asyncio.run(inside())


@pytest.fixture
def session(home: Path, tmp_path: Path) -> str:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK), "utf-8")
    return out("import", str(path)).strip()


@pytest.fixture
def compacted(home: Path, session: str) -> str:
    async def work(archive: Archive) -> None:
        view, items = await archive.view(session), await archive.items(session)
        after = [TALK[0], TALK[1], {"role": "assistant", "content": SUMMARY}, *TALK[5:]]
        line = SummaryLine("Goal", "- fix the loader", "code", (SourceReference(1, handle_of(TALK[1])),))
        event = CompactionEvent(
            "threshold", "compressor", "compacted", "", 6, 4, 180, 60, model="small", money=0.01,
            ledger={"sources": as_json([line])},
        )  # fmt: skip
        await archive.commit_compaction(session, draft_of(session, view, items, after), event)
        await archive.record_compaction(
            session, CompactionEvent("hand", "compressor", "refused", "nothing to gain")
        )

    in_archive(home, work)
    return session


def test_without_an_archive_the_message_says_how_to_begin_and_nothing_is_created(home: Path):
    assert "no sessions yet" in out("list")
    assert json.loads(out("list", "--json")) == []
    for arguments in (["show", "x"], ["search", "x"], ["undo", "x"], ["delete", "x", "--yes"]):
        result = run(*arguments)
        assert isinstance(result.exception, UserError)
        assert "plimsoll sessions import" in str(result.exception)
    assert not home.exists()


def test_import_brings_a_conversation_in_and_names_its_session(home: Path, session: str):
    (found,) = json.loads(out("list", "--json"))
    assert (found["id"], found["messages"], found["engine"]) == (session, 6, "compressor")
    assert found["title"].startswith("Fix parse_config")
    table = out("list")
    for word in (session, "Fix parse_config", "6", "just now"):
        assert word in table
    assert "\x1b" not in table


def test_import_reads_everything_before_it_stores_anything(home: Path, tmp_path: Path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(TALK))
    bad.write_text("{")
    assert isinstance(run("import", str(good), str(bad)).exception, UserError)
    assert not (home / "archive.db").exists()


def test_import_takes_standard_input_and_a_title(home: Path):
    id = out("import", "-", "--title", "From a pipe", input=json.dumps(TALK)).strip()
    assert json.loads(out("list", "--json"))[0]["title"] == "From a pipe"
    assert out("export", id)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_list_never_cuts_an_id(home: Path, session: str, width: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "PIPED_WIDTH", width)
    assert session in out("list")


def test_show_prints_the_whole_conversation_also_after_a_compaction(compacted: str):
    shown = out("show", compacted)
    for words in (
        "Be careful.",
        "It is the loader.",
        "Go on",
        "→ terminal",
        "pytest -x",
        "hmm",
        "[image_url]",
        "6 messages",
    ):
        assert words in shown
    assert "long line " * 40 in shown
    headings = [line for line in shown.splitlines() if line.startswith("── ")]
    assert len(headings) == 6
    assert all(len(heading) < 60 for heading in headings)  # no rule as wide as a terminal
    assert "CONTEXT COMPACTION" not in shown
    assert "\x1b" not in shown


def test_show_view_prints_what_the_model_sees_and_what_each_summary_covers(compacted: str):
    shown = out("show", compacted, "--view")
    assert "CONTEXT COMPACTION" in shown
    assert "covers messages 3–5" in shown
    assert "It is the loader." not in shown
    assert [json.loads(line)["role"] for line in out("show", compacted, "--view", "--json").splitlines()] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
    assert [json.loads(line) for line in out("show", compacted, "--json").splitlines()] == TALK


def test_show_sources_names_the_source_messages_of_each_line_of_a_summary(compacted: str):
    shown = out("show", compacted, "--compactions", "--sources")
    assert "- fix the loader  ← messages 2" in shown
    assert isinstance(run("show", compacted, "--sources").exception, SystemExit)


def test_show_compactions_says_what_went_and_what_stayed(compacted: str):
    run("undo", compacted)
    shown = out("show", compacted, "--compactions")
    for words in (
        "threshold", "compacted", "messages 3–5", "messages 1–2 and all from 6 on", "summary by small", "$0.01",
        "fix the loader", "refused", "nothing to gain", "undone", "the whole conversation",
    ):  # fmt: skip
        assert words in shown, shown
    assert isinstance(run("show", compacted, "--view", "--compactions").exception, SystemExit)


def test_a_session_that_was_never_compacted_says_so(session: str):
    assert "Never compacted" in out("show", session, "--compactions")


def test_undo_restores_the_view_before_the_last_compaction(compacted: str):
    assert "4 → 6 messages" in out("undo", compacted)
    assert "CONTEXT COMPACTION" not in out("show", compacted, "--view")
    result = run("undo", compacted)
    assert "no compaction or edit that could be undone" in str(result.exception)


def test_a_pinned_message_is_marked_and_can_be_let_go(session: str):
    out("pin", session, "2")
    assert "2 · user" in out("show", session)
    assert "pinned" in out("show", session)
    out("unpin", session, "2")
    assert "pinned" not in out("show", session)
    assert "messages 1 to 6" in str(run("pin", session, "7").exception)


def test_fork_prints_the_id_of_a_session_of_its_own(session: str):
    child = out("fork", session, "--at", "2", "--title", "another way").strip()
    shown = out("show", child)
    assert f"fork of {session} at message 2" in shown
    assert "It is the loader." not in shown
    assert "fork: another way" in out("list")


def test_delete_asks_first_and_keeps_what_forks_share(session: str):
    child = out("fork", session, "--at", "2").strip()
    assert f"Kept {session}" in out("delete", session, input="n\n")
    assert run("delete", session, input="").exit_code != 0
    assert "permanently?" in run("delete", session, input="n\n").output
    assert "2 of its messages stay" in out("delete", session, "--yes")
    assert "Fix parse_config" in out("show", child)
    assert f"Deleted {child}" in out("delete", child, input="y\n")
    assert json.loads(out("list", "--json")) == []


def test_search_shows_where_and_marks_what(session: str):
    shown = out("search", "pytest")
    assert session in shown
    assert "3  assistant" in shown
    assert "inside words" in out("search", "arse_conf")
    assert json.loads(out("search", r"par\w+_config", "--regex", "--json"))["hits"][0]["sequence"] == 2
    assert "No messages match 'zebra'" in out("search", "zebra")
    assert "No messages match" in out("search", "loader", "--role", "user")
    assert "5  assistant" in out("search", "loader", "--session", session[:8], "--since", "1h")
    assert "No messages match" in out("search", "loader", "--before", "2020-01-01")
    assert "\x1b" not in out("search", "please")


def test_search_marks_the_words_on_a_screen(session: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1;30;43mloader\x1b[0m" in out("search", "loader")


def test_search_continues_page_by_page(session: str):
    first = json.loads(out("search", "e*", "--limit", "1", "--json"))
    rest = json.loads(out("search", "e*", "--json", "--cursor", str(first["next"] or 0)))
    numbers = [hit["sequence"] for page in (first, rest) for hit in page["hits"]]
    assert numbers == sorted(set(numbers), reverse=True)


def test_a_mistake_in_a_search_is_a_sentence(session: str):
    assert "is not a valid regular expression" in str(run("search", "([", "--regex").exception)
    assert "not a time" in str(run("search", "x", "--since", "yesterday-ish").exception)
    assert isinstance(run("search", "x", "--session", "nobody").exception, UnknownSession)


def test_export_writes_openai_anthropic_and_markdown(session: str, compacted: str, tmp_path: Path):
    openai = json.loads(out("export", session))
    assert (openai["id"], openai["messages"]) == (session, TALK)
    anthropic = json.loads(out("export", session, "--format", "anthropic", "-o", "-"))
    assert [one["role"] for one in anthropic["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert "Be careful." in json.dumps(anthropic["system"])
    markdown = out("export", session, "--format", "markdown")
    for words in ("# Fix parse_config", "## 3 · assistant", "pytest -x", "## 6 · user", "1 failed"):
        assert words in markdown
    assert len(json.loads(out("export", session, "--view"))["messages"]) == 4
    for form in ("openai", "markdown"):
        target = tmp_path / f"out.{form}"
        assert str(target) in out("export", session, "--format", form, "-o", str(target))
        assert target.read_bytes()
    assert "cannot be written" in str(
        run("export", session, "--format", "markdown", "-o", "/nowhere/x").exception
    )


def test_what_was_exported_can_be_imported_again(session: str, tmp_path: Path):
    for form in ("openai", "anthropic"):
        path = tmp_path / f"{form}.json"
        out("export", session, "--format", form, "-o", str(path))
        again = out("import", str(path)).strip()
        assert "6 messages" in out("show", again)


def test_an_unknown_id_names_the_nearest_and_a_unique_beginning_is_enough(session: str):
    assert session in out("show", session[:4])
    result = run("show", session[16:22])
    assert isinstance(result.exception, UnknownSession)
    assert f"Nearest: {session}" in str(result.exception)


def test_ids_are_completed_in_the_shell(session: str):
    complete = ShellComplete(sessions, {}, "sessions", "_X")
    for words in (["show"], ["delete"], ["search", "x", "--session"]):
        assert [item.value for item in complete.get_completions(words, session[:3])] == [session]
    assert complete.get_completions(["show"], "zzz") == []


def test_completion_without_an_archive_is_silent(home: Path):
    assert ShellComplete(sessions, {}, "sessions", "_X").get_completions(["show"], "") == []
    assert not home.exists()


def test_the_setting_archive_url_moves_the_archive(home: Path, session: str, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_ARCHIVE__URL", f"sqlite://{tmp_path}/elsewhere.db")
    assert "no sessions yet" in out("list")
    out("import", "-", input=json.dumps(TALK))
    assert (tmp_path / "elsewhere.db").exists()
    monkeypatch.setenv("PLIMSOLL_ARCHIVE__URL", "mysql://me:hunter2@host/db")
    result = run("list")
    assert "sqlite:///path/to/archive.db" in str(result.exception)
    assert "hunter2" not in str(result.exception)


def test_every_subcommand_explains_itself():
    assert isinstance(sessions, click.Group)
    for name, subcommand in sessions.commands.items():
        assert subcommand.help, name
        assert out(name, "--help").startswith("Usage:")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5_400), ("3h", 10_800), ("2d", 172_800), ("1w", 604_800), (" 5 M ", 300)]
)
def test_a_span_counts_back_from_now(text: str, seconds: int):
    assert parse_time(text, 1_000_000.0) == 1_000_000.0 - seconds


def test_a_date_is_the_beginning_of_that_day_here():
    assert parse_time("2026-11-15", 0.0) == time.mktime((2026, 11, 15, 0, 0, 0, 0, 0, -1))
    assert parse_time("2026-11-15 09:30", 0.0) - parse_time("2026-11-15", 0.0) == 9.5 * 3_600


@pytest.mark.parametrize(
    ("past", "said"), [(5, "just now"), (125, "2 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")]
)
def test_recent_times_are_shown_as_spans(past: float, said: str):
    assert time_ago(1_000_000.0 - past, 1_000_000.0) == said

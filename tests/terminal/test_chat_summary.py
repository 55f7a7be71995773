"""/summary: the summary in the person's editor."""

import asyncio

import click
from chat_in_process import InteractiveScreen, run_chat

from plimsoll.archive import OPERATOR, CompactionEvent, draft_of
from plimsoll.archive.open_archive import open_archive
from plimsoll.context.compressor.assemble import summary_message
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer

SUMMARY = "## Goal\nfix the loader\n## Critical Context\n- The port is 8417."


async def compact(archive, id, text):
    """Put a summary in place of everything between the first and the last message of the view."""
    view, items = await archive.view(id), await archive.items(id)
    after = [items[0].message, summary_message(text, "user"), items[-1].message]
    await archive.commit_compaction(
        id, draft_of(id, view, items, after), CompactionEvent("threshold", "compressor")
    )


def test_summary_does_not_overwrite_one_that_was_written_while_the_editor_was_open(tmp_path, monkeypatch):
    home, ids = tmp_path / "home", []
    newer = f"{SUMMARY}\n- Never delete the production database."

    async def compact_elsewhere():
        async with await open_archive(None, home) as store:
            await compact(store.for_owner(OPERATOR), ids[0], newer)

    def type_slowly(text, **_):
        asyncio.run(compact_elsewhere())
        return f"{text}\n- The port is open."

    async def begin(chat):
        ids.append(chat.id)
        await compact(chat.archive, chat.id, SUMMARY)
        assert text_of((await chat.archive.items(chat.id))[1].message).endswith(SUMMARY)

    async def look(chat):
        assert text_of((await chat.archive.items(chat.id))[1].message).endswith(newer)

    monkeypatch.setattr(click, "edit", type_slowly)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ScriptedServer() as server:
        done = run_chat(home, server, "one", "two", begin, "/summary", look, screen=InteractiveScreen)
    assert "is no longer in the view" in done.out + done.notices
    (kept,) = tmp_path.glob("plimsoll-summary-*.md")
    assert kept.read_text() == f"{SUMMARY}\n- The port is open."

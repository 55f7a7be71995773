"""An edit replaces the summary that the person read, and no other; the sentence before a summary is there once."""

import asyncio
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from session_client import serving
from test_session_actions import EVENT, SUMMARY, state, stored

from plimsoll.archive import OPERATOR, draft_of
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context.compressor.assemble import summary_message
from plimsoll.context.markers import MARKS, SUMMARY_PREFIX, editable_text, edited_summary
from plimsoll.messages import text_of
from plimsoll.terminal.main import plimsoll
from plimsoll.testing.scripted_server import ScriptedServer

NEWER = f"{SUMMARY}\n- Never delete the production database."


async def _compact(home: Path, id: str) -> None:
    async with await SqliteStore.open(home / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        view, items = await archive.view(id), await archive.items(id)
        after = [items[0].message, summary_message(NEWER, "user"), *(item.message for item in items[3:])]
        await archive.commit_compaction(id, draft_of(id, view, items, after), EVENT)


def compact(home: Path, id: str) -> None:
    """The agent compacts the session once more: its summary has a fact that the first one lacks."""
    asyncio.run(_compact(home, id))


def test_an_edit_through_rest_never_overwrites_a_newer_summary(tmp_path: Path) -> None:
    id = asyncio.run(stored(tmp_path))
    url = f"/sessions/{id}/summary"
    with ScriptedServer() as server, serving(server, tmp_path) as sessions:
        read = sessions.http.get(url).json()
        compact(tmp_path, id)
        before = state(tmp_path, id)
        changed = {"text": f"{read['text']}\n- The port is open.", "node": read["node"]}
        for body in (changed, changed | {"preview": True}):
            refused = sessions.http.put(url, json=body)
            assert refused.status_code == 409
            assert f"The summary {read['node']} is no longer in the view" in refused.json()["detail"]
        assert sessions.http.put(url, json={"text": "Only this."}).status_code == 422
        assert state(tmp_path, id) == before
        newer = sessions.http.get(url).json()
        assert sessions.http.put(url, json=changed | {"node": newer["node"]}).status_code == 200


def test_an_editor_that_is_open_during_a_compaction_does_not_overwrite_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = asyncio.run(stored(tmp_path))
    found: list[dict[str, Any]] = []

    def type_slowly(text: str, **_: Any) -> str:
        compact(tmp_path, id)
        found.append(state(tmp_path, id))
        return f"{text}\n- The port is open."

    monkeypatch.setattr(click, "edit", type_slowly)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    refused = CliRunner().invoke(plimsoll, ["sessions", "edit", id], env={"PLIMSOLL_HOME": str(tmp_path)})
    assert (refused.exit_code, "is no longer in the view" in refused.output) == (2, True), refused.output
    assert found == [state(tmp_path, id)]
    (kept,) = tmp_path.glob("plimsoll-summary-*.md")
    assert kept.name in refused.output.replace("\n", "")
    assert kept.read_text() == f"{SUMMARY}\n- The port is open."


def test_a_text_from_a_file_names_the_summary_that_it_replaces(tmp_path: Path) -> None:
    id = asyncio.run(stored(tmp_path))
    (tmp_path / "new.md").write_text("Only this.")
    command = ["sessions", "edit", id, "--file", str(tmp_path / "new.md")]
    refused = CliRunner().invoke(plimsoll, command, env={"PLIMSOLL_HOME": str(tmp_path)})
    assert (refused.exit_code, "--file needs --node" in refused.output) == (2, True), refused.output


def test_a_text_with_the_sentence_before_the_summary_leaves_the_same_archive_as_one_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [tmp_path / name for name in ("rest", "terminal")]
    for home in homes:
        home.mkdir()
    ids = [asyncio.run(stored(home)) for home in homes]
    with ScriptedServer() as server, serving(server, homes[0]) as sessions:
        read = sessions.http.get(f"/sessions/{ids[0]}/summary").json()
        assert read["text"] == SUMMARY
        whole = sessions.http.get(f"/sessions/{ids[0]}/view").json()["messages"][1]["message"]["content"]
        assert whole.startswith(SUMMARY_PREFIX)
        changed = {"text": f"{whole}\n* Written by a model.", "node": read["node"]}
        assert sessions.http.put(f"/sessions/{ids[0]}/summary", json=changed).status_code == 200
    monkeypatch.setattr(click, "edit", lambda text, **_: f"{text}\n* Written by a model.")
    done = CliRunner().invoke(plimsoll, ["sessions", "edit", ids[1]], env={"PLIMSOLL_HOME": str(homes[1])})
    assert done.exit_code == 0, done.output
    found, other = (state(home, id) for home, id in zip(homes, ids, strict=True))
    assert found == other
    content = found["view"][1][2]["content"]
    assert (content.count("[CONTEXT COMPACTION]"), content.count(MARKS)) == (1, 1)


@given(st.lists(st.sampled_from([SUMMARY_PREFIX, f"{SUMMARY_PREFIX} {MARKS}", " ", "\n\n"])), st.booleans())
def test_saving_a_summary_as_it_is_shown_changes_nothing(before: list[str], is_by_model: bool) -> None:
    body = f"{SUMMARY}\n* Written by a model." if is_by_model else SUMMARY
    once = edited_summary({"role": "user", "content": ""}, "".join([*before, body]))
    assert editable_text(once) == body
    assert text_of(once).count(SUMMARY_PREFIX) == 1
    assert edited_summary(once, text_of(once)) == edited_summary(once, editable_text(once)) == once

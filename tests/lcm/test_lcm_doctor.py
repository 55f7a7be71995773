"""`plimsoll lcm doctor`: what is wrong is said, and what can be mended is."""

import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from lcm_host import Host
from test_lcm_tools import harbour
from test_lcm_tree import talk

from plimsoll.context.lcm.tree import tree_of
from plimsoll.terminal.main import plimsoll


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    host = Host(tmp_path, window=8_000)
    session = host.begin()
    talk(host, session, harbour(40))
    roots = tree_of(host.nodes(session)).roots
    host.close()
    return tmp_path, session, roots


def doctor(*arguments):
    return CliRunner().invoke(plimsoll, ["lcm", "doctor", *arguments])


def changed(home, *statements):
    with closing(sqlite3.connect(home[0] / "archive.db")) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def test_a_sound_archive_has_nothing_wrong(home):
    said = doctor()
    assert said.exit_code == 0, said.output
    assert "1 session with the engine lcm; nothing wrong" in said.output
    assert f"{home[1]}  161 messages, " in said.output


def test_messages_without_a_leaf_are_named_and_covered_again(home):
    leaf = next(root for root in home[2] if root.kind == "leaf")
    changed(home, f"DELETE FROM edges WHERE node = '{leaf.id}'", f"DELETE FROM nodes WHERE id = '{leaf.id}'")
    first, last = leaf.details["first"], leaf.details["last"]
    said = doctor()
    assert said.exit_code == 1
    assert f"messages {first} to {last} left the view but have no leaf" in said.output
    assert "--repair" in said.output
    mended = doctor("--repair")
    assert mended.exit_code == 0, mended.output
    assert f"messages {first} to {last} are covered by leaves again" in mended.output
    assert doctor(home[1]).exit_code == 0


def test_a_node_whose_source_is_missing_is_named(home):
    top = next(root for root in home[2] if root.kind == "condensed")
    lost = top.sources[0].node
    changed(home, f"DELETE FROM edges WHERE node = '{lost}'", f"DELETE FROM nodes WHERE id = '{lost}'")
    said = doctor(home[1])
    assert said.exit_code == 1
    assert f"node {top.id} refers to nodes that are not stored" in said.output


def test_messages_that_search_has_lost_are_found_again(home):
    changed(home, "DELETE FROM words_docsize WHERE id = 7")
    assert "1 messages that search cannot find" in doctor().output
    mended = doctor("--repair")
    assert "search index repaired for 1 messages" in mended.output
    assert mended.exit_code == 0, mended.output


def test_a_leaf_that_covers_what_another_covers_does_not_count(home):
    leaf = next(root for root in home[2] if root.kind == "leaf")
    copied = (
        "INSERT INTO nodes SELECT 'n:feedfeed00', session, kind, depth, tokens, model, degraded, created + 1, "
        f"details, body FROM nodes WHERE id = '{leaf.id}'"
    )
    edges = (
        "INSERT INTO edges SELECT 'n:feedfeed00', position, first, last, source FROM edges "
        f"WHERE node = '{leaf.id}'"
    )
    changed(home, copied, edges)
    said = doctor(home[1])
    assert "leaf n:feedfeed00 covers messages that an earlier leaf covers" in said.output

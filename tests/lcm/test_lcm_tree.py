"""Leaves, condensed nodes, what is written again, and what the model sees of them."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcm_host import Host, Model
from test_lcm_tools import harbour

from plimsoll.archive import Node, NodeLink, Span
from plimsoll.archive.blocking import BlockingArchive
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.lcm.node_writer import MAX_REQUESTS
from plimsoll.context.lcm.render import bare, full, header
from plimsoll.context.lcm.tree import FAN_IN, tree_of
from plimsoll.context.lcm.tree_builder import leaf_runs
from plimsoll.context.markers import find_summary
from plimsoll.errors import ArchiveError
from plimsoll.messages import text_of
from plimsoll.models import estimate_messages_tokens_rough as weigh


@pytest.fixture
def host(tmp_path):
    host = Host(tmp_path, window=8_000)
    yield host
    host.close()


def talk(host, session, messages, size=8):
    """Say everything, a few messages at a time, and compact after each."""
    host.say(session, messages[:1])
    for start in range(1, len(messages), size):
        host.say(session, messages[start : start + size])
        host.compact(session)


def leaf(first, last, name="", **more):
    return Node(f"n:{name or f'{first}-{last}'}", {"content": ""}, (Span(first, last),), "leaf", **more)


def over(*nodes, depth=1, name="top"):
    links = tuple(NodeLink(node.id) for node in nodes)
    return Node(f"n:{name}", {"content": ""}, links, "condensed", depth)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), max_size=20))
def test_leaves_that_count_never_overlap_whoever_wrote_them(runs):
    nodes = [leaf(first, first + more, f"{n}") for n, (first, more) in enumerate(runs)]
    tree = tree_of(nodes)
    covered = [n for one in tree.leaves for n in range(one.sources[0].first, one.sources[0].last + 1)]
    assert len(covered) == len(set(covered))
    gaps = {n for gap in tree.uncovered(1, 70) for n in range(gap.first, gap.last + 1)}
    assert gaps == set(range(1, 71)) - set(covered)
    for n in range(1, 71):
        assert (tree.leaf_at(n) is not None) == (n in covered)


def test_a_node_that_was_written_again_takes_the_place_of_the_first():
    first, second, third = leaf(1, 4), leaf(5, 9), leaf(10, 12)
    again = replace(leaf(5, 9, "again"), details={"replaces": second.id})
    tree = tree_of([first, second, third, over(first, second), again])
    assert [node.id for node in tree.leaves] == [first.id, again.id, third.id]
    assert [node.id for node in tree.roots] == ["n:top", third.id]
    assert tree.parents == {first.id: "n:top", again.id: "n:top"}
    assert tree.current(second.id) == again.id


def test_only_more_than_four_neighbours_of_one_depth_become_one():
    leaves = [leaf(n, n) for n in range(1, 7)]
    assert tree_of(leaves[:FAN_IN]).due() == ()
    assert tree_of(leaves).due() == tuple(leaves[:FAN_IN])


def test_a_run_is_cut_between_tool_groups_into_parts_of_about_equal_weight(host):
    session = host.begin()
    host.say(session, harbour(40))
    said = host.log(session)
    parts = list(leaf_runs(said, size=2_000))
    assert [one.sequence for part in parts for one in part] == [one.sequence for one in said]
    assert all(part[0].role != "tool" for part in parts)
    weights = [sum(one.tokens for one in part) for part in parts]
    assert len(parts) == round(sum(weights) / 2_000)
    assert max(weights) < 1.5 * 2_000


def test_a_long_conversation_is_condensed_to_several_depths_and_stays_under_its_threshold(host):
    session = host.begin()
    talk(host, session, harbour(150), size=16)
    tree = tree_of(host.nodes(session))
    assert max(root.depth for root in tree.roots) >= 2
    assert host.faults(session) == []
    view = host.run(host.view(session))
    assert weigh(view) <= host.engine(session).threshold_tokens
    for node in tree.known.values():
        assert len(node.sources) == (1 if node.kind == "leaf" else FAN_IN)


def test_nodes_are_shown_oldest_first_with_their_ids_as_reference_and_not_as_instruction(host):
    host.window = 32_000
    session = host.begin()
    talk(host, session, harbour(100), size=80)
    view = host.run(host.view(session))
    text = text_of(view[find_summary(view)])
    assert "a record for reference, not a request" in text
    places = [text.index(f"[{root.id}") for root in tree_of(host.nodes(session)).roots if root.id in text]
    assert places == sorted(places)
    assert len(places) >= 2
    assert "Expand for details about: " in text
    assert " · depth 0 · " in text


def test_a_node_looks_the_same_in_every_publication(tmp_path):
    host = Host(tmp_path, window=32_000, model=Model())
    session = host.begin()
    said = harbour(120)
    host.say(session, said[:1])
    seen = {}
    for start in range(1, len(said), 60):
        host.say(session, said[start : start + 60])
        host.compact(session)
        view = host.run(host.view(session))
        text = text_of(view[find_summary(view) or 0])
        for node in host.nodes(session):
            if full(node) in text:
                assert seen.setdefault(node.id, full(node)) == full(node)
            elif f"[{node.id}" in text:
                assert header(node) in text or bare(node) in text
    assert seen
    host.close()


def test_what_an_outage_left_is_written_again_when_a_model_answers(host):
    model = host.model = Model()
    model.answers = False
    session = host.begin()
    said = harbour(60)
    talk(host, session, said[:120])
    before = tree_of(host.nodes(session))
    assert all(one.degraded for one in before.leaves)
    model.answers = True
    for start in range(120, len(said), 8):
        host.say(session, said[start : start + 8])
        host.compact(session)
    after = tree_of(host.nodes(session))
    redone = {after.current(one.id) for one in before.leaves} - {one.id for one in before.leaves}
    assert redone
    assert not any(after.known[id].degraded for id in redone)
    assert host.faults(session) == []


def test_a_model_that_says_too_much_is_asked_for_bullets_and_then_not_again():
    class Talkative(Model):
        def summarize(self, prompt, max_tokens):
            self.prompts.append(prompt)
            return "- a short list" if "bullet points" in prompt else "word " * 20_000

    model = Talkative()
    engine = LcmEngine(context_length=32_000, summarizer=model)
    engine.compress(harbour(100))
    (only,) = tree_of(engine.store.nodes()).leaves[:1]
    assert only.message["content"] == "- a short list"
    assert not only.degraded
    silent = Model("")
    engine = LcmEngine(context_length=32_000, summarizer=silent)
    engine.compress(harbour(100))
    assert len(silent.prompts) <= 2
    assert all(leaf.degraded for leaf in tree_of(engine.store.nodes()).leaves)


def test_a_compaction_asks_a_model_only_so_often():
    model = Model()
    model.context_length = 200_000  # a leaf goes to it in one piece
    engine = LcmEngine(context_length=32_000, summarizer=model)
    engine.compress(harbour(600))
    assert 1 <= len(model.prompts) <= MAX_REQUESTS
    assert len(tree_of(engine.store.nodes()).leaves) >= 8


def test_no_summary_is_begun_when_the_host_would_not_wait_for_it():
    now = iter(range(0, 100_000, 40))
    model = Model()
    model.context_length = 200_000
    engine = LcmEngine(context_length=32_000, summarizer=model, clock=lambda: next(now))
    engine.compress(harbour(600))
    assert len(model.prompts) == 1


def test_a_restart_and_a_replay_add_no_row(host):
    session = host.begin()
    talk(host, session, harbour(60))
    host.say(session, [{"role": "user", "content": "and then?"}])
    before = host.rows()
    for _ in range(3):
        host.restart()
        # What is prepared and not shown is found again by its words.
        host.run(asyncio.to_thread(host.engine(session).compress, host.run(host.view(session))))
    nodes = host.rows()["nodes"]
    host.restart()
    host.run(asyncio.to_thread(host.engine(session).compress, host.run(host.view(session))))
    after = host.rows()
    assert after["nodes"] == nodes
    assert {table: after[table] for table in ("messages", "views", "events")} == {
        table: before[table] for table in ("messages", "views", "events")
    }


def test_a_fork_keeps_its_leaves_when_its_parent_is_deleted(host):
    session = host.begin()
    talk(host, session, harbour(60))
    child = host.run(host.archive.fork(session)).id
    ids = {node.id for node in host.nodes(child)}
    host.run(host.archive.delete(session))
    assert {node.id for node in host.nodes(child)} == ids
    assert host.faults(child) == []
    assert host.run(host.store.check()) == []


def test_a_leaf_over_messages_that_were_deleted_goes_with_them(host):
    session = host.begin()
    talk(host, session, harbour(60))
    last = tree_of(host.nodes(session)).leaves[-1]
    child = host.run(host.archive.fork(session, at=last.details["last"] - 1)).id
    host.run(host.archive.delete(session))
    assert last.id not in {node.id for node in host.run(host.archive.nodes(child, inherited=True))}
    with pytest.raises(Exception, match="There is no node"):
        host.run(host.archive.node(last.id))


def test_a_fork_in_the_middle_of_a_leaf_sees_what_the_leaf_would_have_told(host):
    session = host.begin()
    talk(host, session, harbour(60))
    for one in tree_of(host.nodes(session)).leaves:
        first, last = one.details["first"], one.details["last"]
        for at in {first, (first + last) // 2, last - 1, last}:
            child = host.run(host.archive.fork(session, at=at)).id
            assert host.faults(child) == []
            assert set(range(2, at + 1)) - host.seen(child) <= set(host.covered(child))


def test_two_processes_that_cover_the_same_messages_count_them_once(host, tmp_path):
    session = host.begin()
    host.say(session, harbour(40))
    other = Host(tmp_path, window=4_000, now=host.now)
    view = host.run(host.view(session))
    for one in (host, other):
        one.run(asyncio.to_thread(one.engine(session).compress, list(view)))
    stored = [node for node in host.nodes(session) if node.kind == "leaf"]
    tree = tree_of(host.nodes(session))
    assert len(stored) >= len(tree.leaves)
    assert host.compact(session)
    gone = set(range(2, len(view) + 1)) - host.seen(session)
    counted = tree_of(host.nodes(session))
    assert all(counted.leaf_at(n) for n in gone)
    other.close()


def test_four_thousand_messages_are_all_under_one_leaf(tmp_path):
    host = Host(tmp_path, window=32_000)
    session = host.begin()
    said = harbour(1_000)[:4_000]
    host.say(session, said[:1])
    for start in range(1, len(said), 400):
        host.say(session, said[start : start + 400])
        host.compact(session)
    covered, seen = host.covered(session), host.seen(session)
    gone = set(range(2, len(said) + 1)) - seen
    assert len(gone) > 3_600
    assert all(covered.get(n) == 1 for n in gone)
    assert host.faults(session) == []
    (group,) = json.loads(host.call(session, "lcm_grep", pattern="Petrel17 berth", limit=1))["groups"]
    assert "B017" in group["hits"][0]["text"]
    host.close()


def test_the_archive_refuses_to_be_asked_from_its_own_loop(host):
    async def work():
        blocking = BlockingArchive.here(host.archive)
        blocking.run(host.archive.sessions())

    with pytest.raises(ArchiveError, match="from a worker thread"):
        host.run(work())

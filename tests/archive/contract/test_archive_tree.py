"""Nodes that an engine keeps beside the views: stored once, shared with forks, gone with what they tell of."""

from dataclasses import replace

import pytest

from plimsoll.archive import Node, NodeLink, SearchQuery, Span
from plimsoll.archive.ids import node_id
from plimsoll.errors import InvalidConversation, UserError


def leaf(session, first, last, text="a leaf"):
    message, sources = {"role": "assistant", "content": text}, (Span(first, last),)
    return Node(node_id(session, message, sources), message, sources, "leaf", details={"first": first})


def over(session, *nodes):
    message, links = {"role": "assistant", "content": "a branch"}, tuple(NodeLink(node.id) for node in nodes)
    return Node(node_id(session, message, links), message, links, "condensed", 1)


def begun(archive, count=9):
    id = archive.begin()
    said = [{"role": "user", "content": f"heron {n}"} for n in range(1, count + 1)]
    archive.append(id, said, turn="all")
    return id


def ids(archive, id, **options):
    return [node.id for node in archive.nodes(id, **options)]


def test_nodes_are_stored_once_and_change_no_view(archive):
    id = begun(archive)
    first, second = leaf(id, 1, 4), leaf(id, 5, 7)
    for _ in range(2):
        archive.add_nodes(id, [first, second, over(id, first, second)])
    branch = over(id, first, second).id
    assert ids(archive, id) == [first.id, second.id, branch]
    assert archive.node(branch).kind == "condensed"
    assert archive.node(first.id).sources == (Span(1, 4),)
    assert archive.view(id).number == 0


def test_a_node_over_one_that_is_not_stored_is_refused_and_nothing_is_written(archive):
    id = begun(archive)
    with pytest.raises(InvalidConversation):
        archive.add_nodes(id, [leaf(id, 1, 4), over(id, leaf(id, 5, 7))])
    assert ids(archive, id) == []


def test_a_fork_has_the_nodes_about_messages_that_it_shares(archive):
    id = begun(archive)
    first, second, third = leaf(id, 1, 3), leaf(id, 4, 6), leaf(id, 7, 9)
    archive.add_nodes(id, [first, second, third, over(id, second, third)])
    child = archive.fork(id, at=6).id
    assert ids(archive, child) == []
    assert ids(archive, child, inherited=True) == [first.id, second.id]
    own = leaf(child, 7, 7)
    archive.append(child, [{"role": "user", "content": "gull"}], turn="more")
    archive.add_nodes(child, [own])
    grandchild = archive.fork(child, at=5).id
    assert ids(archive, child, inherited=True) == [first.id, second.id, own.id]
    assert ids(archive, grandchild, inherited=True) == [first.id]


def test_a_deleted_parent_leaves_to_its_fork_what_concerns_shared_messages_only(archive):
    id = begun(archive)
    first, second, third = leaf(id, 1, 3), leaf(id, 4, 6), leaf(id, 7, 9)
    archive.add_nodes(id, [first, second, third, over(id, second, third)])
    child = archive.fork(id, at=6).id
    archive.delete(id)
    assert ids(archive, child, inherited=True) == [first.id, second.id]
    for gone in (third.id, over(id, second, third).id):
        with pytest.raises(UserError):
            archive.node(gone)
    archive.delete(child)
    with pytest.raises(UserError):
        archive.node(first.id)


def test_mending_finds_nothing_to_do_in_a_sound_archive(archive):
    id = begun(archive)
    assert archive.repair_search_index() == 0
    assert len(archive.search(SearchQuery("heron", session=id)).hits) == 9


def test_a_node_under_a_name_that_is_not_its_own_is_refused(archive):
    id = begun(archive)
    for name in ("n:0123456789", leaf("another session", 1, 4).id):
        with pytest.raises(InvalidConversation, match="is not the id of this node"):
            archive.add_nodes(id, [replace(leaf(id, 1, 4), id=name)])
    assert ids(archive, id) == []

"""Nodes that an engine keeps beside the views: stored once, shared with forks, gone with what they tell of."""

import pytest

from plimsoll.archive import Node, NodeLink, SearchQuery, Span
from plimsoll.errors import InvalidConversation, UserError


def leaf(first, last, text="a leaf"):
    message = {"role": "assistant", "content": text}
    return Node(f"n:{first:05}{last:05}", message, (Span(first, last),), "leaf", details={"first": first})


def over(*nodes):
    links = tuple(NodeLink(node.id) for node in nodes)
    return Node("n:feedfeed00", {"role": "assistant", "content": "a branch"}, links, "condensed", 1)


def begun(archive, count=9):
    id = archive.begin()
    said = [{"role": "user", "content": f"heron {n}"} for n in range(1, count + 1)]
    archive.append(id, said, turn="all")
    return id


def ids(archive, id, **options):
    return [node.id for node in archive.nodes(id, **options)]


def test_nodes_are_stored_once_and_change_no_view(archive):
    id = begun(archive)
    first, second = leaf(1, 4), leaf(5, 7)
    for _ in range(2):
        archive.add_nodes(id, [first, second, over(first, second)])
    assert ids(archive, id) == [first.id, second.id, "n:feedfeed00"]
    assert archive.node("n:feedfeed00").kind == "condensed"
    assert archive.node(first.id).sources == (Span(1, 4),)
    assert archive.view(id).number == 0


def test_a_node_over_one_that_is_not_stored_is_refused_and_nothing_is_written(archive):
    id = begun(archive)
    with pytest.raises(InvalidConversation):
        archive.add_nodes(id, [leaf(1, 4), over(leaf(5, 7))])
    assert ids(archive, id) == []


def test_a_fork_has_the_nodes_about_messages_that_it_shares(archive):
    id = begun(archive)
    first, second, third = leaf(1, 3), leaf(4, 6), leaf(7, 9)
    archive.add_nodes(id, [first, second, third, over(second, third)])
    child = archive.fork(id, at=6).id
    assert ids(archive, child) == []
    assert ids(archive, child, inherited=True) == [first.id, second.id]
    own = leaf(7, 7)
    archive.append(child, [{"role": "user", "content": "gull"}], turn="more")
    archive.add_nodes(child, [own])
    grandchild = archive.fork(child, at=5).id
    assert ids(archive, child, inherited=True) == [first.id, second.id, own.id]
    assert ids(archive, grandchild, inherited=True) == [first.id]


def test_a_deleted_parent_leaves_to_its_fork_what_tells_of_shared_messages_only(archive):
    id = begun(archive)
    first, second, third = leaf(1, 3), leaf(4, 6), leaf(7, 9)
    archive.add_nodes(id, [first, second, third, over(second, third)])
    child = archive.fork(id, at=6).id
    archive.delete(id)
    assert ids(archive, child, inherited=True) == [first.id, second.id]
    for gone in (third.id, "n:feedfeed00"):
        with pytest.raises(UserError):
            archive.node(gone)
    archive.delete(child)
    with pytest.raises(UserError):
        archive.node(first.id)


def test_mending_finds_nothing_to_do_in_a_sound_archive(archive):
    id = begun(archive)
    assert archive.mend_search() == 0
    assert len(archive.search(SearchQuery("heron", session=id)).hits) == 9

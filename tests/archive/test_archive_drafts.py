"""A draft accounts for every message: it is in the view, or under exactly one new node."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.archive import NodeLink, Span, View, ViewItem, draft_of
from plimsoll.archive.views import sequences_of
from plimsoll.messages import handle_of, stub_result

USER = {"role": "user", "content": "Go on."}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0", "function": {"name": "tide"}}]}
RESULT = {"role": "tool", "tool_call_id": "call_0", "content": "high water at noon\n" * 20}
STUB = {**RESULT, "content": f"[cleared]\nfull text under handle {handle_of(RESULT)}"}
ROUNDS = [[USER], [USER, CALL, RESULT], [CALL, RESULT], [CALL, STUB]]
ALIKE = st.lists(st.sampled_from(ROUNDS), min_size=1, max_size=10)


def summary(text):
    return {"role": "assistant", "content": f"summary {text}"}


def view_of(rounds, node_at=None):
    """Items as an archive gives them: each an object of its own; one may be a node of an earlier compaction."""
    messages = [copy.deepcopy(message) for one in rounds for message in one]
    items = []
    for number, message in enumerate(messages, start=1):
        is_stub = message["content"] == STUB["content"]
        items.append(ViewItem(message, 1, number, shortened=is_stub, handle=handle_of(RESULT)))
    if node_at is not None:
        items.insert(min(node_at, len(items)), ViewItem(summary("old"), 1, node="n:old"))
    return items


def standing(draft, last):
    """The numbers and nodes of a view."""
    whole = View(1, draft.references, draft.through).whole(last)
    numbers = [n for span in sequences_of(whole) for n in range(span.first, span.last + 1)]
    return numbers, [one.node for one in whole if isinstance(one, NodeLink)]


def under(node):
    for source in node.sources:
        if isinstance(source, Span):
            yield from range(source.first, source.last + 1)
        else:
            yield source.node


@given(ALIKE, st.none() | st.integers(0, 9), st.data())
def test_what_left_is_under_exactly_one_node_and_what_stayed_is_the_very_message(rounds, node_at, data):
    before = view_of(rounds, node_at)
    kept = sorted(data.draw(st.sets(st.integers(0, len(before) - 1))))
    pieces = [(place, before[place].message) for place in kept]
    for n in range(data.draw(st.integers(1, 3))):
        pieces.insert(data.draw(st.integers(0, len(pieces))), (None, summary(n)))
    draft = draft_of("s", View(0), before, [message for _, message in pieces])
    stayed = [before[place].sequence or before[place].node for place in kept]
    numbers, nodes = standing(draft, max(item.sequence for item in before))
    new = [node.id for node in draft.nodes]
    assert sorted(map(str, [*numbers, *(id for id in nodes if id not in new)])) == sorted(map(str, stayed))
    gone = [item.sequence or item.node for item in before]
    gone = [one for one in gone if one not in stayed]
    assert sorted(map(str, gone)) == sorted(str(one) for node in draft.nodes for one in under(node))


@given(ALIKE, ALIKE)
def test_whatever_came_back_nothing_is_lost_or_counted_twice(rounds, others):
    before = view_of(rounds)
    after = [*(copy.deepcopy(message) for one in others for message in one), summary("new")]
    draft = draft_of("s", View(0), before, after)
    numbers, _ = standing(draft, len(before))
    assert sorted([*numbers, *(n for node in draft.nodes for n in under(node))]) == list(
        range(1, len(before) + 1)
    )


def test_each_new_text_stands_for_what_left_at_its_place():
    before = view_of([[CALL, RESULT], [USER], [USER], [USER], [CALL, RESULT]])
    kept = [item.message for item in before]
    stub = stub_result("call_0", "tide")
    draft = draft_of("s", View(0), before, [kept[0], stub, kept[2], summary("A"), *kept[5:]])
    assert [(node.message, node.sources) for node in draft.nodes] == [
        (stub, (Span(2, 2),)),
        (summary("A"), (Span(4, 5),)),
    ]


def test_what_left_where_nothing_is_new_is_added_to_the_text_before_it():
    before = view_of([[USER], [USER], [USER], [USER], [USER]])
    kept = [item.message for item in before]
    draft = draft_of("s", View(0), before, [summary("A"), kept[2], kept[4]])
    assert [node.sources for node in draft.nodes] == [(Span(1, 2), Span(4, 4))]

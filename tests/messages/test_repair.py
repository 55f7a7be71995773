"""Repair makes a list whole and loses nothing that has a place."""

import copy

from hypothesis import given

from message_builders import calls as call
from message_builders import result
from plimsoll import repair, validate
from plimsoll.messages import STUB_RESULT, is_whole
from plimsoll.testing import conversations

USER = {"role": "user", "content": "go on"}


def test_a_result_whose_call_is_gone_is_removed():
    assert repair([USER, result("lost"), USER]) == [USER, USER]


def test_a_call_whose_result_is_gone_gets_a_stub():
    fixed = repair([call("a", "b"), result("b")])
    assert [m["content"] for m in fixed] == [None, STUB_RESULT, "fine"]
    assert [m.get("tool_call_id") for m in fixed] == [None, "a", "b"]


def test_a_result_that_drifted_away_moves_back_after_its_call():
    assert repair([call("a"), USER, result("a")]) == [call("a"), result("a"), USER]


def test_a_second_result_for_the_same_call_is_removed():
    assert repair([call("a"), result("a", "first"), result("a", "second")]) == [
        call("a"),
        result("a", "first"),
    ]


def test_missing_content_becomes_empty_where_the_wire_needs_one():
    fixed = repair(
        [{"role": "user"}, {"role": "assistant", "content": None, "tool_calls": call("a")["tool_calls"]}]
    )
    assert fixed[0] == {"role": "user", "content": ""}
    assert fixed[1]["content"] is None


@given(conversations())
def test_a_repaired_list_is_valid_and_repair_changes_it_no_further(messages):
    fixed = repair(messages)
    assert validate(fixed) == []
    assert is_whole(fixed)
    assert repair(fixed) == fixed


@given(conversations())
def test_a_list_without_violations_comes_back_equal(messages):
    if not validate(messages):
        assert repair(messages) == messages


@given(conversations())
def test_repair_leaves_its_input_alone(messages):
    before = copy.deepcopy(messages)
    repair(messages)
    assert messages == before

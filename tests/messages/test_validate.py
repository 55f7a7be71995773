"""The validator names every violation with its index, per wire format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll import validate
from plimsoll.testing import conversations

USER = {"role": "user", "content": "hi"}


def call(call_id="a", name="t", arguments="{}"):
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id="a"):
    return {"role": "tool", "tool_call_id": call_id, "content": "fine"}


def found(messages, wire="openai"):
    return [(violation.index, violation.code) for violation in validate(messages, wire)]


BROKEN = [
    ("a message that is no object", [USER, "hello"], [(1, "not_a_message")]),
    ("a role that nobody knows", [{"role": "wizard", "content": "x"}], [(0, "unknown_role")]),
    ("a result without a call", [USER, result()], [(1, "orphan_result")]),
    (
        "a result without an id",
        [call(), {"role": "tool", "content": "x"}],
        [(0, "unanswered_call"), (1, "orphan_result")],
    ),
    ("a call without a result", [call(), USER], [(0, "unanswered_call")]),
    (
        "a result after another message",
        [call(), USER, result()],
        [(0, "unanswered_call"), (2, "orphan_result")],
    ),
    ("two results for one call", [call(), result(), result()], [(2, "orphan_result")]),
    ("a user message without content", [{"role": "user"}], [(0, "no_content")]),
    ("an assistant message that says nothing", [{"role": "assistant", "content": None}], [(0, "no_content")]),
    ("an empty list of parts", [{"role": "user", "content": []}], [(0, "no_content")]),
    ("content that is a number", [{"role": "user", "content": 7}], [(0, "bad_content")]),
    ("a part without a type", [{"role": "user", "content": [{"text": "x"}]}], [(0, "bad_part")]),
    ("a text part without text", [{"role": "user", "content": [{"type": "text"}]}], [(0, "bad_part")]),
    (
        "calls on a user message",
        [{**USER, "tool_calls": call()["tool_calls"]}],
        [(0, "calls_outside_assistant")],
    ),
    (
        "an empty list of calls",
        [{"role": "assistant", "content": "x", "tool_calls": []}],
        [(0, "bad_tool_calls")],
    ),
    ("a call without an id", [call(call_id="")], [(0, "call_without_id")]),
    ("a call without a name", [call(name=""), result()], [(0, "call_without_name")]),
    ("arguments that are no string", [call(arguments={"a": 1}), result()], [(0, "bad_arguments")]),
]


@pytest.mark.parametrize(("messages", "expected"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_each_violation_is_named_with_its_index(messages, expected):
    assert found(messages) == expected


def test_two_calls_with_one_id_are_named():
    twice = {**call(), "tool_calls": call()["tool_calls"] * 2}
    assert (0, "duplicate_call_id") in found([twice, result()])


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([{"role": "assistant", "content": "hi"}], [(0, "opens_with_assistant")]),
        ([{"role": "user", "content": ""}], [(0, "empty_text")]),
        ([USER, call(arguments="{broken"), result()], [(1, "bad_arguments")]),
        ([USER, call(arguments="[1]"), result()], [(1, "bad_arguments")]),
        ([USER, call(call_id="a b"), result("a b")], [(1, "bad_call_id")]),
        ([USER, call(name="a.b"), result()], [(1, "bad_tool_name")]),
    ],
)
def test_anthropic_adds_rules_of_its_own(messages, expected):
    assert found(messages, "anthropic") == expected
    assert found(messages, "openai") == []


def test_a_conversation_with_parallel_calls_parts_and_unknown_keys_is_valid():
    two = {**call(), "tool_calls": [*call()["tool_calls"], *call("b")["tool_calls"]]}
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
        {"role": "user", "content": [{"type": "text", "text": "look"}, image], "x": 1},
        two,
        result("b"),
        result("a"),
        {"role": "assistant", "content": "done"},
    ]
    assert found(messages) == []
    assert found(messages, "anthropic") == []


def test_a_wire_that_nobody_knows_is_an_error():
    with pytest.raises(ValueError, match="'gemini'"):
        validate([USER], "gemini")


@given(conversations())
def test_removing_any_result_of_a_valid_conversation_is_noticed(messages):
    if validate(messages):
        return
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            assert validate(messages[:index] + messages[index + 1 :])


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=12),
            st.none() | st.integers() | st.text(max_size=5) | st.lists(st.none(), max_size=1),
            max_size=4,
        ),
        max_size=5,
    )
)
def test_the_validator_never_raises(messages):
    for wire in ("openai", "anthropic"):
        assert all(str(violation) for violation in validate(messages, wire))

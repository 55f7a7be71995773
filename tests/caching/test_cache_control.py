"""`apply_anthropic_cache_control`: which messages get a marker, in which form, on a copy."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.caching import (
    BlockChain,
    Breakpoint,
    apply_anthropic_cache_control,
    breakpoints_in,
    plan_system_and_3,
)
from plimsoll.errors import SettingError

FIVE = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}

contents = st.one_of(
    st.none(),
    st.just(""),
    st.text(max_size=8),
    st.lists(
        st.sampled_from(
            [
                {"type": "text", "text": "a"},
                {"type": "text", "text": ""},
                {"type": "text", "text": " "},
                {"type": "thinking", "thinking": "hm"},
                {"type": "image_url", "image_url": {"url": "data:x"}},
                {"type": "text", "text": "old", "cache_control": FIVE},
            ]
        ),
        max_size=3,
    ),
)


@st.composite
def any_messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for role in draw(st.lists(st.sampled_from(["system", "user", "assistant", "tool"]), max_size=8)):
        message: dict[str, Any] = {"role": role, "content": draw(contents)}
        if role == "assistant" and draw(st.booleans()):
            message["tool_calls"] = [CALL]
        if role == "tool":
            message["tool_call_id"] = "c1"
        messages.append(message)
    return messages


def markers(message: dict[str, Any]) -> list[Any]:
    parts = message["content"] if isinstance(message.get("content"), list) else []
    found = [part["cache_control"] for part in parts if "cache_control" in part]
    return found + ([message["cache_control"]] if "cache_control" in message else [])


def test_the_system_prompt_and_the_last_three_messages_are_marked():
    roles = ["system", "user", "assistant", "user", "assistant", "user"]
    marked = apply_anthropic_cache_control([{"role": role, "content": "x"} for role in roles])
    assert [index for index, message in enumerate(marked) if markers(message)] == [0, 3, 4, 5]


def test_without_a_system_prompt_only_the_last_three_are_marked():
    marked = apply_anthropic_cache_control([{"role": "user", "content": str(n)} for n in range(5)])
    assert [bool(markers(message)) for message in marked] == [False, False, True, True, True]


def test_string_content_becomes_one_text_part_with_the_marker():
    (marked,) = apply_anthropic_cache_control([{"role": "user", "content": "hi"}])
    assert marked == {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": FIVE}]}


def test_one_hour_is_spelled_out_in_the_marker():
    (marked,) = apply_anthropic_cache_control([{"role": "user", "content": "hi"}], cache_ttl="1h")
    assert marked["content"][0]["cache_control"] == HOUR


def test_list_content_gets_the_marker_on_its_last_element():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
    (marked,) = apply_anthropic_cache_control([{"role": "user", "content": parts}])
    assert ["cache_control" in part for part in marked["content"]] == [False, True]


def test_a_last_element_that_the_provider_would_refuse_to_mark_passes_it_to_the_one_before():
    parts = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "hm"}]
    (marked,) = apply_anthropic_cache_control([{"role": "assistant", "content": parts}])
    assert ["cache_control" in part for part in marked["content"]] == [True, False]


@pytest.mark.parametrize("content", [None, "", [], "  \n", [{"type": "text", "text": " "}]])
def test_a_message_without_content_is_marked_itself(content: Any):
    (marked,) = apply_anthropic_cache_control(
        [{"role": "assistant", "content": content, "tool_calls": [CALL]}]
    )
    assert marked["cache_control"] == FIVE
    assert marked["content"] == content


@pytest.mark.parametrize("content", ["out", [{"type": "text", "text": "out"}], "", None])
def test_a_tool_message_is_marked_itself_on_native_anthropic_and_not_at_all_elsewhere(content: Any):
    message = {"role": "tool", "tool_call_id": "c1", "content": content}
    assert apply_anthropic_cache_control([message]) == [message]
    assert apply_anthropic_cache_control([message], native_anthropic=True) == [
        {**message, "cache_control": FIVE}
    ]


def test_markers_from_an_earlier_request_are_replaced():
    first = apply_anthropic_cache_control([{"role": "user", "content": str(n)} for n in range(3)], "1h")
    second = apply_anthropic_cache_control([*first, *({"role": "user", "content": "new"} for _ in range(3))])
    assert [markers(message) for message in second] == [[], [], [], [FIVE], [FIVE], [FIVE]]


def test_an_unknown_lifetime_names_the_setting():
    with pytest.raises(SettingError, match=r"prompt_caching\.cache_ttl is '2h'"):
        apply_anthropic_cache_control([], cache_ttl="2h")


@given(any_messages(), st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_callers_list_is_never_changed_and_at_most_four_markers_are_set(messages, native):
    before = copy.deepcopy(messages)
    marked = apply_anthropic_cache_control(messages, native_anthropic=native)
    assert messages == before
    assert sum(len(markers(message)) for message in marked) <= 4
    assert all(message is not given for message, given in zip(marked, messages, strict=True))


@given(any_messages(), st.booleans(), st.sampled_from(["5m", "1h"]))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_plan_of_system_and_3_is_what_the_marked_messages_carry(messages, native, ttl):
    marked = apply_anthropic_cache_control(messages, ttl, native)
    chain = BlockChain(count_tokens=lambda _: 1)
    plan = plan_system_and_3(chain.prompt(messages), ttl, native)
    assert breakpoints_in(chain.prompt(marked), marked, native) == list(plan.breakpoints)


def test_a_marker_on_a_call_is_read_back_on_native_anthropic_and_replaced_by_the_next_request():
    calls = [CALL, {**CALL, "id": "c2", "cache_control": HOUR}]
    message = {"role": "assistant", "content": "look", "tool_calls": calls}
    prompt = BlockChain(count_tokens=lambda _: 1).prompt([message])
    assert breakpoints_in(prompt, [message], native_anthropic=True) == [Breakpoint(2, "1h")]
    assert breakpoints_in(prompt, [message]) == []
    (marked,) = apply_anthropic_cache_control([message])
    assert [call.get("cache_control") for call in marked["tool_calls"]] == [None, None]

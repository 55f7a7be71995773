"""Which edits leave signed thinking valid."""

from dataclasses import replace

import pytest
from dialect_strategies import normal, quick
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.dialects import ChatRequest, drop_bound_thinking, illegal_edits

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}


def thought(seal):
    return {"type": "thinking", "thinking": f"about {seal}", "signature": seal}


def step(n):
    call = {"id": f"c{n}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call], "thinking_blocks": [thought(f"s{n}")]},
        {"role": "tool", "tool_call_id": f"c{n}", "name": "bash", "content": f"result {n}"},
    ]


def conversation(steps=3):
    messages = [{"role": "system", "content": "You help."}, {"role": "user", "content": "go"}]
    for n in range(steps):
        messages += step(n)
    return ChatRequest("claude-opus-5-5", tuple(messages), tools=(TOOL,))


def edited(request, index, **change):
    messages = list(request.messages)
    messages[index] = {**messages[index], **change}
    return replace(request, messages=tuple(messages))


def broken(before, after):
    return [violation.index for violation in illegal_edits(before, after)]


def without_thinking(request, *indices):
    messages = [
        {key: value for key, value in message.items() if key != "thinking_blocks" or i not in indices}
        for i, message in enumerate(request.messages)
    ]
    return replace(request, messages=tuple(messages))


def test_appending_is_legal():
    before = conversation(2)
    after = replace(before, messages=(*before.messages, *step(2), {"role": "user", "content": "and?"}))
    assert illegal_edits(before, after) == []


def test_moving_markers_and_respelling_plain_text_is_legal():
    before = conversation()
    marked = [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]
    after = edited(edited(before, 1, content=marked), 3, cache_control={"type": "ephemeral"})
    assert illegal_edits(before, after) == []
    assert illegal_edits(after, before) == []


@pytest.mark.parametrize("gone", [(2,), (6,), (2, 4), (4, 6), (2, 4, 6)])
def test_removing_thinking_from_the_start_the_end_or_all_of_it_is_legal(gone):
    before = conversation()
    assert illegal_edits(before, without_thinking(before, *gone)) == []


def test_removing_thinking_from_the_middle_is_illegal_for_what_follows():
    before = conversation()
    assert broken(before, without_thinking(before, 4)) == [6]


def test_removing_the_last_thinking_and_then_appending_more_is_illegal():
    before = conversation(2)
    shortened = without_thinking(before, 4)
    after = replace(shortened, messages=(*shortened.messages, *step(2)))
    assert broken(before, after) == [6]


def test_another_system_prompt_or_tool_breaks_all_thinking():
    before = conversation()
    assert broken(before, edited(before, 0, content="You help a lot.")) == [2, 4, 6]
    assert broken(before, replace(before, tools=())) == [2, 4, 6]


def test_a_shortened_result_breaks_the_thinking_after_it_only():
    before = conversation()
    after = edited(before, 5, content="[Old tool output cleared to save context space]")
    assert broken(before, after) == [6]
    assert illegal_edits(before, after)[0].code == "history_changed"


def test_dropping_inserting_and_reordering_earlier_messages_is_illegal():
    before = conversation()
    dropped = replace(before, messages=before.messages[:2] + before.messages[4:])
    assert broken(before, dropped) == [2, 4]
    note = {"role": "user", "content": "note"}
    inserted = replace(before, messages=(*before.messages[:4], note, *before.messages[4:]))
    assert broken(before, inserted) == [5, 7]
    moved = before.messages[:2] + before.messages[4:6] + before.messages[2:4]
    assert broken(before, replace(before, messages=moved)) == [2, 4]


def test_a_change_after_the_last_thinking_breaks_nothing_that_is_there():
    before = conversation()
    assert broken(before, edited(before, 7, content="short")) == []


def test_thinking_written_later_is_bound_to_the_whole_request():
    before = conversation(1)
    after = replace(edited(before, 3, content="cut"), messages=())
    after = replace(before, messages=(*edited(before, 3, content="cut").messages, *step(1)))
    assert broken(before, after) == [4]


def test_edited_thinking_is_illegal():
    before = conversation()
    after = edited(before, 4, thinking_blocks=[{**thought("s1"), "thinking": "other"}])
    assert [(v.index, v.code) for v in illegal_edits(before, after)] == [(4, "thinking_changed")]


def test_unsigned_reasoning_is_bound_to_nothing():
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "x", "reasoning_content": "hm"},
    ]
    before = ChatRequest("m", tuple(messages))
    assert broken(before, edited(before, 0, content="other")) == []
    assert drop_bound_thinking(messages, 0) == messages


def test_after_a_compaction_all_thinking_from_the_change_on_is_gone():
    messages = conversation().messages
    kept = drop_bound_thinking(messages, 3)
    assert ["thinking_blocks" in message for message in kept if message["role"] == "assistant"] == [
        True,
        False,
        False,
    ]
    assert kept[:3] == list(messages[:3])


def test_the_order_of_what_is_left_survives_the_thinking_that_went():
    message = {
        "role": "assistant",
        "content": "x",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
        "thinking_blocks": [thought("a"), thought("b")],
        "block_order": ["thinking", "tool_use", "thinking", "content"],
    }
    assert drop_bound_thinking([message], 0)[0]["block_order"] == ["tool_use", "content"]
    ordinary = {**message, "block_order": ["thinking", "content", "thinking", "tool_use"]}
    assert "block_order" not in drop_bound_thinking([ordinary], 0)[0]


@quick
@given(normal(), st.data())
def test_an_edit_followed_by_the_drop_is_always_legal(messages, data):
    users = [i for i, m in enumerate(messages) if m["role"] in ("user", "tool")]
    before = ChatRequest("m", tuple(messages))
    assert illegal_edits(before, before) == []
    if not users:
        return
    at = data.draw(st.sampled_from(users))
    changed = [*messages[:at], {**messages[at], "content": "changed"}, *messages[at + 1 :]]
    after = replace(before, messages=tuple(drop_bound_thinking(changed, at)))
    assert illegal_edits(before, after) == []


def routed(*details):
    return {
        "role": "assistant",
        "content": "ok",
        "reasoning_content": "Think",
        "reasoning_details": [{"format": "anthropic-claude-v1", "index": 0, **detail} for detail in details],
    }


SIGNED_DETAIL = {"type": "reasoning.text", "text": "Think", "signature": "SIG=="}
SEALED_DETAIL = {"type": "reasoning.encrypted", "data": "SEAL=="}
OPEN_DETAIL = {"type": "reasoning.text", "text": "Think"}


@pytest.mark.parametrize("details", [[SIGNED_DETAIL], [SEALED_DETAIL], [SIGNED_DETAIL, SEALED_DETAIL]])
def test_thinking_that_a_router_signed_is_bound_and_sent_like_any_other(details):
    before = (*conversation(0).messages, routed(*details), {"role": "user", "content": "and?"})
    after = (before[0], {"role": "user", "content": "SUMMARY"}, *before[2:])
    request = ChatRequest("anthropic/claude-opus-5.5", before)
    assert set(broken(request, replace(request, messages=after))) == {2}
    assert broken(request, replace(request, messages=(*before, {"role": "user", "content": "more"}))) == []
    lighter = tuple(drop_bound_thinking(after, 1))
    assert lighter[2] == {"role": "assistant", "content": "ok"}
    assert broken(request, replace(request, messages=lighter)) == []


def test_unsigned_details_stay():
    message = routed(OPEN_DETAIL)
    assert drop_bound_thinking([message], 0) == [message]
    (kept,) = drop_bound_thinking([routed(OPEN_DETAIL, SEALED_DETAIL)], 0)
    assert [detail["type"] for detail in kept["reasoning_details"]] == ["reasoning.text"]
    assert "reasoning_content" not in kept

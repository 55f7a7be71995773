"""Bedrock's messages: blocks become canonical messages, and what a compaction changed becomes blocks again."""

import itertools
from typing import Any

import pytest

from plimsoll.integrations import HistoryCompactor
from plimsoll.integrations.bedrock import BedrockCodec, alternating
from plimsoll.integrations.codec import WrittenMessage

IMAGE = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}


def used(number: int) -> dict[str, Any]:
    use = {"toolUseId": f"c{number}", "name": "look", "input": {"n": number}}
    return {"role": "assistant", "content": [{"text": "A moment."}, {"toolUse": use}]}


def result(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {
        "toolResult": {"toolUseId": f"c{number}", "status": "success", "content": [{"text": text}], **more}
    }


def test_two_results_and_a_request_in_one_message_are_three_canonical_messages() -> None:
    content = [result(1, "one"), result(2, "two", status="error"), {"text": "Go on."}]
    (group,) = BedrockCodec().decode([{"role": "user", "content": content}])
    assert group.messages == [
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two", "is_error": True},
        {"role": "user", "content": "Go on."},
    ]


def test_of_two_results_in_one_message_only_the_shortened_one_is_written_anew() -> None:
    before = {"role": "user", "content": [result(1, "long " * 100), result(2, "two", status="error")]}
    (group,) = BedrockCodec().decode([before])
    shortened = {**group.messages[0], "content": "[cleared]"}
    written = [WrittenMessage(shortened, (before,), 0), WrittenMessage(group.messages[1], (before,), 1)]
    (after,) = BedrockCodec().encode(written)
    assert after["content"][0]["toolResult"]["content"] == [{"text": "[cleared]"}]
    assert after["content"][1]["toolResult"] is before["content"][1]["toolResult"]


def test_an_image_survives_a_change_of_the_text_beside_it() -> None:
    before = {"role": "user", "content": [{"text": "See this."}, IMAGE]}
    (group,) = BedrockCodec().decode([before])
    changed = {
        **group.messages[0],
        "content": [{"type": "text", "text": "See."}, group.messages[0]["content"][1]],
    }
    (after,) = BedrockCodec().encode([WrittenMessage(changed, (before,), 0)])
    assert after == {"role": "user", "content": [{"text": "See."}, IMAGE]}


def test_an_image_that_a_compaction_removed_is_not_sent() -> None:
    other = {"image": {"format": "png", "source": {"bytes": b"other"}}}
    before = {"role": "user", "content": [{"text": "See these."}, IMAGE, other]}
    (group,) = BedrockCodec().decode([before])
    said, _, kept = group.messages[0]["content"]
    changed = {**group.messages[0], "content": [said, {"type": "text", "text": "[image removed]"}, kept]}
    (after,) = BedrockCodec().encode([WrittenMessage(changed, (before,), 0)])
    assert after["content"] == [{"text": "See these."}, {"text": "[image removed]"}, other]


def thinking(number: int) -> dict[str, Any]:
    """A call with two signed blocks, one of them redacted, around its text, and with reasoning that nobody signed."""
    signed = {"text": f"thought {number}", "signature": f"signed{number}"}
    said, use = used(number)["content"]
    content = [
        {"reasoningContent": {"reasoningText": signed}},
        said,
        {"reasoningContent": {"redactedContent": b"hidden"}},
        {"reasoningContent": {"reasoningText": {"text": "aloud"}}},
        use,
    ]
    return {"role": "assistant", "content": content}


def thoughts(messages: list[dict[str, Any]]) -> list[Any]:
    return [
        block["reasoningContent"]
        for one in messages
        for block in one["content"]
        if len(block) == 1 and "reasoningContent" in block
    ]


@pytest.mark.parametrize(("model", "is_bound"), [("claude-opus-5.5", True), ("claude-opus-4.5", False)])
def test_after_a_compaction_signed_thinking_is_sent_only_where_the_model_still_accepts_it(
    model: str, is_bound: bool
) -> None:
    history: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Look at all of them."}]}]
    for number in range(40):
        history += [thinking(number), {"role": "user", "content": [result(number, f"pier {number} " * 60)]}]
    with HistoryCompactor(window=4_000, protect_last_n=4) as compactor:
        view = compactor.view(BedrockCodec(), history, model=model, force=True)
        newer = [*history, thinking(40), {"role": "user", "content": [result(40, "pier 40")]}]
        later = compactor.view(BedrockCodec(), newer, model=model)
    assert view.compacted
    assert not later.compacted
    signed = [one for one in thoughts(view.messages) if one != {"reasoningText": {"text": "aloud"}}]
    assert bool(signed) is not is_bound
    assert {"reasoningText": {"text": "aloud"}} in thoughts(view.messages)
    # What the model thought after the compaction is bound to the view, and stays.
    assert later.messages[-2] is newer[-2]


def test_a_changed_message_keeps_the_order_of_its_thinking_text_and_calls() -> None:
    before = thinking(1)
    (group,) = BedrockCodec().decode([before])
    assert [one["type"] for one in group.messages[0]["thinking_blocks"]] == ["thinking", "redacted_thinking"]
    changed = {**group.messages[0], "content": "Wait."}
    (after,) = BedrockCodec().encode([WrittenMessage(changed, (before,), 0)])
    assert after["content"] == [before["content"][0], {"text": "Wait."}, *before["content"][2:]]


def test_a_compacted_history_alternates_between_user_and_assistant() -> None:
    history: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Look at all of them."}]}]
    for number in range(40):
        history += [used(number), {"role": "user", "content": [result(number, f"pier {number} " * 60)]}]
    with HistoryCompactor(window=4_000, protect_last_n=4) as compactor:
        view = compactor.view(BedrockCodec(), history)
    assert view.compacted
    sent = alternating(view.messages, history)
    assert len(sent) < len(history)
    assert sent[-1] is history[-1]
    roles = [one["role"] for one in sent]
    assert all(one != other for one, other in itertools.pairwise(roles)), roles
    # The model reads the same in either form.
    said = [one for group in BedrockCodec().decode(sent) for one in group.messages]
    assert said == [one for group in BedrockCodec().decode(view.messages) for one in group.messages]


def test_neighbours_that_the_host_itself_has_stay_apart() -> None:
    history = [{"role": "user", "content": [{"text": text}]} for text in ("one", "two")]
    assert alternating(history, history) == history

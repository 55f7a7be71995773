"""Content in all its shapes, read and rewritten without mutating."""

import copy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.messages import (
    arguments_of,
    excerpt,
    fitting_role,
    is_same_speaker,
    media_of,
    parts_of,
    text_of,
    validate,
    with_block,
    with_text,
    without_handle,
)

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "input_text", "text": "a"}], "a"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ([{"type": "hologram", "data": 1}], ""),
        (["loose"], "loose"),
    ],
)
def test_text_is_read_from_every_shape(content, text):
    assert text_of({"role": "user", "content": content}) == text


def test_missing_content_reads_as_no_text():
    assert text_of({"role": "assistant"}) == ""
    assert parts_of({"role": "assistant"}) == []


def test_media_are_images_audio_and_files():
    audio = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
    file = {"type": "file", "file": {"file_id": "f1"}}
    message = {"role": "user", "content": [IMAGE, audio, file, {"type": "text", "text": "x"}]}
    assert media_of(message) == [IMAGE, audio, file]


def test_a_block_is_appended_after_the_text_as_it_was():
    message = {"role": "system", "content": "rules", "cache": True}
    before = copy.deepcopy(message)
    changed = with_block(message, "note")
    assert changed["content"] == [{"type": "text", "text": "rules"}, {"type": "text", "text": "note"}]
    assert changed["cache"] is True
    assert message == before


def test_replacing_text_keeps_unknown_keys():
    assert with_text({"role": "tool", "content": [IMAGE], "x": 1}, "new") == {
        "role": "tool",
        "content": "new",
        "x": 1,
    }


@given(st.text(max_size=3_000), st.integers(0, 2_000))
def test_an_excerpt_never_exceeds_its_limit(text, limit):
    cut = excerpt(text, limit)
    assert len(cut) <= limit or cut == text
    assert cut == text or len(text) > limit


def test_an_excerpt_keeps_both_ends_and_says_how_much_is_gone():
    cut = excerpt("a" * 500 + "z" * 500, 200)
    assert cut.startswith("aaa")
    assert cut.endswith("zzz")
    assert "800 characters left out" in cut


@pytest.mark.parametrize(
    ("before", "after", "role"),
    [
        ("user", "user", "assistant"),
        ("assistant", "assistant", "user"),
        ("tool", "assistant", "user"),
        ("tool", "user", "assistant"),
        ("user", None, "assistant"),
        ("assistant", None, "user"),
        ("system", "assistant", "user"),
        ("user", "assistant", None),
        ("assistant", "user", None),
    ],
)
def test_the_role_between_two_messages_meets_neither(before, after, role):
    assert fitting_role(before, after) == role


def test_only_the_user_and_the_assistant_may_not_speak_twice_in_a_row():
    roles = ["system", "user", "user", "assistant", "tool", "tool", "assistant", "assistant"]
    assert [n for n, pair in enumerate(pairwise(roles), start=1) if is_same_speaker(*pair)] == [2, 7]


def test_a_message_for_a_reader_without_tools_names_no_handle():
    shorter = {
        "[cleared]\nread · ok\nfull text under handle h:3f2a9c1b7d": "[cleared]\nread · ok",
        "begin [… 7 characters left out …] end\n[full text under handle h:3f2a9c1b7d]": (
            "begin [… 7 characters left out …] end"
        ),
        "line\n[shortened from 9 to what later turns used; full text under handle h:3f2a9c1b7d]": (
            "line\n[shortened from 9 to what later turns used]"
        ),
        "it says full text under handle h:3f2a9c1b7d and goes on": (
            "it says full text under handle h:3f2a9c1b7d and goes on"
        ),
    }
    for text, expected in shorter.items():
        assert without_handle({"role": "tool", "content": text}) == {"role": "tool", "content": expected}
        parts = [{"type": "text", "text": "first"}, {"type": "text", "text": text}]
        assert without_handle({"role": "tool", "content": parts})["content"][-1]["text"] == expected


def test_a_summary_that_quotes_a_shortened_message_names_no_handle():
    quoted = "- read · ok\nfull text under handle h:3f2a9c1b7d\n- [9 lines; full text under handle h:3f2a9c1b7d] more"
    summary = {"role": "user", "content": quoted}
    assert without_handle(summary, is_own=True)["content"] == "- read · ok\n- [9 lines] more"


def test_arguments_that_are_nested_too_deeply_are_no_object_and_no_failure():
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a":' + "[" * 100_000}}
    assert arguments_of(call) == {}
    conversation = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    assert "bad_arguments" in {one.code for one in validate(conversation, "anthropic")}


def test_a_message_that_was_shortened_twice_names_no_handle_to_a_reader_without_the_tool():
    line = "[shortened from 1,126 characters to what later turns used; full text under handle h:ca81e4dc06]"
    text = f"[Old tool output cleared]\nlookup · ok\n{line}\nfull text under handle h:ca81e4dc06"
    for content in (text, [{"type": "text", "text": text}]):
        plain = without_handle({"role": "tool", "tool_call_id": "c", "content": content})
        assert "h:ca81e4dc06" not in text_of(plain)
        assert text_of(plain).endswith("to what later turns used]")


def test_a_handle_that_the_text_itself_speaks_of_stays_behind_a_promise_of_ours():
    text = "see the notes [full text under handle h:1111111111]\n[full text under handle h:ca81e4dc06]"
    assert "h:1111111111" in text_of(without_handle({"role": "tool", "content": text}))

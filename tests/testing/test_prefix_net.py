"""The net notices every change in front of what was already sent, and nothing else."""

import copy

import pytest

from plimsoll.testing.prefix import broken_prefixes

FIRST = {
    "model": "claude-sonnet-5",
    "system": "be brief",
    "tools": [{"name": "a"}, {"name": "b"}],
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
}


def grown(**changes):
    body = copy.deepcopy({**FIRST, **changes})
    body["messages"] = [*body["messages"], {"role": "user", "content": "go on"}]
    return body


def test_a_request_that_only_appends_is_fine():
    assert broken_prefixes([FIRST, grown()]) == []


def test_markers_and_the_shape_of_a_single_text_do_not_count():
    marked = grown(system=[{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}])
    marked["messages"][0]["content"] = [
        {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    ]
    assert broken_prefixes([FIRST, marked]) == []


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"system": "be brief. It is Monday."}, "system"),
        ({"tools": [{"name": "b"}, {"name": "a"}]}, "tools"),
        ({"messages": [FIRST["messages"][0], {"role": "assistant", "content": "hello!"}]}, "messages[1]"),
    ],
)
def test_a_change_before_the_end_is_named(changes, part):
    (found,) = broken_prefixes([FIRST, grown(**changes)])
    assert str(found) == f"request 1 does not extend request 0: {part} changed"


def test_a_shorter_request_is_a_compaction_and_starts_anew():
    assert broken_prefixes([grown(), {**FIRST, "system": "be brief [note]"}]) == []


def test_another_opening_is_another_conversation():
    other = grown(messages=[{"role": "user", "content": "something else"}], system="other")
    assert broken_prefixes([FIRST, other]) == []


def test_the_names_of_every_dialect_are_known():
    first = {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [{"parts": [{"text": "hi"}]}],
    }
    longer = {**first, "contents": [*first["contents"], {"parts": [{"text": "hello"}]}]}
    assert broken_prefixes([first, longer]) == []
    changed = {**longer, "systemInstruction": {"parts": [{"text": "be long"}]}}
    assert [found.part for found in broken_prefixes([first, changed])] == ["system"]

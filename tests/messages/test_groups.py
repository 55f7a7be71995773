"""Tool groups and legal cuts."""

from hypothesis import given

from plimsoll.messages import align_backward, answers, groups, repair, safe_cuts
from plimsoll.testing import conversations

CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}},
    {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
]}  # fmt: skip
A = {"role": "tool", "tool_call_id": "a", "content": "one"}
B = {"role": "tool", "tool_call_id": "b", "content": "two"}
USER = {"role": "user", "content": "hello"}


def test_a_call_and_its_results_are_one_group():
    assert groups([USER, CALL, A, B, USER]) == [range(1), range(1, 4), range(4, 5)]


def test_a_result_that_comes_late_keeps_everything_before_it_together():
    assert safe_cuts([CALL, A, USER, B]) == [0, 4]


def test_a_call_that_was_never_answered_does_not_glue_the_rest_together():
    assert safe_cuts([CALL, USER, USER]) == [0, 1, 2, 3]


def test_an_id_used_twice_belongs_to_the_nearest_call():
    found = [(answer.call_at, answer.result_at) for answer in answers([CALL, A, B, CALL, A, B])]
    assert found == [(0, 1), (0, 2), (3, 4), (3, 5)]


def test_aligning_walks_back_past_results_to_their_call():
    messages = [USER, CALL, A, B, USER]
    assert [align_backward(messages, position) for position in range(6)] == [0, 1, 1, 1, 4, 5]


@given(conversations())
def test_no_safe_cut_separates_a_tool_call_from_its_result(messages):
    for cut in safe_cuts(messages):
        assert not any(answer.call_at < cut <= answer.result_at for answer in answers(messages))


@given(conversations())
def test_groups_cover_every_message_once(messages):
    assert [position for group in groups(messages) for position in group] == list(range(len(messages)))


@given(conversations())
def test_on_a_whole_list_walking_back_finds_the_nearest_safe_cut(messages):
    whole = repair(messages)
    cuts = safe_cuts(whole)
    for position in range(len(whole) + 1):
        assert align_backward(whole, position) == max(cut for cut in cuts if cut <= position)

"""What every store promises about the log."""

import json

import pytest
from archive_driver import Driver, assistant, talk, user
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.archive import UsageRecord
from plimsoll.errors import Conflict, InvalidConversation, UserError
from plimsoll.messages import handle_of
from plimsoll.models import estimate_message_tokens
from plimsoll.testing.strategies import conversations

CALL = {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command":"ls"}'}}


def test_messages_come_back_as_they_were_said_and_are_numbered_from_one(archive: Driver):
    said = [
        user("hello"),
        assistant(None, tool_calls=[CALL]),
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    ]
    id = archive.begin(*said)
    stored = archive.messages(id)
    assert [one.message for one in stored] == said
    assert [one.sequence for one in stored] == [1, 2, 3]
    assert [one.role for one in stored] == ["user", "assistant", "tool"]
    assert [one.handle for one in stored] == [handle_of(message) for message in said]
    assert [one.tokens for one in stored] == [estimate_message_tokens(message) for message in said]


def test_unknown_keys_their_order_and_every_shape_survive_to_the_last_byte(archive: Driver):
    odd = {
        "zeta": 1.0,
        "role": "user",
        "alpha": None,
        "content": [{"type": "x_new", "data": [1, 2.5, "é"]}, {"type": "text", "text": "\x00\ud83d half 😀"}],
        "name": "ada",
        "big": 12345678901234567890,
        "nested": {"b": {}, "a": []},
    }
    id = archive.begin(odd)
    archive.reopen()
    (back,) = archive.said(id)
    assert json.dumps(back) == json.dumps(odd)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=conversations(max_turns=4))
def test_any_conversation_comes_back(archive: Driver, said):
    id = archive.begin(*said)
    assert json.dumps(archive.said(id)) == json.dumps(said)
    assert archive.session(id).tokens == sum(estimate_message_tokens(message) for message in said)


def test_the_same_turn_saved_twice_is_stored_once(archive: Driver):
    id = archive.begin()
    first = archive.append(id, talk(3), turn="t1")
    archive.reopen()
    again = archive.append(id, talk(3), turn="t1")
    assert (first.first, first.last, first.stored) == (1, 3, 3)
    assert (again.first, again.last, again.stored) == (1, 3, 0)
    assert archive.said(id) == talk(3)


def test_two_equal_messages_said_twice_are_stored_twice(archive: Driver):
    id = archive.begin()
    archive.append(id, [user("yes"), user("yes")], turn="t1")
    archive.append(id, [user("yes")], turn="t2")
    assert archive.said(id) == [user("yes")] * 3


def test_a_turn_that_has_grown_adds_only_what_is_new(archive: Driver):
    id = archive.begin()
    archive.append(id, [user("yes")], turn="t1")
    grown = archive.append(id, [user("yes"), user("yes"), assistant("ok")], turn="t1")
    assert (grown.first, grown.last, grown.stored) == (1, 3, 2)
    assert archive.append(id, [user("yes")], turn="t1").stored == 0
    assert archive.said(id) == [user("yes"), user("yes"), assistant("ok")]


def test_a_turn_cannot_grow_once_something_else_was_said(archive: Driver):
    id = archive.begin()
    archive.append(id, [user("one")], turn="t1")
    archive.append(id, [user("two")], turn="t2")
    with pytest.raises(Conflict, match="continues to 2"):
        archive.append(id, [user("one"), user("late")], turn="t1")
    assert archive.said(id) == [user("one"), user("two")]


def test_a_turn_with_other_words_under_the_same_name_is_refused(archive: Driver):
    id = archive.begin()
    archive.append(id, [user("one")], turn="t1")
    with pytest.raises(Conflict, match="with different content"):
        archive.append(id, [user("uno")], turn="t1")
    assert archive.said(id) == [user("one")]


def test_a_writer_who_expected_another_end_is_refused_and_nothing_is_stored(archive: Driver):
    id = archive.begin(*talk(2))
    archive.append(id, [user("mine")], turn="a", after=2)
    with pytest.raises(Conflict, match="expected to end at message 2; it ends at 3"):
        archive.append(id, [user("yours")], turn="b", after=2)
    assert (
        archive.append(id, [user("mine")], turn="a", after=2).stored == 0
    )  # a retry of what was stored is fine
    assert archive.said(id) == [*talk(2), user("mine")]


def test_an_empty_turn_changes_nothing(archive: Driver):
    id = archive.begin(*talk(2))
    before = archive.session(id)
    assert archive.append(id, [], turn="nothing").stored == 0
    assert archive.session(id) == before


def test_counted_tokens_take_the_place_of_the_estimate(archive: Driver):
    id = archive.begin()
    archive.append(id, talk(2), turn="t", tokens=[10, 20])
    assert [one.tokens for one in archive.messages(id)] == [10, 20]
    assert archive.session(id).tokens == 30
    with pytest.raises(InvalidConversation, match="1 messages came with 2 token counts"):
        archive.append(id, talk(1), turn="u", tokens=[1, 2])


def test_what_is_no_json_is_refused_before_anything_is_written(archive: Driver):
    id = archive.begin()
    with pytest.raises(InvalidConversation, match="not valid JSON"):
        archive.append(id, [user("fine"), {"role": "user", "content": object()}], turn="t")
    assert archive.said(id) == []


def test_a_log_is_read_in_pages(archive: Driver):
    id = archive.begin(*talk(10))
    assert [one.sequence for one in archive.messages(id, 4, 6)] == [4, 5, 6]
    assert [one.sequence for one in archive.messages(id, 9, 99)] == [9, 10]
    assert archive.messages(id, 11) == []


def test_time_never_runs_backwards_in_the_log(archive: Driver):
    id = archive.begin(user("one"))
    archive.clock.now -= 3_600
    archive.append(id, [user("two")], turn="t")
    first, second = archive.messages(id)
    assert second.time == first.time


def test_a_handle_brings_back_the_message_it_was_made_from(archive: Driver):
    result = {"role": "tool", "tool_call_id": "c1", "content": "x" * 500}
    id = archive.begin(user("go"), result)
    other = archive.begin(user("elsewhere"))
    handle = handle_of(result)
    for wanted in (handle, handle[:6], handle.removeprefix("h:"), handle.upper()):
        (found,) = archive.find_by_handle(wanted)
        assert (found.session, found.sequence, found.message) == (id, 2, result)
    assert len(archive.find_by_handle(handle, id=id)) == 1
    assert archive.find_by_handle(handle, id=other) == []
    with pytest.raises(UserError, match="is not a handle"):
        archive.find_by_handle("h:xyz")


def test_pins_are_kept_apart_from_the_log(archive: Driver):
    id = archive.begin(*talk(4))
    archive.pin(id, 3)
    archive.pin(id, 1)
    archive.pin(id, 3)
    archive.reopen()
    assert archive.pins(id) == [1, 3]
    archive.unpin(id, 1)
    assert archive.pins(id) == [3]
    with pytest.raises(UserError, match="messages 1 to 4; there is no message 5"):
        archive.pin(id, 5)


def test_usage_is_kept_for_each_request_and_added_up(archive: Driver):
    id = archive.begin()
    archive.record_usage(id, UsageRecord("m", input=10, cache_read=90, cache_write=5, output=3, money=0.25))
    archive.record_usage(id, UsageRecord("n", input=1, output=1, purpose="summary"))
    records, total = archive.usage(id), archive.usage_total(id)
    assert [(one.model, one.purpose, one.money) for one in records] == [
        ("m", "turn", 0.25),
        ("n", "summary", None),
    ]
    assert (total.requests, total.input, total.cache_read, total.cache_write, total.output) == (
        2,
        11,
        90,
        5,
        4,
    )
    assert (total.money, total.unpriced) == (0.25, 1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 6), max_size=5))
def test_a_turn_saved_again_and_again_while_it_grows_is_stored_once(archive: Driver, cuts):
    id, said = archive.begin(), talk(6)
    for cut in cuts:
        archive.append(id, said[:cut], turn="t")
    assert archive.said(id) == said[: max(cuts, default=0)]

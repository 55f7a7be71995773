"""Server-sent events, however the bytes are cut."""

from itertools import pairwise

import pytest
from dialect_strategies import quick
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.dialects import SseEvent, SseParser
from plimsoll.dialects.sse import json_event
from plimsoll.errors import MalformedReply

TEXT = (
    b"\xef\xbb\xbf: a comment\r\nevent: ping\r\ndata: {}\r\n\r\n"
    b"id: 7\ndata: first\ndata: s\xc3\xa9cond \xf0\x9f\x98\x80\n"
    b'retry: 10\n\nevent: nameless\n\ndata:tight\r\rdata: {"a": 1}\n\ndata: [DONE]\n\ndata: half'
)
EVENTS = [
    SseEvent("ping", "{}"),
    SseEvent(None, "first\nsécond 😀"),
    SseEvent(None, "tight"),
    SseEvent(None, '{"a": 1}'),
    SseEvent(None, "[DONE]"),
]


def parse(chunks):
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_every_kind_of_line_is_read_and_half_an_event_is_not_delivered():
    assert parse([TEXT]) == EVENTS


@quick
@given(st.lists(st.integers(0, len(TEXT)), max_size=20))
def test_it_does_not_matter_where_the_bytes_are_cut(cuts):
    edges = [0, *sorted(cuts), len(TEXT)]
    assert parse([TEXT[a:b] for a, b in pairwise(edges)]) == EVENTS


def test_byte_by_byte_gives_the_same_events():
    assert parse([TEXT[i : i + 1] for i in range(len(TEXT))]) == EVENTS


@quick
@given(st.none() | st.sampled_from(["a", "b"]), st.dictionaries(st.text(), st.text()))
def test_what_is_written_is_read_back(name, data):
    event = json_event(data, name)
    assert parse([event.encode()]) == [event] or any("\ud800" <= c <= "\udfff" for c in event.data)
    assert event.decoded() == data


def test_the_end_mark_and_empty_data_decode_to_nothing():
    assert SseEvent(None, "[DONE]").decoded() is None
    assert SseEvent("ping", " ").decoded() is None


@pytest.mark.parametrize("data", ['{"a": ', "nonsense", "[1]", '"text"', "[" * 100_000])
def test_data_that_is_no_object_is_a_malformed_reply(data):
    with pytest.raises(MalformedReply):
        SseEvent(None, data).decoded()


def test_a_line_in_many_pieces_is_put_together_once():
    parser = SseParser()
    assert [parser.feed(piece) for piece in [b"data: ", *[b"x" * 1_000] * 99]] == [[]] * 100
    assert len(parser._rest) == 100, "joining the unfinished line for each piece takes quadratic time"
    (event,) = parser.feed(b"y\n\n")
    assert event.data == "x" * 99_000 + "y"
    assert parser._rest == [b""]

"""Long answers in parts, and what is a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.archive.inbox import IncomingMessage
from plimsoll.gateway.messaging.commands import command_in
from plimsoll.gateway.messaging.matrix import MatrixAdapter
from plimsoll.gateway.messaging.splitting import split
from plimsoll.gateway.messaging.telegram import TelegramAdapter

TEXTS = st.text(st.sampled_from('ab \n"⛵🚢東é\\'), max_size=400)


@given(TEXTS, st.integers(8, 60), st.sampled_from([len, MatrixAdapter.size, TelegramAdapter.size]))
def test_parts_fit_are_never_empty_and_lose_nothing_but_white_space(text, longest, size):
    parts = split(text, longest, size)
    assert all(part.strip() and size(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_text_that_fits_is_left_whole_and_a_long_one_is_cut_where_a_reader_would():
    assert split("one two\n\nthree", 40) == ["one two\n\nthree"]
    assert split("one two three\n\nfour five six", 16) == ["one two three", "four five six"]
    assert split("one two three\nfour five six", 16) == ["one two three", "four five six"]
    assert split("one two three four", 8) == ["one two", "three", "four"]
    assert split("abcdefgh", 3) == ["abc", "def", "gh"]
    assert split("  \n ", 3) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/new", ("new", "")),
        ("!compress the parser\nand more", ("compress", "the parser\nand more")),
        ("/USAGE@plimsoll_bot", ("usage", "")),
        ("/whatever", ("whatever", "")),
        ("/etc/hosts is broken", None),
        ("/tmp is full", None),
        ("!important", None),
        ("hello /new", None),
        ("note: /new", None),
    ],
)
def test_a_command_is_distinguished_from_talk(text, found):
    assert command_in(IncomingMessage("1", "1", "1", text)) == found


def test_what_cannot_be_read_is_no_command():
    assert command_in(IncomingMessage("1", "1", "1", "/new", "unreadable")) is None

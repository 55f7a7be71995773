"""What every store promises about messages from chat platforms."""

from collections.abc import Awaitable, Callable
from typing import Any

from archive_driver import Driver

from plimsoll.archive.inbox import ChatRoom, Inbox, IncomingMessage

BOT = "matrix:@plimsoll:example.org"
HELLO = IncomingMessage("!harbour", "$1", "@ada:example.org", "Which ships came in?")
MORE = IncomingMessage("!harbour", "$2", "@ada:example.org", "And which left? ⚓\nToday.", speaker="Ada")
PICTURE = IncomingMessage("!quay", "$1", "@bob:example.org", "a picture", "unreadable")


def asked(archive: Driver, work: Callable[[Inbox], Awaitable[Any]], account: str = BOT) -> Any:
    return archive.run_store(lambda store: work(store.inbox(account)))


def test_letters_wait_in_the_order_in_which_they_came_until_they_are_settled(archive: Driver):
    asked(archive, lambda mail: mail.receive([HELLO], "s1"))
    asked(archive, lambda mail: mail.receive([PICTURE, MORE], "s2"))
    archive.reopen()
    assert asked(archive, lambda mail: mail.waiting()) == [HELLO, PICTURE, MORE]
    assert asked(archive, lambda mail: mail.position()) == "s2"
    asked(archive, lambda mail: mail.settle([HELLO, MORE]))
    assert asked(archive, lambda mail: mail.waiting()) == [PICTURE]


def test_a_letter_that_comes_again_is_stored_once_and_a_settled_one_does_not_wait_again(archive: Driver):
    assert asked(archive, lambda mail: mail.receive([HELLO, MORE], "s1")) == [HELLO, MORE]
    asked(archive, lambda mail: mail.settle([HELLO]))
    assert asked(archive, lambda mail: mail.receive([HELLO, MORE, MORE], "s1")) == [MORE, MORE]
    assert asked(archive, lambda mail: mail.waiting()) == [MORE]


def test_accounts_and_rooms_do_not_see_each_other(archive: Driver):
    asked(archive, lambda mail: mail.receive([HELLO], "s1"))
    other = "telegram:7"
    assert asked(archive, lambda mail: mail.receive([HELLO], "9"), other) == [HELLO]
    asked(archive, lambda mail: mail.settle([HELLO]), other)
    assert asked(archive, lambda mail: mail.waiting()) == [HELLO]
    assert asked(archive, lambda mail: mail.position(), other) == "9"


def test_a_room_remembers_its_session_and_how_far_its_answer_was_sent(archive: Driver):
    assert asked(archive, lambda mail: mail.room("!harbour")) == ChatRoom()
    asked(archive, lambda mail: mail.update_room("!harbour", session="one"))
    asked(archive, lambda mail: mail.update_room("!harbour", sent="one:3:1"))
    archive.reopen()
    assert asked(archive, lambda mail: mail.room("!harbour")) == ChatRoom("one", "one:3:1")
    assert asked(archive, lambda mail: mail.room("!quay")) == ChatRoom()


def test_names_and_words_that_no_database_stores_are_stored_without_those_characters(archive: Driver):
    odd = IncomingMessage(
        "!har\ud800bour", "$\ud800", "@\ud800:example.org", "ima\ud800ge", "unreadable", "\ud800da"
    )
    assert asked(archive, lambda mail: mail.receive([odd, HELLO], "s1")) == [odd, HELLO]
    assert asked(archive, lambda mail: mail.receive([odd], "s2")) == [odd], "it is stored once"
    stored = asked(archive, lambda mail: mail.waiting())[0]
    assert stored == IncomingMessage("!har bour", "$ ", "@ :example.org", "ima ge", "unreadable", " da")
    asked(archive, lambda mail: mail.update_room(odd.place, session="one", sent=f"{odd.event}:1"))
    assert asked(archive, lambda mail: mail.room(odd.place)) == ChatRoom("one", "$ :1")
    asked(archive, lambda mail: mail.settle([odd]))
    assert asked(archive, lambda mail: mail.waiting()) == [HELLO]

"""What every store promises about replies that clients continue by their ids."""

from collections.abc import Awaitable, Callable
from typing import Any

from archive_driver import Driver

from plimsoll.archive import Owner
from plimsoll.archive.replies import KEPT_SECONDS, ReplyArchive

ADA, BOB = Owner("ada"), Owner("bob")
# What a database may not take as text: NUL and half a surrogate pair, as JSON escapes them.
HOSTILE = '[{"role": "user", "content": "\\u0000 \\ud800 \' ⚓"}]'


def asked(archive: Driver, work: Callable[[ReplyArchive], Awaitable[Any]], owner: Owner = ADA) -> Any:
    return archive.run_store(lambda store: work(store.replies(owner)))


def test_a_reply_is_found_with_all_that_came_before_it(archive: Driver):
    asked(archive, lambda replies: replies.keep("a", "", "[1]"))
    asked(archive, lambda replies: replies.keep("b", "a", HOSTILE))
    asked(archive, lambda replies: replies.keep("other branch", "a", "[3]"))
    archive.reopen()
    assert asked(archive, lambda replies: replies.history("b")) == ["[1]", HOSTILE]
    assert asked(archive, lambda replies: replies.history("other branch")) == ["[1]", "[3]"]


def test_a_reply_that_is_kept_again_replaces_the_first(archive: Driver):
    for body in ("[1]", "[2]"):
        asked(archive, lambda replies, body=body: replies.keep("a", "", body))
    assert asked(archive, lambda replies: replies.history("a")) == ["[2]"]


def test_owners_do_not_find_each_others_replies(archive: Driver):
    asked(archive, lambda replies: replies.keep("a", "", "[1]"))
    assert asked(archive, lambda replies: replies.history("a"), BOB) == []
    asked(archive, lambda replies: replies.keep("a", "", "[2]"), BOB)
    assert asked(archive, lambda replies: replies.history("a")) == ["[1]"]


def test_a_reply_whose_beginning_is_unknown_is_not_half_found(archive: Driver):
    asked(archive, lambda replies: replies.keep("b", "a", "[2]"))
    assert asked(archive, lambda replies: replies.history("b")) == []
    assert asked(archive, lambda replies: replies.history("never kept")) == []


def test_replies_are_kept_for_thirty_days(archive: Driver):
    asked(archive, lambda replies: replies.keep("old", "", "[1]"))
    archive.clock.now += KEPT_SECONDS
    asked(archive, lambda replies: replies.keep("newer", "", "[2]"))
    assert asked(archive, lambda replies: replies.history("old")) == ["[1]"]
    archive.clock.now += 1
    asked(archive, lambda replies: replies.keep("newest", "", "[3]"))
    assert asked(archive, lambda replies: replies.history("old")) == []
    assert asked(archive, lambda replies: replies.history("newer")) == ["[2]"]

"""What every store promises about replies that clients continue by their ids."""

import asyncio
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


def test_replies_that_are_kept_at_the_same_time_are_all_found(archive: Driver):
    async def keep_all(replies: ReplyArchive) -> None:
        await asyncio.gather(*(replies.keep(f"{number}", "", f"[{number}]") for number in range(200)))

    asked(archive, keep_all)
    archive.reopen()
    for number in range(200):
        assert asked(archive, lambda replies, number=number: replies.history(f"{number}")) == [f"[{number}]"]


def test_a_reply_that_cannot_be_stored_does_not_prevent_others(archive: Driver):
    unstorable: Any = object()

    async def keep_all(replies: ReplyArchive) -> list[BaseException | None]:
        return await asyncio.gather(
            replies.keep("a", "", "[1]"),
            replies.keep("b", "", unstorable),
            replies.keep("c", "", "[3]"),
            return_exceptions=True,
        )

    failed = asked(archive, keep_all)
    assert failed[0] is failed[2] is None
    assert isinstance(failed[1], Exception)
    assert asked(archive, lambda replies: replies.history("a")) == ["[1]"]
    assert asked(archive, lambda replies: replies.history("c")) == ["[3]"]


def test_a_reply_is_stored_although_who_waits_for_it_was_cancelled(archive: Driver):
    async def keep_and_leave(replies: ReplyArchive) -> None:
        left = asyncio.create_task(replies.keep("a", "", "[1]"))
        other = asyncio.create_task(replies.keep("b", "", "[2]"))
        await asyncio.sleep(0)
        left.cancel()
        await other

    asked(archive, keep_and_leave)
    assert asked(archive, lambda replies: replies.history("a")) == ["[1]"]
    assert asked(archive, lambda replies: replies.history("b")) == ["[2]"]

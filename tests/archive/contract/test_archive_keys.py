"""What every store promises about access keys and their limits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from archive_driver import Driver

from plimsoll.archive import ArchiveStore
from plimsoll.archive.keys import (
    AccessKey,
    KeyLimits,
    KeyStore,
    KeyUsage,
    Reservation,
    ReservationRequest,
    UsageSettlement,
)
from plimsoll.errors import UserError


def asked(archive: Driver, work: Callable[[KeyStore], Awaitable[Any]]) -> Any:
    return archive.run_store(lambda store: work(store.keys))


def added(archive: Driver, id: str, name: str, **limits: Any) -> AccessKey:
    return asked(archive, lambda keys: keys.add(id, name, b"digest-" + id.encode(), KeyLimits(**limits)))


def test_a_key_is_kept_with_its_limits_and_without_its_secret(archive: Driver):
    added(archive, "one", "laptop", requests_per_minute=5, tokens_per_day=7, money_per_day=1.5)
    archive.reopen()
    (key,) = asked(archive, lambda keys: keys.snapshot()).keys
    assert (key.id, key.name, key.digest, key.revoked) == ("one", "laptop", b"digest-one", None)
    assert key.limits == KeyLimits(5, 7, 1.5)
    assert "digest" not in repr(key)


def test_a_name_is_free_again_when_its_key_is_revoked(archive: Driver):
    added(archive, "one", "laptop")
    with pytest.raises(UserError, match="A key named 'laptop' already exists"):
        added(archive, "two", "laptop")
    revoked = asked(archive, lambda keys: keys.revoke("laptop"))
    assert revoked.revoked == archive.clock.now
    assert added(archive, "two", "laptop").id == "two"
    with pytest.raises(UserError, match="No key has the name 'desk'"):
        asked(archive, lambda keys: keys.revoke("desk"))


def test_a_key_that_is_renewed_keeps_its_id(archive: Driver):
    added(archive, "one", "laptop")
    renewed = asked(archive, lambda keys: keys.renew("laptop", b"other"))
    assert (renewed.id, renewed.digest) == ("one", b"other")


def test_many_processes_together_never_set_aside_more_than_a_minute_allows(archive: Driver):
    added(archive, "one", "laptop")

    async def race(first: ArchiveStore) -> list[int]:
        others = [await archive._start() for _ in range(3)]

        async def process(store: ArchiveStore) -> int:
            taken = 0
            while share := (await store.keys.reserve_requests("one", 100, 8)).requests:
                taken += share
            return taken

        taken = await asyncio.gather(*(process(store) for store in (first, *others)))
        for store in others:
            await store.close()
        return taken

    assert sum(archive.run_store(race)) == 100
    archive.clock.now += 60
    assert asked(archive, lambda keys: keys.reserve_requests("one", 100, 8)).requests == 12


def test_shares_become_smaller_as_a_minute_is_used_up(archive: Driver):
    added(archive, "one", "laptop")
    shares = [asked(archive, lambda keys: keys.reserve_requests("one", 20, 4)).requests for _ in range(14)]
    assert shares == [5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]


def test_what_keys_have_used_is_added_up_day_by_day(archive: Driver):
    added(archive, "one", "laptop")
    added(archive, "two", "desk")
    both = [UsageSettlement("two", KeyUsage(1, 10, 0.5)), UsageSettlement("one", KeyUsage(1, 1, 0.25))]
    asked(archive, lambda keys: keys.settle("process", both, 60))
    asked(archive, lambda keys: keys.settle("process", [UsageSettlement("two", KeyUsage(2, 20, 0.5))], 60))
    book = asked(archive, lambda keys: keys.snapshot())
    assert book.today == {"one": KeyUsage(1, 1, 0.25), "two": KeyUsage(3, 30, 1.0)}
    archive.clock.now += 86_400
    assert asked(archive, lambda keys: keys.snapshot()).today == {}


def reserved(
    archive: Driver, holder: str, need: int, *, held: int = 0, spent: int = 0, wanted: int = 0
) -> Reservation:
    """Ask for room for `need` tokens of at most 1,000 a day, and for 1 USD."""
    settlement = UsageSettlement("one", KeyUsage(0, spent), KeyUsage(0, held))
    wish = ReservationRequest(KeyUsage(0, need, 0.001), KeyUsage(0, max(need, wanted), 0.001))
    limits = KeyLimits(tokens_per_day=1_000, money_per_day=1.0)
    return asked(archive, lambda keys: keys.reserve(holder, settlement, wish, limits, 1_000, 60))


def test_room_is_granted_until_used_and_reserved_reach_the_limit(archive: Driver):
    added(archive, "one", "laptop")
    assert reserved(archive, "a", 400).granted == KeyUsage(0, 400, 0.001)
    assert reserved(archive, "b", 500, spent=50).granted is not None
    last = reserved(archive, "c", 400)  # 950 are taken: one request may go beyond the limit
    assert last.granted is not None
    assert last.granted.tokens == 400
    assert last.used.tokens == 50
    assert reserved(archive, "d", 1).granted is None
    assert reserved(archive, "a", 1, held=100, spent=20).granted is None  # 70 used, 1,000 reserved
    asked(archive, lambda keys: keys.settle("c", [UsageSettlement("one", KeyUsage(0, 30))], 60))
    assert reserved(archive, "d", 1).granted is not None


def test_more_than_one_request_is_granted_only_what_is_left(archive: Driver):
    added(archive, "one", "laptop")
    granted = reserved(archive, "a", 100, wanted=5_000).granted
    assert granted is not None
    assert granted.tokens == 1_000


def test_the_reservations_of_a_process_that_crashed_expire(archive: Driver):
    added(archive, "one", "laptop")
    assert reserved(archive, "crashed", 5_000).granted is not None
    assert reserved(archive, "other", 1).granted is None
    archive.clock.now += 59
    assert reserved(archive, "other", 1).granted is None
    archive.clock.now += 2
    assert reserved(archive, "other", 1).granted is not None


def test_processes_that_reserve_at_once_exceed_a_limit_by_one_request(archive: Driver):
    added(archive, "one", "laptop")
    limits = KeyLimits(tokens_per_day=1_000)

    async def race(first: ArchiveStore) -> list[int]:
        others = [await archive._start() for _ in range(3)]

        async def process(number: int, store: ArchiveStore) -> int:
            held = 0
            while True:
                wish, settlement = (
                    ReservationRequest(KeyUsage(0, 70), KeyUsage(0, 70)),
                    UsageSettlement("one", held=KeyUsage(0, held)),
                )
                grant = await store.keys.reserve(f"p{number}", settlement, wish, limits, 1_000, 60)
                if grant.granted is None:
                    return held
                held += grant.granted.tokens

        held = await asyncio.gather(*(process(n, store) for n, store in enumerate((first, *others))))
        for store in others:
            await store.close()
        return held

    assert 1_000 <= sum(archive.run_store(race)) < 1_070

"""Access keys and their usage in SQL tables."""

from collections.abc import Sequence

from plimsoll.archive.keys import (
    DAY,
    MINUTE,
    AccessKey,
    KeyLimits,
    KeySnapshot,
    KeyStore,
    KeyUsage,
    RequestShare,
    Reservation,
    ReservationRequest,
    UsageSettlement,
)
from plimsoll.archive.sql.connection import Database, Record, SqlConnection
from plimsoll.errors import UserError

_SELECT = (
    "SELECT id, name, digest, requests_per_minute, tokens_per_day, money_per_day, created, revoked, reads "
    "FROM access_keys"
)
_KEPT_MINUTES = 60  # old minutes are deleted, except a few for inspection
_ROW = "INSERT INTO access_usage (key, seconds, start) VALUES (?, ?, ?) ON CONFLICT (key, seconds, start) DO NOTHING"


class SqlKeys(KeyStore):
    """Each method one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, id: str, name: str, digest: bytes, limits: KeyLimits, *, reads: str | None = None
    ) -> AccessKey:
        async def work(db: SqlConnection) -> AccessKey:
            # A name is free once its key is revoked; the unique index decides between two concurrent inserts.
            added = await db.run(
                "INSERT INTO access_keys (id, name, digest, created, requests_per_minute, tokens_per_day, "
                "money_per_day, reads) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    id,
                    name,
                    digest,
                    await db.now(),
                    limits.requests_per_minute,
                    limits.tokens_per_day,
                    limits.money_per_day,
                    reads,
                ),
            )
            if not added:
                raise UserError(
                    f"A key named {name!r} already exists. Choose another name, or revoke it with "
                    f"`plimsoll gateway keys revoke {name}`."
                )
            return await _active_key_named(db, name)

        return await self._database.write(work)

    async def renew(self, name: str, digest: bytes) -> AccessKey:
        async def work(db: SqlConnection) -> AccessKey:
            key = await _active_key_named(db, name)
            await db.run("UPDATE access_keys SET digest = ? WHERE id = ?", (digest, key.id))
            return await _active_key_named(db, name)

        return await self._database.write(work, repeatable=True)

    async def revoke(self, name: str) -> AccessKey:
        async def work(db: SqlConnection) -> AccessKey:
            key = await _active_key_named(db, name)
            await db.run("UPDATE access_keys SET revoked = ? WHERE id = ?", (await db.now(), key.id))
            return _key(await db.only(f"{_SELECT} WHERE id = ?", (key.id,)))

        return await self._database.write(work)

    async def snapshot(self) -> KeySnapshot:
        async def work(db: SqlConnection) -> KeySnapshot:
            now = await db.now()
            keys = await db.rows(f"{_SELECT} ORDER BY created, id")
            used = await db.rows(
                "SELECT key, requests, tokens, money FROM access_usage WHERE seconds = ? AND start = ?",
                (DAY, _start(now, DAY)),
            )
            return KeySnapshot(now, tuple(map(_key, keys)), {key: KeyUsage(*spent) for key, *spent in used})

        return await self._database.read(work)

    async def reserve_requests(self, id: str, limit: int, part: int) -> RequestShare:
        async def work(db: SqlConnection) -> RequestShare:
            now = await db.now()
            start = _start(now, MINUTE)
            if await db.run(_ROW, (id, MINUTE, start)):
                await db.run(
                    "DELETE FROM access_usage WHERE key = ? AND seconds = ? AND start < ?",
                    (id, MINUTE, start - _KEPT_MINUTES * MINUTE),
                )
            place = (id, MINUTE, start)
            where = "WHERE key = ? AND seconds = ? AND start = ?"
            # An update, even without a change, makes other processes wait until this one has taken its share.
            await db.run(f"UPDATE access_usage SET granted = granted {where}", place)
            await _carry_over(db, id, start)
            (granted,) = await db.only(f"SELECT granted FROM access_usage {where}", place)
            left = max(0, limit - granted)
            share = min(left, max(1, left // part))
            await db.run(f"UPDATE access_usage SET granted = granted + ? {where}", (share, *place))
            return RequestShare(share, start, now)

        return await self._database.write(work)

    async def settle(self, holder: str, settlements: Sequence[UsageSettlement], lease: float) -> None:
        async def work(db: SqlConnection) -> None:
            now = await db.now()
            # In the same order in all processes, so that two never deadlock.
            for item in sorted(settlements, key=lambda settlement: settlement.key):
                await _add_spent(db, item, now)
                await _hold(db, item.key, holder, item.held, now + lease)

        await self._database.write(work)

    async def reserve(
        self,
        holder: str,
        settlement: UsageSettlement,
        request: ReservationRequest,
        limits: KeyLimits,
        part: int,
        lease: float,
    ) -> Reservation:
        async def work(db: SqlConnection) -> Reservation:
            now = await db.now()
            id, reserved = settlement.key, settlement.held
            # Locks the day's row: other reservations for the key wait until the end of the transaction.
            await _add_spent(db, settlement, now)
            await db.run("DELETE FROM access_reservations WHERE key = ? AND expires <= ?", (id, now))
            used = KeyUsage(
                *await db.only(
                    "SELECT requests, tokens, money FROM access_usage WHERE key = ? AND seconds = ? AND start = ?",
                    (id, DAY, _start(now, DAY)),
                )
            )
            tokens, money = await db.only(
                "SELECT coalesce(sum(tokens), 0), coalesce(sum(money), 0.0) FROM access_reservations "
                "WHERE key = ? AND holder <> ?",
                (id, holder),
            )
            in_use = KeyUsage(0, int(tokens), float(money)).plus(reserved).plus(used)
            granted = _granted(in_use, request, limits, part)
            await _hold(db, id, holder, reserved.plus(granted or KeyUsage()), now + lease)
            return Reservation(granted, used, now)

        return await self._database.write(work)


def _granted(in_use: KeyUsage, request: ReservationRequest, limits: KeyLimits, part: int) -> KeyUsage | None:
    """What fits below the limits; only the next request may exceed one."""
    tokens, money = request.wanted.tokens, request.wanted.money
    if limits.tokens_per_day is not None:
        left = limits.tokens_per_day - in_use.tokens
        if left <= 0:
            return None
        tokens = max(request.need.tokens, min(left, max(tokens, left // part)))
    if limits.money_per_day is not None:
        room = limits.money_per_day - in_use.money
        if room <= 0:
            return None
        money = max(request.need.money, min(room, max(money, room / part)))
    return KeyUsage(0, tokens, money)


async def _add_spent(db: SqlConnection, settlement: UsageSettlement, now: float) -> None:
    id, spent, start = settlement.key, settlement.spent, _start(now, DAY)
    await db.run(_ROW, (id, DAY, start))
    await db.run(
        "UPDATE access_usage SET requests = requests + ?, tokens = tokens + ?, money = money + ? "
        "WHERE key = ? AND seconds = ? AND start = ?",
        (spent.requests, spent.tokens, spent.money, id, DAY, start),
    )


async def _hold(db: SqlConnection, id: str, holder: str, reserved: KeyUsage, expires: float) -> None:
    if reserved.tokens <= 0 and reserved.money <= 0:
        await db.run("DELETE FROM access_reservations WHERE key = ? AND holder = ?", (id, holder))
        return
    await db.run(
        "INSERT INTO access_reservations (key, holder, tokens, money, expires) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (key, holder) DO UPDATE SET tokens = excluded.tokens, money = excluded.money, "
        "expires = excluded.expires",
        (id, holder, reserved.tokens, reserved.money, expires),
    )


async def _carry_over(db: SqlConnection, id: str, start: int) -> None:
    """Move grants of a later minute, which exist only if the clock was set back, to this minute.

    Otherwise the same minute would be granted twice. The later row is deleted, so that no request waits for the clock
    to reach it again.
    """
    later = "WHERE key = ? AND seconds = ? AND start > ?"
    found = await db.row(
        f"SELECT granted FROM access_usage {later} ORDER BY start DESC LIMIT 1", (id, MINUTE, start)
    )
    if found is not None:
        await db.run(
            "UPDATE access_usage SET granted = granted + ? WHERE key = ? AND seconds = ? AND start = ?",
            (found[0], id, MINUTE, start),
        )
        await db.run(f"DELETE FROM access_usage {later}", (id, MINUTE, start))


async def _active_key_named(db: SqlConnection, name: str) -> AccessKey:
    found = await db.row(f"{_SELECT} WHERE name = ? AND revoked IS NULL", (name,))
    if found is None:
        rows = await db.rows("SELECT name FROM access_keys WHERE revoked IS NULL ORDER BY name LIMIT 20")
        named = f"There are {', '.join(item for (item,) in rows)}." if rows else "There are none yet."
        raise UserError(f"No key has the name {name!r}. {named} `plimsoll gateway keys list` shows all.")
    return _key(found)


def _key(row: Record) -> AccessKey:
    id, name, digest, requests, tokens, money, created, revoked, reads = row
    return AccessKey(id, name, bytes(digest), KeyLimits(requests, tokens, money), created, revoked, reads)


def _start(now: float, seconds: int) -> int:
    return int(now // seconds) * seconds

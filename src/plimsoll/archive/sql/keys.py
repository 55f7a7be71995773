"""Access keys and what they have used, in SQL tables."""

from collections.abc import Sequence

from plimsoll.archive.keys import DAY, MINUTE, AccessKey, KeyBook, KeyLimits, KeyStore, Share, Spent
from plimsoll.archive.sql.connection import Connection, Database, Record
from plimsoll.errors import UserError

_SELECT = (
    "SELECT id, name, digest, requests_per_minute, tokens_per_day, money_per_day, created, revoked "
    "FROM access_keys"
)
_KEPT_MINUTES = 60  # minutes that are over are of no use; a few are kept for whoever looks
_ROW = "INSERT INTO access_usage (key, seconds, start) VALUES (?, ?, ?) ON CONFLICT (key, seconds, start) DO NOTHING"


class SqlKeys(KeyStore):
    """Each method one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, id: str, name: str, digest: bytes, limits: KeyLimits) -> AccessKey:
        async def work(db: Connection) -> AccessKey:
            # A name is free as soon as the key that had it is revoked; the index decides between two at once.
            added = await db.run(
                "INSERT INTO access_keys (id, name, digest, created, requests_per_minute, tokens_per_day, "
                "money_per_day) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    id,
                    name,
                    digest,
                    await db.now(),
                    limits.requests_per_minute,
                    limits.tokens_per_day,
                    limits.money_per_day,
                ),
            )
            if not added:
                raise UserError(
                    f"There is a key {name!r} already. Choose another name, or end that one with "
                    f"`plimsoll gateway keys revoke {name}`."
                )
            return await _holding(db, name)

        return await self._database.write(work)

    async def renew(self, name: str, digest: bytes) -> AccessKey:
        async def work(db: Connection) -> AccessKey:
            key = await _holding(db, name)
            await db.run("UPDATE access_keys SET digest = ? WHERE id = ?", (digest, key.id))
            return await _holding(db, name)

        return await self._database.write(work, repeatable=True)

    async def revoke(self, name: str) -> AccessKey:
        async def work(db: Connection) -> AccessKey:
            key = await _holding(db, name)
            await db.run("UPDATE access_keys SET revoked = ? WHERE id = ?", (await db.now(), key.id))
            return _key(await db.only(f"{_SELECT} WHERE id = ?", (key.id,)))

        return await self._database.write(work)

    async def book(self) -> KeyBook:
        async def work(db: Connection) -> KeyBook:
            now = await db.now()
            keys = await db.rows(f"{_SELECT} ORDER BY created, id")
            used = await db.rows(
                "SELECT key, requests, tokens, money FROM access_usage WHERE seconds = ? AND start = ?",
                (DAY, _start(now, DAY)),
            )
            return KeyBook(now, tuple(map(_key, keys)), {key: Spent(*spent) for key, *spent in used})

        return await self._database.read(work)

    async def set_aside(self, id: str, most: int, part: int) -> Share:
        async def work(db: Connection) -> Share:
            now = await db.now()
            start = _start(now, MINUTE)
            if await db.run(_ROW, (id, MINUTE, start)):
                await db.run(
                    "DELETE FROM access_usage WHERE key = ? AND seconds = ? AND start < ?",
                    (id, MINUTE, start - _KEPT_MINUTES * MINUTE),
                )
            place = (id, MINUTE, start)
            where = "WHERE key = ? AND seconds = ? AND start = ?"
            # A change, even of nothing, makes other processes wait until this one has taken its share.
            await db.run(f"UPDATE access_usage SET granted = granted {where}", place)
            (granted,) = await db.only(f"SELECT granted FROM access_usage {where}", place)
            left = max(0, most - granted)
            share = min(left, max(1, left // part))
            await db.run(f"UPDATE access_usage SET granted = granted + ? {where}", (share, *place))
            return Share(share, start, now)

        return await self._database.write(work)

    async def spend(self, entries: Sequence[tuple[str, Spent]]) -> None:
        async def work(db: Connection) -> None:
            start = _start(await db.now(), DAY)
            # In one order for all, so that two processes never wait for each other.
            for id, spent in sorted(entries, key=lambda entry: entry[0]):
                await db.run(_ROW, (id, DAY, start))
                await db.run(
                    "UPDATE access_usage SET requests = requests + ?, tokens = tokens + ?, money = money + ? "
                    "WHERE key = ? AND seconds = ? AND start = ?",
                    (spent.requests, spent.tokens, spent.money, id, DAY, start),
                )

        await self._database.write(work)


async def _holding(db: Connection, name: str) -> AccessKey:
    found = await db.row(f"{_SELECT} WHERE name = ? AND revoked IS NULL", (name,))
    if found is None:
        rows = await db.rows("SELECT name FROM access_keys WHERE revoked IS NULL ORDER BY name LIMIT 20")
        named = f"There are {', '.join(one for (one,) in rows)}." if rows else "There are none yet."
        raise UserError(f"No key has the name {name!r}. {named} `plimsoll gateway keys list` shows all.")
    return _key(found)


def _key(row: Record) -> AccessKey:
    id, name, digest, requests, tokens, money, created, revoked = row
    return AccessKey(id, name, bytes(digest), KeyLimits(requests, tokens, money), created, revoked)


def _start(now: float, seconds: int) -> int:
    return int(now // seconds) * seconds

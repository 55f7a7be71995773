"""Replies that clients continue, in an SQL table.

    keep ─┐
    keep ─┼─► one transaction ─► all of them are stored      replies that arrive meanwhile: the next transaction
    keep ─┘

A client waits for each reply to be stored, and a transaction costs more than its rows.
"""

import asyncio
from collections.abc import Sequence

from plimsoll.archive.encoding import storable
from plimsoll.archive.owners import Owner
from plimsoll.archive.replies import KEPT_SECONDS, ReplyArchive
from plimsoll.archive.sql.connection import Database, SqlConnection

_KEEP = (
    "INSERT INTO replies (owner, name, before, body, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (owner, name) DO UPDATE SET before = excluded.before, body = excluded.body, time = excluded.time"
)
_MAX_GROUP = 64  # replies in one transaction: other writers wait for it

Row = tuple[str, str, str, str]  # owner, name, name of the reply that it continues, body


class ReplyGroups:
    """Writes the replies of all owners. Replies that wait at the same time share one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[Row, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def store(self, row: Row) -> None:
        """Return when the reply is stored."""
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, stored))
        if self._task is None:
            self._task = asyncio.create_task(self._write_waiting())
        await stored

    async def close(self) -> None:
        """Wait for the replies that are being stored."""
        if self._task is not None:
            await self._task

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:_MAX_GROUP], self._waiting[_MAX_GROUP:]
                await self._write_group(group)
        finally:
            self._task = None

    async def _write_group(self, group: Sequence[tuple[Row, asyncio.Future[None]]]) -> None:
        try:
            await self._write([row for row, _ in group])
        except Exception as error:  # passed on to those who wait, whatever it is
            if len(group) > 1:
                # One reply that cannot be stored must not take those of other callers with it.
                for single in group:
                    await self._write_group([single])
                return
            for _, stored in group:
                if not stored.done():
                    stored.set_exception(error)
        for _, stored in group:
            if not stored.done():  # a client that disconnected waits no longer
                stored.set_result(None)

    async def _write(self, rows: Sequence[Row]) -> None:
        async def work(db: SqlConnection) -> None:
            now = await db.now()
            await db.run("DELETE FROM replies WHERE time < ?", (now - KEPT_SECONDS,))
            for row in rows:
                await db.run(_KEEP, (*row, now))

        # Clients wait for this. A reply that a power failure took is unknown, like one that is too old.
        await self._database.write(work, repeatable=True, awaits_disk=False)


class SqlReplies(ReplyArchive):
    """The replies of one owner; `writer` writes those of all owners."""

    def __init__(self, database: Database, writer: ReplyGroups, owner: Owner) -> None:
        self._database, self._writer, self._owner = database, writer, str(owner)

    async def keep(self, name: str, before: str, body: str) -> None:
        await self._writer.store((self._owner, storable(name), storable(before), body))

    async def history(self, name: str) -> list[str]:
        async def work(db: SqlConnection) -> list[str]:
            bodies: list[str] = []
            seen: set[str] = set()
            wanted = storable(name)
            while wanted and wanted not in seen:
                seen.add(wanted)
                found = await db.row(
                    "SELECT before, body FROM replies WHERE owner = ? AND name = ?", (self._owner, wanted)
                )
                if found is None:
                    return []
                wanted = str(found[0])
                bodies.append(str(found[1]))
            return bodies[::-1]

        return await self._database.read(work)

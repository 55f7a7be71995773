"""`SqliteArchive`: the archive in one file, as an asynchronous store.

Each method is one transaction, handed to the thread that may run it. What a method does
is in the file of its subject; here is only who reads, who writes, and what time it is.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from plimsoll.archive.encoding import encode_all
from plimsoll.archive.interface import Archive
from plimsoll.archive.query import SearchPage, SearchQuery
from plimsoll.archive.records import (
    Appended,
    CompactionEvent,
    Lease,
    Node,
    Session,
    StoredMessage,
    UsageRecord,
    UsageTotal,
)
from plimsoll.archive.sqlite import check, events, leases, log, nodes, search, sessions, views
from plimsoll.archive.sqlite.connection import BUSY_SECONDS, Database, Result
from plimsoll.archive.sqlite.lineage import Row, find
from plimsoll.archive.views import Draft, Item, View
from plimsoll.messages import Message

Clock = Callable[[], float]
Rows = Callable[[sqlite3.Connection, Row], Result]


class SqliteArchive(Archive):
    """Sessions in one SQLite file. Open it with `await SqliteArchive.open(path)`."""

    def __init__(self, database: Database, clock: Clock, random: Random) -> None:
        self._database = database
        self._clock = clock
        self._random = random

    def __repr__(self) -> str:
        return f"SqliteArchive({str(self._database.path)!r})"

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock = time.time,
        random: Random | None = None,
        busy_seconds: float = BUSY_SECONDS,
    ) -> "SqliteArchive":
        """The archive in this file, made where there is none and brought to today's form where it is older."""
        database = Database(path, busy_seconds=busy_seconds)
        try:
            await database.open()
        except BaseException:
            await database.close()
            raise
        return cls(database, clock, random or Random())

    async def close(self) -> None:
        await self._database.close()

    async def _read(self, id: str, work: Rows[Result]) -> Result:
        return await self._database.read(lambda db: work(db, find(db, id)))

    async def _write(self, id: str, work: Rows[Result], lease: Lease | None = None) -> Result:
        def guarded(db: sqlite3.Connection) -> Result:
            row = find(db, id)
            leases.require(db, row, lease)
            return work(db, row)

        return await self._database.write(guarded)

    async def create_session(self, *, title: str = "", model: str = "", engine: str = "") -> Session:
        return await self._database.write(
            lambda db: sessions.create(db, title, model, engine, self._clock(), self._random)
        )

    async def session(self, id: str) -> Session:
        return await self._database.read(lambda db: find(db, id).session)

    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        return await self._database.read(lambda db: sessions.newest_first(db, limit, offset, prefix))

    async def update_session(
        self, id: str, *, title: str | None = None, model: str | None = None, engine: str | None = None
    ) -> Session:
        return await self._write(id, lambda db, row: sessions.update(db, row, title, model, engine))

    async def fork(self, id: str, *, at: int | None = None, title: str | None = None) -> Session:
        return await self._write(
            id, lambda db, row: sessions.fork(db, row, at, title, self._clock(), self._random)
        )

    async def delete(self, id: str) -> int:
        return await self._write(id, lambda db, row: sessions.delete(db, row.key))

    async def append(
        self,
        id: str,
        messages: Sequence[Message],
        *,
        turn: str,
        after: int | None = None,
        tokens: Sequence[int] | None = None,
        lease: Lease | None = None,
    ) -> Appended:
        # Encoded before the transaction begins, so that other processes wait for the disk alone.
        encoded = await self._database.compute(lambda: encode_all(messages, tokens))
        return await self._write(
            id, lambda db, row: log.append(db, row, encoded, turn, after, self._clock()), lease
        )

    async def messages(self, id: str, first: int = 1, last: int | None = None) -> list[StoredMessage]:
        return await self._read(
            id, lambda db, row: log.messages(db, row, first, row.session.messages if last is None else last)
        )

    async def find_by_handle(
        self, handle: str, *, id: str | None = None, limit: int = 10
    ) -> list[StoredMessage]:
        return await self._database.read(lambda db: log.find_by_handle(db, id, handle, limit))

    async def pin(self, id: str, sequence: int) -> None:
        await self._write(id, lambda db, row: log.pin(db, row, sequence, self._clock()))

    async def unpin(self, id: str, sequence: int) -> None:
        await self._write(id, lambda db, row: log.unpin(db, row, sequence))

    async def pins(self, id: str) -> list[int]:
        return await self._read(id, lambda db, row: log.pins(db, row.key))

    async def view(self, id: str, number: int | None = None) -> View:
        return await self._read(id, lambda db, row: views.load(db, row, number))

    async def items(self, id: str, view: View | None = None) -> list[Item]:
        return await self._read(id, lambda db, row: views.items(db, row, view or views.load(db, row, None)))

    async def weight(self, id: str, view: View | None = None) -> tuple[int, int]:
        return await self._read(id, lambda db, row: views.weight(db, row, view or views.load(db, row, None)))

    async def node(self, node: str) -> Node:
        return await self._database.read(lambda db: nodes.load(db, node))

    async def nodes(self, id: str) -> list[Node]:
        return await self._read(id, lambda db, row: nodes.of_session(db, row.key))

    async def commit_compaction(
        self, id: str, draft: Draft, event: CompactionEvent, *, lease: Lease | None = None
    ) -> View:
        return await self._write(
            id, lambda db, row: views.commit(db, row, draft, event, self._clock()), lease
        )

    async def record_compaction(self, id: str, event: CompactionEvent) -> CompactionEvent:
        return await self._write(id, lambda db, row: events.record(db, row, event, self._clock()))

    async def undo(self, id: str, *, lease: Lease | None = None) -> View:
        return await self._write(id, lambda db, row: views.undo(db, row, self._clock()), lease)

    async def compactions(self, id: str, *, limit: int = 100) -> list[CompactionEvent]:
        return await self._read(id, lambda db, row: events.newest(db, row, limit))

    async def record_usage(self, id: str, usage: UsageRecord) -> UsageRecord:
        return await self._write(id, lambda db, row: events.record_usage(db, row, usage, self._clock()))

    async def usage(self, id: str, *, limit: int = 1_000) -> list[UsageRecord]:
        return await self._read(id, lambda db, row: events.newest_usage(db, row, limit))

    async def usage_total(self, id: str) -> UsageTotal:
        return await self._read(id, events.usage_total)

    async def acquire(
        self, id: str, holder: str, seconds: float, *, purpose: str = "compact"
    ) -> Lease | None:
        return await self._write(
            id, lambda db, row: leases.acquire(db, row, purpose, holder, seconds, self._clock())
        )

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        return await self._write(
            lease.session, lambda db, row: leases.renew(db, row, lease, seconds, self._clock())
        )

    async def release(self, lease: Lease) -> None:
        await self._write(lease.session, lambda db, row: leases.release(db, row, lease))

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._database.read(lambda db: search.search(db, query, time.monotonic))

    async def check(self) -> list[str]:
        return await self._database.read(lambda db: list(check.faults(db)))

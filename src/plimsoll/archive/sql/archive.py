"""`SqlArchive`: the sessions of one owner in SQL tables.

Each method is one transaction. The implementations are in the other files of this folder; this one only decides
what reads, what writes, and what may be repeated after a lost connection.
"""

import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from plimsoll.archive.encoding import EncodedMessage, encode_each
from plimsoll.archive.interface import Archive
from plimsoll.archive.outline import SessionOutline
from plimsoll.archive.owners import Owner
from plimsoll.archive.query import SearchPage, SearchQuery
from plimsoll.archive.records import (
    Action,
    AppendResult,
    CompactionEvent,
    Lease,
    Node,
    PersonEdits,
    Session,
    SessionFigures,
    StoredMessage,
    UsageRecord,
    UsageTotal,
)
from plimsoll.archive.sql import actions, events, forks, leases, log, nodes, outline, search, sessions, views
from plimsoll.archive.sql.connection import Database, Result, SqlConnection
from plimsoll.archive.sql.index import Index
from plimsoll.archive.sql.lineage import SessionRow, find
from plimsoll.archive.sql.nodes import add as add_nodes
from plimsoll.archive.views import Rewrite, View, ViewDraft, ViewItem
from plimsoll.messages import Message

# Messages per batch; takes 0.3 ms. Encoding all 730 of a conversation of 200,000 tokens at once takes 30 ms, which
# delayed small requests to the gateway by up to 10 ms.
ENCODED_AT_ONCE = 8
Rows = Callable[[SqlConnection, SessionRow], Coroutine[Any, Any, Result]]


class SqlArchive(Archive):
    """The sessions of one owner in a database. Created by `SqlStore.for_owner`."""

    def __init__(self, database: Database, index: Index, random: Random, owner: Owner) -> None:
        self._database = database
        self._index = index
        self._random = random
        self._owner = owner

    @property
    def owner(self) -> Owner:
        return self._owner

    async def _read(self, id: str, work: Rows[Result]) -> Result:
        async def found(db: SqlConnection) -> Result:
            return await work(db, await find(db, id, self._owner))

        return await self._database.read(found)

    async def _write(
        self, id: str, work: Rows[Result], lease: Lease | None = None, *, repeatable: bool = False
    ) -> Result:
        async def guarded(db: SqlConnection) -> Result:
            row = await find(db, id, self._owner, to_write=True)
            await leases.require(db, row, lease)
            return await work(db, row)

        return await self._database.write(guarded, repeatable=repeatable)

    async def create_session(self, *, title: str = "", model: str = "", engine: str = "") -> Session:
        return await self._database.write(
            lambda db: sessions.create(db, title, model, engine, self._owner, self._random)
        )

    async def session(self, id: str) -> Session:
        return (await self._database.read(lambda db: find(db, id, self._owner))).session

    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        return await self._database.read(
            lambda db: sessions.newest_first(db, limit, offset, prefix, self._owner)
        )

    async def figures(self, ids: Sequence[str]) -> list[SessionFigures]:
        async def work(db: SqlConnection) -> list[SessionFigures]:
            rows = [await find(db, id, self._owner) for id in ids]
            return [await views.figures(db, row) for row in rows]

        return await self._database.read(work)

    async def update_session(
        self, id: str, *, title: str | None = None, model: str | None = None, engine: str | None = None
    ) -> Session:
        return await self._write(
            id, lambda db, row: sessions.update(db, row, title, model, engine), repeatable=True
        )

    async def fork(
        self,
        id: str,
        *,
        at: int | None = None,
        title: str | None = None,
        view: int | None = None,
        actor: str = "",
        rewrite: Rewrite | None = None,
    ) -> Session:
        async def work(db: SqlConnection, row: SessionRow) -> Session:
            child = await forks.fork(db, row, at, title, view, self._random, rewrite)
            if actor:
                details = {"session": child.id, "at": child.forked_at}
                await actions.record(db, row, Action("fork", actor, details))
            return child

        return await self._write(id, work)

    async def delete(self, id: str) -> int:
        async def alone(db: SqlConnection) -> int:
            await db.delete_alone()
            return await sessions.delete(
                db, self._index, (await find(db, id, self._owner, to_write=True)).key
            )

        return await self._database.write(alone)

    async def append(
        self,
        id: str,
        messages: Sequence[Message],
        *,
        turn: str,
        after: int | None = None,
        tokens: Sequence[int] | None = None,
        lease: Lease | None = None,
        shown: Mapping[int, Message] | None = None,
    ) -> AppendResult:
        # Encoded before the transaction begins, so that other writers wait only for the disk.
        encoded = await self._encoded(encode_each(messages, tokens, shown))
        return await self._write(
            id,
            lambda db, row: log.append(db, self._index, row, encoded, turn, after),
            lease,
            repeatable=True,
        )

    async def _encoded(self, messages: Iterator[EncodedMessage]) -> list[EncodedMessage]:
        """Encode all messages, a few at a time, so that other tasks can run in between."""
        encoded: list[EncodedMessage] = []
        while True:
            batch = await self._database.compute(lambda: list(islice(messages, ENCODED_AT_ONCE)))
            encoded += batch
            if len(batch) < ENCODED_AT_ONCE:
                return encoded

    async def messages(self, id: str, first: int = 1, last: int | None = None) -> list[StoredMessage]:
        return await self._read(
            id, lambda db, row: log.messages(db, row, first, row.session.messages if last is None else last)
        )

    async def outline(self, id: str, first: int = 1, evidence: str = "") -> SessionOutline:
        return await self._read(id, lambda db, row: outline.read(db, row, first, evidence))

    async def find_by_handle(
        self, handle: str, *, id: str | None = None, last: int | None = None, limit: int = 10
    ) -> list[StoredMessage]:
        return await self._database.read(
            lambda db: log.find_by_handle(db, self._owner, id, handle, last, limit)
        )

    async def pin(self, id: str, sequence: int, *, actor: str = "") -> None:
        async def work(db: SqlConnection, row: SessionRow) -> None:
            if await views.pin(db, row, sequence) and actor:
                await actions.record(db, row, Action("pin", actor, {"message": sequence}))

        await self._write(id, work, repeatable=True)

    async def unpin(self, id: str, sequence: int, *, actor: str = "") -> None:
        async def work(db: SqlConnection, row: SessionRow) -> None:
            if await log.unpin(db, row, sequence) and actor:
                await actions.record(db, row, Action("unpin", actor, {"message": sequence}))

        await self._write(id, work, repeatable=True)

    async def pins(self, id: str) -> list[int]:
        return await self._read(id, lambda db, row: log.pins(db, row.key))

    async def view(self, id: str, number: int | None = None) -> View:
        return await self._read(id, lambda db, row: views.load(db, row, number))

    async def items(self, id: str, view: View | None = None) -> list[ViewItem]:
        async def work(db: SqlConnection, row: SessionRow) -> list[ViewItem]:
            return await views.items(db, row, view or await views.load(db, row, None))

        return await self._read(id, work)

    async def view_size(self, id: str, view: View | None = None) -> tuple[int, int]:
        async def work(db: SqlConnection, row: SessionRow) -> tuple[int, int]:
            return await views.view_size(db, row, view or await views.load(db, row, None))

        return await self._read(id, work)

    async def node(self, node: str) -> Node:
        return await self._database.read(lambda db: nodes.load(db, node, self._owner))

    async def nodes(self, id: str, *, inherited: bool = False) -> list[Node]:
        work = nodes.of_lineage if inherited else nodes.of_session
        return await self._read(id, work)

    async def add_nodes(self, id: str, nodes: Sequence[Node], *, lease: Lease | None = None) -> None:
        await self._write(id, lambda db, row: add_nodes(db, row, nodes), lease, repeatable=True)

    async def commit_compaction(
        self,
        id: str,
        draft: ViewDraft,
        event: CompactionEvent,
        *,
        lease: Lease | None = None,
        action: Action | None = None,
    ) -> View:
        return await self._write(id, lambda db, row: views.commit(db, row, draft, event, action), lease)

    async def record_compaction(self, id: str, event: CompactionEvent) -> CompactionEvent:
        return await self._write(id, lambda db, row: events.record(db, row, event))

    async def undo(self, id: str, *, lease: Lease | None = None, actor: str = "") -> View:
        return await self._write(id, lambda db, row: views.undo(db, row, actor), lease)

    async def redo(self, id: str, *, lease: Lease | None = None, actor: str = "") -> View:
        return await self._write(id, lambda db, row: views.redo(db, row, actor), lease)

    async def undone_view(self, id: str) -> View | None:
        return await self._read(id, views.undone)

    async def record_action(self, id: str, action: Action) -> None:
        await self._write(id, lambda db, row: actions.record(db, row, action))

    async def actions(self, id: str, *, limit: int = 100) -> list[Action]:
        return await self._read(id, lambda db, row: actions.newest(db, row, limit))

    async def edits(self, id: str) -> PersonEdits:
        return await self._read(id, actions.edits)

    async def compactions(self, id: str, *, limit: int = 100) -> list[CompactionEvent]:
        return await self._read(id, lambda db, row: events.newest(db, row, limit))

    async def compaction(self, id: str, number: int) -> CompactionEvent:
        return await self._read(id, lambda db, row: events.numbered(db, row, number))

    async def record_usage(self, id: str, usage: UsageRecord) -> UsageRecord:
        return await self._write(id, lambda db, row: events.record_usage(db, row, usage))

    async def usage(self, id: str, *, limit: int = 1_000) -> list[UsageRecord]:
        return await self._read(id, lambda db, row: events.newest_usage(db, row, limit))

    async def usage_total(self, id: str) -> UsageTotal:
        return await self._read(id, events.usage_total)

    async def acquire(
        self, id: str, holder: str, seconds: float, *, purpose: str = "compact"
    ) -> Lease | None:
        return await self._write(
            id, lambda db, row: leases.acquire(db, row, purpose, holder, seconds), repeatable=True
        )

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        return await self._write(
            lease.session, lambda db, row: leases.renew(db, row, lease, seconds), repeatable=True
        )

    async def release(self, lease: Lease) -> None:
        await self._write(lease.session, lambda db, row: leases.release(db, row, lease), repeatable=True)

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._database.read(
            lambda db: search.search(db, self._index, self._owner, query, time.monotonic), is_long=True
        )

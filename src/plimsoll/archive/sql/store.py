"""`SqlStore`: the whole database, which opens archives bound to one owner each."""

from random import Random

from plimsoll.archive.inbox import Inbox
from plimsoll.archive.interface import Archive
from plimsoll.archive.keys import KeyStore
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import Session
from plimsoll.archive.replies import ReplyArchive
from plimsoll.archive.sql import integrity_check, search, sessions
from plimsoll.archive.sql.archive import SqlArchive
from plimsoll.archive.sql.connection import Database, SqlConnection
from plimsoll.archive.sql.inbox import SqlInbox
from plimsoll.archive.sql.index import Index
from plimsoll.archive.sql.keys import SqlKeys
from plimsoll.archive.sql.lineage import find_anywhere
from plimsoll.archive.sql.replies import ReplyGroups, SqlReplies
from plimsoll.archive.store import ArchiveStore


class SqlStore(ArchiveStore):
    """A database. `SqliteStore` and `PostgresStore` open one."""

    def __init__(self, database: Database, index: Index, random: Random) -> None:
        self._database = database
        self._index = index
        self._random = random
        self._keys = SqlKeys(database)
        self._reply_groups = ReplyGroups(database)

    def for_owner(self, owner: Owner) -> Archive:
        return SqlArchive(self._database, self._index, self._random, owner)

    @property
    def keys(self) -> KeyStore:
        return self._keys

    def inbox(self, account: str) -> Inbox:
        return SqlInbox(self._database, account)

    def replies(self, owner: Owner) -> ReplyArchive:
        return SqlReplies(self._database, self._reply_groups, owner)

    async def close(self) -> None:
        await self._reply_groups.close()
        await self._database.close()

    async def session(self, id: str) -> Session:
        return (await self._database.read(lambda db: find_anywhere(db, id))).session

    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        return await self._database.read(lambda db: sessions.newest_first(db, limit, offset, prefix, None))

    async def check(self) -> list[str]:
        async def work(db: SqlConnection) -> list[str]:
            return [wrong async for wrong in integrity_check.faults(db, self._index)]

        return await self._database.read(work)

    async def repair_search_index(self) -> int:
        return await self._database.write(lambda db: search.repair_index(db, self._index), repeatable=True)

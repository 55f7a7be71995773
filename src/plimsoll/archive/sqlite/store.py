"""`SqliteStore`: the archive in one file."""

import time
from pathlib import Path
from random import Random

from plimsoll.archive.sql.store import SqlStore
from plimsoll.archive.sqlite.connection import BUSY_SECONDS, Clock, SqliteDatabase
from plimsoll.archive.sqlite.index import SqliteIndex


class SqliteStore(SqlStore):
    """Sessions in one SQLite file. Open it with `await SqliteStore.open(path)`."""

    def __init__(self, database: SqliteDatabase, random: Random) -> None:
        super().__init__(database, SqliteIndex(), random)
        self._path = database.path

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock = time.time,
        random: Random | None = None,
        busy_seconds: float = BUSY_SECONDS,
    ) -> "SqliteStore":
        """Open the archive in this file; create or migrate it if needed."""
        database = SqliteDatabase(path, clock, busy_seconds=busy_seconds)
        try:
            await database.open()
        except BaseException:
            await database.close()
            raise
        return cls(database, random or Random())

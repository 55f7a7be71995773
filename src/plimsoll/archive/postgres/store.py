"""`PostgresStore`: the archive in a PostgreSQL database, shared by many machines."""

from random import Random

from plimsoll.archive.postgres.connection import STALL_SECONDS, WAIT_SECONDS, Clock, PostgresDatabase
from plimsoll.archive.postgres.failures import address_of
from plimsoll.archive.postgres.index import PostgresIndex
from plimsoll.archive.sql.store import SqlStore


class PostgresStore(SqlStore):
    """Sessions in a database. Open it with `await PostgresStore.open(url)`."""

    def __init__(self, database: PostgresDatabase, index: PostgresIndex, random: Random) -> None:
        super().__init__(database, index, random)
        self._address = database.address

    def __repr__(self) -> str:
        return f"PostgresStore({self._address.shown!r})"

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        wait: float = WAIT_SECONDS,
        stall: float = STALL_SECONDS,
    ) -> "PostgresStore":
        """Open the archive in this database; create or migrate its tables.

        Time is the server's, so that leases expire for all machines at the same time; `clock` is for tests.
        """
        database = PostgresDatabase(address_of(url), clock, wait=wait, stall=stall)
        try:
            has_grams = await database.open()
        except BaseException:
            await database.close()
            raise
        return cls(database, PostgresIndex(has_grams), random or Random())

"""Transactions on a PostgreSQL server.

    tasks ──► pool (few connections) ── BEGIN … COMMIT ──► server
                 │
                 └─ a broken connection is replaced; an interrupted transaction runs again if that is
                    safe: it only read, or its COMMIT was never sent, or it is repeatable

A writer locks the session's row first, so writers of one session run one after another, and writers
of different sessions do not wait. Time is the server's. The server disconnects a process that
stalls inside a transaction.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from plimsoll.archive.postgres.failures import (
    Address,
    is_lost,
    lost,
    readable_errors,
    refused,
    require_server,
)
from plimsoll.archive.postgres.migrate import LOCK, Db, migrate, with_grams
from plimsoll.archive.sql.connection import Database, Record, Result, SqlConnection, Values, Work

CONNECTIONS = 4  # per process
WAIT_SECONDS = 10.0  # for a connection
STALL_SECONDS = 15.0  # maximum stall inside a transaction; shorter than the lock timeout of others
_TRIES = 3  # of a transaction whose connection broke
_BATCH = 64  # rows; a page of hits seldom needs more
_ROWS = 500  # in one INSERT; a statement takes 65,535 values
_SESSION = "SET statement_timeout = '60s'; SET lock_timeout = '30s'; SET client_min_messages = error"
_KEEPALIVE = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}

Clock = Callable[[], float]


class PostgresConnection(SqlConnection):
    """A transaction on the server."""

    for_update = " FOR UPDATE OF s"

    def __init__(self, db: Db, clock: Clock | None) -> None:
        self._db = db
        self._clock = clock
        self._now: float | None = None

    async def rows(self, statement: str, values: Values = ()) -> list[Record]:
        return await (await self._db.execute(_translated(statement), _plain(values))).fetchall()

    async def row(self, statement: str, values: Values = ()) -> Record | None:
        return await (await self._db.execute(_translated(statement), _plain(values))).fetchone()

    async def run(self, statement: str, values: Values = ()) -> int:
        return (await self._db.execute(_translated(statement), _plain(values))).rowcount

    async def insert(self, statement: str, each: Iterable[Values]) -> list[int]:
        # Many rows in one statement and no pipeline, in which the server does not notice a stalled writer.
        head, values_sign, row = statement.partition("VALUES ")
        rows, ids = list(each), list[int]()
        for start in range(0, len(rows), _ROWS):
            batch = rows[start : start + _ROWS]
            whole = f"{head}{values_sign}{', '.join([row] * len(batch))} RETURNING id"
            ids += [id for (id,) in await self.rows(whole, [value for values in batch for value in values])]
        return ids

    async def batches(
        self, statement: str, values: Values = (), *, seconds: float | None = None
    ) -> AsyncGenerator[list[Record], None]:
        try:
            async with self._db.transaction(), self._db.cursor(name="batches") as cursor:  # a savepoint
                if seconds is not None:
                    await self._db.execute(
                        f"SET LOCAL statement_timeout = {max(1, round(seconds * 1_000))}".encode()
                    )
                await cursor.execute(_translated(statement), _plain(values))
                while batch := await cursor.fetchmany(_BATCH):
                    yield batch
        except psycopg.errors.QueryCanceled as error:
            raise TimeoutError from error

    async def now(self) -> float:
        # Read once per transaction; by then a writer has acquired its session.
        if self._now is None and self._clock is not None:
            self._now = self._clock()
        elif self._now is None:
            (now,) = await self.only("SELECT extract(epoch FROM clock_timestamp())::double precision")
            self._now = float(now)
        return self._now

    async def compute(self, work: Callable[[], Result]) -> Result:
        return await asyncio.to_thread(work)

    async def delete_alone(self) -> None:
        await self._db.execute("SELECT pg_advisory_xact_lock(%s, 1)", (LOCK,))

    async def damage(self) -> list[str]:
        return []  # the server checks its own files


class PostgresDatabase(Database):
    """The pool of connections. With a clock, time is not the server's: for tests."""

    def __init__(
        self,
        address: Address,
        clock: Clock | None = None,
        *,
        wait: float = WAIT_SECONDS,
        stall: float = STALL_SECONDS,
    ) -> None:
        self.address = address
        self._clock = clock
        self._begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED; "
            f"SET LOCAL idle_in_transaction_session_timeout = {round(stall * 1_000)}"
        )
        self._pool = AsyncConnectionPool(
            address.conninfo,
            min_size=1,
            max_size=CONNECTIONS,
            timeout=wait,
            open=False,
            configure=_configure,
            check=AsyncConnectionPool.check_connection,
            kwargs=_keywords(wait),
        )
        # The pool logs every failed attempt; users see the error instead.
        logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

    async def open(self) -> bool:
        """Migrate the database. Returns whether substrings have an index."""
        with readable_errors(self.address):
            try:
                first = await psycopg.AsyncConnection.connect(
                    self.address.conninfo, **_keywords(self._pool.timeout)
                )
            except psycopg.OperationalError as error:
                # Not chained: the message contains what users may see of the driver's error.
                raise refused(self.address, error) from None
            async with first:
                encoding = str(first.info.parameter_status("server_encoding"))
                require_server(self.address, first.info.server_version, encoding)
                await migrate(first, self.address)
                has_grams = await with_grams(first)
            await self._pool.open()
        return has_grams

    async def write(
        self, work: Work[Result], *, repeatable: bool = False, awaits_disk: bool = True
    ) -> Result:
        return await self._transaction(self._begin, work, repeatable)

    async def read(self, work: Work[Result], *, is_long: bool = False) -> Result:
        return await self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work, True)

    async def compute(self, work: Callable[[], Result]) -> Result:
        return await asyncio.to_thread(work)

    async def close(self) -> None:
        await self._pool.close()

    async def _transaction(self, begin: str, work: Work[Result], repeatable: bool) -> Result:
        for tries_left in reversed(range(_TRIES)):
            commit_sent = False
            try:
                with readable_errors(self.address):
                    async with self._pool.connection() as db, _rolled_back(db):
                        await db.execute(begin.encode())
                        result = await work(PostgresConnection(db, self._clock))
                        commit_sent = True
                        await db.execute("COMMIT")
                        return result
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                # The server has already rolled back.
                if not tries_left:
                    raise
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
                if commit_sent and not repeatable:
                    raise lost(self.address, unsure=True) from error
                if not tries_left:
                    raise lost(self.address) from error
        raise AssertionError("the last try returns or raises")


@asynccontextmanager
async def _rolled_back(db: Db) -> AsyncGenerator[None, None]:
    """Roll back on any error. A broken connection has already rolled back."""
    try:
        yield
    except BaseException:
        if not db.closed and not db.broken:
            await db.rollback()
        raise


async def _configure(db: Db) -> None:
    await db.execute(_SESSION)


def _keywords(wait: float) -> dict[str, Any]:
    """Connection parameters; those in archive.url take precedence."""
    return {
        "autocommit": True,
        "connect_timeout": max(1, round(wait)),
        "client_encoding": "utf8",
        **_KEEPALIVE,
    }


@lru_cache(maxsize=512)
def _translated(statement: str) -> bytes:
    """The statement with the driver's placeholder for values."""
    return statement.replace("?", "%s").encode("utf-8")


def _plain(values: Values) -> Values:
    """The values without NUL, which PostgreSQL text cannot contain; JSON never has it."""
    return [v.replace("\0", "\ufffd") if isinstance(v, str) and "\0" in v else v for v in values]

"""One SQLite file: open it, run its threads, turn its errors into messages.

    tasks ──► writer thread ── BEGIN IMMEDIATE … COMMIT ──► archive.db      one transaction at a time
          ──► reader threads ── BEGIN … COMMIT ───────────► (WAL)           never wait for the writer
          ──► search threads ── BEGIN … COMMIT ───────────►                 never block the readers

A transaction runs as one function in one thread, so no other task runs between its statements. A
commit is on disk before it is acknowledged (synchronous=FULL), except with `awaits_disk=False`. Other
processes can use the same file at the same time.
"""

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plimsoll.archive.sql.connection import Database, Record, Result, SqlConnection, Values, Work
from plimsoll.archive.sqlite.functions import register
from plimsoll.archive.sqlite.migrate import migrate
from plimsoll.errors import ArchiveError

BUSY_SECONDS = 30.0
READERS = 2  # threads for reads, and as many for searches
_CACHE_KIBIBYTES = 16_384
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_BATCH = 32  # rows; a page of hits rarely needs more
_DURABLE = "PRAGMA synchronous = FULL"
_STEPS = 10_000  # of SQLite's virtual machine between checks of the clock: about a millisecond

Clock = Callable[[], float]


class SqliteConnection(SqlConnection):
    """A transaction in the thread that runs it. It waits only for the disk."""

    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def rows(self, statement: str, values: Values = ()) -> list[Record]:
        return self._db.execute(statement, values).fetchall()

    async def row(self, statement: str, values: Values = ()) -> Record | None:
        found: Record | None = self._db.execute(statement, values).fetchone()
        return found

    async def run(self, statement: str, values: Values = ()) -> int:
        return self._db.execute(statement, values).rowcount

    async def insert(self, statement: str, each: Iterable[Values]) -> list[int]:
        return [int(self._db.execute(statement, values).lastrowid or 0) for values in each]

    async def batches(
        self, statement: str, values: Values = (), *, seconds: float | None = None
    ) -> AsyncGenerator[list[Record], None]:
        if seconds is not None:
            ends = time.monotonic() + seconds
            self._db.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
        try:
            cursor = self._db.execute(statement, values)
            while batch := cursor.fetchmany(_BATCH):
                yield batch
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise TimeoutError from error
            raise
        finally:
            self._db.set_progress_handler(None, 0)

    async def now(self) -> float:
        return self._clock()

    async def compute(self, work: Callable[[], Result]) -> Result:
        return work()

    async def damage(self) -> list[str]:
        found = self._db.execute("PRAGMA integrity_check").fetchall()
        return [f"SQLite says: {line}" for (line,) in found if line != "ok"]


class SqliteDatabase(Database):
    """The file and the threads that work on it."""

    def __init__(self, path: Path, clock: Clock, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._clock = clock
        self._busy_seconds = busy_seconds
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="archive-writer")
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="archive-reader")
        self._searching = ThreadPoolExecutor(READERS, thread_name_prefix="archive-search")
        self._thread_local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._is_closed = False

    async def open(self) -> None:
        """Open and migrate the file; create it if it does not exist."""
        await self._run(self._writing, self._prepare)

    async def write(
        self, work: Work[Result], *, repeatable: bool = False, awaits_disk: bool = True
    ) -> Result:
        write = self._write if awaits_disk else self._write_without_disk
        return await self._run(self._writing, lambda: write(work))

    async def read(self, work: Work[Result], *, is_long: bool = False) -> Result:
        threads = self._searching if is_long else self._reading
        return await self._run(threads, lambda: self._transaction("BEGIN", work))

    async def compute(self, work: Callable[[], Result]) -> Result:
        return await self._run(self._reading, work)

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self._writing.shutdown()
        self._reading.shutdown()
        self._searching.shutdown()
        while self._connections:
            self._connections.pop().close()

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        if self._is_closed:
            raise ArchiveError(f"The archive {self.path} is closed.")
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    def _write(self, work: Work[Result]) -> Result:
        return self._transaction("BEGIN IMMEDIATE", work)

    def _write_without_disk(self, work: Work[Result]) -> Result:
        with readable_errors(self.path):
            connection = self._connection()
            connection.execute("PRAGMA synchronous = NORMAL")  # the next other transaction flushes the log
            try:
                return self._write(work)
            finally:
                connection.execute(_DURABLE)

    def _transaction(self, begin: str, work: Work[Result]) -> Result:
        with readable_errors(self.path):
            connection = self._connection()
            connection.execute(begin)
            try:
                result = _finished(work(SqliteConnection(connection, self._clock)))
                connection.execute("COMMIT")
            except BaseException:
                # A full disk may already have ended the transaction.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._thread_local, "connection", None)
        if found is None:
            found = self._thread_local.connection = connect(self.path, self._busy_seconds)
            self._connections.append(found)
        return found

    def _prepare(self) -> None:
        with readable_errors(self.path):
            _make_private(self.path)
            migrate(self._connection(), self.path)
            self._connection().execute("PRAGMA journal_mode = WAL")


def _finished(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise AssertionError("work on a file waited for something else")


def connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection with the usual settings. Connecting writes nothing."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(_DURABLE)
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        connection.execute("PRAGMA temp_store = MEMORY")
        register(connection)
    except BaseException:  # a damaged file is noticed only here
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, because conversations contain secrets."""
    try:
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE))
    except OSError as error:
        raise ArchiveError(
            f"The archive {path} cannot be opened: {error.strerror or error}. "
            "Set archive.url to a file that you may write, or correct its permissions."
        ) from error


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Convert SQLite errors to messages. Errors in our own SQL are not converted."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The low byte is the primary code of an extended code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        sentence = _SENTENCES.get(code)
        if sentence is None:
            raise
        raise ArchiveError(sentence.format(path=path, error=error)) from error


_SENTENCES = {
    sqlite3.SQLITE_FULL: (
        "The archive {path} cannot grow: {error}. What was being saved was not stored; everything before it is. "
        "Free some space and save again."
    ),
    sqlite3.SQLITE_IOERR: (
        "The archive {path} cannot be read or written: {error}. What was being saved was not stored; everything "
        "before it is. Check the disk and its free space."
    ),
    sqlite3.SQLITE_BUSY: (
        "The archive {path} is busy: another process has been writing to it for too long. Nothing was stored; "
        "try again, or stop that process."
    ),
    sqlite3.SQLITE_CORRUPT: (
        "The archive {path} is damaged ({error}). It was left as it is. Restore it from a backup, or save what can "
        "be read with `sqlite3 FILE .recover`, and set archive.url to another file meanwhile."
    ),
    sqlite3.SQLITE_NOTADB: (
        "{path} is not an archive: it is not an SQLite file, or its beginning is damaged. It was left as it is. "
        "Restore it from a backup, or set archive.url to another file."
    ),
    sqlite3.SQLITE_READONLY: (
        "The archive {path} may not be written: {error}. Correct its permissions, or set archive.url to another file."
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "The archive {path} cannot be opened: {error}. Correct its permissions, or set archive.url to another file."
    ),
}

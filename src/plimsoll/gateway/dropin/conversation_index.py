"""Maps the hash of a client's messages to the stored session; shared by all gateway processes.

    hash of the client's list ─► session, how many of the client's messages, the last reported prompt tokens

Only compacted conversations are indexed; any other needs nothing that its client does not send again. Deleting the
file loses no conversation: the next compaction starts a new session. A second table lists the requests that were
sent with the recall tool, each with the number of its exchanges.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from plimsoll.errors import ArchiveError

FILE_NAME = "gateway.db"
MAX_ROWS = 200_000  # per table; the oldest are deleted first
_BUSY_SECONDS = 10.0
_AT_ONCE = 400  # hashes per query
_TABLE = """
CREATE TABLE IF NOT EXISTS chains (
    hash BLOB PRIMARY KEY, session TEXT NOT NULL, wire INTEGER NOT NULL, lead INTEGER NOT NULL,
    reported INTEGER NOT NULL, estimated INTEGER NOT NULL, ratio REAL NOT NULL, number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS chains_by_number ON chains (number);
CREATE TABLE IF NOT EXISTS recalls (
    hash BLOB PRIMARY KEY, exchanges INTEGER NOT NULL, number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS recalls_by_number ON recalls (number);
"""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The stored conversation whose messages end with this hash."""

    hash: bytes
    session: str
    wire: int  # messages of the client's list
    lead: int  # messages of the log that are its system prompt
    reported: int = 0  # prompt tokens of the last reply, 0 if unknown
    estimated: int = 0  # the estimate of the same prompt
    ratio: float = 1.0


class ConversationIndex:
    """The index in one file; `await ConversationIndex.open(path)`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gateway-index")
        self._db: sqlite3.Connection | None = None

    @classmethod
    async def open(cls, path: Path) -> "ConversationIndex":
        """Open the index in this file, creating it if needed."""
        index = cls(path)
        try:
            await index._run(index._open)
        except BaseException:
            await index.close()
            raise
        return index

    async def close(self) -> None:
        """Close the file."""
        await self._run(self._close)
        self._thread.shutdown()

    async def find(self, chain: Sequence[bytes]) -> IndexEntry | None:
        """The entry of the longest known prefix."""
        return await self._run(lambda: self._find(chain))

    async def put(self, known: IndexEntry) -> None:
        """Store the state of a conversation. Removes the oldest entries when there are too many."""
        await self._run(lambda: self._put(known))

    async def recalls(self, chain: Sequence[bytes]) -> dict[bytes, int]:
        """The requests with the recall tool among these hashes, each with the number of its exchanges."""
        return await self._run(lambda: self._recalls(chain))

    async def has_recalls(self) -> bool:
        """Whether any request had the recall tool."""
        return await self._run(lambda: self._open_db.execute("SELECT 1 FROM recalls").fetchone() is not None)

    async def put_recall(self, hash: bytes, exchanges: int = 0) -> None:
        """Record that a request was sent with the recall tool, and the number of its exchanges."""
        await self._run(lambda: self._put_recall(hash, exchanges))

    async def drop_recall(self, hash: bytes) -> None:
        """Record that a conversation begins with this request, without the recall tool."""
        await self._run(lambda: self._open_db.execute("DELETE FROM recalls WHERE hash = ?", (hash,)))

    async def _run(self, work: Callable[[], Result]) -> Result:
        def run() -> Result:
            try:
                return work()
            except sqlite3.DatabaseError as error:
                raise ArchiveError(
                    f"The index {self._path} cannot be used: {error}. Conversations continue; delete the file if it "
                    "is damaged, or correct its permissions."
                ) from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    @property
    def _open_db(self) -> sqlite3.Connection:
        assert self._db is not None
        return self._db

    def _open(self) -> None:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_TABLE)

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()

    def _find(self, chain: Sequence[bytes]) -> IndexEntry | None:
        for end in range(len(chain), 0, -_AT_ONCE):
            hashes = list(chain[max(0, end - _AT_ONCE) : end])
            row = self._open_db.execute(
                "SELECT hash, session, wire, lead, reported, estimated, ratio FROM chains "
                f"WHERE hash IN ({','.join('?' * len(hashes))}) ORDER BY wire DESC LIMIT 1",
                hashes,
            ).fetchone()
            if row:
                return IndexEntry(*row)
        return None

    def _put(self, known: IndexEntry) -> None:
        (number,) = self._open_db.execute("SELECT coalesce(max(number), 0) + 1 FROM chains").fetchone()
        self._open_db.execute(
            "INSERT OR REPLACE INTO chains VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                known.hash, known.session, known.wire, known.lead, known.reported, known.estimated, known.ratio,
                number,
            ),
        )  # fmt: skip
        self._open_db.execute("DELETE FROM chains WHERE number <= ?", (number - MAX_ROWS,))

    def _recalls(self, chain: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for start in range(0, len(chain), _AT_ONCE):
            hashes = list(chain[start : start + _AT_ONCE])
            marks = ",".join("?" * len(hashes))
            sql = f"SELECT hash, exchanges FROM recalls WHERE hash IN ({marks})"
            found |= dict(self._open_db.execute(sql, hashes).fetchall())
        return found

    def _put_recall(self, hash: bytes, exchanges: int) -> None:
        (number,) = self._open_db.execute("SELECT coalesce(max(number), 0) + 1 FROM recalls").fetchone()
        self._open_db.execute("INSERT OR REPLACE INTO recalls VALUES (?, ?, ?)", (hash, exchanges, number))
        self._open_db.execute("DELETE FROM recalls WHERE number <= ?", (number - MAX_ROWS,))

"""Migrates a database to the current schema, one numbered step and one process at a time.

    version 0 (empty) ──0001──► 1 ──0002──► 2 ──0003──► 3 ──0004──► 4 ──0005──► 5 ──0006──► 6 ──0007──► 7 = today

Each step is one transaction with its number, under an advisory lock: of two processes that
start at once, one waits and finds the work done. Tables of another program or of a later
release are not touched.
"""

import psycopg

from plimsoll.archive.postgres.failures import Address
from plimsoll.archive.sql.migrations import of_later_release, steps
from plimsoll.errors import ArchiveError

PACKAGE = "plimsoll.archive.postgres"
LOCK = 0x504C_494D  # "PLIM"; advisory locks are shared with other programs in the database
_GRAMS = "texts_by_gram"
# One query on the catalog tables: functions such as to_regclass cache missing tables.
_TABLES = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = current_schema() AND c.relname IN "
    "('plimsoll_archive', 'sessions', 'messages', 'turns', 'nodes', 'views', 'events', 'texts')"
)
Db = psycopg.AsyncConnection[tuple[object, ...]]


async def migrate(db: Db, address: Address, target: int | None = None) -> None:
    """Run the steps that are missing; `target` stops earlier, for tests."""
    last = len(steps(PACKAGE)) if target is None else target
    if await _version(db, address) >= last:
        return
    for number in range(1, last + 1):
        async with db.transaction():
            await db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            # Another process may have run this step while we waited for the lock.
            if await _version(db, address) < number:
                await db.execute(steps(PACKAGE)[number - 1].encode("utf-8"))
                await _write_down(db, number)


async def _version(db: Db, address: Address) -> int:
    """The version of the archive; 0 if there is none; raises if other tables use its names."""
    tables = {name for (name,) in await (await db.execute(_TABLES)).fetchall()}
    if not tables:
        return 0
    if "plimsoll_archive" not in tables:
        raise ArchiveError(
            f"The database {address.shown} contains tables of another program with names that Plimsoll needs. "
            "They were not changed; set archive.url to another database, or to another schema with "
            "?options=-csearch_path%3Dplimsoll."
        )
    version = int(str(await _one(db, "SELECT max(version) FROM plimsoll_archive")))
    if version > len(steps(PACKAGE)):
        raise ArchiveError(f"The archive {address.shown} {of_later_release(version, len(steps(PACKAGE)))}")
    return version


async def _write_down(db: Db, number: int) -> None:
    await db.execute("CREATE TABLE IF NOT EXISTS plimsoll_archive (version BIGINT NOT NULL)")
    await db.execute("DELETE FROM plimsoll_archive")
    await db.execute("INSERT INTO plimsoll_archive VALUES (%s)", (number,))


async def with_grams(db: Db) -> bool:
    """Whether there is a trigram index; creates it if the extension pg_trgm is or can be installed."""
    if await _one(db, f"SELECT to_regclass('{_GRAMS}')") is not None:
        return True
    if await _one(db, "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'") is None:
        return False
    try:
        async with db.transaction():
            await db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            await db.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            await db.execute(
                f"CREATE INDEX IF NOT EXISTS {_GRAMS} ON texts USING gin (folded gin_trgm_ops)".encode()
            )
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
        return False  # search works without it; an administrator can install it
    return True


async def _one(db: Db, statement: str) -> object:
    """The first value of the first row; None without a row."""
    row = await (await db.execute(statement.encode("utf-8"))).fetchone()
    return row[0] if row else None

"""Migrates an archive to the current schema, one numbered step at a time.

    version 0 (empty) ──0001──► 1 ──0002──► 2 … 7 ──0008──► 8 = today

Each step is one transaction with its number, so a crash leaves a known version. A file of another program or of a
later release is not changed.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from plimsoll.archive.sql.migrations import of_later_release, steps
from plimsoll.errors import ArchiveError

APPLICATION = 0x504C_494D  # "PLIM" in the header of the file
PACKAGE = "plimsoll.archive.sqlite"


def migrate(connection: sqlite3.Connection, path: Path, target: int | None = None) -> None:
    """Run the steps that are missing; `target` stops earlier, for tests."""
    last = len(steps(PACKAGE)) if target is None else target
    if _version(connection, path) >= last:
        return
    for number in range(1, last + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have run this step while we waited for the lock.
            if _version(connection, path) < number:
                for statement in _statements(steps(PACKAGE)[number - 1]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the archive; 0 for an empty file, an error for a file that is not ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != APPLICATION:
        raise ArchiveError(
            f"{path} is an SQLite file of another program. It was left as it is; set archive.url to another file."
        )
    if version > len(steps(PACKAGE)):
        raise ArchiveError(f"The archive {path} {of_later_release(version, len(steps(PACKAGE)))}")
    return int(version)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one; running it as a whole would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""

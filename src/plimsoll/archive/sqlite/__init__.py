"""The archive in one SQLite file."""

from plimsoll.archive.sqlite.store import SqliteArchive

__all__ = ["SqliteArchive"]

"""The archive in one SQLite file."""

from plimsoll.archive.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]

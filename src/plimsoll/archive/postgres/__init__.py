"""The archive in a PostgreSQL database. Needs the extra `postgres`."""

from plimsoll.archive.postgres.store import PostgresStore

__all__ = ["PostgresStore"]

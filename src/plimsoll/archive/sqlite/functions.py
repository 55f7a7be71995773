"""SQL functions for migrations that must read messages."""

import json
import sqlite3

from plimsoll.archive.encoding import searchable, spaced, storable


def register(connection: sqlite3.Connection) -> None:
    """Register the functions on a connection."""
    connection.create_function("plain_text", 1, plain_text, deterministic=True)
    connection.create_function("spaced_text", 1, spaced_text, deterministic=True)


def plain_text(body: str) -> str:
    """The trigram-index text of a stored message."""
    return storable(searchable(json.loads(body)))


def spaced_text(body: str) -> str:
    """The word-index text of a stored message."""
    return spaced(plain_text(body))

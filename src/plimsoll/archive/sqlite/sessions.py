"""Sessions: beginning, listing, forking, deleting."""

import sqlite3
from random import Random

from plimsoll.archive.ids import session_ids
from plimsoll.archive.records import Session
from plimsoll.archive.sqlite.lineage import SELECT, Row, clipped, find, row_of, segments
from plimsoll.archive.sqlite.log import require_message

_INSERT = (
    "INSERT INTO sessions (id, title, model, engine, parent, forked_at, created, updated, messages, tokens, view) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
# The views that the forks of a session can still go back to, and the nodes that these stand on.
_NEEDED = """
WITH RECURSIVE
  heirs (key, view) AS (
    SELECT key, view FROM sessions WHERE parent = :key
    UNION SELECT s.key, s.view FROM sessions s JOIN heirs ON s.parent = heirs.key),
  kept_views (id) AS (
    SELECT view FROM heirs
    UNION SELECT previous FROM views WHERE session IN (SELECT key FROM heirs)
    UNION SELECT v.previous FROM views v JOIN kept_views k ON v.id = k.id),
  kept_nodes (id) AS (
    SELECT node FROM view_references
      WHERE (view IN (SELECT id FROM kept_views) OR view IN
        (SELECT id FROM views WHERE session IN (SELECT key FROM heirs))) AND node IS NOT NULL
    UNION SELECT e.source FROM edges e JOIN nodes n ON n.id = e.node
      WHERE n.session IN (SELECT key FROM heirs) AND e.source IS NOT NULL
    UNION SELECT e.source FROM edges e JOIN kept_nodes k ON e.node = k.id WHERE e.source IS NOT NULL)
"""
_SWEEP = (
    "DELETE FROM view_references WHERE view IN (SELECT id FROM views WHERE session = :key "
    "AND id NOT IN (SELECT id FROM kept_views))",
    "DELETE FROM views WHERE session = :key AND id NOT IN (SELECT id FROM kept_views)",
    "DELETE FROM edges WHERE node IN (SELECT id FROM nodes WHERE session = :key "
    "AND id NOT IN (SELECT id FROM kept_nodes))",
    "DELETE FROM nodes WHERE session = :key AND id NOT IN (SELECT id FROM kept_nodes)",
    "DELETE FROM shortenings WHERE session = :key AND id NOT IN "
    "(SELECT shortening FROM view_references WHERE shortening IS NOT NULL)",
)
_OWN = ("pins", "events", "usage", "leases")


def create(
    db: sqlite3.Connection, title: str, model: str, engine: str, now: float, random: Random
) -> Session:
    """A session without messages."""
    return _new(db, (title, model, engine, None, 0), now, (0, 0, 0), random)


def fork(
    db: sqlite3.Connection, row: Row, at: int | None, title: str | None, now: float, random: Random
) -> Session:
    """A session that begins as another one stood after message `at`. Only pins are written again."""
    parent = row.session
    point = parent.messages if at is None else at
    if point:
        require_message(row, point)
    facts = (parent.title if title is None else title, parent.model, parent.engine, row.key, point)
    child = _new(db, facts, now, (point, total_at(db, row, point), view_at(db, row, point)), random)
    db.execute(
        "INSERT INTO pins SELECT (SELECT key FROM sessions WHERE id = ?), sequence, time FROM pins "
        "WHERE session = ? AND sequence <= ?",
        (child.id, row.key, point),
    )
    return child


def _new(
    db: sqlite3.Connection,
    facts: tuple[str, str, str, int | None, int],
    now: float,
    state: tuple[int, int, int],
    random: Random,
) -> Session:
    for id in session_ids(now, random):
        if db.execute(_INSERT, (id, *facts, now, now, *state)).rowcount == 1:
            return find(db, id).session
    raise AssertionError("session ids never end")


def total_at(db: sqlite3.Connection, row: Row, sequence: int) -> int:
    """The tokens of all messages up to one; 0 before the first."""
    for segment in clipped(segments(db, row), sequence, sequence):
        (total,) = db.execute(
            "SELECT total FROM messages WHERE session = ? AND sequence = ?", (segment.key, sequence)
        ).fetchone()
        return int(total)
    return 0


def view_at(db: sqlite3.Connection, row: Row, sequence: int) -> int:
    """The newest view, from the one that holds backwards, that knows nothing of later messages."""
    view = row.session.view
    while view:
        through, previous = db.execute("SELECT through, previous FROM views WHERE id = ?", (view,)).fetchone()
        if through <= sequence:
            return view
        view = previous
    return 0


def newest_first(db: sqlite3.Connection, limit: int, offset: int, prefix: str) -> list[Session]:
    """Sessions by their last change."""
    rows = db.execute(
        f"{SELECT} WHERE s.state = 'active' AND s.id >= ? AND s.id < ? "
        "ORDER BY s.updated DESC, s.id DESC LIMIT ? OFFSET ?",
        (prefix, prefix + "\U0010ffff", limit, offset),
    )
    return [row_of(values).session for values in rows]


def update(
    db: sqlite3.Connection, row: Row, title: str | None, model: str | None, engine: str | None
) -> Session:
    """Change what is not None."""
    db.execute(
        "UPDATE sessions SET title = coalesce(?, title), model = coalesce(?, model), "
        "engine = coalesce(?, engine) WHERE key = ?",
        (title, model, engine, row.key),
    )
    return find(db, row.session.id).session


def delete(db: sqlite3.Connection, key: int) -> int:
    """Remove a session. What its forks share stays, hidden, until the last of them goes."""
    shared = _shared(db, key)
    _forget_messages(db, key, above=shared or 0)
    # A turn that a fork shares may be saved again there, and must be known.
    db.execute("DELETE FROM turns WHERE session = ? AND last > ?", (key, shared or 0))
    for table in _OWN:
        db.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
    for statement in _SWEEP:
        db.execute(_NEEDED + statement, {"key": key})
    (parent,) = db.execute("SELECT parent FROM sessions WHERE key = ?", (key,)).fetchone()
    if shared is None:
        db.execute("DELETE FROM sessions WHERE key = ?", (key,))
    else:
        db.execute("UPDATE sessions SET state = 'deleted', title = '', view = 0 WHERE key = ?", (key,))
    (kept,) = db.execute("SELECT count(*) FROM messages WHERE session = ?", (key,)).fetchone()
    # A hidden parent may be needed less now, or not at all.
    if db.execute("SELECT 1 FROM sessions WHERE key = ? AND state = 'deleted'", (parent,)).fetchone():
        delete(db, parent)
    return int(kept)


def _shared(db: sqlite3.Connection, key: int) -> int | None:
    """The last message of a session that a fork of it can read; None where there is no fork."""
    needed: int | None = None
    rows = db.execute("SELECT key, forked_at, state FROM sessions WHERE parent = ?", (key,)).fetchall()
    for child, forked_at, state in rows:
        reaches = forked_at if state == "active" else min(forked_at, _shared(db, child) or 0)
        needed = max(needed or 0, reaches)
    return needed


def _forget_messages(db: sqlite3.Connection, key: int, above: int) -> None:
    where = "FROM messages WHERE session = ? AND sequence > ?"
    db.execute(
        f"INSERT INTO words (words, rowid, text) SELECT 'delete', id, spaced_text (body) {where}",
        (key, above),
    )
    db.execute(
        f"INSERT INTO grams (grams, rowid, text) SELECT 'delete', id, plain_text (body) {where}", (key, above)
    )
    db.execute(f"DELETE {where}", (key, above))

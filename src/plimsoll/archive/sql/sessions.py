"""Sessions: create, list, delete; a fork is created here with the view that `forks.py` chose."""

from random import Random

from plimsoll.archive.encoding import storable
from plimsoll.archive.ids import session_ids
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import Session
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.index import Index
from plimsoll.archive.sql.lineage import SELECT, SessionRow, clipped, find, row_of, segments

_INSERT = (
    "INSERT INTO sessions (id, title, model, engine, parent, forked_at, owner, created, updated, messages, tokens, "
    "view) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
# The views that forks of a session can still return to, their nodes, and the tree over the messages that stay.
_NEEDED = """
WITH RECURSIVE
  gone (key) AS (SELECT CAST(? AS BIGINT)),
  heirs (key, view) AS (
    SELECT key, view FROM sessions WHERE parent = (SELECT key FROM gone)
    UNION SELECT s.key, s.view FROM sessions s JOIN heirs ON s.parent = heirs.key),
  kept_views (id) AS (
    SELECT view FROM heirs
    UNION SELECT previous FROM views WHERE session IN (SELECT key FROM heirs)
    UNION SELECT v.previous FROM views v JOIN kept_views k ON v.id = k.id),
  beyond (id) AS (
    SELECT e.node FROM edges e JOIN nodes n ON n.id = e.node JOIN sessions s ON s.key = n.session
      WHERE n.session = (SELECT key FROM gone) AND e.last > s.forked_at AND e.last >
        (SELECT coalesce(max(sequence), 0) FROM messages WHERE session = (SELECT key FROM gone))
    UNION SELECT e.node FROM edges e JOIN beyond b ON e.source = b.id),
  kept_nodes (id) AS (
    SELECT id FROM nodes WHERE session = (SELECT key FROM gone) AND kind IN ('leaf', 'condensed')
      AND EXISTS (SELECT 1 FROM heirs) AND EXISTS (SELECT 1 FROM edges WHERE node = nodes.id)
      AND id NOT IN (SELECT id FROM beyond)
    UNION
    SELECT node FROM view_references
      WHERE (view IN (SELECT id FROM kept_views) OR view IN
        (SELECT id FROM views WHERE session IN (SELECT key FROM heirs))) AND node IS NOT NULL
    UNION SELECT e.source FROM edges e JOIN nodes n ON n.id = e.node
      WHERE n.session IN (SELECT key FROM heirs) AND e.source IS NOT NULL
    UNION SELECT e.source FROM edges e JOIN kept_nodes k ON e.node = k.id WHERE e.source IS NOT NULL)
"""
_SWEEP = (
    "DELETE FROM actions WHERE session = (SELECT key FROM gone) AND view_after NOT IN (SELECT id FROM kept_views)",
    "DELETE FROM view_references WHERE view IN (SELECT id FROM views WHERE session = (SELECT key FROM gone) "
    "AND id NOT IN (SELECT id FROM kept_views))",
    "DELETE FROM views WHERE session = (SELECT key FROM gone) AND id NOT IN (SELECT id FROM kept_views)",
    "DELETE FROM edges WHERE node IN (SELECT id FROM nodes WHERE session = (SELECT key FROM gone) "
    "AND id NOT IN (SELECT id FROM kept_nodes))",
    "DELETE FROM nodes WHERE session = (SELECT key FROM gone) AND id NOT IN (SELECT id FROM kept_nodes)",
    "DELETE FROM shortenings WHERE session = (SELECT key FROM gone) AND id NOT IN "
    "(SELECT shortening FROM view_references WHERE shortening IS NOT NULL)",
)
_SESSION_TABLES = ("pins", "events", "usage", "leases")


async def create(
    db: SqlConnection, title: str, model: str, engine: str, owner: Owner, random: Random
) -> Session:
    """A session without messages."""
    facts = (storable(title), storable(model), storable(engine), None, 0, owner)
    return await _new(db, facts, (0, 0, 0), random)


async def fork(
    db: SqlConnection, row: SessionRow, point: int, title: str | None, view: int, random: Random
) -> Session:
    """Create a session that shares another's messages up to `point` and starts with a view of it."""
    parent = row.session
    named = parent.title if title is None else storable(title)
    facts = (named, parent.model, parent.engine, row.key, point, parent.owner)
    state = (point, await total_at(db, row, point), view)
    child = await _new(db, facts, state, random)
    await db.run(
        "INSERT INTO pins SELECT (SELECT key FROM sessions WHERE id = ?), sequence, time FROM pins "
        "WHERE session = ? AND sequence <= ?",
        (child.id, row.key, point),
    )
    return child


async def _new(
    db: SqlConnection,
    facts: tuple[str, str, str, int | None, int, Owner],
    state: tuple[int, int, int],
    random: Random,
) -> Session:
    now = await db.now()
    for id in session_ids(now, random):
        if await db.run(_INSERT, (id, *facts, now, now, *state)) == 1:
            return (await find(db, id, facts[-1])).session
    raise AssertionError("session ids never end")


async def total_at(db: SqlConnection, row: SessionRow, sequence: int) -> int:
    """The tokens of all messages up to this one; 0 before the first."""
    for segment in clipped(await segments(db, row), sequence, sequence):
        (total,) = await db.only(
            "SELECT total FROM messages WHERE session = ? AND sequence = ?", (segment.key, sequence)
        )
        return int(total)
    return 0


async def newest_first(
    db: SqlConnection, limit: int, offset: int, prefix: str, owner: Owner | None
) -> list[Session]:
    """Sessions of an owner, or of all owners (None, for administration), most recently changed first."""
    own, parameters = ("AND s.owner = ? ", [owner]) if owner is not None else ("", [])
    prefix = storable(prefix)
    rows = await db.rows(
        f"{SELECT} WHERE s.state = 'active' AND s.id >= ? AND s.id < ? {own}"
        "ORDER BY s.updated DESC, s.id DESC LIMIT ? OFFSET ?",
        (prefix, prefix + "\U0010ffff", *parameters, limit, offset),
    )
    return [row_of(values).session for values in rows]


async def update(
    db: SqlConnection, row: SessionRow, title: str | None, model: str | None, engine: str | None
) -> Session:
    """Change the fields that are not None."""
    await db.run(
        "UPDATE sessions SET title = coalesce(?, title), model = coalesce(?, model), "
        "engine = coalesce(?, engine) WHERE key = ?",
        (*(None if text is None else storable(text) for text in (title, model, engine)), row.key),
    )
    return (await find(db, row.session.id, row.session.owner)).session


async def delete(db: SqlConnection, index: Index, key: int) -> int:
    """Delete a session. What its forks share stays, hidden, until the last of them is deleted."""
    shared = await _shared(db, key)
    await _forget_messages(db, index, key, above=shared or 0)
    # A turn that a fork shares may be saved again there and must be recognised.
    await db.run("DELETE FROM turns WHERE session = ? AND last > ?", (key, shared or 0))
    for table in _SESSION_TABLES:
        await db.run(f"DELETE FROM {table} WHERE session = ?", (key,))
    for statement in _SWEEP:
        await db.run(_NEEDED + statement, (key,))
    (parent,) = await db.only("SELECT parent FROM sessions WHERE key = ?", (key,))
    if shared is None:
        await db.run("DELETE FROM sessions WHERE key = ?", (key,))
    else:
        await db.run("UPDATE sessions SET state = 'deleted', title = '', view = 0 WHERE key = ?", (key,))
    (kept,) = await db.only("SELECT count(*) FROM messages WHERE session = ?", (key,))
    # The fork may have been the last user of a hidden parent.
    if await db.row("SELECT 1 FROM sessions WHERE key = ? AND state = 'deleted'", (parent,)):
        await delete(db, index, parent)
    return int(kept)


async def _shared(db: SqlConnection, key: int) -> int | None:
    """The last message of a session that a fork can read; None if there is no fork."""
    needed: int | None = None
    rows = await db.rows("SELECT key, forked_at, state FROM sessions WHERE parent = ?", (key,))
    for child, forked_at, state in rows:
        reaches = forked_at if state == "active" else min(forked_at, await _shared(db, child) or 0)
        needed = max(needed or 0, reaches)
    return needed


async def _forget_messages(db: SqlConnection, index: Index, key: int, above: int) -> None:
    await index.forget(db, key, above)
    for table in ("messages", "shown"):
        await db.run(f"DELETE FROM {table} WHERE session = ? AND sequence > ?", (key, above))

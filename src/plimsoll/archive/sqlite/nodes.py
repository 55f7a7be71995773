"""Summary nodes and the edges to what they were made from."""

import json
import sqlite3
from collections.abc import Sequence

from plimsoll.archive.encoding import to_json
from plimsoll.archive.ids import edges_of
from plimsoll.archive.records import Node, NodeLink, Source, Span
from plimsoll.errors import InvalidConversation, UserError

_SELECT = (
    "SELECT n.id, n.body, n.kind, n.depth, n.tokens, n.model, n.degraded, n.details, s.id, n.created "
    "FROM nodes n JOIN sessions s ON s.key = n.session"
)


def insert(db: sqlite3.Connection, key: int, node: Node, now: float) -> None:
    """Store a node. One that says the same about the same is already there after an undone compaction."""
    body = to_json(node.message)
    known = db.execute("SELECT session, body FROM nodes WHERE id = ?", (node.id,)).fetchone()
    if known is not None:
        if known != (key, body):
            raise InvalidConversation(f"Node {node.id} exists already and says something else.")
        return
    details = to_json(dict(node.details))
    values = (
        node.id, key, node.kind, node.depth, node.tokens, node.model, node.degraded, now, details, body
    )  # fmt: skip
    db.execute("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    for position, (first, last, source) in enumerate(edges_of(node.sources)):
        if source and not exists(db, source):
            raise InvalidConversation(f"Node {node.id} was made from node {source}, which is not stored.")
        db.execute(
            "INSERT INTO edges VALUES (?, ?, ?, ?, ?)",
            (node.id, position, first or None, last or None, source or None),
        )


def exists(db: sqlite3.Connection, node: str) -> bool:
    """Whether a node is stored."""
    return db.execute("SELECT 1 FROM nodes WHERE id = ?", (node,)).fetchone() is not None


def load(db: sqlite3.Connection, node: str) -> Node:
    """The node of this id."""
    values = db.execute(f"{_SELECT} WHERE n.id = ?", (node,)).fetchone()
    if values is None:
        raise UserError(f"There is no node {node!r}. `plimsoll sessions show ID --compactions` names them.")
    return _node(db, values)


def of_session(db: sqlite3.Connection, key: int) -> list[Node]:
    """All nodes that a session wrote, the oldest first."""
    rows = db.execute(f"{_SELECT} WHERE n.session = ? ORDER BY n.created, n.rowid", (key,)).fetchall()
    return [_node(db, values) for values in rows]


def _node(db: sqlite3.Connection, values: Sequence[object]) -> Node:
    id, body, kind, depth, tokens, model, degraded, details, session, created = values
    return Node(
        id=str(id),
        message=json.loads(str(body)),
        sources=_sources(db, str(id)),
        kind="summary" if kind == "summary" else "stub",
        depth=int(str(depth)),
        tokens=int(str(tokens)),
        model=str(model),
        degraded=bool(degraded),
        details=json.loads(str(details)),
        session=str(session),
        created=float(str(created)),
    )


def _sources(db: sqlite3.Connection, node: str) -> tuple[Source, ...]:
    rows = db.execute("SELECT first, last, source FROM edges WHERE node = ? ORDER BY position", (node,))
    return tuple(NodeLink(source) if source else Span(first, last) for first, last, source in rows)

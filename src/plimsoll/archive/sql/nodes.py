"""Summary nodes and the edges to their sources."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll.archive.encoding import storable, to_json
from plimsoll.archive.ids import edges_of, node_id
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import Node, NodeLink, Source, Span
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.lineage import SessionRow
from plimsoll.errors import InvalidConversation, UserError

_SELECT = (
    "SELECT n.id, n.body, n.kind, n.depth, n.tokens, n.model, n.degraded, n.details, s.id, n.created "
    "FROM nodes n JOIN sessions s ON s.key = n.session"
)
_INSERT = (
    "INSERT INTO nodes (id, session, kind, depth, tokens, model, degraded, created, details, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


async def insert(db: SqlConnection, row: SessionRow, node: Node) -> None:
    """Store a node. An equal one may already exist after an undone compaction."""
    # The id depends on session and text, so a node can never replace one of another session.
    if node.id != node_id(row.session.id, node.message, node.sources):
        raise InvalidConversation(f"{node.id} is not the id of this node: it must be made with `node_id`.")
    body = to_json(node.message)
    known = await db.row("SELECT session, body FROM nodes WHERE id = ?", (node.id,))
    if known is not None:
        if known != (row.key, body):
            raise InvalidConversation(f"Node {node.id} already exists with different content.")
        return
    details = to_json(dict(node.details))
    values = (
        node.id, row.key, node.kind, node.depth, node.tokens, node.model, node.degraded, await db.now(), details,
        body,
    )  # fmt: skip
    await db.run(_INSERT, values)
    for position, (first, last, source) in enumerate(edges_of(node.sources)):
        if source and not await exists(db, source, row.session.owner):
            raise InvalidConversation(f"Node {node.id} was made from node {source}, which is not stored.")
        await db.run(
            "INSERT INTO edges VALUES (?, ?, ?, ?, ?)",
            (node.id, position, first or None, last or None, source or None),
        )


async def exists(db: SqlConnection, node: str, owner: Owner) -> bool:
    """Whether a node is stored in one of the owner's sessions."""
    return await db.row(f"{_SELECT} WHERE n.id = ? AND s.owner = ?", (storable(node), owner)) is not None


async def load(db: SqlConnection, node: str, owner: Owner) -> Node:
    """The owner's node with this id."""
    values = await db.row(f"{_SELECT} WHERE n.id = ? AND s.owner = ?", (storable(node), owner))
    if values is None:
        raise UserError(f"There is no node {node!r}. `plimsoll sessions show ID --compactions` names them.")
    return await _node(db, values)


async def add(db: SqlConnection, row: SessionRow, new: Sequence[Node]) -> None:
    """Store nodes in order; a node's sources come before it."""
    for node in new:
        await insert(db, row, node)


async def of_session(db: SqlConnection, row: SessionRow) -> list[Node]:
    """All nodes that a session wrote, oldest first."""
    return await _written_by(db, row.key)


async def of_lineage(db: SqlConnection, row: SessionRow) -> list[Node]:
    """The nodes of a session, and those of its ancestors about messages that it shares.

    Nodes that an ancestor wrote after the fork are left out: the fork may have its own about the same messages.
    """
    upwards = [(await _written_by(db, row.key), row.session.messages)]
    shared, parent, until = row.session.forked_at, row.parent, row.session.created
    while parent is not None:
        before = [node for node in await _written_by(db, parent) if node.created <= until]
        upwards.append((before, shared))
        found = await db.only("SELECT forked_at, parent, created FROM sessions WHERE key = ?", (parent,))
        shared, parent, until = min(shared, found[0]), found[1], min(until, found[2])
    return list(_about([(node, last) for found, last in reversed(upwards) for node in found]))


def _about(found: Sequence[tuple[Node, int]]) -> Iterator[Node]:
    """The nodes, oldest first, that cover no messages after the number next to them."""
    beyond: set[str] = set()
    for node, last in found:
        for source in node.sources:
            if source.node in beyond if isinstance(source, NodeLink) else source.last > last:
                beyond.add(node.id)
        if node.id not in beyond:
            yield node


async def _written_by(db: SqlConnection, key: int) -> list[Node]:
    rows = await db.rows(f"{_SELECT} WHERE n.session = ? ORDER BY n.created, n.rowid", (key,))
    return [await _node(db, values) for values in rows]


async def _node(db: SqlConnection, values: Sequence[Any]) -> Node:
    id, body, kind, depth, tokens, model, degraded, details, session, created = values
    return Node(
        id=id,
        message=json.loads(body),
        sources=await _sources(db, id),
        kind=kind,
        depth=depth,
        tokens=tokens,
        model=model,
        degraded=bool(degraded),
        details=json.loads(details),
        session=session,
        created=created,
    )


async def _sources(db: SqlConnection, node: str) -> tuple[Source, ...]:
    rows = await db.rows("SELECT first, last, source FROM edges WHERE node = ? ORDER BY position", (node,))
    return tuple(NodeLink(source) if source else Span(first, last) for first, last, source in rows)

"""Users' actions on sessions: the audit trail, and what their edits removed from a view."""

import json
from collections.abc import Sequence
from dataclasses import replace

from plimsoll.archive.encoding import to_json
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import Action, Node, PersonEdits, Span
from plimsoll.archive.sql import nodes
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.lineage import SessionRow

_COLUMNS = "action, actor, details, time, view_before, view_after"
# Edits count as long as the view that they created is the current one or its ancestor: an undo reverts them.
_EDITS = """
WITH RECURSIVE chain (id, previous) AS (
    SELECT id, previous FROM views WHERE id = CAST(? AS BIGINT)
    UNION SELECT v.id, v.previous FROM views v JOIN chain ON v.id = chain.previous)
SELECT a.action, a.actor, a.details, a.view_after FROM actions a JOIN chain ON a.view_after = chain.id
WHERE a.action IN ('drop', 'edit') ORDER BY a.id
"""


async def insert(db: SqlConnection, row: SessionRow, action: Action, before: int, after: int) -> None:
    """Add an action with the views before and after it."""
    await db.run(
        f"INSERT INTO actions (session, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row.key, action.action, action.actor, to_json(dict(action.details)), await db.now(), before, after),
    )


async def record(db: SqlConnection, row: SessionRow, action: Action) -> None:
    """Add an action that did not change the view."""
    await insert(db, row, action, row.session.view, row.session.view)


async def newest(db: SqlConnection, row: SessionRow, limit: int) -> list[Action]:
    """The newest actions, in chronological order."""
    rows = await db.rows(
        f"SELECT {_COLUMNS} FROM actions WHERE session = ? ORDER BY id DESC LIMIT ?", (row.key, limit)
    )
    return [
        Action(action, actor, json.loads(details), row.session.id, *rest)
        for action, actor, details, *rest in reversed(rows)
    ]


async def edits(db: SqlConnection, row: SessionRow) -> PersonEdits:
    """What users removed from the current view."""
    found = PersonEdits()
    for edit in await edits_before(db, row.session.view):
        found = replace(found, views=(*found.views, edit.view_after))
        if edit.action == "drop":
            found = replace(found, dropped=(*found.dropped, *edit.details["messages"]))
        else:
            node = await nodes.load(db, edit.details["node"], row.session.owner)
            found = replace(found, summary=node, covered=await _covered(db, [node], row.session.owner))
    return found


async def edits_before(db: SqlConnection, view: int) -> list[Action]:
    """The edits that created a view or one of its ancestors, oldest first."""
    return [
        Action(action, actor, json.loads(details), view_after=made)
        for action, actor, details, made in await db.rows(_EDITS, (view,))
    ]


async def _covered(db: SqlConnection, summaries: Sequence[Node], owner: Owner) -> tuple[Span, ...]:
    """The messages that nodes cover, directly and through other nodes."""
    spans: set[Span] = set()
    waiting, known = list(summaries), {node.id for node in summaries}
    while waiting:
        for source in waiting.pop().sources:
            if isinstance(source, Span):
                spans.add(source)
            elif source.node not in known:
                known.add(source.node)
                waiting.append(await nodes.load(db, source.node, owner))
    return tuple(sorted(spans, key=lambda span: (span.first, span.last)))

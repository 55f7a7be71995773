"""The outline of a session: columns of the log and the references of all its views, without a body."""

from plimsoll.archive.outline import ReferenceOutline, SessionOutline, ViewOutline
from plimsoll.archive.sql import events
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.lineage import Segment, SessionRow, clipped, segments

EVENTS, REQUESTS = 1_000, 20_000  # the newest of each
_COLUMNS = (
    "SELECT m.role, coalesce(s.tokens, m.tokens), m.time, m.media FROM messages m "
    "LEFT JOIN shown s ON s.session = m.session AND s.sequence = m.sequence "
    "WHERE m.session = ? AND m.sequence BETWEEN ? AND ? ORDER BY m.sequence"
)
_VIEWS = (
    "SELECT id, previous, through, created, log_length FROM views "
    "WHERE session = ? AND log_length <= ? ORDER BY id"
)
_REFERENCES = (
    "SELECT r.view, r.first, r.last, s.sequence, s.tokens, r.node FROM view_references r "
    "JOIN views v ON v.id = r.view LEFT JOIN shortenings s ON s.id = r.shortening "
    "WHERE v.session = ? ORDER BY r.view, r.position"
)
# Nodes in a view; an engine's tree has many more.
_NODES = (
    "SELECT id, tokens, body FROM nodes WHERE id IN "
    "(SELECT r.node FROM view_references r JOIN views v ON v.id = r.view WHERE v.session = ?)"
)


async def read(db: SqlConnection, row: SessionRow, first: int, evidence: str) -> SessionOutline:
    """The outline from message `first` on, with all views."""
    whole = await segments(db, row)
    columns = [
        values
        for segment in clipped(whole, first, row.session.messages)
        for values in await db.rows(_COLUMNS, (segment.key, segment.first, segment.last))
    ]
    if all(segment.key != row.key for segment in whole):  # a fork without its own messages may have views
        whole.append(Segment(row.key, 0, row.session.messages))
    roles, tokens, times, media = zip(*columns, strict=True) if columns else ((),) * 4
    views = [view for segment in whole for view in await _views(db, row, segment, evidence)]
    return SessionOutline(
        row.session,
        first,
        roles,
        tokens,
        times,
        media,
        tuple(views),
        tuple(await events.newest(db, row, EVENTS, ledgers=False)),
        await events.usage_columns(db, row, REQUESTS),
    )


async def _views(db: SqlConnection, row: SessionRow, segment: Segment, evidence: str) -> list[ViewOutline]:
    """The views that a segment's session created; of a parent, only those that cover shared messages only."""
    last = row.session.messages if segment.key == row.key else segment.last
    nodes = {
        id: ReferenceOutline(tokens=tokens, node=id, evidence=_evidence(body, tokens, evidence))
        for id, tokens, body in await db.rows(_NODES, (segment.key,))
    }
    references: dict[int, list[ReferenceOutline]] = {}
    for view, start, end, sequence, short, node in await db.rows(_REFERENCES, (segment.key,)):
        outline = nodes.get(node) or ReferenceOutline(sequence or start or 0, sequence or end or 0, short)
        references.setdefault(view, []).append(outline)
    return [
        ViewOutline(number, previous, through, created, log_length, tuple(references.get(number, ())))
        for number, previous, through, created, log_length in await db.rows(_VIEWS, (segment.key, last))
    ]


def _evidence(body: str, tokens: int, heading: str) -> int:
    """The tokens of a node after a heading, estimated by characters."""
    at = body.rfind(heading) if heading else -1
    return 0 if at < 0 else round(tokens * (len(body) - at) / len(body))

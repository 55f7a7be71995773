"""The outline of a session: columns of the log and the references of all its views, without a body."""

from plimsoll.archive.outline import ReferenceOutline, SessionOutline, ViewOutline
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.lineage import Segment, SessionRow, clipped, segments

_COLUMNS = (
    "SELECT m.role, coalesce(s.tokens, m.tokens), m.time FROM messages m "
    "LEFT JOIN shown s ON s.session = m.session AND s.sequence = m.sequence "
    "WHERE m.session = ? AND m.sequence BETWEEN ? AND ? ORDER BY m.sequence"
)
_VIEWS = (
    "SELECT id, previous, through, created, log_length FROM views "
    "WHERE session = ? AND log_length <= ? ORDER BY id"
)
_REFERENCES = (
    "SELECT r.view, r.first, r.last, s.sequence, s.tokens, r.node, n.tokens FROM view_references r "
    "JOIN views v ON v.id = r.view LEFT JOIN shortenings s ON s.id = r.shortening "
    "LEFT JOIN nodes n ON n.id = r.node WHERE v.session = ? ORDER BY r.view, r.position"
)


async def read(db: SqlConnection, row: SessionRow, first: int) -> SessionOutline:
    """The outline from message `first` on, with all views."""
    whole = await segments(db, row)
    columns = [
        values
        for segment in clipped(whole, first, row.session.messages)
        for values in await db.rows(_COLUMNS, (segment.key, segment.first, segment.last))
    ]
    if all(
        segment.key != row.key for segment in whole
    ):  # a fork that has no messages of its own may have views
        whole.append(Segment(row.key, 0, row.session.messages))
    views = [view for segment in whole for view in await _views(db, row, segment)]
    return SessionOutline(
        row.session,
        first,
        tuple(role for role, _, _ in columns),
        tuple(tokens for _, tokens, _ in columns),
        tuple(time for _, _, time in columns),
        tuple(views),
    )


async def _views(db: SqlConnection, row: SessionRow, segment: Segment) -> list[ViewOutline]:
    """The views that the owner of a segment made; of a parent, those that know only shared messages."""
    last = row.session.messages if segment.key == row.key else segment.last
    references: dict[int, list[ReferenceOutline]] = {}
    for view, start, end, sequence, short, node, size in await db.rows(_REFERENCES, (segment.key,)):
        references.setdefault(view, []).append(_reference(start, end, sequence, short, node, size))
    return [
        ViewOutline(number, previous, through, created, log_length, tuple(references.get(number, ())))
        for number, previous, through, created, log_length in await db.rows(_VIEWS, (segment.key, last))
    ]


def _reference(
    start: int | None, end: int | None, sequence: int | None, short: int | None, node: str | None, size: int
) -> ReferenceOutline:
    if node is not None:
        return ReferenceOutline(tokens=size, node=node)
    if sequence is not None:
        return ReferenceOutline(sequence, sequence, short)
    return ReferenceOutline(start or 0, end or 0)

"""Compaction events and usage records: append-only rows."""

import json
from dataclasses import replace

from plimsoll.archive.encoding import storable, to_json
from plimsoll.archive.outline import UsageColumns
from plimsoll.archive.records import CompactionEvent, UsageRecord, UsageTotal
from plimsoll.archive.sql.connection import Record, SqlConnection
from plimsoll.archive.sql.lineage import SessionRow
from plimsoll.errors import UserError

_EVENT = (
    "trigger, engine, outcome, reason, messages_before, messages_after, tokens_before, tokens_after, ledger, "
    "model, money, seconds, waited, author, time, view_before, view_after"
)
_USAGE = "model, input, cache_read, cache_write, output, money, purpose, time"


async def insert(db: SqlConnection, key: int, event: CompactionEvent, before: int, after: int) -> float:
    """Add an event with the views before and after it. Returns its time."""
    now = await db.now()
    values = (
        event.trigger, event.engine, event.outcome, storable(event.reason), event.messages_before,
        event.messages_after, event.tokens_before, event.tokens_after, to_json(dict(event.ledger)),
        storable(event.model), event.money,
        event.seconds, event.waited, event.author, now, before, after,
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    await db.run(f"INSERT INTO events (session, {_EVENT}) VALUES (?, {marks})", (key, *values))
    return now


async def record(db: SqlConnection, row: SessionRow, event: CompactionEvent) -> CompactionEvent:
    """Add an event that did not change the view."""
    view = row.session.view
    now = await insert(db, row.key, event, view, view)
    number = await _count(db, row)
    return replace(event, session=row.session.id, time=now, view_before=view, view_after=view, number=number)


async def newest(
    db: SqlConnection, row: SessionRow, limit: int, *, ledgers: bool = True
) -> list[CompactionEvent]:
    """The newest events, in chronological order; `ledgers` are by far the largest part of them."""
    columns = _EVENT if ledgers else _EVENT.replace("ledger", "'{}'")
    rows = await db.rows(
        f"SELECT {columns} FROM events WHERE session = ? ORDER BY id DESC LIMIT ?", (row.key, limit)
    )
    first = await _count(db, row) - len(rows) + 1
    return [_event(row.session.id, number, values) for number, values in enumerate(reversed(rows), first)]


async def numbered(db: SqlConnection, row: SessionRow, number: int) -> CompactionEvent:
    """The event with this number, counted from 1."""
    found = await db.row(
        f"SELECT {_EVENT} FROM events WHERE session = ? ORDER BY id LIMIT 1 OFFSET ?",
        (row.key, max(0, number - 1)),
    )
    if found is None or number < 1:
        count = await _count(db, row)
        known = f"compactions 1 to {count}" if count else "no compactions yet"
        raise UserError(f"Session {row.session.id} has {known}; there is no compaction {number}.")
    return _event(row.session.id, number, found)


async def _count(db: SqlConnection, row: SessionRow) -> int:
    (count,) = await db.only("SELECT count(*) FROM events WHERE session = ?", (row.key,))
    return int(count)


def _event(session: str, number: int, values: Record) -> CompactionEvent:
    fields = dict(zip(_EVENT.split(", "), values, strict=True))
    ledger = json.loads(fields["ledger"])
    return CompactionEvent(**{**fields, "session": session, "ledger": ledger, "number": number})


async def record_usage(db: SqlConnection, row: SessionRow, usage: UsageRecord) -> UsageRecord:
    """Add the usage of a request."""
    now = await db.now()
    await db.run(
        f"INSERT INTO usage (session, {_USAGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.key, storable(usage.model), usage.input, usage.cache_read, usage.cache_write, usage.output,
            usage.money, usage.purpose, now,
        ),
    )  # fmt: skip
    return replace(usage, session=row.session.id, time=now)


async def newest_usage(db: SqlConnection, row: SessionRow, limit: int) -> list[UsageRecord]:
    """The newest records, in chronological order."""
    rows = await db.rows(
        f"SELECT {_USAGE} FROM usage WHERE session = ? ORDER BY id DESC LIMIT ?", (row.key, limit)
    )
    names = _USAGE.split(", ")
    return [
        UsageRecord(**dict(zip(names, values, strict=True)), session=row.session.id)
        for values in reversed(rows)
    ]


async def usage_columns(db: SqlConnection, row: SessionRow, limit: int) -> UsageColumns:
    """The newest records as columns, oldest first."""
    rows = await db.rows(
        f"SELECT {_USAGE} FROM usage WHERE session = ? ORDER BY id DESC LIMIT ?", (row.key, limit)
    )
    columns = zip(*reversed(rows), strict=True) if rows else ((),) * len(_USAGE.split(", "))
    return UsageColumns(**dict(zip(_USAGE.split(", "), map(tuple, columns), strict=True)))


async def usage_total(db: SqlConnection, row: SessionRow) -> UsageTotal:
    """The total of all requests of a session."""
    requests, read, cached, written, output, money, unpriced = await db.only(
        "SELECT count(*), sum(input), sum(cache_read), sum(cache_write), sum(output), sum(money), "
        "count(*) - count(money) FROM usage WHERE session = ?",
        (row.key,),
    )
    # A sum over no rows is NULL, and one over integers may be a decimal.
    read, cached, written, output = (int(count or 0) for count in (read, cached, written, output))
    return UsageTotal(requests, read, cached, written, output, money or 0.0, unpriced)


async def compaction_count(db: SqlConnection, row: SessionRow) -> int:
    """How many compactions were committed, including undone ones."""
    (count,) = await db.only(
        "SELECT count(*) FROM events WHERE session = ? AND outcome = 'compacted'", (row.key,)
    )
    return int(count)

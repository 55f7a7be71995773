"""What happened to views, and what requests cost: rows that are only ever added."""

import json
import sqlite3
from dataclasses import replace
from typing import Any

from plimsoll.archive.encoding import to_json
from plimsoll.archive.records import CompactionEvent, UsageRecord, UsageTotal
from plimsoll.archive.sqlite.lineage import Row

_EVENT = (
    "trigger, engine, outcome, reason, messages_before, messages_after, tokens_before, tokens_after, ledger, "
    "model, money, seconds, waited, time, view_before, view_after"
)
_USAGE = "model, input, cache_read, cache_write, output, money, purpose, time"


def insert(
    db: sqlite3.Connection, key: int, event: CompactionEvent, now: float, before: int, after: int
) -> None:
    """Add an event with the views that it lies between."""
    values = (
        event.trigger, event.engine, event.outcome, event.reason, event.messages_before, event.messages_after,
        event.tokens_before, event.tokens_after, to_json(dict(event.ledger)), event.model, event.money,
        event.seconds, event.waited, now, before, after,
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO events (session, {_EVENT}) VALUES (?, {marks})", (key, *values))


def record(db: sqlite3.Connection, row: Row, event: CompactionEvent, now: float) -> CompactionEvent:
    """Add an event that left the view as it is."""
    view = row.session.view
    insert(db, row.key, event, now, view, view)
    return replace(event, session=row.session.id, time=now, view_before=view, view_after=view)


def newest(db: sqlite3.Connection, row: Row, limit: int) -> list[CompactionEvent]:
    """The newest events, oldest of them first."""
    rows = db.execute(
        f"SELECT {_EVENT} FROM events WHERE session = ? ORDER BY id DESC LIMIT ?", (row.key, limit)
    ).fetchall()
    return [_event(row.session.id, values) for values in reversed(rows)]


def _event(session: str, values: tuple[Any, ...]) -> CompactionEvent:
    fields = dict(zip(_EVENT.split(", "), values, strict=True))
    return CompactionEvent(**{**fields, "session": session, "ledger": json.loads(fields["ledger"])})


def record_usage(db: sqlite3.Connection, row: Row, usage: UsageRecord, now: float) -> UsageRecord:
    """Add what a request used."""
    db.execute(
        f"INSERT INTO usage (session, {_USAGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.key, usage.model, usage.input, usage.cache_read, usage.cache_write, usage.output, usage.money,
            usage.purpose, now,
        ),
    )  # fmt: skip
    return replace(usage, session=row.session.id, time=now)


def newest_usage(db: sqlite3.Connection, row: Row, limit: int) -> list[UsageRecord]:
    """The newest records, oldest of them first."""
    rows = db.execute(
        f"SELECT {_USAGE} FROM usage WHERE session = ? ORDER BY id DESC LIMIT ?", (row.key, limit)
    ).fetchall()
    names = _USAGE.split(", ")
    return [
        UsageRecord(**dict(zip(names, values, strict=True)), session=row.session.id)
        for values in reversed(rows)
    ]


def usage_total(db: sqlite3.Connection, row: Row) -> UsageTotal:
    """All requests of a session together."""
    values = db.execute(
        "SELECT count(*), total(input), total(cache_read), total(cache_write), total(output), total(money), "
        "count(*) - count(money) FROM usage WHERE session = ?",
        (row.key,),
    ).fetchone()
    requests, read, cached, written, output, money, unpriced = values
    return UsageTotal(requests, int(read), int(cached), int(written), int(output), money, unpriced)

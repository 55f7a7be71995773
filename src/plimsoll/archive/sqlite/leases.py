"""Leases: one process at a time works on a session, and one that comes late is told.

    A acquires (fence 1) ── stalls ──────────────────────── A commits with 1: refused
                               lease expires ── B acquires (fence 2)

The number decides, not the clock: a holder whose lease ran out while nobody else
wanted it has disturbed nobody and may still write.
"""

import sqlite3

from plimsoll.archive.records import Lease
from plimsoll.archive.sqlite.lineage import Row
from plimsoll.errors import StaleLease


def acquire(
    db: sqlite3.Connection, row: Row, purpose: str, holder: str, seconds: float, now: float
) -> Lease | None:
    """The lease for this holder, unless another one has it and it has not run out."""
    found = _row(db, row.key, purpose)
    if found is None:
        fence = 1
    elif found[0] == holder and found[1] > now:
        fence = found[2]
    elif found[1] > now:
        return None
    else:
        fence = found[2] + 1
    return _write(db, row, purpose, holder, now + seconds, fence)


def renew(db: sqlite3.Connection, row: Row, lease: Lease, seconds: float, now: float) -> Lease:
    """The same lease with a later end."""
    require(db, row, lease)
    return _write(db, row, lease.purpose, lease.holder, now + seconds, lease.fence)


def release(db: sqlite3.Connection, row: Row, lease: Lease) -> None:
    """Give the lease back; the row stays with its number."""
    db.execute(
        "UPDATE leases SET expires = 0, holder = '' WHERE session = ? AND purpose = ? AND fence = ? AND holder = ?",
        (row.key, lease.purpose, lease.fence, lease.holder),
    )


def require(db: sqlite3.Connection, row: Row, lease: Lease | None) -> None:
    """Refuse a writer whose lease somebody else has taken since."""
    if lease is None:
        return
    found = _row(db, row.key, lease.purpose)
    if (
        lease.session != row.session.id
        or found is None
        or (found[0], found[2]) != (lease.holder, lease.fence)
    ):
        raise StaleLease(
            f"{lease.holder} no longer holds the {lease.purpose} lease of session {row.session.id}: it ran out or "
            "was given back. Nothing was written."
        )


def _row(db: sqlite3.Connection, key: int, purpose: str) -> tuple[str, float, int] | None:
    found: tuple[str, float, int] | None = db.execute(
        "SELECT holder, expires, fence FROM leases WHERE session = ? AND purpose = ?", (key, purpose)
    ).fetchone()
    return found


def _write(db: sqlite3.Connection, row: Row, purpose: str, holder: str, expires: float, fence: int) -> Lease:
    db.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)", (row.key, purpose, holder, expires, fence)
    )
    return Lease(row.session.id, purpose, holder, expires, fence)

"""Leases: one process at a time works on a session; a process whose lease expired gets an error.

    A acquires (fence 1) ── stalls ──────────────────────── A commits with 1: refused
                               lease expires ── B acquires (fence 2)

The fence number decides, not the clock: a holder whose lease expired may still write if no other process has acquired
it. A writer locks the session's row until the end of its transaction, so the number cannot change between the check
and the commit.
"""

from plimsoll.archive.records import Lease
from plimsoll.archive.sql.connection import Record, SqlConnection
from plimsoll.archive.sql.lineage import SessionRow
from plimsoll.errors import StaleLease


async def acquire(
    db: SqlConnection, row: SessionRow, purpose: str, holder: str, seconds: float
) -> Lease | None:
    """The lease for this holder, unless another one has it and it has not expired."""
    found, now = await _row(db, row.key, purpose), await db.now()
    if found is None:
        fence = 1
    elif found[0] == holder and found[1] > now:
        fence = found[2]
    elif found[1] > now:
        return None
    else:
        fence = found[2] + 1
    return await _write(db, row, purpose, holder, now + seconds, fence)


async def renew(db: SqlConnection, row: SessionRow, lease: Lease, seconds: float) -> Lease:
    """The same lease with a later end."""
    await require(db, row, lease)
    return await _write(db, row, lease.purpose, lease.holder, await db.now() + seconds, lease.fence)


async def release(db: SqlConnection, row: SessionRow, lease: Lease) -> None:
    """Release the lease; the row keeps its fence number."""
    await db.run(
        "UPDATE leases SET expires = 0, holder = '' WHERE session = ? AND purpose = ? AND fence = ? AND holder = ?",
        (row.key, lease.purpose, lease.fence, lease.holder),
    )


async def require(db: SqlConnection, row: SessionRow, lease: Lease | None) -> None:
    """Raise for a writer whose lease another process has acquired since."""
    if lease is None:
        return
    found = await _row(db, row.key, lease.purpose)
    if (
        lease.session != row.session.id
        or found is None
        or (found[0], found[2]) != (lease.holder, lease.fence)
    ):
        raise StaleLease(
            f"{lease.holder} no longer holds the {lease.purpose} lease of session {row.session.id}: it expired or "
            "was released. Nothing was written."
        )


async def _row(db: SqlConnection, key: int, purpose: str) -> Record | None:
    return await db.row(
        "SELECT holder, expires, fence FROM leases WHERE session = ? AND purpose = ?", (key, purpose)
    )


async def _write(
    db: SqlConnection, row: SessionRow, purpose: str, holder: str, expires: float, fence: int
) -> Lease:
    await db.run(
        "INSERT INTO leases (session, purpose, holder, expires, fence) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (session, purpose) DO UPDATE SET holder = excluded.holder, expires = excluded.expires, "
        "fence = excluded.fence",
        (row.key, purpose, holder, expires, fence),
    )
    return Lease(row.session.id, purpose, holder, expires, fence)

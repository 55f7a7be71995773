"""Replies that clients continue, in an SQL table."""

from plimsoll.archive.encoding import storable
from plimsoll.archive.owners import Owner
from plimsoll.archive.replies import KEPT_SECONDS, ReplyArchive
from plimsoll.archive.sql.connection import Database, SqlConnection

_KEEP = (
    "INSERT INTO replies (owner, name, before, body, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (owner, name) DO UPDATE SET before = excluded.before, body = excluded.body, time = excluded.time"
)


class SqlReplies(ReplyArchive):
    """Each method one transaction on the rows of one owner."""

    def __init__(self, database: Database, owner: Owner) -> None:
        self._database, self._owner = database, str(owner)

    async def keep(self, name: str, before: str, body: str) -> None:
        async def work(db: SqlConnection) -> None:
            now = await db.now()
            await db.run("DELETE FROM replies WHERE time < ?", (now - KEPT_SECONDS,))
            await db.run(_KEEP, (self._owner, storable(name), storable(before), body, now))

        # The client waits for this. A reply that a power failure took is unknown, like one that is too old.
        await self._database.write(work, repeatable=True, awaits_disk=False)

    async def history(self, name: str) -> list[str]:
        async def work(db: SqlConnection) -> list[str]:
            bodies: list[str] = []
            seen: set[str] = set()
            wanted = storable(name)
            while wanted and wanted not in seen:
                seen.add(wanted)
                found = await db.row(
                    "SELECT before, body FROM replies WHERE owner = ? AND name = ?", (self._owner, wanted)
                )
                if found is None:
                    return []
                wanted = str(found[0])
                bodies.append(str(found[1]))
            return bodies[::-1]

        return await self._database.read(work)

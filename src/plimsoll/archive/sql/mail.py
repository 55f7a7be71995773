"""Letters of chat platforms, in SQL tables."""

from collections.abc import Sequence

from plimsoll.archive.mail import Letter, Mailbox, Room
from plimsoll.archive.sql.connection import Connection, Database

_LETTER = (
    "INSERT INTO letters (account, place, event, sender, body, kind, speaker, time) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (account, place, event) DO NOTHING"
)
_WAITS = "SELECT 1 FROM letters WHERE account = ? AND place = ? AND event = ? AND settled IS NULL"
_POSITION = (
    "INSERT INTO mail_positions (account, position) VALUES (?, ?) "
    "ON CONFLICT (account) DO UPDATE SET position = excluded.position"
)


class SqlMailbox(Mailbox):
    """Each method one transaction on the rows of one account."""

    def __init__(self, database: Database, account: str) -> None:
        self._database = database
        self._account = account

    async def receive(self, letters: Sequence[Letter], position: str) -> list[Letter]:
        async def work(db: Connection) -> list[Letter]:
            now = await db.now()
            await db.run(
                _POSITION, (self._account, position)
            )  # first: others who write for the account wait here
            waiting = []
            for one in letters:
                name = (self._account, one.place, one.event)
                await db.run(_LETTER, (*name, one.sender, one.text, one.kind, one.speaker, now))
                if await db.row(_WAITS, name):
                    waiting.append(one)
            return waiting

        return await self._database.write(work, repeatable=True)

    async def position(self) -> str:
        async def work(db: Connection) -> str:
            found = await db.row("SELECT position FROM mail_positions WHERE account = ?", (self._account,))
            return str(found[0]) if found else ""

        return await self._database.read(work)

    async def waiting(self) -> list[Letter]:
        async def work(db: Connection) -> list[Letter]:
            rows = await db.rows(
                "SELECT place, event, sender, body, kind, speaker FROM letters "
                "WHERE account = ? AND settled IS NULL ORDER BY id",
                (self._account,),
            )
            return [Letter(*row) for row in rows]

        return await self._database.read(work)

    async def settle(self, letters: Sequence[Letter]) -> None:
        async def work(db: Connection) -> None:
            now = await db.now()
            for one in letters:
                await db.run(
                    "UPDATE letters SET settled = ?, body = '' WHERE account = ? AND place = ? AND event = ?",
                    (now, self._account, one.place, one.event),
                )

        await self._database.write(work, repeatable=True)

    async def room(self, place: str) -> Room:
        async def work(db: Connection) -> Room:
            found = await db.row(
                "SELECT session, told FROM mail_rooms WHERE account = ? AND place = ?", (self._account, place)
            )
            return Room(*found) if found else Room()

        return await self._database.read(work)

    async def update_room(self, place: str, *, session: str | None = None, told: str | None = None) -> None:
        async def work(db: Connection) -> None:
            await db.run(
                "INSERT INTO mail_rooms (account, place) VALUES (?, ?) ON CONFLICT (account, place) DO NOTHING",
                (self._account, place),
            )
            await db.run(
                "UPDATE mail_rooms SET session = coalesce(?, session), told = coalesce(?, told) "
                "WHERE account = ? AND place = ?",
                (session, told, self._account, place),
            )

        await self._database.write(work, repeatable=True)

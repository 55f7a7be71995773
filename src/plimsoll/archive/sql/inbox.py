"""The inbox of messaging platforms in SQL tables."""

from collections.abc import Sequence

from plimsoll.archive.encoding import storable
from plimsoll.archive.inbox import ChatRoom, Inbox, IncomingMessage
from plimsoll.archive.sql.connection import Database, SqlConnection

_LETTER = (
    "INSERT INTO letters (account, place, event, sender, body, kind, speaker, time) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (account, place, event) DO NOTHING"
)
_IS_WAITING = "SELECT 1 FROM letters WHERE account = ? AND place = ? AND event = ? AND settled IS NULL"
_POSITION = (
    "INSERT INTO mail_positions (account, position) VALUES (?, ?) "
    "ON CONFLICT (account) DO UPDATE SET position = excluded.position"
)


class SqlInbox(Inbox):
    """Each method one transaction on the rows of one account."""

    def __init__(self, database: Database, account: str) -> None:
        self._database = database
        self._account = account

    async def receive(self, messages: Sequence[IncomingMessage], position: str) -> list[IncomingMessage]:
        async def work(db: SqlConnection) -> list[IncomingMessage]:
            now = await db.now()
            await db.run(
                _POSITION, (self._account, position)
            )  # first: other writers for the account wait here
            waiting = []
            for message in messages:
                name = (self._account, storable(message.place), storable(message.event))
                content = (
                    storable(message.sender),
                    storable(message.text),
                    message.kind,
                    storable(message.speaker),
                )
                await db.run(_LETTER, (*name, *content, now))
                if await db.row(_IS_WAITING, name):
                    waiting.append(message)
            return waiting

        return await self._database.write(work, repeatable=True)

    async def position(self) -> str:
        async def work(db: SqlConnection) -> str:
            found = await db.row("SELECT position FROM mail_positions WHERE account = ?", (self._account,))
            return str(found[0]) if found else ""

        return await self._database.read(work)

    async def waiting(self) -> list[IncomingMessage]:
        async def work(db: SqlConnection) -> list[IncomingMessage]:
            rows = await db.rows(
                "SELECT place, event, sender, body, kind, speaker FROM letters "
                "WHERE account = ? AND settled IS NULL ORDER BY id",
                (self._account,),
            )
            return [IncomingMessage(*row) for row in rows]

        return await self._database.read(work)

    async def settle(self, messages: Sequence[IncomingMessage]) -> None:
        async def work(db: SqlConnection) -> None:
            now = await db.now()
            for message in messages:
                await db.run(
                    "UPDATE letters SET settled = ?, body = '' WHERE account = ? AND place = ? AND event = ?",
                    (now, self._account, storable(message.place), storable(message.event)),
                )

        await self._database.write(work, repeatable=True)

    async def room(self, place: str) -> ChatRoom:
        place = storable(place)

        async def work(db: SqlConnection) -> ChatRoom:
            found = await db.row(
                "SELECT session, told FROM mail_rooms WHERE account = ? AND place = ?", (self._account, place)
            )
            return ChatRoom(*found) if found else ChatRoom()

        return await self._database.read(work)

    async def update_room(self, place: str, *, session: str | None = None, sent: str | None = None) -> None:
        place, sent = storable(place), None if sent is None else storable(sent)

        async def work(db: SqlConnection) -> None:
            await db.run(
                "INSERT INTO mail_rooms (account, place) VALUES (?, ?) ON CONFLICT (account, place) DO NOTHING",
                (self._account, place),
            )
            await db.run(
                "UPDATE mail_rooms SET session = coalesce(?, session), told = coalesce(?, told) "
                "WHERE account = ? AND place = ?",
                (session, sent, self._account, place),
            )

        await self._database.write(work, repeatable=True)

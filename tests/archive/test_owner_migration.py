"""Archives from before sessions had owners: whose everything is afterwards, in a file and on a server."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from archive_driver import STORES, Driver
from postgres_server import server

from plimsoll.archive import OPERATOR, ArchiveStore, SearchQuery, key_owner, room_owner
from plimsoll.archive.postgres.failures import address_of
from plimsoll.archive.postgres.migrate import migrate as migrate_postgres
from plimsoll.archive.sqlite.functions import register
from plimsoll.archive.sqlite.migrate import migrate as migrate_sqlite
from plimsoll.errors import UnknownSession

BEFORE = {"sqlite": 6, "postgres": 5}  # the version before owners
SESSIONS = {  # key: id, parent, owner
    1: ("20260101-000000-old-chat", None, None),
    2: ("20260101-000001-keys-own", None, "4f9c2a71d0e3"),
    3: ("20260101-000002-in-a-room", None, None),
    4: ("20260101-000003-fork-of-room", 3, None),
    5: ("20260101-000004-fork-of-key", 2, "4f9c2a71d0e3"),
}
ROOM = ("telegram:7007", "41")
OWNERS = {
    1: OPERATOR,
    2: key_owner("4f9c2a71d0e3"),
    3: room_owner(*ROOM),
    4: room_owner(*ROOM),
    5: key_owner("4f9c2a71d0e3"),
}


def rows() -> list[str]:
    """What an older release wrote: a message in each session, a node and a view in some, a room."""
    found = []
    for key, (id, parent, owner) in SESSIONS.items():
        whose = f"'{owner}'" if owner else "NULL"
        found.append(
            "INSERT INTO sessions (key, id, title, model, engine, parent, forked_at, created, updated, messages, "
            f"tokens, owner) VALUES ({key}, '{id}', 't', '', '', {parent or 'NULL'}, 0, {key}, {key}, 1, 5, {whose})"
        )
        found.append(
            "INSERT INTO messages (id, session, sequence, role, tokens, total, time, digest, handle, body) VALUES "
            f"""({key}, {key}, 1, 'user', 5, 5, {key}, '{{}}', 'aa{key:08}', """
            f"""'{{"role":"user","content":"a lantern"}}')"""
        )
    found.append(
        f"INSERT INTO mail_rooms (account, place, session) VALUES ('{ROOM[0]}', '{ROOM[1]}', '{SESSIONS[3][0]}')"
    )
    return found


def written_by_an_older_release(folder: Path, store: str) -> None:
    if store == "sqlite":
        path = folder / "archive.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            register(db)
            migrate_sqlite(db, path, BEFORE[store])
            for statement in rows():
                db.execute(statement.replace("'{}'", "zeroblob(16)"))
            db.execute("INSERT INTO words (rowid, text) SELECT id, 'a lantern' FROM messages")
            db.execute("INSERT INTO grams (rowid, text) SELECT id, 'a lantern' FROM messages")
        return
    url = server().url_for(folder)

    async def write() -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
            await migrate_postgres(db, address_of(url), BEFORE[store])
            for statement in rows():
                await db.execute(statement.replace("'{}'", "'\\x00'"))
            await db.execute(
                "INSERT INTO texts SELECT id, to_tsvector('simple', 'a lantern'), 'a lantern' FROM messages"
            )

    asyncio.run(write())


@pytest.mark.parametrize("store", STORES)
def test_what_had_no_owner_is_the_operators_and_what_a_key_or_a_room_said_stays_theirs(
    tmp_path: Path, store: str
):
    written_by_an_older_release(tmp_path, store)
    driver = Driver(tmp_path, store)

    async def look(store: ArchiveStore) -> None:
        assert {one.id: one.owner for one in await store.sessions()} == {
            id: OWNERS[key] for key, (id, _, _) in SESSIONS.items()
        }
        for owner in set(OWNERS.values()):
            archive = store.for_owner(owner)
            own = {id for key, (id, _, _) in SESSIONS.items() if OWNERS[key] == owner}
            assert {one.id for one in await archive.sessions()} == own
            assert {hit.session for hit in (await archive.search(SearchQuery("lantern"))).hits} == own
            assert {one.session for one in await archive.find_by_handle("h:aa")} == own
            for id, _, _ in SESSIONS.values():
                if id not in own:
                    with pytest.raises(UnknownSession):
                        await archive.messages(id)
        assert await store.check() == []

    driver.run_store(look)
    driver.close()

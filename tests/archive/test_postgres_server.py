"""What the store on a server promises: fencing, lost connections, migrations, and servers that are not well."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from archive_driver import EVENT, Driver, summary, talk, user
from lease_holder import hold
from postgres_server import Server, server

from plimsoll.archive import OPERATOR, Archive, SearchQuery, draft_of
from plimsoll.archive.open_archive import open_archive
from plimsoll.archive.postgres import PostgresStore
from plimsoll.archive.postgres.failures import Address, require_server
from plimsoll.archive.sql.lineage import find
from plimsoll.archive.sql.migrations import steps
from plimsoll.errors import ArchiveError, SettingError, StaleLease, UserError

Work = Callable[[Archive], Awaitable[Any]]


@pytest.fixture
def here() -> Server:
    return server()


@pytest.fixture
def driver(tmp_path: Path):
    driver = Driver(tmp_path, "postgres")
    yield driver
    assert driver.check() == []
    driver.close()


def opened(url: str, work: Work | None = None, **more: Any) -> Any:
    async def inside() -> Any:
        async with await PostgresStore.open(url, **more) as store:
            archive = store.for_owner(OPERATOR)
            return await work(archive) if work else await archive.sessions()

    return asyncio.run(inside())


def refusal(url: str, **more: Any) -> str:
    with pytest.raises(ArchiveError) as error:
        opened(url, **more)
    return str(error.value)


# Leases


@pytest.mark.parametrize("purpose", ["turn", "compact"])
def test_a_process_that_was_suspended_until_its_lease_expired_cannot_write(
    here: Server, tmp_path: Path, purpose: str
):
    url = here.url_for(tmp_path)
    context = multiprocessing.get_context("forkserver")
    mine, theirs = context.Pipe()

    async def overtake(archive: Archive) -> list[str]:
        id = (await archive.create_session()).id
        await archive.append(id, talk(4), turn="begin")
        holder = context.Process(target=hold, args=(url, id, purpose, theirs))
        holder.start()
        fence = await asyncio.to_thread(mine.recv)
        os.kill(holder.pid, signal.SIGSTOP)
        while (lease := await archive.acquire(id, "other", 60, purpose=purpose)) is None:
            await asyncio.sleep(0.02)
        assert lease.fence == fence + 1
        os.kill(holder.pid, signal.SIGCONT)
        mine.send("go on")
        refusals = await asyncio.to_thread(mine.recv)
        holder.join()
        assert (await archive.session(id)).messages == 4
        assert await archive.compactions(id) == []
        return refusals

    assert opened(url, overtake) == ["stale"] * 3


def test_a_lease_holder_suspended_inside_its_transaction_is_disconnected_and_cannot_commit(
    here: Server, tmp_path: Path
):
    async def overtake() -> None:
        url = here.url_for(tmp_path)
        async with (
            await PostgresStore.open(url, stall=1) as stalling,
            await PostgresStore.open(url) as other,
        ):
            slow, quick = stalling.for_owner(OPERATOR), other.for_owner(OPERATOR)
            id = (await quick.create_session()).id
            lease = await quick.acquire(id, "slow", 0.01)
            locked, overtaken = asyncio.Event(), asyncio.Event()
            index = slow._index

            class Stalled(type(index)):
                async def add(self, db, ids, texts):
                    locked.set()
                    await overtaken.wait()
                    await super().add(db, ids, texts)

            slow._index = Stalled(index.has_grams)
            late = asyncio.create_task(slow.append(id, [user("late")], turn="t", lease=lease))
            await locked.wait()
            # Waits for the row that the other one holds, until the server has had enough of it.
            assert (await quick.acquire(id, "quick", 60)).fence == lease.fence + 1
            overtaken.set()
            with pytest.raises(StaleLease):
                await late
            assert await quick.messages(id) == []

    asyncio.run(overtake())


def test_leases_end_by_the_time_of_the_server(here: Server, tmp_path: Path):
    async def work(archive: Archive) -> None:
        id = (await archive.create_session()).id
        ((now,),) = here.run("SELECT extract(epoch FROM clock_timestamp())::float")
        lease = await archive.acquire(id, "a", 100)
        assert now + 100 <= lease.expires <= now + 160

    opened(here.url_for(tmp_path), work)


# Lost connections


def test_an_archive_continues_after_the_server_was_restarted(driver: Driver, here: Server):
    id = driver.begin(*talk(3))
    here.restart()
    assert driver.said(id) == talk(3)
    here.restart()
    assert driver.append(id, [user("more")], turn="t").stored == 1


async def _cut_off(db: Any, here: Server) -> None:
    """End the connection of a transaction from outside, as a failing network does."""
    (pid,) = await db.only("SELECT pg_backend_pid()")
    here.run(f"SELECT pg_terminate_backend({pid}, 5000)")


def test_a_write_disconnected_before_its_commit_is_repeated_once(driver: Driver, here: Server):
    id, tries = driver.begin(*talk(3)), []

    async def work(db: Any) -> int:
        row = await find(db, id, OPERATOR, to_write=True)
        await db.run("UPDATE sessions SET title = title || 'x' WHERE key = ?", (row.key,))
        tries.append(row.key)
        if len(tries) == 1:
            await _cut_off(db, here)
        return await db.run("UPDATE sessions SET model = model || 'y' WHERE key = ?", (row.key,))

    assert driver.run(lambda archive: archive._database.write(work)) == 1
    assert len(tries) == 2
    assert (driver.session(id).title, driver.session(id).model) == ("x", "y")


def test_a_write_disconnected_at_its_commit_is_repeated_only_if_it_is_repeatable(
    driver: Driver, here: Server
):
    tries = []

    async def work(db: Any) -> int:
        tries.append(1)
        if len(tries) == 1:
            await _cut_off(db, here)
        return len(tries)

    with pytest.raises(ArchiveError, match="unknown whether the last change was stored"):
        driver.run(lambda archive: archive._database.write(work))
    assert len(tries) == 1
    tries.clear()
    assert driver.run(lambda archive: archive._database.write(work, repeatable=True)) == 2


def test_a_server_that_is_away_for_too_long_is_reported_in_one_sentence(here: Server, tmp_path: Path):
    async def work(archive: Archive) -> None:
        pool = archive._database._pool
        # Impatient only while the server cannot answer, so that a slow machine is no server that is away.
        patient, pool.timeout = pool.timeout, 1
        here.stand_still()
        try:
            with pytest.raises(ArchiveError, match=r"cannot be reached.*archive\.url"):
                await archive.sessions()
        finally:
            here.go_on()
            pool.timeout = patient
        assert await archive.sessions() == []

    opened(here.url_for(tmp_path), work)


# Opening


def test_processes_that_start_at_the_same_time_create_the_tables_once(here: Server, tmp_path: Path):
    async def together() -> None:
        url = here.url_for(tmp_path)
        stores = await asyncio.gather(*(PostgresStore.open(url) for _ in range(4)))
        await asyncio.gather(*(store.for_owner(OPERATOR).create_session() for store in stores))
        assert len(await stores[0].sessions()) == 4
        for store in stores:
            await store.close()

    asyncio.run(together())
    assert here.run("SELECT version FROM plimsoll_archive", here.url_for(tmp_path)) == [
        (len(steps("plimsoll.archive.postgres")),)
    ]


def test_an_archive_of_a_later_release_is_reported_and_left_untouched(here: Server, tmp_path: Path):
    url = here.url_for(tmp_path)
    opened(url)
    here.run("UPDATE plimsoll_archive SET version = 99", url)
    assert "has version 99, but this release supports versions up to" in refusal(url)


def test_tables_of_another_program_are_reported_and_left_untouched(here: Server, tmp_path: Path):
    url = here.url_for(tmp_path)
    here.run("CREATE TABLE messages (name text)", url)
    assert "tables of another program" in refusal(url)
    assert here.run("SELECT count(*) FROM messages", url) == [(0,)]


def test_a_password_that_is_wrong_is_reported_and_never_shown(here: Server):
    here.run("DROP ROLE IF EXISTS locked")
    here.run("CREATE ROLE locked LOGIN PASSWORD 'right'")
    said = refusal(here.url(user="locked", password="hunter2"))
    assert "the user name or the password is wrong. Correct archive.url" in said
    assert "hunter2" not in said
    assert "needs a password" in refusal(here.url(user="locked"))


def test_a_database_or_user_that_is_missing_is_named(here: Server):
    assert "no database 'nowhere'. Create it with `createdb nowhere`" in refusal(here.url(database="nowhere"))
    assert "there is no user 'nobody'" in refusal(here.url(user="nobody"))


def test_a_server_that_cannot_be_reached_is_reported_with_the_setting(tmp_path: Path):
    said = refusal(f"postgresql://me:hunter2@/db?host={tmp_path}", wait=1)
    assert "cannot be opened: " in said
    assert "correct host and port in archive.url" in said
    assert "hunter2" not in said


def test_a_user_who_may_not_create_tables_is_reported(here: Server, tmp_path: Path):
    here.run("DROP ROLE IF EXISTS guest")
    here.run("CREATE ROLE guest LOGIN")
    said = refusal(here.url_for(tmp_path).replace("postgres@", "guest@"))
    assert "refuses: " in said
    assert "archive.url" in said


@pytest.mark.parametrize(
    "url", ["postgresql://me:hunter2/x@host:port/db", "postgresql://me:hunter2@h/db?colour=red"]
)
def test_an_invalid_address_is_reported_without_repeating_it(url: str):
    with pytest.raises(SettingError, match=r"archive\.url is not a PostgreSQL address") as error:
        opened(url)
    assert "hunter2" not in str(error.value)


def test_a_server_that_is_too_old_or_cannot_store_every_text_is_refused(here: Server):
    address = Address("", "postgresql://h:5432/db", "db", "me")
    with pytest.raises(ArchiveError, match=r"on PostgreSQL 12\.9; Plimsoll needs 13 or later"):
        require_server(address, 120_009, "UTF8")
    here.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "encoded as LATIN1" in refusal(here.url(database="latin"))


def test_without_the_driver_the_error_says_how_to_install_it():
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "sys.modules['psycopg'] = None\n"
        "from plimsoll.archive.open_archive import open_archive; from plimsoll.errors import UserError\n"
        "try: asyncio.run(open_archive('postgresql://me:hunter2@host/db', Path()))\n"
        "except UserError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install '.[postgres]'" in done.stdout
    assert "hunter2" not in done.stdout


def test_the_setting_opens_the_store_and_no_repr_contains_the_password(here: Server, tmp_path: Path):
    async def use() -> None:
        url = here.url_for(tmp_path).replace("postgres@", "postgres:hunter2@")
        async with await open_archive(url, tmp_path) as store:
            assert isinstance(store, PostgresStore)
            assert "hunter2" not in repr(store) + repr(store._address) + repr(store.for_owner(OPERATOR))

    asyncio.run(use())
    assert list(tmp_path.iterdir()) == []


# What many do at once


def test_writers_of_different_sessions_do_not_wait_for_each_other(driver: Driver):
    first, second = driver.begin(*talk(2)), driver.begin(*talk(2))

    async def work(archive: Archive) -> int:
        async def holding(db: Any) -> int:
            await find(db, first, OPERATOR, to_write=True)
            return (await archive.append(second, [user("meanwhile")], turn="t")).stored

        return await archive._database.write(holding)

    assert driver.run(work) == 1


def test_concurrent_appends_are_all_stored_each_with_its_own_position(driver: Driver):
    id = driver.begin()

    async def work(archive: Archive) -> None:
        await asyncio.gather(*(archive.append(id, talk(2, f"t{n}"), turn=f"t{n}") for n in range(30)))

    driver.run(work)
    said = driver.said(id)
    assert len(said) == 60
    for place in range(0, 60, 2):
        name = said[place]["content"].split()[0]
        assert said[place : place + 2] == talk(2, name)


def test_a_parent_and_its_fork_deleted_at_the_same_time_leave_nothing_behind(driver: Driver):
    for _ in range(5):
        parent = driver.begin(*talk(4))
        driver.compact(parent, [summary("A"), talk(4)[3]])
        fork = driver.fork(parent).id

        async def work(archive: Archive, ids: tuple[str, ...] = (parent, fork)) -> None:
            await asyncio.gather(*(archive.delete(id) for id in ids))

        driver.run(work)
    assert driver.rows("sessions", "messages", "views", "nodes", "texts", "turns") == [0] * 6


def test_a_reader_sees_one_consistent_state_during_writes(driver: Driver):
    id = driver.begin(*talk(2))

    async def work(archive: Archive) -> tuple[int, int]:
        async def reading(db: Any) -> tuple[int, int]:
            before = (await find(db, id, OPERATOR)).session.messages
            await archive.append(id, talk(2, "more"), turn="t")
            return before, (await find(db, id, OPERATOR)).session.messages

        return await archive._database.read(reading)

    assert driver.run(work) == (2, 2)
    assert driver.session(id).messages == 4


def test_a_late_compaction_and_a_newer_one_leave_one_view(driver: Driver):
    id = driver.begin(*talk(6))
    view, items = driver.view(id), driver.items(id)
    drafts = [draft_of(id, view, items, [summary(f"S{n}"), items[-1].message]) for n in range(8)]

    async def work(archive: Archive) -> list[Any]:
        tries = (archive.commit_compaction(id, draft, EVENT) for draft in drafts)
        return await asyncio.gather(*tries, return_exceptions=True)

    assert sum(not isinstance(one, BaseException) for one in driver.run(work)) == 1
    assert driver.rows("views", "nodes", "events") == [1, 1, 1]


def test_a_name_with_a_character_that_the_server_cannot_store_is_kept_without_it(driver: Driver):
    id = driver.begin(title="a\0b")
    assert driver.session(id).title == "a b"
    assert driver.append(id, [user("x")], turn="\0").stored == 1
    assert driver.append(id, [user("x")], turn="\0").stored == 0
    assert driver.search(SearchQuery("\0", "substring")).hits == ()
    with pytest.raises(UserError):
        driver.session("\0")

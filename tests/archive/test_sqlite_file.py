"""What the store in a file promises: its growth, its migrations, and what happens when the file is not well."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from archive_driver import EVENT, Driver, assistant, summary, talk, user

from plimsoll.archive import OPERATOR, Node, NodeLink, SearchQuery, Span, ViewDraft
from plimsoll.archive.ids import node_id
from plimsoll.archive.open_archive import archive_file, open_archive
from plimsoll.archive.sql import outline
from plimsoll.archive.sql.archive import ENCODED_AT_ONCE
from plimsoll.archive.sql.connection import SqlConnection, Work
from plimsoll.archive.sql.migrations import steps
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.errors import ArchiveError, SettingError, UserError

FIXTURES = Path(__file__).parent / "fixtures"
TABLES = ("messages", "turns", "nodes", "edges", "shortenings", "views", "view_references", "events")


@pytest.fixture
def driver(tmp_path: Path):
    driver = Driver(tmp_path)
    yield driver
    driver.close()


def rows(folder: Path) -> dict[str, int]:
    with sqlite3.connect(folder / "archive.db") as db:
        counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}
    db.close()
    return counts


def opening(path: Path):
    async def attempt():
        async with await SqliteStore.open(path) as store:
            archive = store.for_owner(OPERATOR)
            return await archive.sessions()

    return asyncio.run(attempt())


def test_a_hundred_compactions_of_ten_thousand_messages_add_only_nodes_and_references(
    driver: Driver, tmp_path: Path
):
    id = driver.begin({"role": "system", "content": "be careful"}, *talk(9_899))
    before = rows(tmp_path)
    previous = None
    for number in range(100):
        driver.append(id, [user(f"turn {number}")], turn=f"t{number}")
        view, last = driver.view(id), driver.session(id).messages
        gone = (NodeLink(previous), Span(view.tail_from, last - 20)) if previous else (Span(3, last - 20),)
        node = Node(node_id(id, summary(f"S{number}"), gone), summary(f"S{number}"), gone)
        draft = ViewDraft(view.number, (Span(1, 2), NodeLink(node.id)), last - 20, (node,))
        driver.commit_compaction(id, draft, EVENT)
        previous = node.id
    added = {table: count - before[table] for table, count in rows(tmp_path).items()}
    assert added == {
        "messages": 100, "turns": 100, "nodes": 100, "edges": 199, "shortenings": 0, "views": 100,
        "view_references": 200, "events": 100,
    }  # fmt: skip
    assert driver.session(id).messages == 10_000
    assert driver.check() == []


def test_a_message_shortened_in_every_view_is_stored_shortened_once(driver: Driver, tmp_path: Path):
    prompt = {"role": "system", "content": "be careful"}
    noted = {
        "role": "system",
        "content": [{"type": "text", "text": "be careful"}, {"type": "text", "text": "[Note]"}],
    }
    id = driver.begin(prompt, *talk(10))
    for number in range(5):
        driver.append(id, [user(f"more {number}")], turn=str(number))
        driver.compact(id, [noted, summary(str(number)), user(f"more {number}")])
    assert rows(tmp_path)["shortenings"] == 1
    assert driver.seen(id)[0] == noted


def test_opening_and_appending_read_nothing_of_what_left_the_view(driver: Driver, tmp_path: Path):
    """The old rows are made unreadable, so that reading them fails."""
    id = driver.begin(*talk(500))
    driver.compact(id, [*talk(500)[:2], summary("A"), *talk(500)[490:]])
    with sqlite3.connect(tmp_path / "archive.db") as db:
        db.execute("UPDATE messages SET body = 'no JSON' WHERE sequence BETWEEN 3 AND 490")
    db.close()
    driver.reopen()
    assert len(driver.items(id)) == 13
    assert driver.view_size(id)[0] == 13
    driver.append(id, [user("go on")], turn="t", after=500)
    assert driver.seen(id)[-1] == user("go on")
    driver.compact(id, [*talk(500)[:2], summary("B"), user("go on")])
    driver.undo(id)
    fork = driver.fork(id).id
    assert len(driver.items(fork)) == 14
    assert driver.session(fork).tokens == driver.session(id).tokens


def test_an_outline_reads_sizes_from_an_index_and_no_row_of_the_log(driver: Driver, tmp_path: Path):
    id = driver.begin(*talk(50))
    expected = driver.outline(id)
    with sqlite3.connect(tmp_path / "archive.db") as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN {outline._COLUMNS}", (1, 1, 50)).fetchall()
    db.close()
    assert [step for *_, step in plan if " m " in step and "COVERING INDEX" not in step] == []
    assert len(expected.roles) == 50


@pytest.mark.parametrize("version", range(1, len(steps("plimsoll.archive.sqlite"))))
def test_an_archive_of_every_earlier_version_becomes_one_of_today(tmp_path: Path, version: int):
    with sqlite3.connect(tmp_path / "archive.db") as db:
        db.executescript((FIXTURES / f"version_{version}.sql").read_text("utf-8"))
    db.close()
    driver = Driver(tmp_path)
    (session,) = driver.sessions()
    assert (session.id, session.title, session.messages) == ("20260921-141320-calm-keel", "A title", 6)
    assert [one.role for one in driver.messages(session.id)] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert driver.said(session.id)[4] == assistant("It is the loader.", x_kept={"b": 1, "a": []})
    assert len(driver.seen(session.id)) == 5
    assert driver.pins(session.id) == [2]
    assert driver.usage_total(session.id).money == 0.01
    assert driver.acquire(session.id, "me", 5).fence == 5
    for text, sequence in (("pytest", 3), ("東京", 2), ("loader", 5)):
        assert driver.search(SearchQuery(text, limit=1)).hits[0].sequence == sequence
    assert driver.append(session.id, [user("again")], turn="t2").stored == 1
    assert driver.check() == []
    driver.close()


def test_an_archive_of_a_later_release_is_reported_and_left_untouched(tmp_path: Path):
    driver = Driver(tmp_path)
    driver.begin(*talk(3))
    driver.close()
    path = tmp_path / "archive.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(
        ArchiveError,
        match=r"has version 99, but this release supports versions up to \d+\. It was not changed",
    ):
        opening(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database, only text " * 50, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_file_that_is_no_archive_is_reported_and_left_untouched(tmp_path: Path, content: bytes):
    path = tmp_path / "archive.db"
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="was left as it is"):
        opening(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_reported_and_left_untouched(tmp_path: Path):
    path = tmp_path / "archive.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE recipes (name)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(ArchiveError, match="of another program"):
        opening(path)
    assert path.read_bytes() == before


def test_a_damaged_archive_is_a_sentence_and_is_never_deleted(tmp_path: Path):
    driver = Driver(tmp_path)
    id = driver.begin(*talk(2_000))
    driver.close()
    path = tmp_path / "archive.db"
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096 - 1):
        content[page * 4096 : page * 4096 + 2_000] = os.urandom(2_000)
    path.write_bytes(content)

    async def use() -> None:
        async with await SqliteStore.open(path) as store:
            broken = store.for_owner(OPERATOR)
            await broken.messages(id)
            await broken.append(id, talk(2), turn="t")

    with pytest.raises(ArchiveError, match="is damaged"):
        asyncio.run(use())
    assert path.stat().st_size == len(content)


def test_a_folder_that_may_not_be_written_is_a_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArchiveError, match=r"cannot be opened: .*Set archive\.url"):
        opening(tmp_path / "file" / "archive.db")


def test_a_full_disk_is_a_sentence_and_loses_nothing(driver: Driver):
    id = driver.begin(*talk(20))

    def limit(pages: int) -> None:
        driver.run(
            lambda archive: archive._database.write(lambda db: db.rows(f"PRAGMA max_page_count = {pages}"))
        )

    limit(1)  # SQLite takes the size that the file has
    turn = [user("a long message " * 5_000)] * 8
    with pytest.raises(ArchiveError, match=r"cannot grow: .* everything before it is"):
        driver.append(id, turn, turn="big")
    stored = driver.session(id).messages
    assert driver.check() == []
    assert driver.said(id)[:20] == talk(20)
    limit(1_000_000)
    assert driver.append(id, turn, turn="big").stored == 8
    assert driver.session(id).messages == stored + 8
    assert driver.check() == []


def test_a_disk_that_refuses_in_the_middle_of_a_commit_loses_nothing(tmp_path: Path):
    """The operating system refuses every byte beyond a size, as a quota does."""
    id = (driver := Driver(tmp_path)).begin(*talk(20))
    driver.close()
    script = (
        "import asyncio, resource, sys; from pathlib import Path\n"
        "from plimsoll.archive import OPERATOR; from plimsoll.archive.sqlite import SqliteStore\n"
        "from plimsoll.errors import UserError\n"
        "async def main():\n"
        "    store = await SqliteStore.open(Path(sys.argv[1]))\n"
        "    archive = store.for_owner(OPERATOR)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))\n"
        "    for n in range(500):\n"
        "        try: await archive.append(sys.argv[2], [{'role': 'user', 'content': f'{n} ' * 900}], turn=str(n))\n"
        "        except UserError as error: print(n, error); break\n"
        "    await store.close()\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "archive.db"), id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    number, _, sentence = done.stdout.partition(" ")
    assert "everything before it is" in sentence, done.stderr
    driver = Driver(tmp_path)
    assert driver.session(id).messages == 20 + int(number)
    assert driver.check() == []
    driver.close()


def test_a_writer_that_locks_the_file_for_too_long_is_a_sentence(tmp_path: Path):
    async def attempt() -> None:
        async with await SqliteStore.open(tmp_path / "archive.db", busy_seconds=0.05) as store:
            archive = store.for_owner(OPERATOR)
            session = await archive.create_session()
            other = sqlite3.connect(tmp_path / "archive.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            try:
                with pytest.raises(ArchiveError, match="is busy"):
                    await archive.append(session.id, talk(1), turn="t")
                assert await archive.messages(session.id) == []
            finally:
                other.close()

    asyncio.run(attempt())


def test_many_processes_write_to_one_file_without_losing_a_turn(tmp_path: Path):
    id = (driver := Driver(tmp_path)).begin()
    script = (
        "import asyncio, sys; from pathlib import Path; from plimsoll.archive import OPERATOR\n"
        "from plimsoll.archive.sqlite import SqliteStore\n"
        "async def main():\n"
        "    async with await SqliteStore.open(Path(sys.argv[1])) as store:\n"
        "        archive = store.for_owner(OPERATOR)\n"
        "        for n in range(25):\n"
        "            await archive.append(sys.argv[2], [{'role': 'user', 'content': f'{sys.argv[3]}-{n}'}],\n"
        "                                 turn=f'{sys.argv[3]}-{n}')\n"
        "asyncio.run(main())"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "archive.db"), id, name])
        for name in "abc"
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    said = [message["content"] for message in driver.said(id)]
    assert sorted(said) == sorted(f"{name}-{n}" for name in "abc" for n in range(25))
    for name in "abc":
        assert [text for text in said if text.startswith(name)] == [f"{name}-{n}" for n in range(25)]
    assert driver.check() == []
    driver.close()


def test_conversations_are_readable_by_their_owner_alone(driver: Driver, tmp_path: Path):
    assert stat.S_IMODE((tmp_path / "archive.db").stat().st_mode) == 0o600


def test_an_acknowledged_write_has_reached_the_disk(driver: Driver):
    """WAL with synchronous=FULL: the log is synced at every commit."""
    for name, expected in (("journal_mode", "wal"), ("synchronous", 2)):
        found = driver.run(
            lambda archive, name=name: archive._database.read(lambda db: db.only(f"PRAGMA {name}"))
        )
        assert found == (expected,)


def test_only_a_write_that_need_not_survive_a_power_failure_skips_the_disk(driver: Driver):
    async def mode(db: SqlConnection) -> int:
        return int((await db.only("PRAGMA synchronous"))[0])

    async def broken(db: SqlConnection) -> int:
        raise ArchiveError(f"mode {await mode(db)}")

    def written(work: Work[int], awaits_disk: bool = True) -> int:
        return driver.run(lambda archive: archive._database.write(work, awaits_disk=awaits_disk))

    assert (written(mode, awaits_disk=False), written(mode)) == (1, 2)
    with pytest.raises(ArchiveError, match="mode 1"):
        written(broken, awaits_disk=False)
    assert written(mode) == 2


def test_the_archive_is_where_the_setting_says(tmp_path: Path):
    assert archive_file(None, tmp_path) == tmp_path / "archive.db"
    assert archive_file("sqlite:///srv/a%20b.db", tmp_path) == Path("/srv/a b.db")
    assert archive_file("postgresql://me:secret@host/db", tmp_path) is None
    for wrong in ("mysql://me:secret@host/db", "postgresql://host/db?password=secret", "archive.db"):
        with pytest.raises(SettingError, match=r"archive\.url is invalid") as refused:
            archive_file(wrong, tmp_path)
        assert "secret" not in str(refused.value)

    async def use() -> None:
        async with await open_archive(f"sqlite://{tmp_path}/deep/down/a.db", tmp_path) as store:
            archive = store.for_owner(OPERATOR)
            await archive.create_session()

    asyncio.run(use())
    assert (tmp_path / "deep" / "down" / "a.db").exists()


_OPEN = """
import asyncio, re, sys
from pathlib import Path
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
async def main():
    async with await SqliteStore.open(Path(sys.argv[1])) as store:
        archive = store.for_owner(OPERATOR)
        seen = await archive.items(sys.argv[2])
        await archive.append(sys.argv[2], [{"role": "user", "content": "go on"}], turn="t", after=1_000_000)
        # Not getrusage: its peak is inherited from the process that started this one.
        peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
        print(len(seen), int(peak[1]) // 1024)
asyncio.run(main())
"""


@pytest.mark.slow
def test_a_session_of_a_million_messages_opens_and_grows_in_little_memory(tmp_path: Path):
    driver = Driver(tmp_path)
    id = driver.begin()
    driver.close()
    with sqlite3.connect(tmp_path / "archive.db") as db:
        db.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
            "INSERT INTO messages (id, session, sequence, role, tokens, total, time, digest, handle, body) "
            "SELECT i, 1, i, 'user', 60, 60 * i, 1.8e9, zeroblob(16), '0123456789', "
            """'{"role":"user","content":"' || hex(zeroblob(120)) || '"}' FROM n"""
        )
        db.execute("UPDATE sessions SET messages = 1000000, tokens = 60000000")
    db.close()
    driver = Driver(tmp_path)
    gone = (Span(4, 999_900),)
    node = Node(node_id(id, summary("A"), gone), summary("A"), gone)
    driver.commit_compaction(id, ViewDraft(0, (Span(1, 3), NodeLink(node.id)), 999_900, (node,)), EVENT)
    driver.close()
    command = [sys.executable, "-c", _OPEN, str(tmp_path / "archive.db"), id]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seen, megabytes = map(int, done.stdout.split())
    assert seen == 104
    assert megabytes < 200


def test_an_unknown_view_is_a_sentence(driver: Driver):
    id, other = driver.begin(*talk(4)), driver.begin(*talk(4))
    driver.compact(other, [summary("A")])
    with pytest.raises(UserError, match="has no view 1"):
        driver.view(id, 1)


def test_an_archive_that_was_closed_says_so(tmp_path: Path):
    async def late():
        archive = await SqliteStore.open(tmp_path / "archive.db")
        await archive.close()
        await archive.sessions()

    with pytest.raises(ArchiveError, match=r"archive\.db is closed\.$"):
        asyncio.run(late())


def test_many_messages_are_encoded_a_few_at_a_time_so_that_other_tasks_get_their_turn(tmp_path: Path) -> None:
    async def appended() -> tuple[list[int], bool]:
        turns: list[int] = []
        async with await SqliteStore.open(tmp_path / "archive.db") as store:
            archive = store.for_owner(OPERATOR)
            session = await archive.create_session()
            compute = store._database.compute

            async def counted(work):
                found = await compute(work)
                turns.append(len(found))
                return found

            store._database.compute = counted
            said = talk(3 * ENCODED_AT_ONCE + 1)
            await archive.append(session.id, said, turn="one")
            stored = await archive.messages(session.id)
            return turns, [one.message["content"] for one in stored] == [one["content"] for one in said]

    turns, is_same = asyncio.run(appended())
    assert is_same
    assert max(turns) == ENCODED_AT_ONCE
    assert sum(turns) == len(talk(3 * ENCODED_AT_ONCE + 1))

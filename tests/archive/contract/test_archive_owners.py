"""What every store promises about the owners of sessions. `tests/attacks` tries to get around it."""

import pytest
from archive_driver import Driver, user

from plimsoll.archive import OPERATOR, Archive, ArchiveStore, SearchQuery, Session, key_owner, room_owner
from plimsoll.errors import UnknownSession

ONE, TWO = key_owner("one"), key_owner("two")


async def begun(archive: Archive, *texts: str) -> str:
    session = await archive.create_session(title="a title")
    await archive.append(session.id, [user(text) for text in texts], turn="begin")
    return session.id


def test_an_owner_sees_and_finds_only_their_own_sessions(archive: Driver):
    async def work(store: ArchiveStore) -> None:
        one, two = store.for_owner(ONE), store.for_owner(TWO)
        mine, theirs = await begun(one, "a lantern"), await begun(two, "a lantern too")
        operators = await begun(store.for_owner(OPERATOR), "another lantern")
        assert (await one.session(mine)).owner == one.owner == ONE
        assert [session.id for session in await one.sessions()] == [mine]
        assert [hit.session for hit in (await one.search(SearchQuery("lantern"))).hits] == [mine]
        for id in (theirs, operators, theirs[:-1]):
            with pytest.raises(UnknownSession) as told:
                await one.session(id)
            assert theirs not in str(told.value).replace(repr(id), "")

    archive.run_store(work)


def test_administration_sees_the_sessions_of_all_owners(archive: Driver):
    async def work(store: ArchiveStore) -> list[Session]:
        for owner in (ONE, room_owner("telegram:7", "41"), OPERATOR):
            id = await begun(store.for_owner(owner), "a lantern")
            assert (await store.session(id[:-1])).owner == owner
        return await store.sessions()

    assert {one.owner for one in archive.run_store(work)} == {"key:one", "room:telegram:7 41", "operator"}


def test_a_fork_belongs_to_the_owner_of_its_parent(archive: Driver):
    async def work(store: ArchiveStore) -> None:
        one = store.for_owner(ONE)
        mine = await begun(one, "a lantern")
        fork = await one.fork(mine)
        await one.delete(mine)
        assert (await one.session(fork.id)).owner == fork.owner == ONE
        assert [hit.session for hit in (await one.search(SearchQuery("lantern"))).hits] == [fork.id]

    archive.run_store(work)


@pytest.mark.parametrize("few", [0, 1_000], ids=["by the index", "by the rows of the owner"])
def test_an_owner_with_few_messages_among_many_finds_the_same(
    archive: Driver, monkeypatch: pytest.MonkeyPatch, few: int
):
    monkeypatch.setattr("plimsoll.archive.sqlite.index.SMALL_SCOPE", few)

    async def work(store: ArchiveStore) -> None:
        one, two = store.for_owner(ONE), store.for_owner(TWO)
        mine = await begun(one, "a lantern", "a gull")
        await begun(two, *(f"a lantern {number}" for number in range(50)))
        await one.append(mine, [user("one more lantern")], turn="later")
        for query, places in (
            (SearchQuery("lantern"), [3, 1]),
            (SearchQuery("lantern", order="oldest"), [1, 3]),
            (SearchQuery("lantern", limit=1), [3]),
            (SearchQuery("antern", "substring"), [3, 1]),
            (SearchQuery("l.nt+ern", "regex"), [3, 1]),
            (SearchQuery("lantern", session=mine, last=2), [1]),
        ):
            assert [hit.sequence for hit in (await one.search(query)).hits] == places
        ranked = await one.search(SearchQuery("lantern", order="relevance"))
        assert {hit.sequence for hit in ranked.hits} == {1, 3}

    archive.run_store(work)

"""No call of an archive reaches what another owner has, whatever ids it is given, on SQLite and on PostgreSQL."""

import inspect
import re
from collections.abc import Iterator

import pytest
from archive_driver import STORES
from owner_matrix import CASES, OWNERS, Belongings, Case, World, unknown

from plimsoll.archive import Archive, Owner
from plimsoll.archive.replies import ReplyArchive
from plimsoll.archive.sql.archive import SqlArchive
from plimsoll.archive.sql.replies import SqlReplies


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.fixture(scope="module", params=STORES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp(f"owners-{request.param}"), request.param)
    yield made
    assert made.runner.run(made.store.check()) == []
    made.close()


def test_every_call_of_an_archive_is_in_the_matrix() -> None:
    assert public(Archive) == set(CASES)
    assert public(SqlArchive) == set(CASES)  # a store adds no way in of its own


def test_no_call_of_an_archive_takes_an_owner() -> None:
    for name in sorted(set(CASES) - {"owner"}):
        assert "owner" not in inspect.signature(getattr(Archive, name)).parameters


def test_an_archive_is_bound_for_good(world: World) -> None:
    for owner, archive in world.archives.items():
        assert archive.owner == owner
        with pytest.raises(AttributeError):
            archive.owner = Owner("operator")  # type: ignore[misc]


def called(world: World, case: Case, attacker: Owner, other: Belongings) -> list[str]:
    """What each call of a case came to."""
    own, archive = world.belongings[attacker], world.archives[attacker]
    return [world.outcome(lambda call=call: call) for call in case(archive, own, other)]


def without(found: list[str], *asked: Belongings) -> list[str]:
    """The same without the ids that were asked for, and without ids of nodes, which are made of them."""
    names = sorted({name for one in asked for name in one.names}, key=len, reverse=True)
    pattern = re.compile("|".join([*(rf"\b{re.escape(name)}\b" for name in names), r"\bn:[0-9a-f]{10}\b"]))
    return [pattern.sub("ID", one) for one in found]


@pytest.mark.parametrize("attacker", OWNERS, ids=lambda owner: owner.replace(" ", "/"))
@pytest.mark.parametrize("operation", [name for name, case in CASES.items() if case is not None])
def test_what_other_owners_have_does_not_exist(world: World, operation: str, attacker: Owner) -> None:
    case, before = CASES[operation], world.rows()
    assert case is not None
    for victim in OWNERS:
        if victim == attacker:
            continue
        theirs = world.belongings[victim]
        nobodys = unknown(theirs)
        found, nothing = (called(world, case, attacker, one) for one in (theirs, nobodys))
        assert without(found, theirs, nobodys) == without(nothing, theirs, nobodys), f"{victim} exists"
        assert not [secret for secret in theirs.secrets[1:] for one in found if secret in one]
    assert world.rows() == before, "nothing that anybody has may change"


@pytest.mark.parametrize("operation", ["session", "messages", "items", "nodes", "search", "find_by_handle"])
def test_the_same_calls_find_what_is_ones_own(world: World, operation: str) -> None:
    """The matrix could not fail where its calls found nothing at all."""
    for owner, own in world.belongings.items():
        case = CASES[operation]
        assert case is not None
        archive = world.archives[owner]
        found = [world.outcome(lambda call=call: call) for call in case(archive, own, own)]
        assert any(own.word in one for one in found)


# Ids that no column stores: a NUL for one database, half a surrogate pair for all.
UNSTORABLE = ("\x00", "\ud800", "n:\ud800", "%", "_" * 20, "x" * 100_000)


def test_ids_that_no_database_stores_belong_to_nobody(world: World) -> None:
    """Each call ends as with an id that nobody has, not with an error of the database."""
    for attacker, own in world.belongings.items():
        for id in UNSTORABLE:
            other = Belongings(
                session=id, word="nobodysword", node=id, view=own.view, handle=id, lease=unknown(own).lease
            )
            for operation in (
                "session",
                "messages",
                "items",
                "node",
                "fork",
                "pins",
                "find_by_handle",
                "sessions",
            ):
                case = CASES[operation]
                assert case is not None
                for outcome in called(world, case, attacker, other):
                    assert outcome == "[]" or outcome.startswith(("UnknownSession", "UserError")), outcome


REPLY_CASES = {"keep", "history"}


def test_every_call_of_stored_replies_is_in_the_matrix() -> None:
    assert public(ReplyArchive) == public(SqlReplies) == REPLY_CASES
    for name in REPLY_CASES:
        assert "owner" not in inspect.signature(getattr(ReplyArchive, name)).parameters


@pytest.mark.parametrize("name", ["responses/caller/resp_1", *UNSTORABLE])
def test_replies_of_other_owners_are_neither_read_nor_continued_nor_replaced(world: World, name: str) -> None:
    async def attack() -> None:
        replies = {owner: world.store.replies(owner) for owner in OWNERS}
        for victim in OWNERS:
            await replies[victim].keep(name, "", "what the victim said")
            for attacker in OWNERS:
                if attacker == victim:
                    continue
                assert await replies[attacker].history(name) == []
                await replies[attacker].keep("mine", name, "a continuation")
                assert await replies[attacker].history("mine") == []
                await replies[attacker].keep(name, "", "forged")
                assert await replies[victim].history(name) == ["what the victim said"]
                await replies[attacker].keep(name, "nobody's", "")  # as if it had none
            await replies[victim].keep(name, "nobody's", "")

    world.runner.run(attack())

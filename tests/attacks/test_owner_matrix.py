"""No call of an archive reaches what another owner has, whatever ids it is given, on SQLite and on PostgreSQL."""

import inspect
import re
from collections.abc import Iterator

import pytest
from archive_driver import STORES
from owner_matrix import CASES, OWNERS, Belongings, Case, World, unknown

from plimsoll.archive import Archive, Owner
from plimsoll.archive.sql.archive import SqlArchive


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

"""No way leads from what engines, plugins and tools are given to the sessions of all owners."""

import ast
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archive_driver import STORES
from owner_matrix import OWNERS, Belongings, World

import plimsoll
from plimsoll.archive import ArchiveStore
from plimsoll.archive.blocking import BlockingArchive
from plimsoll.config import Settings
from plimsoll.context.lcm.tools import schemas
from plimsoll.plugins import EngineContext, PluginLocations, resolve_plugins

SOURCE = Path(plimsoll.__file__).parent
# Packages that receive an archive or pass it on; the packages above open the store.
LENT = ("agent", "assembly.py", "context", "plugins", "sessions", "tools")
ADMINISTRATION = {"ArchiveStore", "SqlStore", "SqliteStore", "PostgresStore", "open_archive", "find_anywhere"}


@pytest.fixture(scope="module", params=STORES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp(f"reach-{request.param}"), request.param)
    yield made
    made.close()


def attributes_of(thing: Any) -> Iterator[Any]:
    yield from getattr(thing, "__dict__", {}).values()
    for kind in type(thing).__mro__:
        slots = getattr(kind, "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name):
                yield getattr(thing, name)
    if isinstance(thing, dict):
        yield from thing.values()
    if isinstance(thing, list | tuple | set | frozenset):
        yield from thing


def reachable(thing: Any) -> Iterator[Any]:
    """Everything that can be had through attributes, private ones too, and bound methods."""
    seen: dict[int, Any] = {}
    left = [thing]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one
        left += [getattr(one, "__self__", None), *attributes_of(one)]


def test_no_attribute_leads_from_an_engine_to_the_whole_store(world: World, tmp_path: Path) -> None:
    async def look() -> None:
        archive, own = world.archives[OWNERS[1]], world.belongings[OWNERS[1]]
        context = EngineContext(Settings(), 16_000, tmp_path, "gpt-4.1", None, archive, own.session)
        for name in ("lcm", "compressor"):
            resolved = resolve_plugins(name, PluginLocations(tmp_path, tmp_path, {}, ()), context)
            assert resolved.problems == ()
            found = list(reachable((context, resolved, resolved.engine)))
            assert archive in found
            assert not [one for one in found if isinstance(one, ArchiveStore)]

    world.runner.run(look())


def test_nobody_who_is_lent_an_archive_knows_how_to_open_a_store() -> None:
    files = [
        file
        for name in LENT
        for file in ([SOURCE / name] if name.endswith(".py") else (SOURCE / name).rglob("*.py"))
    ]
    assert len(files) > 50
    for file in files:
        tree = ast.parse(file.read_text("utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        assert not names & ADMINISTRATION, file


def arguments_for(tool: str, other: Belongings) -> list[dict[str, Any]]:
    """Every argument of a tool that names something, with what belongs to somebody else."""
    ids = (other.node, other.handle, f"n:{other.node}", other.session)
    return {
        "lcm_grep": [
            {"pattern": other.word, "session_scope": "all"},
            {"pattern": other.word, "session_scope": "all", "mode": "regex"},
            {"pattern": other.word, "node": other.node},
            {"pattern": other.word, "session": other.session, "owner": "operator"},
        ],
        "lcm_describe": [{"id": id} for id in ids],
        "lcm_expand": [{"id": id} for id in ids],
        "lcm_expand_query": [
            {"question": other.word},
            {"question": "what?", "ids": [other.node, other.handle]},
        ],
        "lcm_status": [{}, {"session": other.session}],
    }[tool]


@pytest.mark.parametrize("tool", [one["function"]["name"] for one in schemas()])
def test_no_tool_of_the_lossless_engine_shows_what_another_owner_said(
    world: World, tool: str, tmp_path: Path
) -> None:
    async def use() -> list[str]:
        answers = []
        for attacker in OWNERS:
            own, archive = world.belongings[attacker], world.archives[attacker]
            assert isinstance(BlockingArchive.here(archive), BlockingArchive)
            context = EngineContext(Settings(), 16_000, tmp_path, "gpt-4.1", None, archive, own.session)
            engine = resolve_plugins("lcm", PluginLocations(tmp_path, tmp_path, {}, ()), context).engine
            for victim in OWNERS:
                other = world.belongings[victim]
                for arguments in arguments_for(tool, other) if victim != attacker else ():
                    said = await asyncio.to_thread(engine.handle_tool_call, tool, arguments)
                    told = json.dumps(json.loads(said)).replace(json.dumps(arguments.get("id", "-")), "")
                    answers.append(told)
                    assert f"summary-{other.word}" not in told
                    assert f"{other.word} 1" not in told
                    assert f"{other.word} result" not in told
            if tool == "lcm_grep":
                mine = {"pattern": own.word, "session_scope": "all"}
                assert own.word in await asyncio.to_thread(engine.handle_tool_call, tool, mine)
        return answers

    assert world.runner.run(use())

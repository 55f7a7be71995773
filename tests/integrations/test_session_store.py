"""The session store of the Claude Agent SDK without the SDK: every line comes back, once, to its own owner."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plimsoll.archive.query import SearchQuery
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.integrations.claude_agent import PlimsollSessionStore

KEY = {"project_key": "-home-p", "session_id": "s1"}


def line(number: int, content: Any, role: str = "user") -> dict[str, Any]:
    return {
        "type": role,
        "uuid": f"u{number}",
        "message": {"role": role, "content": content},
        "extra": [1, None],
    }


LINES = [
    line(1, "Where does the Aurora lie? \x00 \ud800 ü"),
    line(2, [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}], "assistant"),
    line(3, [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"pier {n}"} for n in (1, 2)]),
    {"type": "queue-operation", "operation": "enqueue"},
    {"type": "queue-operation", "operation": "enqueue"},
    {"type": "system", "subtype": "compact_boundary", "uuid": "u4", "compactMetadata": {"trigger": "auto"}},
]


@pytest.mark.parametrize("batch", [1, 2, 6])
def test_every_line_comes_back_as_it_was_in_another_process(tmp_path: Path, batch: int) -> None:
    async def write() -> None:
        store = PlimsollSessionStore(str(tmp_path / "a.db"))
        for start in range(0, len(LINES), batch):
            await store.append(KEY, LINES[start : start + batch])
        store.close()

    async def read() -> Any:
        store = PlimsollSessionStore(str(tmp_path / "a.db"))
        found = await store.load(KEY)
        store.close()
        return found

    asyncio.run(write())
    assert asyncio.run(read()) == LINES


def test_a_batch_that_is_sent_again_stores_no_line_with_a_uuid_twice(tmp_path: Path) -> None:
    async def main() -> Any:
        store = PlimsollSessionStore(str(tmp_path / "a.db"))
        await asyncio.gather(*(store.append(KEY, LINES[:3]) for _ in range(3)))
        await store.append(KEY, LINES[1:3])
        found = await store.load(KEY)
        store.close()
        return found

    assert asyncio.run(main()) == LINES[:3]


def test_what_was_said_is_found_by_the_search_of_the_archive(tmp_path: Path) -> None:
    async def main() -> list[str]:
        store = PlimsollSessionStore(str(tmp_path / "a.db"))
        await store.append(KEY, LINES)
        store.close()
        async with await SqliteStore.open(tmp_path / "a.db") as archives:
            page = await archives.for_owner("operator").search(SearchQuery("Aurora"))
            return [hit.role for hit in page.hits]

    assert asyncio.run(main()) == ["user"]


def test_another_owner_sees_none_of_it(tmp_path: Path) -> None:
    async def main() -> tuple[Any, Any]:
        store = PlimsollSessionStore(str(tmp_path / "a.db"))
        await store.append(KEY, LINES)
        store.close()
        other = PlimsollSessionStore(str(tmp_path / "a.db"), owner="key:other")
        found = await other.load(KEY), await other.list_sessions("-home-p")
        other.close()
        return found

    assert asyncio.run(main()) == (None, [])

"""A gateway that is killed before any of its writes finds again what its clients have an answer to."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rewinding import opened, request_points, settings_of

from plimsoll.archive.open_archive import open_archive
from plimsoll.archive.sqlite.connection import SqliteDatabase
from plimsoll.gateway.dropin.conversation_index import ConversationIndex
from plimsoll.messages import Message
from plimsoll.testing.prefix import prefix_parts
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

pytestmark = pytest.mark.slow
WINDOW = 4_000
FILLER = "The harbour master wrote down every ship that came in. " * 14


class KilledError(Exception):
    """The process is dead: it writes nothing any more."""


class Killer:
    """Lets so many writes of a process happen, and none after them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.is_dead = False
        for kind, name in ((SqliteDatabase, "write"), (ConversationIndex, "put")):
            monkeypatch.setattr(kind, name, self._counted(getattr(kind, name)))

    def arm(self, writes: int | None) -> None:
        self.left, self.is_dead = writes, False

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def write(*arguments: Any, **named: Any) -> Any:
            if self.left == 0:
                self.is_dead = True
                raise KilledError
            if self.left is not None:
                self.left -= 1
            return await original(*arguments, **named)

        return write


def _ignore_killed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Work beside the requests dies with its process."""
    if not isinstance(context.get("exception"), KilledError):
        loop.default_exception_handler(context)


def conversation() -> list[Message]:
    """Long enough for two compactions."""
    messages: list[Message] = [{"role": "system", "content": "Be brief."}]
    for turn in range(18):
        messages.append({"role": "user", "content": f"Ship {turn}: where does it lie? {FILLER}"})
        messages.append({"role": "assistant", "content": f"At pier {turn}."})
    return messages


async def _answered(
    home: Path, server: ScriptedServer, points: list[int], killer: Killer
) -> tuple[list[int], list[str]]:
    """What one life answers until it is dead: the prefixes that it answered, and the sessions that it named."""
    done: list[int] = []
    sessions: list[str] = []
    settings, said = settings_of(server, "openai", WINDOW), conversation()
    asyncio.get_running_loop().set_exception_handler(_ignore_killed)
    async with opened(settings, home, "openai", server, "compressor") as client:
        for point in points:
            try:
                await client.ask(said[:point])
            except KilledError:
                break
            done.append(point)
            sessions.append(client.session)
            if killer.is_dead:
                break
        killer.arm(None)  # what a dead process would not do any more: close its files
    return done, sessions


def _breaks(requests: list[CapturedRequest]) -> list[str]:
    """Requests that neither extend the one before nor are shorter, as after a compaction."""
    found = []
    bodies = [prefix_parts(seen.body) for seen in requests if seen.body]
    for before, after in pairwise(bodies):
        if len(after) >= len(before) and after[: len(before)] != before:
            found.append(f"{len(before)} parts, then {len(after)}")
    return found


async def _compacted_sessions(home: Path) -> int:
    async with await open_archive(None, home) as store:
        return sum(session.view > 0 for session in await store.sessions())


def test_what_a_client_has_an_answer_to_is_found_again_wherever_the_gateway_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = Killer(monkeypatch)
    points = request_points(conversation())
    writes, survived = 0, False
    while not survived:
        home = tmp_path / str(writes)
        home.mkdir()
        with ScriptedServer(lambda _request: say("Noted."), window=WINDOW) as server:
            killer.arm(None)
            asyncio.run(_prepared(home))
            killer.arm(writes)
            done, before = asyncio.run(_answered(home, server, points, killer))
            survived = done == points
            rest = [point for point in points if point not in done] or [points[-1]]
            _, after = asyncio.run(_answered(home, server, rest, killer))
            named = {session for session in (*before, *after) if session}
            assert len(named) == 1, f"killed before write {writes}: {before} / {after}"
            assert not any(before) or after[0] in named
            assert _breaks(server.requests) == [], f"killed before write {writes}"
            assert asyncio.run(_compacted_sessions(home)) == 1
        writes += 1
    assert writes > 12


async def _prepared(home: Path) -> None:
    """An archive of today: bringing one to its form is no write of a conversation."""
    async with await open_archive(None, home):
        pass

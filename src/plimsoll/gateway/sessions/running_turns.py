"""The turns that run in this process as background tasks, so that they can be stopped."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from plimsoll.archive import Owner
from plimsoll.sessions import Exchange


class RunningTurns:
    """Tasks by owner and session id."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[Owner, str], set[asyncio.Task[Exchange]]] = {}

    def start(self, owner: Owner, id: str, turn: Coroutine[Any, Any, Exchange]) -> "asyncio.Task[Exchange]":
        """Run a turn as a task that `stop` and `close` can end."""
        task = asyncio.create_task(turn)
        self._tasks.setdefault((owner, id), set()).add(task)
        task.add_done_callback(lambda done: self._ended(owner, id, done))
        return task

    async def stop(self, owner: Owner, id: str) -> None:
        """Stop the turns of a session."""
        turns = list(self._tasks.get((owner, id), ()))
        for task in turns:
            task.cancel()
        await asyncio.gather(*turns, return_exceptions=True)

    async def close(self, grace_seconds: float) -> None:
        """Stop all turns after at most `grace_seconds`."""
        turns = [task for tasks in self._tasks.values() for task in tasks]
        if turns:
            await asyncio.wait(turns, timeout=grace_seconds)
        for owner, id in list(self._tasks):
            await self.stop(owner, id)

    def _ended(self, owner: Owner, id: str, task: "asyncio.Task[Exchange]") -> None:
        turns = self._tasks[owner, id]
        turns.discard(task)
        if not turns:
            del self._tasks[owner, id]
        if not task.cancelled():
            task.exception()  # retrieved; the session's log has it if no caller awaited the task

"""Stores under test, and a way to call them without `await`."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from postgres_server import server

from message_builders import assistant, user
from plimsoll.archive import OPERATOR, Archive, ArchiveStore, CompactionEvent, draft_of
from plimsoll.archive.postgres import PostgresStore
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.messages import Message

START = 1_800_000_000.0
EVENT = CompactionEvent("threshold", "compressor")


class Clock:
    """Time that moves when it is told to."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def _sqlite(folder: Path, clock: Clock, random: Random) -> ArchiveStore:
    return await SqliteStore.open(folder / "archive.db", clock=clock, random=random)


async def _postgres(folder: Path, clock: Clock, random: Random) -> ArchiveStore:
    return await PostgresStore.open(server().url_for(folder), clock=clock, random=random)


# A store is added to the contract by adding it here.
STORES: dict[str, Callable[[Path, Clock, Random], Awaitable[ArchiveStore]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
}


OF_THE_STORE = (
    "check",
    "repair_search_index",
)  # asked of the whole store; everything else is the operator's archive


class Driver:
    """An archive whose methods can be called as they are; `reopen` is what a new process does."""

    def __init__(self, folder: Path, store: str = "sqlite") -> None:
        self.folder = folder
        self.clock = Clock()
        self.store = store
        self._open = STORES[store]
        self._random = Random(7)
        self._runner = asyncio.Runner()
        try:
            self._store = self._runner.run(self._start())
        except BaseException:
            self._runner.close()
            raise

    async def _start(self) -> ArchiveStore:
        return await self._open(self.folder, self.clock, self._random)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store if name in OF_THE_STORE else self.archive, name)
        return lambda *args, **kwargs: self._runner.run(method(*args, **kwargs))

    @property
    def archive(self) -> Archive:
        """The operator's."""
        return self._store.for_owner(OPERATOR)

    def run(self, work: Callable[[Archive], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            return await work(self.archive)

        return self._runner.run(inside())

    def run_store(self, work: Callable[[ArchiveStore], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            return await work(self._store)

        return self._runner.run(inside())

    def reopen(self) -> None:
        self._runner.run(self._store.close())
        self._store = self._runner.run(self._start())

    def close(self) -> None:
        self._runner.run(self._store.close())
        self._runner.close()

    def rows(self, *tables: str) -> list[int]:
        """How many rows each table has, read without the archive."""
        statement = f"SELECT {', '.join(f'(SELECT count(*) FROM {table})' for table in tables)}"
        if self.store == "postgres":
            return list(server().run(statement, server().url_for(self.folder))[0])
        with closing(sqlite3.connect(self.folder / "archive.db")) as db:
            return list(db.execute(statement).fetchone())

    # What tests do again and again

    def begin(self, *messages: Message, **facts: str) -> str:
        id = self.create_session(**facts).id
        if messages:
            self.append(id, list(messages), turn="begin")
        return id

    def said(self, id: str) -> list[Message]:
        return [stored.message for stored in self.messages(id)]

    def seen(self, id: str) -> list[Message]:
        return [item.message for item in self.items(id)]

    def compact(self, id: str, after: list[Message], **more: Any) -> Any:
        """Replace what the model sees by this list."""
        base = self.view(id)
        return self.commit_compaction(id, draft_of(id, base, self.items(id, base), after), EVENT, **more)


def summary(text: str, role: str = "assistant") -> Message:
    return {"role": role, "content": f"[CONTEXT COMPACTION] {text}"}


def talk(count: int, word: str = "say") -> list[Message]:
    """`count` messages, user and assistant in turn, each one different."""
    return [(assistant if n % 2 else user)(f"{word} {n + 1}") for n in range(count)]

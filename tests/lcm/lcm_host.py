"""A host of the lossless engine on a real archive, for tests: it says, compacts, undoes, forks and starts again."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from plimsoll.agent.engine_host import EngineHost
from plimsoll.archive import OPERATOR, CompactionEvent, Node, StoredMessage
from plimsoll.archive.blocking import BlockingArchive
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context.gate import refusal
from plimsoll.context.lcm import ArchiveNodeStore, LcmEngine
from plimsoll.context.lcm.integrity_check import StoredTree, faults
from plimsoll.context.lcm.tree import KINDS, REPLACES, run_of
from plimsoll.messages import Message, extends
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.pins import with_pins

DEADLINE = 120.0
EVENT = CompactionEvent("threshold", "lcm")
SUMMARY = "## Goal\nkeep the harbour log\n## Progress\n### Done\n- wrote down what the pilot said\n"


class Model:
    """Writes summaries, until it does not."""

    context_length = 8_000

    def __init__(self, text=SUMMARY):
        self.text, self.answers, self.prompts = text, True, []

    def summarize(self, prompt, max_tokens):
        self.prompts.append(prompt)
        if not self.answers:
            raise ConnectionError("the model is away")
        return self.text


@dataclass(frozen=True)
class Found:
    """A session as it is stored."""

    log: list[StoredMessage]
    nodes: list[Node]
    view: dict[int, Message]  # by the number in the log

    @property
    def seen(self):
        return set(self.view)

    @property
    def faults(self):
        first = self.log[0] if self.log else None
        return list(faults(StoredTree(self.nodes, first, len(self.log), self.seen)))

    @property
    def covered(self):
        """How many leaves each message is under, counted from the stored rows alone."""
        again = {node.details[REPLACES] for node in self.nodes if REPLACES in node.details}
        leaves = [node for node in self.nodes if node.kind == "leaf" and node.id not in again]
        runs = map(run_of, leaves)
        return Counter(sequence for run in runs for sequence in range(run.first, run.last + 1))


class Host:
    """One archive, and an engine for each of its sessions."""

    def __init__(self, folder: Path, *, window=4_000, model=None, now=1_800_000_000.0):
        self.folder, self.window, self.model, self.now = folder, window, model, now
        self.runner = asyncio.Runner()
        self.engines = {}
        self._open()

    def _open(self):
        path = self.folder / "archive.db"
        self.store = self.runner.run(SqliteStore.open(path, clock=lambda: self.now))
        self.archive = self.store.for_owner(OPERATOR)

    def begin(self):
        return self.run(self.archive.create_session(engine="lcm")).id

    def close(self):
        self.run(self.store.close())
        self.runner.close()

    def restart(self):
        """What a new process does: nothing is known but what is in the archive."""
        self.run(self.store.close())
        self.engines = {}
        self._open()

    def run(self, work):
        return self.runner.run(work)

    def say(self, session, messages):
        self.now += 60
        last = self.run(self.archive.session(session)).messages
        self.run(self.archive.append(session, messages, turn=f"after.{last}", after=last))

    def engine(self, session):
        if session not in self.engines:
            self.engines[session] = self.run(self._engine(session))
        return self.engines[session]

    async def _engine(self, session):
        memory = ArchiveNodeStore(BlockingArchive.here(self.archive), session)
        return LcmEngine(context_length=self.window, protect_last_n=4, summarizer=self.model, store=memory)

    def compact(self, session, **options):
        """One publication; whether the view changed."""
        engine = self.engine(session)

        async def work():
            items = await self.archive.items(session)
            before = [item.message for item in items]
            # As the agent and the sessions do it: through the host of engines, with pins, gate and journal.
            after, _ = await EngineHost(engine).compress(engine, before, DEADLINE, **options)
            if refusal(before, weigh(before), after):
                return False
            pinned = set(await self.archive.pins(session))
            after = with_pins(before, after, [n for n, item in enumerate(items) if item.sequence in pinned])
            last = (await self.archive.session(session)).messages
            await ArchiveJournal(self.archive, session, "test", last).compacted(before, after, EVENT)
            return True

        return self.run(work())

    async def view(self, session):
        return [item.message for item in await self.archive.items(session)]

    def call(self, session, name, **arguments):
        """The engine's answer to a tool call, as text."""
        engine = self.engine(session)

        async def work():
            return await asyncio.to_thread(engine.handle_tool_call, name, arguments)

        return self.run(work())

    def log(self, session):
        return self.run(self.archive.messages(session))

    def nodes(self, session):
        return self.found(session).nodes

    def seen(self, session):
        return self.found(session).seen

    def whole(self, session):
        """The messages that the view contains word for word, with or without a note after them."""
        found = self.found(session)
        return {n for n in found.seen if extends(found.log[n - 1].message, found.view[n])}

    def faults(self, session):
        return self.found(session).faults

    def covered(self, session):
        return self.found(session).covered

    def found(self, session):
        """What is stored of a session."""

        async def work():
            log = await self.archive.messages(session)
            nodes = await self.archive.nodes(session, inherited=True)
            items = await self.archive.items(session)
            view = {item.sequence: item.message for item in items if item.sequence}
            return Found(log, [node for node in nodes if node.kind in KINDS], view)

        return self.run(work())

    def rows(self):
        """How many rows each table has."""
        tables = ("messages", "nodes", "edges", "views", "events")
        with closing(sqlite3.connect(self.folder / "archive.db")) as db:
            return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}

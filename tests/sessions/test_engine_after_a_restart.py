"""The built-in engine after a restart: the messages that its summaries replaced are read from the archive."""

import asyncio
import json

from plimsoll.agent.engine_host import EngineHost
from plimsoll.archive import OPERATOR, CompactionEvent
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.config import Settings
from plimsoll.context.compressor import find_summary
from plimsoll.plugins.builtin import make_compressor
from plimsoll.plugins.offers import EngineContext
from plimsoll.sessions.journal import ArchiveJournal

WINDOW = 24_000
EVENT = CompactionEvent("threshold", "compressor")
OPENING = [
    {"role": "system", "content": "You are a careful coding agent."},
    {"role": "user", "content": "Make the importer faster. Never write to the production database."},
]


def work(first, count):
    for n in range(first, first + count):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"src/part_{n}.py"})}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        yield {"role": "assistant", "content": f"I read part {n}.", "tool_calls": [call]}
        text = f"def part_{n}_loader(rows): return rows\n" * (400 if n % 10 == 9 else 20)
        yield {"role": "tool", "tool_call_id": call["id"], "content": text + f"def last_of_{n}(): pass"}


async def compacted(path, batches, *, restarts):
    """The view after a compaction of each batch, with a new engine each time or the same one."""
    engine = None
    async with await SqliteStore.open(path) as store:
        archive = store.for_owner(OPERATOR)
        id = (await archive.create_session(engine="compressor")).id
        for batch in batches:
            last = (await archive.session(id)).messages
            await archive.append(id, batch, turn=f"after.{last}", after=last)
            if engine is None or restarts:
                engine = make_compressor(EngineContext(Settings(), WINDOW, archive=archive, session_id=id))
            before = [item.message for item in await archive.items(id)]
            after, _ = await EngineHost(engine).compress(engine, before, 60.0)
            last = (await archive.session(id)).messages
            await ArchiveJournal(archive, id, "test", last).compacted(before, after, EVENT)
        return [item.message for item in await archive.items(id)]


def batches(count=4):
    for n in range(count):
        yield [*(OPENING if n == 0 else ()), *work(n * 60, 60)]


def test_after_a_restart_an_engine_writes_the_same_summary_as_without_it(tmp_path):
    living = asyncio.run(compacted(tmp_path / "a.db", list(batches()), restarts=False))
    restarted = asyncio.run(compacted(tmp_path / "b.db", list(batches()), restarts=True))
    assert "def last_of_" in living[find_summary(living)]["content"]
    assert restarted == living


def test_after_very_many_messages_only_the_text_of_the_summary_is_used(tmp_path):
    view = asyncio.run(compacted(tmp_path / "a.db", list(batches(12)), restarts=True))
    assert "Never write to the production database." in view[find_summary(view)]["content"]

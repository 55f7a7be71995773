"""What a person removed from a view never returns by itself: not in a compaction, a restart or a fork."""

import asyncio
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.agent.engine_host import EngineHost
from plimsoll.archive import OPERATOR, CompactionEvent
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.config import Settings
from plimsoll.context.markers import as_stored, editable_text, is_summary
from plimsoll.messages import validate
from plimsoll.plugins.builtin import make_compressor, make_lcm
from plimsoll.plugins.offers import EngineContext
from plimsoll.sessions import ArchiveJournal, SessionActions

WINDOW = 12_000
ENGINES = {"compressor": make_compressor, "lcm": make_lcm}
EVENT = CompactionEvent("threshold", "compressor")
MARK = re.compile(r"mark\d+x")
FILLER = "The harbour master wrote down every ship that came in, its draught and its line. "
OPENING = [
    {"role": "system", "content": "You are a careful coding agent."},
    {"role": "user", "content": "Make the importer faster. Never write to the production database."},
]


def marks(message):
    return set(MARK.findall(json.dumps(message)))


def exchange(n):
    """A rule, a call with its result, and an answer: each with a mark that nothing else has."""
    base = 10 * n
    function = {"name": "read_file", "arguments": json.dumps({"path": f"src/mark{base + 1}x.py"})}
    call = {"id": f"call_{n}", "type": "function", "function": function}
    return [
        {"role": "user", "content": f"Never change mark{base}x on port 8{n:03}. {FILLER * 12}"},
        {"role": "assistant", "content": f"I decided to use mark{base + 2}x.", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": f"def mark{base + 3}x(): pass\nerror: mark{base + 4}x failed\n{FILLER * 12}",
        },
        {"role": "assistant", "content": f"Done: mark{base + 5}x is renamed. {FILLER * 4}"},
    ]


class Desk:
    """A session, its engine, and what a person has removed from it so far."""

    def __init__(self, archive, id, engine):
        self.archive, self.id, self.engine_name = archive, id, engine
        self.actions = SessionActions(archive, id, OPERATOR)
        self.removed, self.exchanges = set(), 0
        self.dropped, self.dropped_marks = set(), set()
        self.restart()

    def restart(self):
        context = EngineContext(Settings(), WINDOW, archive=self.archive, session_id=self.id)
        self.engine = ENGINES[self.engine_name](context)

    async def talk(self):
        said = [*(OPENING if not self.exchanges else ()), *exchange(self.exchanges)]
        last = (await self.archive.session(self.id)).messages
        await self.archive.append(self.id, said, turn=f"after.{last}", after=last)
        self.exchanges += 1

    async def compact(self):
        before = as_stored(await self.archive.items(self.id))
        after, report = await EngineHost(self.engine).compress(self.engine, before, 60.0)
        if report is None or report.outcome != "compacted":
            return
        last = (await self.archive.session(self.id)).messages
        await ArchiveJournal(self.archive, self.id, "test", last).compacted(before, after, EVENT)

    async def drop(self, nth):
        """Drop a message of the view: never the opening, never the newest request."""
        items = await self.archive.items(self.id)
        newest = max(i for i, item in enumerate(items) if item.message["role"] == "user" and item.sequence)
        able = [i for i in items[:newest] if i.sequence > len(OPENING)]
        if not able:
            return
        chosen = able[nth % len(able)]
        gone = (await self.actions.drop([chosen.sequence])).messages
        assert chosen.sequence in gone
        left = set().union(*(marks(item.message) for item in items if item.sequence in gone))
        # A summary may speak of a message beside it.
        left -= set().union(*(marks(i.message) for i in items if i.sequence not in gone))
        self.removed |= left
        self.dropped_marks |= left
        self.dropped |= set(gone)
        self.engine.forget_summaries()

    async def edit(self, nth):
        """Take all lines out of the summary that name one of its marks."""
        items = await self.archive.items(self.id)
        summary = next((item for item in items if item.node and is_summary(item.message)), None)
        if summary is None:
            return
        seen = set().union(*(marks(item.message) for item in items if item.sequence))
        able = sorted(marks(summary.message) - seen)
        if not able:
            return
        text = editable_text(summary.message)
        kept = "\n".join(line for line in text.splitlines() if able[nth % len(able)] not in line)
        await self.actions.edit_summary(kept, node=summary.node)
        self.removed |= set(MARK.findall(text)) - set(MARK.findall(kept)) - seen
        self.engine.forget_summaries()

    async def fork(self, nth):
        """Go on in a fork after one of the exchanges. Before an edited summary, its messages are there again."""
        ends = range(len(OPENING) + 4, (await self.archive.session(self.id)).messages + 1, 4)
        at = ends[nth % len(ends)]
        self.id = (await self.archive.fork(self.id, at=at)).id
        self.actions = SessionActions(self.archive, self.id, OPERATOR)
        self.dropped = {number for number in self.dropped if number <= at}
        # An older summary may speak of a message that was dropped later.
        told = [marks(item.message) for item in await self.archive.items(self.id) if item.node]
        self.dropped_marks -= set().union(*told)
        self.removed = set(self.dropped_marks)
        self.restart()

    async def check(self):
        items = await self.archive.items(self.id)
        assert not self.dropped & {item.sequence for item in items}
        assert self.dropped <= set((await self.archive.edits(self.id)).dropped)
        view = [item.message for item in items]
        assert not self.removed & set().union(*map(marks, view))
        assert not validate(view, "anthropic")
        assert {one.sequence for one in items} & {1} == {1}


async def played(folder, engine, steps):
    async with await SqliteStore.open(folder / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = (await archive.create_session(model="claude-sonnet-4-5", engine=engine)).id
        desk = Desk(archive, id, engine)
        for _ in range(4):
            await desk.talk()
        for step, nth in steps:
            if step == "restart":
                desk.restart()
            elif step in ("drop", "edit", "fork"):
                await getattr(desk, step)(nth)
            else:
                await getattr(desk, step)()
            await desk.check()
        await desk.talk()
        await desk.talk()
        await desk.compact()
        await desk.check()
        assert await store.check() == []
        return desk


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["talk", "compact", "compact", "drop", "drop", "edit", "fork", "restart"]),
        st.integers(0, 50),
    ),
    min_size=3,
    max_size=9,
)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_what_a_person_removed_never_returns_by_itself(tmp_path_factory, engine, steps):
    asyncio.run(played(tmp_path_factory.mktemp("edits"), engine, steps))


@pytest.mark.parametrize("engine", ENGINES)
def test_dropped_messages_and_struck_lines_stay_away_through_three_compactions(tmp_path, engine):
    steps = [("drop", 3), ("compact", 0), ("edit", 0), ("edit", 5)]
    for _ in range(2):
        steps += [("talk", 0), ("talk", 0), ("talk", 0), ("drop", 2), ("compact", 0), ("restart", 0)]
    desk = asyncio.run(played(tmp_path, engine, steps))
    assert len(desk.removed) > 6


def test_a_fork_before_the_last_of_several_dropped_messages_leaves_out_the_others(tmp_path):
    async def work():
        async with await SqliteStore.open(tmp_path / "archive.db") as store:
            archive = store.for_owner(OPERATOR)
            id = (await archive.create_session(model="claude-sonnet-4-5")).id
            said = [
                {"role": role, "content": f"{role} {n}"} for n in range(6) for role in ("user", "assistant")
            ]
            await archive.append(id, [OPENING[0], *said], turn="begin")
            await SessionActions(archive, id, OPERATOR).drop([4, 5, 10, 11])
            forked = await archive.fork(id, at=10)
            again = await archive.fork(forked.id, at=6)
            seen = [[item.sequence for item in await archive.items(one.id)] for one in (forked, again)]
            assert seen == [[1, 2, 3, 6, 7, 8, 9], [1, 2, 3, 6]]
            assert (await archive.edits(again.id)).dropped == (4, 5)
            await SessionActions(archive, again.id, OPERATOR).undo()
            assert [item.sequence for item in await archive.items(again.id)] == [1, 2, 3, 4, 5, 6]
            assert await store.check() == []

    asyncio.run(work())

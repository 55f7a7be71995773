"""Any order of saying, compacting, restarting, forking, undoing, pinning, with a model that comes and goes.

After every step each message that left the view is under exactly one leaf, and everything that was said is there.
The suite runs a form that is the same each time. The large random one, with another seed each time:

    PLIMSOLL_LARGE=1 pytest tests/lcm/test_lcm_state_machine.py --hypothesis-seed=7
"""

import asyncio
import copy
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from lcm_host import Host, Model

from plimsoll.errors import Conflict, UserError
from plimsoll.testing.strategies import turns

SHARED_MEMORY = Path("/dev/shm")


def asked(result, call_id="call_0"):
    """A round as small servers make it: their ids begin at 0 each time."""
    function = {"name": "tide", "arguments": "{}"}
    return [
        {"role": "user", "content": "Go on."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


OFTEN_SAID = [
    [{"role": "user", "content": "Go on."}],
    [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "I went on."}],
    [{"role": "user", "content": "the tide is high " * 200}, {"role": "assistant", "content": "ok"}],
    [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": None}],
    asked("high water at noon"),
    [*asked("high water at noon\n" * 80), {"role": "assistant", "content": "At noon."}],
    [*asked("low water\n" * 300), *asked("low water\n" * 300), {"role": "assistant", "content": "ok"}],
    [*asked("high water at noon\n" * 80), *asked("high water at noon\n" * 80)[1:]],
]


class LosslessMachine(RuleBasedStateMachine):
    """Steps against an archive; what was said is remembered here too.

    What a step touched is examined after it, and everything in the end.
    """

    sessions = Bundle("sessions")

    def __init__(self):
        super().__init__()
        folder = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.model = Model()
        self.host = Host(self.folder, model=self.model)
        self.calls = 0
        self.said = {}
        self.touched = set()
        self.published = {}  # texts of nodes by id: an id never says anything else

    def teardown(self):
        self.touched = set(self.said)
        self.each_touched_conversation_is_whole()
        self.host.close()
        shutil.rmtree(self.folder)

    @initialize(target=sessions, prompt=st.booleans())
    def first(self, prompt):
        id = self.host.begin()
        self.said[id] = []
        if prompt:
            self._add(id, [{"role": "system", "content": "You keep the harbour log."}])
        return id

    @rule(id=sessions, turn=turns(), times=st.integers(1, 4), compact=st.booleans())
    def say(self, id, turn, times, compact):
        self._add(id, turn * times)
        if compact:
            self._compact(id)

    @rule(
        id=sessions,
        said=st.lists(st.sampled_from(OFTEN_SAID), min_size=1, max_size=3),
        times=st.integers(1, 6),
        compact=st.booleans(),
    )
    def say_the_same_again(self, id, said, times, compact):
        self._add(id, [message for turn in said for message in turn] * times)
        if compact:
            self._compact(id)

    @rule(id=sessions, focus=st.sampled_from([None, "the parser"]))
    def compact(self, id, focus):
        self._compact(id, focus_topic=focus)

    @rule(id=sessions, turn=st.sampled_from(OFTEN_SAID))
    def prepare_and_never_show(self, id, turn):
        """A compaction that was prepared in the background and given up, while the talk went on."""
        engine = self.host.engine(id)

        async def work():
            return await asyncio.to_thread(engine.compress, await self.host.view(id))

        self.host.run(work())
        self._add(id, turn)

    @rule(what=st.sampled_from(["restart", "outage", "recovery", 2_000, 4_000, 8_000, 16_000]))
    def something_happens(self, what):
        if what == "restart":
            self.host.restart()
            self.touched = set(self.said)
        elif isinstance(what, str):
            self.model.answers = what == "recovery"
        else:  # another model
            self.host.window = what
            for engine in self.host.engines.values():
                engine.update_model("another", what)

    @rule(target=sessions, id=sessions, share=st.floats(0, 1))
    def fork(self, id, share):
        if len(self.said) > 4 or not self.said[id]:
            return multiple()
        at = max(1, round(len(self.said[id]) * share))
        child = self.host.run(self.host.archive.fork(id, at=at)).id
        self.said[child] = self.said[id][:at]
        self.touched |= {id, child}
        return child

    @rule(id=sessions)
    def undo(self, id):
        self.touched.add(id)
        try:
            self.host.run(self.host.archive.undo(id))
        except UserError:
            assert self.host.run(self.host.archive.view(id)).number == 0

    @rule(id=sessions, place=st.floats(0, 1), on=st.booleans())
    def pin(self, id, place, on):
        if self.said[id]:
            sequence = max(1, round(len(self.said[id]) * place))
            work = self.host.archive.pin if on else self.host.archive.unpin
            try:
                self.host.run(work(id, sequence))
            except Conflict:  # a pin does not bring back what has left the view
                assert on
                assert sequence not in self.host.whole(id)

    @invariant()
    def each_touched_conversation_is_whole(self):
        for id in self.touched:
            found, said = self.host.found(id), self.said[id]
            assert [one.message for one in found.log] == said, "not everything that was said is there"
            covered = found.covered
            gone = [
                n for n, message in enumerate(said, 1) if n not in found.seen and message["role"] != "system"
            ]
            wrong = {n: covered.get(n, 0) for n in gone if covered.get(n) != 1}
            assert wrong == {}, f"{wrong}: of {len(said)} messages {sorted(found.seen)} are seen"
            assert max(covered.values(), default=0) <= 1
            assert found.faults == []
            for node in found.nodes:
                assert self.published.setdefault(node.id, node.message) == node.message
        self.touched = set()

    def _add(self, id, messages):
        # Objects of their own, as they come from a provider: equal messages are equal and nothing more.
        own = copy.deepcopy(messages)
        self.host.say(id, own)
        self.said[id] += own
        self.touched.add(id)

    def _compact(self, id, **options):
        """A pinned message is verbatim in the new view if it was verbatim before."""
        pins = set(self.host.run(self.host.archive.pins(id)))
        whole = pins & self.host.whole(id)
        self.host.compact(id, **options)
        assert whole <= self.host.whole(id)
        self.touched.add(id)


LARGE = os.environ.get("PLIMSOLL_LARGE") == "1"


class TestAnyOrderKeepsEveryMessageUnderOneLeaf(LosslessMachine.TestCase):
    settings = settings(
        max_examples=150 if LARGE else 20,
        stateful_step_count=40 if LARGE else 25,
        derandomize=not LARGE,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

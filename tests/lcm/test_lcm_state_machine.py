"""Any order of saying, compacting, restarting, forking, undoing, pinning, with a model that comes and goes.

After every step each message that left the view is under exactly one leaf, and everything that was said is there.
"""

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from lcm_host import Host, Model

from plimsoll.errors import UserError
from plimsoll.testing.strategies import turns

SHARED_MEMORY = Path("/dev/shm")


class LosslessMachine(RuleBasedStateMachine):
    """Steps against an archive; what was said is remembered here too."""

    sessions = Bundle("sessions")

    def __init__(self):
        super().__init__()
        folder = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.model = Model()
        self.host = Host(self.folder, model=self.model)
        self.calls = 0
        self.said = {}
        self.published = {}  # texts of nodes by id: an id never says anything else

    def teardown(self):
        self.host.close()
        shutil.rmtree(self.folder)

    @initialize(target=sessions, prompt=st.booleans())
    def first(self, prompt):
        id = self.host.begin()
        self.said[id] = []
        if prompt:
            self._add(id, [{"role": "system", "content": "You keep the harbour log."}])
        return id

    @rule(id=sessions, turn=turns())
    def say(self, id, turn):
        self._add(id, turn)

    @rule(id=sessions, turn=turns(), times=st.integers(2, 8))
    def say_much(self, id, turn, times):
        for _ in range(times):
            self._add(id, turn)

    @rule(id=sessions)
    def compact(self, id):
        self.host.compact(id)

    @rule(id=sessions)
    def compact_with_a_focus(self, id):
        self.host.compact(id, focus_topic="the parser")

    @rule(id=sessions)
    def prepare_and_never_show(self, id):
        """A compaction that was prepared in the background and given up."""
        engine = self.host.engine(id)

        async def work():
            import asyncio

            return await asyncio.to_thread(engine.compress, await self.host.view(id))

        self.host.run(work())

    @rule()
    def restart(self):
        self.host.restart()

    @rule(window=st.sampled_from([2_000, 4_000, 8_000, 16_000]))
    def switch_model(self, window):
        self.host.window = window
        for engine in self.host.engines.values():
            engine.update_model("another", window)

    @rule(answers=st.booleans())
    def outage_or_recovery(self, answers):
        self.model.answers = answers

    @rule(target=sessions, id=sessions, share=st.floats(0, 1))
    def fork(self, id, share):
        if len(self.said) > 4 or not self.said[id]:
            return multiple()
        at = max(1, round(len(self.said[id]) * share))
        child = self.host.run(self.host.archive.fork(id, at=at)).id
        self.said[child] = self.said[id][:at]
        return child

    @rule(id=sessions)
    def undo(self, id):
        try:
            self.host.run(self.host.archive.undo(id))
        except UserError:
            assert self.host.run(self.host.archive.view(id)).number == 0

    @rule(id=sessions, place=st.floats(0, 1), on=st.booleans())
    def pin(self, id, place, on):
        if self.said[id]:
            sequence = max(1, round(len(self.said[id]) * place))
            work = self.host.archive.pin if on else self.host.archive.unpin
            self.host.run(work(id, sequence))

    @invariant()
    def everything_that_left_is_under_exactly_one_leaf(self):
        for id, said in self.said.items():
            covered, seen = self.host.covered(id), self.host.seen(id)
            gone = [n for n, message in enumerate(said, 1) if n not in seen and message["role"] != "system"]
            wrong = {n: covered.get(n, 0) for n in gone if covered.get(n) != 1}
            assert wrong == {}, f"{wrong}: of {len(said)} messages {sorted(seen)} are seen"
            assert max(covered.values(), default=0) <= 1
            assert self.host.faults(id) == []

    @invariant()
    def everything_that_was_said_is_there(self):
        for id, said in self.said.items():
            assert [one.message for one in self.host.log(id)] == said

    @invariant()
    def an_id_always_says_the_same(self):
        for id in self.said:
            for node in self.host.nodes(id):
                assert self.published.setdefault(node.id, node.message) == node.message

    def _with_own_ids(self, turn):
        """The turn with call ids that no other turn has, as providers give them."""
        renamed, own = {}, []
        for message in turn:
            message = dict(message)
            if message.get("tool_calls"):
                for call in message["tool_calls"]:
                    self.calls += 1
                    renamed[call["id"]] = f"call_{self.calls}"
                message["tool_calls"] = [
                    {**call, "id": renamed[call["id"]]} for call in message["tool_calls"]
                ]
            elif message.get("role") == "tool":
                message["tool_call_id"] = renamed.get(message["tool_call_id"], message["tool_call_id"])
            own.append(message)
        return own

    def _add(self, id, messages):
        messages = self._with_own_ids(messages)
        # Numbered, so that no two are equal by chance; some stay equal on purpose.
        numbered = []
        for n, message in enumerate(messages):
            if message["role"] == "user" and isinstance(message.get("content"), str) and n % 2 == 0:
                message = {**message, "content": f"{message['content']} ({len(self.said[id])})"}
            numbered.append(json.loads(json.dumps(message)))
        self.host.say(id, numbered)
        self.said[id] += numbered


class TestAnyOrderKeepsEveryMessageUnderOneLeaf(LosslessMachine.TestCase):
    settings = settings(
        max_examples=8,
        stateful_step_count=15,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

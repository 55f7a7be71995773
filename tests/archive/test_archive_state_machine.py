"""Any order of saying, saving again, compacting, undoing, forking, pinning, deleting and reopening.

A few lines of plain Python say what an archive is; the store must agree with them after every step.
"""

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from archive_driver import EVENT, Driver, summary
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from postgres_server import MEMORY

from plimsoll.archive import SearchQuery, draft_of
from plimsoll.errors import Conflict, UnknownSession, UserError
from plimsoll.messages import Message

WORDS = ("heron", "gull", "tern", "auk")


@dataclass(frozen=True)
class Seen:
    """A view in the model: its explicit part, and where the log follows."""

    before: tuple[Message, ...] = ()
    through: int = 0


@dataclass
class Model:
    """A session as it should be."""

    said: list[Message] = field(default_factory=list)
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)
    views: list[Seen] = field(default_factory=lambda: [Seen()])
    pins: set[int] = field(default_factory=set)

    @property
    def seen(self) -> list[Message]:
        return [*self.views[-1].before, *self.said[self.views[-1].through :]]


class ArchiveMachine(RuleBasedStateMachine):
    """Steps against a store and against the model."""

    sessions = Bundle("sessions")
    store = "sqlite"
    findable = "words_docsize"  # the table with a row for each message that search knows

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.archive = Driver(self.folder, self.store)
        self.model: dict[str, Model] = {}
        self.own: dict[str, int] = {}  # messages that each session wrote itself
        self.parents: dict[str, str] = {}
        self.counter = 0
        self.compacted = 0

    def teardown(self) -> None:
        self.archive.close()
        shutil.rmtree(self.folder)

    @initialize(target=sessions)
    def first(self) -> str:
        return self.begin()

    @rule(target=sessions)
    def begin(self) -> str:
        self.archive.clock.now += 1
        id = self.archive.begin()
        self.model[id], self.own[id] = Model(), 0
        return id

    @rule(id=sessions, words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), fresh=st.booleans())
    def say(self, id: str, words: list[str], fresh: bool) -> None:
        model = self.model[id]
        messages = [
            {"role": "user" if n % 2 == 0 else "assistant", "content": word} for n, word in enumerate(words)
        ]
        if fresh:
            self.counter += 1
            messages[0] = {**messages[0], "name": f"n{self.counter}"}
        turn, first = f"turn {len(model.turns)}", len(model.said) + 1
        assert self.archive.append(id, messages, turn=turn, after=len(model.said)).stored == len(messages)
        model.said += messages
        model.turns[turn] = (first, len(model.said))
        self.own[id] += len(messages)

    @rule(id=sessions, which=st.integers(0, 50))
    def save_again(self, id: str, which: int) -> None:
        model = self.model[id]
        if model.turns:
            turn = sorted(model.turns)[which % len(model.turns)]
            first, last = model.turns[turn]
            assert self.archive.append(id, model.said[first - 1 : last], turn=turn).stored == 0

    @rule(id=sessions)
    def write_at_the_wrong_place(self, id: str) -> None:
        with pytest.raises(Conflict):
            self.archive.append(
                id, [{"role": "user", "content": "x"}], turn="?", after=len(self.model[id].said) + 1
            )

    @rule(id=sessions, head=st.integers(0, 3), tail=st.integers(0, 4), late=st.integers(0, 2))
    def compact(self, id: str, head: int, tail: int, late: int) -> None:
        model = self.model[id]
        seen, view = model.seen, self.archive.view(id)
        tail = min(tail, max(0, len(seen) - head))
        self.counter += 1
        after = [*seen[:head], summary(str(self.counter)), *seen[len(seen) - tail :]]
        items = self.archive.items(id)
        draft = draft_of(id, view, items, after)
        # What is kept up to the end of the log follows by itself; everything before is told one by one.
        following = 0
        while (
            following < min(tail, len(model.said))
            and items[-1 - following].sequence == len(model.said) - following
        ):
            following += 1
        told = Seen(tuple(after[: len(after) - following]), len(model.said) - following)
        for _ in range(late):  # said while the summary was being written
            self.say(id, ["heron"], False)
        kept = [
            item.sequence for n, item in enumerate(self.archive.items(id))
            if (n < head or n >= len(seen) - tail) and item.sequence and not item.shortened
        ]  # fmt: skip
        whole = {item.sequence for item in self.archive.items(id) if item.sequence}
        if (model.pins & whole) - set(kept):
            with pytest.raises(Conflict, match="pinned"):
                self.archive.commit_compaction(id, draft, EVENT)
            return
        self.archive.commit_compaction(id, draft, EVENT)
        model.views.append(told)
        self.compacted += 1

    @rule(id=sessions)
    def undo(self, id: str) -> None:
        model = self.model[id]
        if len(model.views) == 1:
            with pytest.raises(UserError):
                self.archive.undo(id)
        else:
            self.archive.undo(id)
            model.views.pop()

    @rule(target=sessions, id=sessions, part=st.floats(0, 1))
    def fork(self, id: str, part: float) -> str:
        self.archive.clock.now += 1
        parent = self.model[id]
        at = round(part * len(parent.said))
        child = self.archive.fork(id, at=at).id
        views = list(parent.views)
        while views[-1].through > at:
            views.pop()
        turns = {name: span for name, span in parent.turns.items() if span[1] <= at}
        pins = {pin for pin in parent.pins if pin <= at}
        self.model[child] = replace(parent, said=parent.said[:at], turns=turns, views=views, pins=pins)
        self.own[child] = 0
        self.parents[child] = id
        return child

    @rule(id=sessions, which=st.integers(0, 50), on=st.booleans())
    def pin(self, id: str, which: int, on: bool) -> None:
        model = self.model[id]
        if model.said:
            sequence = which % len(model.said) + 1
            if on and sequence not in {item.sequence for item in self.archive.items(id)}:
                with pytest.raises(Conflict, match="summarised"):
                    self.archive.pin(id, sequence)
                return
            (self.archive.pin if on else self.archive.unpin)(id, sequence)
            (model.pins.add if on else model.pins.discard)(sequence)

    @rule(id=consumes(sessions))
    def delete(self, id: str) -> None:
        self.archive.delete(id)
        del self.model[id]
        with pytest.raises(UnknownSession):
            self.archive.session(id)

    @rule()
    def reopen(self) -> None:
        self.archive.reopen()

    @rule(id=sessions, word=st.sampled_from(WORDS))
    def search(self, id: str, word: str) -> None:
        expected = [n for n, message in enumerate(self.model[id].said, 1) if message["content"] == word]
        query = SearchQuery(word, session=id, order="oldest", limit=500)
        assert [hit.sequence for hit in self.archive.search(query).hits] == expected

    @invariant()
    def the_log_is_everything_said_and_the_view_is_what_the_model_should_see(self) -> None:
        for id, model in self.model.items():
            assert self.archive.said(id) == model.said
            assert self.archive.seen(id) == model.seen
            assert self.archive.pins(id) == sorted(model.pins)
            assert self.archive.view_size(id)[0] == len(model.seen)
        assert {one.id for one in self.archive.sessions(limit=500)} == set(self.model)

    @invariant()
    def the_store_is_sound_and_holds_no_row_more_than_was_added(self) -> None:
        assert self.archive.check() == []
        counts = self.archive.rows("messages", "views", "nodes", self.findable)
        assert counts[0] == counts[3] <= sum(self.own.values())
        assert counts[1] <= self.compacted
        assert counts[2] <= self.compacted
        if not set(self.own) - set(self.model):  # nothing was deleted
            assert counts == [sum(self.own.values()), self.compacted, counts[2], counts[0]]
        if not self.model:
            assert counts == [0, 0, 0, 0]


class PostgresMachine(ArchiveMachine):
    """The same on a server."""

    store = "postgres"
    findable = "texts"


TestArchive = pytest.mark.slow(ArchiveMachine.TestCase)
TestArchive.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestArchiveOnServer = pytest.mark.slow(PostgresMachine.TestCase)
TestArchiveOnServer.settings = settings(
    max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)

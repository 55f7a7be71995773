"""The state of the work: what a conversation has asked for, ruled, changed, checked, decided and left open.

    PersonRequest      what a person asked: open, answered or withdrawn; a short reply belongs to what it answers
    StatedConstraint   a limit or wish in a person's words: in force, or revoked and by which message
    FileFact           what happened to one file, why, and when last
    Event              a command or another call and how it ended
    CheckState         the newest result of one test suite, build or lint, and what fixed its last failure
    CommitMade         a commit or pull request
    Decision           what was decided, or what turned out to be the matter
    Hypothesis         a guess that nothing has proved or refuted yet
    OpenQuestion       what the agent asked the person and has no answer to
    RunningProcess     a process that had not ended when it was last seen
    Todos              the agent's own list (todos.py)
    PersonalStatements what people say about themselves, and what they asked to forget (personal.py)

Every one carries the numbers of the messages that it was read from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plimsoll.context.ledger.evidence import Evidence
from plimsoll.context.ledger.outcomes import Outcome
from plimsoll.context.ledger.personal import PersonalStatements
from plimsoll.context.ledger.todos import Todos

Sources = tuple[int, ...]
LineSources = Mapping[tuple[str, str], Sources]  # by section and line
_MOST_SOURCES = 6  # of one line; a person opens the newest first
_MOST_NAMES = 4  # of what was changed in a file


@dataclass(slots=True)
class PersonRequest:
    """What a person said in one message, without what programs put there."""

    text: str
    source: int
    kind: Literal["request", "reply", "rule"] = "request"
    answers: int | None = None  # the message of the agent that a reply answers
    answer: str = ""  # what the agent answered, where a person asked to know something
    offer: str = ""  # the sentence of that message that the reply agrees to
    about: int | None = None  # the request that a reply or a short follow-up belongs to
    subject: int = -1  # the request that opened the subject
    status: Literal["open", "answered", "withdrawn"] = "open"
    changes: int = 0  # edits that were made for it
    replaces: int | None = None  # the request that it says again, in better words

    def copy(self) -> "PersonRequest":
        """The same, to go on with."""
        return replace(self)

    @property
    def sources(self) -> Sources:
        """The message itself, and what it belongs to."""
        return tuple(one for one in dict.fromkeys((self.source, self.about)) if one is not None)


@dataclass(frozen=True, slots=True)
class StatedConstraint:
    """A limit or wish as it was said; `origin` is the rules file that it is from."""

    text: str
    source: int
    origin: str = ""
    is_rule: bool = True  # said with words that set a limit; otherwise a wish about the work at hand
    revoked_by: int | None = None


@dataclass(slots=True)
class FileFact:
    """What happened to one file, counted, and when last."""

    actions: dict[str, int] = field(default_factory=dict)
    last: int = 0
    note: str = (
        ""  # why it was changed last, as far as the agent said so; of a file that was only read, what it is
    )
    sources: Sources = ()  # changes, newest last; of a file that was only read, the reads
    names: tuple[str, ...] = ()  # functions and types that were changed, newest last
    first_name: str = ""  # the path that it had before it was renamed
    failed: str = ""  # why an edit of it failed before one succeeded

    def add(self, action: str, position: int, note: str = "", names: Sequence[str] = ()) -> None:
        """One more action on the file."""
        changed = not self.is_only_read
        if action != "read" and not changed:
            self.note = note  # what was seen before a change may no longer be true
        elif note and (action != "read" or not changed):
            self.note = note
        if names:
            self.names = tuple(dict.fromkeys(reversed((*self.names, *names))))[:_MOST_NAMES][::-1]
        if action != "read" and not changed:
            self.sources = ()
        if action != "read" or not changed:
            self.sources = (*self.sources, position)[-_MOST_SOURCES:]
        self.actions[action] = self.actions.get(action, 0) + 1
        self.last = position

    def copy(self) -> "FileFact":
        """The same, to go on with."""
        return replace(self, actions=dict(self.actions))

    @property
    def told(self) -> str:
        """What changed and why, in one phrase; empty where nothing is known."""
        named = ", ".join(f"`{name}`" for name in self.names)
        was = f"was `{self.first_name}`" if self.first_name else ""
        failed = f"an earlier edit failed: {self.failed}" if self.failed else ""
        return "; ".join(part for part in (was, named, self.note, failed) if part)

    @property
    def is_only_read(self) -> bool:
        """Whether nothing was changed in it."""
        return self.actions.keys() <= {"read"}


@dataclass(frozen=True, slots=True)
class Event:
    """A command or another call and how it ended."""

    position: int
    line: str
    outcome: Outcome
    errors: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    note: str = ""  # what the agent called it
    looks: bool = False  # whether it changed nothing
    command: str = ""  # as it was run; empty for a call that is no command
    failed: tuple[str, ...] = ()  # the tests that a runner named as failed
    failed_before: bool = False  # whether it passed after it, or a part of it, had failed


@dataclass(frozen=True, slots=True)
class CheckState:
    """The newest result of one test suite, build or lint."""

    name: str  # the program, such as `go test`
    kind: str  # test, build or lint
    newest: Event
    failed_at: int | None = None  # its last failure
    fixed_by: Sources = ()  # the changes between that failure and the run that passed


@dataclass(frozen=True, slots=True)
class CommitMade:
    """A commit, push target or pull request, as the tool reported it."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, or what turned out to be the matter."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A guess that nothing has proved or refuted yet."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What the agent asked the person."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class Called:
    """A call that waits for its result: its arguments, the item that it belongs to, and why it was made."""

    call: dict[str, Any]
    arguments: dict[str, Any]
    source: str
    note: str
    position: int


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process that had not ended when it was last seen."""

    called: Called
    line: str
    source: int


@dataclass(slots=True)
class ConversationFacts:
    """Everything that was found, in order of first appearance; the latest value of each."""

    requests: list[PersonRequest] = field(default_factory=list)
    constraints: dict[str, StatedConstraint] = field(default_factory=dict)  # limits in force
    wishes: dict[str, StatedConstraint] = field(default_factory=dict)  # how the work at hand should be done
    revoked: dict[str, StatedConstraint] = field(default_factory=dict)
    files: dict[str, FileFact] = field(default_factory=dict)
    commands: dict[str, Event] = field(default_factory=dict)
    actions: dict[str, Event] = field(default_factory=dict)
    failing: dict[str, str] = field(
        default_factory=dict
    )  # of the commands, those that failed: line -> command
    failed_on: dict[str, tuple[str, ...]] = field(default_factory=dict)  # path -> calls on it that failed
    checks: dict[str, CheckState] = field(default_factory=dict)
    commits: dict[str, CommitMade] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    hypotheses: dict[str, Hypothesis] = field(default_factory=dict)
    question: OpenQuestion | None = None  # that the agent asked last and nobody has answered
    renamed: dict[str, str] = field(default_factory=dict)  # path -> the path that it was renamed to
    undone_at: int = -1  # the message that took back what had been changed last
    running: dict[str, RunningProcess] = field(default_factory=dict)  # by the ids of the processes
    todos: Todos = field(default_factory=Todos)
    personal: PersonalStatements = field(default_factory=PersonalStatements)
    last_said: str = ""
    last_said_at: int | None = None
    evidence: Evidence = field(default_factory=Evidence)
    handles: dict[int, str] = field(default_factory=dict)  # message number -> handle of its content
    messages: int = 0  # the number that the next message has

    def copy(self, evidence: bool = True) -> "ConversationFacts":
        """The same state, to read on from; what is read then does not change this one.

        Without `evidence` the quotable lines are shared, and must not be added to.
        """
        return replace(
            self,
            requests=[one.copy() for one in self.requests],
            constraints=dict(self.constraints),
            wishes=dict(self.wishes),
            revoked=dict(self.revoked),
            files={path: fact.copy() for path, fact in self.files.items()},
            commands=dict(self.commands),
            actions=dict(self.actions),
            failing=dict(self.failing),
            failed_on=dict(self.failed_on),
            checks=dict(self.checks),
            commits=dict(self.commits),
            decisions=dict(self.decisions),
            hypotheses=dict(self.hypotheses),
            renamed=dict(self.renamed),
            running=dict(self.running),
            todos=self.todos.copy(),
            personal=self.personal.copy(),
            evidence=self.evidence.copy() if evidence else self.evidence,
            handles=dict(self.handles),
        )

    @property
    def is_chat(self) -> bool:
        """Whether no tool was used."""
        return not (self.commands or self.actions or self.files)

    @property
    def newest_request(self) -> PersonRequest | None:
        """What the person asked last and did not withdraw."""
        return next((one for one in reversed(self.requests) if one.status != "withdrawn"), None)

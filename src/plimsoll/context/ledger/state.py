"""The state of the work: requests, limits, changes, checks, decisions and open items of a conversation.

    PersonRequest      a person's request: open, answered or withdrawn; a short reply belongs to what it answers
    StatedConstraint   a limit or wish in a person's words: in force, or revoked by a message
    FileFact           the changes to one file, their reason, and the last one
    Event              a command or another call and its outcome
    CheckState         the newest result of one test suite, build or lint, and what fixed its last failure
    CommitMade         a commit or pull request
    Decision           a decision, or a finding
    Hypothesis         a guess that is neither proved nor refuted
    OpenQuestion       an unanswered question of the agent to the person
    RunningProcess     a process that was still running when last seen
    Todos              the agent's own list (todos.py)
    PersonalStatements what people say about themselves, and what they asked to forget (personal.py)

Each contains the numbers of its source messages.
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
_MAX_SOURCES = 6  # per line; a person opens the newest first
_MAX_NAMES = 4  # changed functions and types of a file


@dataclass(slots=True)
class PersonRequest:
    """A person's message, without text that programs inserted."""

    text: str
    source: int
    kind: Literal["request", "reply", "rule"] = "request"
    answers: int | None = None  # the message of the agent that a reply answers
    answer: str = ""  # the agent's answer, if the person asked a question
    offer: str = ""  # the sentence of the agent that the reply agrees to
    about: int | None = None  # the request that a reply or a short follow-up belongs to
    subject: int = -1  # the request that opened the subject
    status: Literal["open", "answered", "withdrawn"] = "open"
    changes: int = 0  # number of edits for it
    replaces: int | None = None  # the request that it restates

    def copy(self) -> "PersonRequest":
        """The same, to go on with."""
        return replace(self)

    @property
    def sources(self) -> Sources:
        """The message itself, and the messages it refers to."""
        return tuple(item for item in dict.fromkeys((self.source, self.about)) if item is not None)


@dataclass(frozen=True, slots=True)
class StatedConstraint:
    """A limit or wish, verbatim; `origin` is its rules file."""

    text: str
    source: int
    origin: str = ""
    is_rule: bool = True  # contains words that set a limit; otherwise a wish about the current work
    revoked_by: int | None = None


@dataclass(slots=True)
class FileFact:
    """The actions on one file, with counts and the last position."""

    actions: dict[str, int] = field(default_factory=dict)
    last: int = 0
    note: str = ""  # the agent's reason for the last change; for a file that was only read, for the last read
    sources: Sources = ()  # changes, newest last; for a file that was only read, the reads
    names: tuple[str, ...] = ()  # functions and types that were changed, newest last
    about: str = ""  # what the file is, by its leading lines when it was first read
    first_name: str = ""  # the path before it was renamed
    failed: str = ""  # why an edit of it failed before one succeeded
    is_deleted: bool = False  # and not written again

    def add(self, action: str, position: int, note: str = "", names: Sequence[str] = ()) -> None:
        """Record another action on the file."""
        changed = not self.is_only_read
        if action != "read" and not changed:
            self.note = note  # content seen before a change may no longer be true
        elif note and (action != "read" or not changed):
            self.note = note
        if names:
            self.names = tuple(dict.fromkeys(reversed((*self.names, *names))))[:_MAX_NAMES][::-1]
        if action != "read" and not changed:
            self.sources = ()
        if action != "read" or not changed:
            self.sources = (*self.sources, position)[-_MAX_SOURCES:]
        if action != "read":
            self.is_deleted = action == "deleted"
        self.actions[action] = self.actions.get(action, 0) + 1
        self.last = position

    def copy(self) -> "FileFact":
        """The same, to go on with."""
        return replace(self, actions=dict(self.actions))

    @property
    def phrase(self) -> str:
        """The change and its reason in one phrase; empty if unknown."""
        named = ", ".join(f"`{name}`" for name in self.names)
        was = f"was `{self.first_name}`" if self.first_name else ""
        failed = f"an earlier edit failed: {self.failed}" if self.failed else ""
        return "; ".join(part for part in (was, named, self.note or self.about, failed) if part)

    @property
    def is_only_read(self) -> bool:
        """Whether the file was never changed."""
        return self.actions.keys() <= {"read"}


@dataclass(frozen=True, slots=True)
class Event:
    """A command or another call, and its outcome."""

    position: int
    line: str
    outcome: Outcome
    errors: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    note: str = ""  # the agent's description
    looks: bool = False  # whether it changed nothing
    command: str = ""  # as it was run; empty for a call other than a command
    failed: tuple[str, ...] = ()  # the tests that a runner named as failed
    failed_before: bool = False  # whether it passed after it, or part of it, had failed
    first_error: str = ""  # the first line of its result that reports an error
    overcame: tuple[str, ...] = ()  # the first errors of its earlier failures, newest last


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
    """A commit as `git` reported it, or a pull request with its address."""

    text: str
    source: int

    @property
    def line(self) -> str:
        """The text with what it is about: "commit [main 1a2b3c4] x"."""
        return f"commit {self.text}" if self.text.startswith("[") else self.text


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision, or a finding."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A guess that is neither proved nor refuted."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question of the agent to the person."""

    text: str
    source: int


@dataclass(frozen=True, slots=True)
class Called:
    """A call without its result yet: its arguments, its item, and its reason."""

    call: dict[str, Any]
    arguments: dict[str, Any]
    source: str
    note: str
    position: int
    is_one_of_many: bool = False  # whether its message has other calls, which the reason may be about


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process that was still running when last seen."""

    called: Called
    line: str
    source: int


@dataclass(slots=True)
class ConversationFacts:
    """All facts in order of first appearance, each with its latest value."""

    requests: list[PersonRequest] = field(default_factory=list)
    constraints: dict[str, StatedConstraint] = field(default_factory=dict)  # limits in force
    wishes: dict[str, StatedConstraint] = field(default_factory=dict)  # how to do the current work
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
    question: OpenQuestion | None = None  # the agent's last unanswered question
    renamed: dict[str, str] = field(default_factory=dict)  # path -> the path that it was renamed to
    undone_at: int = -1  # the message that reverted the last changes
    running: dict[str, RunningProcess] = field(default_factory=dict)  # by process id
    todos: Todos = field(default_factory=Todos)
    personal: PersonalStatements = field(default_factory=PersonalStatements)
    last_said: str = ""
    last_said_at: int | None = None
    evidence: Evidence = field(default_factory=Evidence)
    handles: dict[int, str] = field(default_factory=dict)  # message number -> handle of its content
    messages: int = 0  # the number of the next message

    def copy(self, evidence: bool = True) -> "ConversationFacts":
        """A copy to continue reading from; this state does not change.

        Without `evidence`, the quotable lines are shared and must not be extended.
        """
        return replace(
            self,
            requests=[request.copy() for request in self.requests],
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
        """The person's last request that was not withdrawn."""
        return next((request for request in reversed(self.requests) if request.status != "withdrawn"), None)

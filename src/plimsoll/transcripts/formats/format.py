"""The interface of a conversation file format.

    TranscriptFormat    recognises(first record) · read(records) ─► transcripts
    WritableFormat      … and lines(messages, stamp) ─► the lines of a new session that the agent resumes

A record is one line of a JSON Lines file, or the whole document. Formats read and write values; other modules open
files and find agents' folders.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID, uuid5

from plimsoll.dialects import Dialect
from plimsoll.messages import Message
from plimsoll.transcripts.transcript import Transcript

Record = tuple[int, Any]  # a line number and the value on that line


def one_or_lines(records: Iterable[Record]) -> Iterator[tuple[int | None, Any]]:
    """The values of a file with their line numbers; None for the only value of a file."""
    following = iter(records)
    first = next(following)
    second = next(following, None)
    if second is None:
        yield None, first[1]
        return
    yield first
    del first
    yield second
    yield from following


class TranscriptFormat(ABC):
    """One format of conversation files."""

    name: ClassVar[str]
    title: ClassVar[str]  # in sentences: "a Codex session"
    is_log: ClassVar[bool] = True  # written by an agent or a tool; not an API format
    one_per_record: ClassVar[bool] = (
        False  # a record is a whole conversation, so a line of a dataset can be one
    )

    @abstractmethod
    def recognises(self, record: Any) -> bool:
        """Whether a file with this first record has the format."""

    @abstractmethod
    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        """The conversations in the records, the first one included."""


@dataclass(frozen=True, slots=True)
class SessionStamp:
    """The metadata of a new session."""

    id: str  # a UUID
    now: datetime
    project: str  # the directory that the session belongs to
    model: str = ""  # the model of the conversation; empty if unknown

    @property
    def time(self) -> str:
        """The time in the format that agents write."""
        return (
            self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"
        )

    def uuid(self, name: object) -> str:
        """A deterministic id within the session."""
        return str(uuid5(UUID(self.id), str(name)))


class WritableFormat(TranscriptFormat):
    """A format in which Plimsoll writes sessions that the agent resumes."""

    program: ClassVar[str]  # "Claude Code"
    dialect: ClassVar[Dialect]  # that the agent uses with its provider
    keeps_system_prompt: ClassVar[bool] = False  # whether a session has one; agents mostly add their own
    keeps_files: ClassVar[bool] = True  # whether a session can hold documents

    @abstractmethod
    def lines(self, messages: Sequence[Message], stamp: SessionStamp) -> Iterator[dict[str, Any]]:
        """The lines of a session with these messages."""

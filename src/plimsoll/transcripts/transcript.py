"""One conversation read from a file, with the metadata needed to write it back.

    ┌ wrapper: {"id": "a7", "licence": "MIT", …} ┐
    │ messages: canonical OpenAI-chat dicts      │  ← source, line, format, shape
    └────────────────────────────────────────────┘

Nothing here opens a file. The messages of a transcript are never mutated;
a compacted one is `dataclasses.replace(transcript, messages=…)`.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from plimsoll.dialects import Dialect, dialects
from plimsoll.messages import Message

Shape = Literal["list", "object", "lines"]  # a bare list, an object with `messages`, one message per line

ACCEPTED = (
    'Accepted: OpenAI messages (a list, an object with "messages", or either as JSON lines), '
    "Anthropic messages, OpenAI Responses and Gemini requests, sessions of Claude Code, Codex, Gemini CLI, OpenCode "
    "and Copilot CLI, OpenHands events, ATIF trajectories, ShareGPT."
)


def counted(number: int, noun: str, nouns: str) -> str:
    """A number with its noun: `1 message`, `2 messages`."""
    return f"{number:,} {noun if number == 1 else nouns}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation, its source, and the shape of that source."""

    messages: list[Message]
    source: str
    format: str = "openai"  # the name of its format, see `formats.registry`
    line: int | None = None  # set if the file has one conversation per line
    id: str | None = None
    shape: Shape = "list"
    wrapper: dict[str, Any] = field(default_factory=dict)  # the object's keys in order, `messages` emptied
    notices: tuple[str, ...] = ()
    model: str | None = None  # the last model that the file names
    project: str | None = None  # the directory that an agent worked in
    written_as: str = ""  # the dialect to write it in, if different

    @property
    def dialect(self) -> Dialect:
        """The dialect to write it in; logs are written in the default one."""
        known = {dialect.name: dialect for dialect in dialects()}
        return known.get(self.written_as or self.format, dialects()[0])

    @property
    def place(self) -> str:
        """The file, and the line if the file has several conversations."""
        return self.source if self.line is None else f"{self.source}: line {self.line}"

"""Reads and writes a host's messages.

    host         h1   h2 h3   h4          several may be one canonical message, and one may be several
                 │    └─┬─┘   │
    canonical    m1     m2    m3 m4       OpenAI chat dicts

A codec only translates. The core keeps the host's own object for every message that a compaction leaves unchanged, so
whatever a chat dict cannot express (ids, signatures, artifacts, usage) is preserved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from plimsoll.messages import Message

H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Neighbouring host messages, and their canonical messages."""

    count: int
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class WrittenMessage(Generic[H]):
    """A canonical message to convert for the host, because a compaction wrote or changed it."""

    message: Message
    originals: tuple[H, ...] = ()  # the original group; empty for a new message, such as the summary
    index: int = 0  # its position in that group's canonical messages

    @property
    def original(self) -> H | None:
        """The first message of the original group; None for a new message."""
        return self.originals[0] if self.originals else None


class MessageCodec(Protocol[H]):
    """Reads and writes one host's messages. Changes no input message and reads no clock."""

    def decode(self, messages: Sequence[H]) -> Sequence[HostGroup]:
        """All messages as groups, in order. A longer list with the same start has the same first groups."""
        ...

    def encode(self, written: Sequence[WrittenMessage[H]]) -> list[H]:
        """New host messages for neighbouring canonical ones; always the same for the same input.

        Whatever a chat dict cannot express comes from the originals, if there are any.
        """
        ...


def one_by_one(messages: Sequence[H], decode: Callable[[H], Message]) -> list[HostGroup]:
    """The groups of a host with one canonical message per message."""
    return [HostGroup(1, [decode(message)]) for message in messages]


class ChatCodec:
    """For hosts whose messages are chat dicts."""

    def decode(self, messages: Sequence[Message]) -> list[HostGroup]:
        """Each dict is a message."""
        return one_by_one(messages, lambda message: message)

    def encode(self, written: Sequence[WrittenMessage[Message]]) -> list[Message]:
        """Changed messages already have their other fields."""
        return [dict(message.message) for message in written]

"""How a host's messages are read and written.

    host         h1   h2 h3   h4          several may be one canonical message, and one may be several
                 │    └─┬─┘   │
    canonical    m1     m2    m3 m4       OpenAI chat dicts

A codec only translates. The core keeps the host's own object for every message that a compaction leaves unchanged, so
whatever a chat dict cannot carry (ids, signatures, artifacts, usage) stays where it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from plimsoll.messages import Message

H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Neighbouring messages of the host, and the canonical messages that they are."""

    count: int
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class WrittenMessage(Generic[H]):
    """A canonical message that the host needs in its own form, because a compaction wrote or changed it."""

    message: Message
    originals: tuple[
        H, ...
    ] = ()  # the group that it was made from; empty for a new message, such as the summary
    index: int = 0  # its position among the canonical messages of that group

    @property
    def original(self) -> H | None:
        """The first message of that group; None for a new message."""
        return self.originals[0] if self.originals else None


class MessageCodec(Protocol[H]):
    """Reads and writes one host's messages. Changes no message that it gets, and reads no clock."""

    def decode(self, messages: Sequence[H]) -> Sequence[HostGroup]:
        """All messages as groups, in order. The groups of a list are those of any longer list that begins with it."""
        ...

    def encode(self, written: Sequence[WrittenMessage[H]]) -> list[H]:
        """New host messages for neighbouring canonical ones; the same every time.

        What a chat dict cannot carry is taken from the originals, where there are any.
        """
        ...


def one_by_one(messages: Sequence[H], decode: Callable[[H], Message]) -> list[HostGroup]:
    """The groups of a host whose messages are one canonical message each."""
    return [HostGroup(1, [decode(message)]) for message in messages]


class ChatCodec:
    """For hosts whose messages are chat dicts."""

    def decode(self, messages: Sequence[Message]) -> list[HostGroup]:
        """Each dict is a message."""
        return one_by_one(messages, lambda message: message)

    def encode(self, written: Sequence[WrittenMessage[Message]]) -> list[Message]:
        """Changed messages have their other fields already."""
        return [dict(one.message) for one in written]

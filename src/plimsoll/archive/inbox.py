"""The inbox: messages from chat platforms, stored once and in order until each is answered.

    platform ─► receive ─► waiting ─► [ a turn in the room's session ] ─► answer sent ─► settle
                   └ position: how far the platform was read, in the same transaction

A platform gets its acknowledgement only after `receive` has returned, so a message lost in a crash
is sent again. A repeated message is recognised by its id and stored once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

IncomingKind = Literal["text", "unreadable"]


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message from a messaging platform."""

    place: str  # the room or chat
    event: str  # the platform's name for it, which no other message of the place has
    sender: str
    text: str
    kind: IncomingKind = "text"
    speaker: str = ""  # the sender's name, where several people speak in the place


@dataclass(frozen=True, slots=True)
class ChatRoom:
    """A room or chat: the session that is its conversation now, and how far its newest answer was sent."""

    session: str = ""
    told: str = ""


class Inbox(ABC):
    """Messages of one account: of a platform and the name that Plimsoll has there."""

    @abstractmethod
    async def receive(self, messages: Sequence[IncomingMessage], position: str) -> list[IncomingMessage]:
        """Take down messages and how far the platform was read; those of them that wait for an answer."""

    @abstractmethod
    async def position(self) -> str:
        """How far the platform was read; empty: never."""

    @abstractmethod
    async def waiting(self) -> list[IncomingMessage]:
        """Messages that are not settled, in the order in which they came."""

    @abstractmethod
    async def settle(self, messages: Sequence[IncomingMessage]) -> None:
        """These are answered. Their words are in the log of the session, so none are kept here."""

    @abstractmethod
    async def room(self, place: str) -> ChatRoom:
        """What is known of a room; nothing is known of a new one."""

    @abstractmethod
    async def update_room(self, place: str, *, session: str | None = None, told: str | None = None) -> None:
        """Change what is given."""

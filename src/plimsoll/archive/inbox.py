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
    event: str  # the platform's id of the message, unique in the place
    sender: str
    text: str
    kind: IncomingKind = "text"
    speaker: str = ""  # the sender's name, if several people speak in the place


@dataclass(frozen=True, slots=True)
class ChatRoom:
    """A room or chat: its current session, and how far its newest answer was sent."""

    session: str = ""
    sent: str = ""


class Inbox(ABC):
    """Messages to one account on a messaging platform."""

    @abstractmethod
    async def receive(self, messages: Sequence[IncomingMessage], position: str) -> list[IncomingMessage]:
        """Store messages and the read position. Returns those that wait for an answer."""

    @abstractmethod
    async def position(self) -> str:
        """The position up to which the platform was read; empty: never."""

    @abstractmethod
    async def waiting(self) -> list[IncomingMessage]:
        """Messages that are not settled, in order of arrival."""

    @abstractmethod
    async def settle(self, messages: Sequence[IncomingMessage]) -> None:
        """Mark messages as answered. Their text is in the session's log, so it is deleted here."""

    @abstractmethod
    async def room(self, place: str) -> ChatRoom:
        """The state of a room; empty for a new one."""

    @abstractmethod
    async def update_room(self, place: str, *, session: str | None = None, sent: str | None = None) -> None:
        """Change the given fields."""

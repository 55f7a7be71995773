"""Messages from chat platforms on their way into a session: taken down once, in order, until each is answered.

    platform ─► receive ─► waiting ─► [ a turn in the room's session ] ─► answer sent ─► settle
                   └ position: how far the platform was read, in the same transaction

A platform is told that a message arrived only after `receive` has returned, so what is lost
by a crash is sent again; a message that is sent again is known by its name and stored once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LetterKind = Literal["text", "unreadable"]


@dataclass(frozen=True, slots=True)
class Letter:
    """What a person sent, as the platform gave it."""

    place: str  # the room or chat
    event: str  # the platform's name for it, which no other message of the place has
    sender: str
    text: str
    kind: LetterKind = "text"
    speaker: str = ""  # the sender's name, where several people speak in the place


@dataclass(frozen=True, slots=True)
class Room:
    """A room or chat: the session that is its conversation now, and how far its newest answer was sent."""

    session: str = ""
    told: str = ""


class Mailbox(ABC):
    """Letters of one account: of a platform and the name that Plimsoll has there."""

    @abstractmethod
    async def receive(self, letters: Sequence[Letter], position: str) -> list[Letter]:
        """Take down letters and how far the platform was read; those of them that wait for an answer."""

    @abstractmethod
    async def position(self) -> str:
        """How far the platform was read; empty: never."""

    @abstractmethod
    async def waiting(self) -> list[Letter]:
        """Letters that are not settled, in the order in which they came."""

    @abstractmethod
    async def settle(self, letters: Sequence[Letter]) -> None:
        """These are answered. Their words are in the log of the session, so none are kept here."""

    @abstractmethod
    async def room(self, place: str) -> Room:
        """What is known of a room; nothing is known of a new one."""

    @abstractmethod
    async def update_room(self, place: str, *, session: str | None = None, told: str | None = None) -> None:
        """Change what is given."""

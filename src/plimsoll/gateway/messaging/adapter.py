"""The interface of a messaging platform.

    connect ─► receive ─► receive ─► …            messages, and the position up to which they were read
                  └─► send · typing               an answer, and the typing indicator

An adapter is stateless: the caller stores the position together with the messages, and passes it to the next call.
Only then does the platform count them as delivered.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from plimsoll.archive.inbox import IncomingMessage


@dataclass(frozen=True, slots=True)
class AllowList:
    """Who gets answers: these users everywhere, and everyone in these rooms. Empty: nobody."""

    people: Collection[str] = ()
    rooms: Collection[str] = ()

    def allows(self, place: str, *names: str) -> bool:
        """Whether a user with these names gets answers in a room."""
        return place in self.rooms or any(name in self.people for name in names)


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages in the order in which they were sent, and the position after them."""

    messages: Sequence[IncomingMessage]
    position: str


class Adapter(ABC):
    """One account on one platform. Every method raises `PlatformFailed` if the platform fails."""

    platform: ClassVar[str]
    max_size: ClassVar[int]  # maximum size of a message, as `size` measures it
    typing_seconds: ClassVar[float]  # after which the typing indicator is repeated
    account: str = ""  # the platform and the name there; known once connected

    @abstractmethod
    async def connect(self) -> None:
        """Check that the account works. May be called again after a failure."""

    @abstractmethod
    async def receive(self, position: str, wait: bool) -> Batch:
        """The messages after a position from allowed users. May wait a while if there are none.

        An empty position means that nothing was ever read; older messages are not answered.
        """

    @abstractmethod
    async def send(self, place: str, text: str, key: str) -> None:
        """Send a text, once per key if the platform can tell."""

    @abstractmethod
    async def typing(self, place: str, on: bool) -> None:
        """Show or hide the typing indicator."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connection."""

    @staticmethod
    @abstractmethod
    def size(text: str) -> int:
        """The size of a text by the platform's measure."""


def plain(text: str) -> str:
    """A text that every store and platform accepts."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")

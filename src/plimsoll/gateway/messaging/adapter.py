"""The interface of a chat platform.

    connect ─► receive ─► receive ─► …            messages, and how far the platform was read
                  └─► send · typing               an answer, and that one is being written

An adapter keeps nothing: what was read is told by a position that the caller stores together
with the messages, and gives back. Only then does the platform count them as delivered.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from plimsoll.archive.inbox import IncomingMessage


@dataclass(frozen=True, slots=True)
class Allowed:
    """Who is answered: these people everywhere, and everybody in these places. Empty: nobody."""

    people: Collection[str] = ()
    places: Collection[str] = ()

    def admits(self, place: str, *names: str) -> bool:
        """Whether somebody who has these names is answered in a place."""
        return place in self.places or any(name in self.people for name in names)


@dataclass(frozen=True, slots=True)
class Batch:
    """Letters in the order in which they were sent, and the position behind them."""

    messages: Sequence[IncomingMessage]
    position: str


class Adapter(ABC):
    """One account on one platform. Every method raises `PlatformFailed` where the platform does not help."""

    platform: ClassVar[str]
    longest: ClassVar[int]  # of a message, as `size` measures it
    typing_seconds: ClassVar[float]  # after which a sign that an answer is being written is given again
    account: str = ""  # the platform and the name there; known once connected

    @abstractmethod
    async def connect(self) -> None:
        """Make sure that the account is there; may be called again after it failed."""

    @abstractmethod
    async def receive(self, position: str, wait: bool) -> Batch:
        """What came behind a position, from people who are allowed; where there is nothing, it may wait a while.

        An empty position: nothing was ever read, and what was said before today is not answered.
        """

    @abstractmethod
    async def send(self, place: str, text: str, key: str) -> None:
        """Say something, once for a key where the platform can tell."""

    @abstractmethod
    async def typing(self, place: str, on: bool) -> None:
        """Show that an answer is being written, or that none is."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the connection."""

    @staticmethod
    @abstractmethod
    def size(text: str) -> int:
        """How long the platform finds a text."""


def plain(text: str) -> str:
    """A text that every store and every platform takes."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")

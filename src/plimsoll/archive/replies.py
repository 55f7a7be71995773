"""Replies that clients continue by their ids: what each request added to a conversation, with its answer.

    a = 1, answer        b = a, 3, answer        history(b) = 1, answer, 3, answer

Each owner has separate replies. A reply is kept for 30 days, as at OpenAI.
"""

from abc import ABC, abstractmethod

KEPT_SECONDS = 30 * 86_400.0


class ReplyArchive(ABC):
    """The replies of one owner. All methods may be called from many tasks and many processes at once."""

    @abstractmethod
    async def keep(self, name: str, before: str, body: str) -> None:
        """Store a reply under its name; `before` names the one that it continues, or is empty."""

    @abstractmethod
    async def history(self, name: str) -> list[str]:
        """The bodies from the conversation's first reply to this one; empty if one of them is unknown."""

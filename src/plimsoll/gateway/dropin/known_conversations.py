"""The conversations in memory, found by their hashes; the least recently used is forgotten first.

    h41 ─┐
    h42 ─┼─► ClientConversation        a request's hashes are looked up from newest to oldest: the first known
    h43 ─┘                                one identifies the conversation and its new messages

Limited by number and by memory. A forgotten conversation is found again in the archive.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from plimsoll.gateway.dropin.client_conversation import ClientConversation


class KnownConversations:
    """The conversations that one process keeps in memory."""

    def __init__(
        self, max_conversations: int, max_bytes: int, forgotten: Callable[[ClientConversation], None]
    ) -> None:
        self._max_conversations, self._max_bytes = max_conversations, max_bytes
        self._forgotten = forgotten
        self._by_hash: dict[bytes, ClientConversation] = {}
        self._used: OrderedDict[int, ClientConversation] = OrderedDict()
        self._memory_bytes = 0

    def __len__(self) -> int:
        return len(self._used)

    @property
    def memory_bytes(self) -> int:
        """Approximate bytes in memory of all conversations."""
        return self._memory_bytes

    def find(self, chain: Sequence[bytes]) -> tuple[ClientConversation, int] | None:
        """The conversation that shares the longest prefix with this chain, and its length."""
        for place in range(len(chain), 0, -1):
            conversation = self._by_hash.get(chain[place - 1])
            if conversation is not None:
                return conversation, place
        return None

    def keep(self, conversation: ClientConversation, memory_bytes: int) -> None:
        """Keep a conversation in memory as the most recently used one."""
        key = id(conversation)
        known = self._used.pop(key, None)
        self._memory_bytes += memory_bytes - (conversation.memory_bytes if known is not None else 0)
        conversation.set_memory_bytes(memory_bytes)
        self._used[key] = conversation
        for digest in conversation.chain:
            self._by_hash.setdefault(digest, conversation)
        if conversation.chain:
            # Of several that end alike, the most recently used one continues.
            self._by_hash[conversation.chain[-1]] = conversation
        while self._used and (
            len(self._used) > self._max_conversations or self._memory_bytes > self._max_bytes
        ):
            if next(iter(self._used)) == key and len(self._used) == 1:
                break
            self._forget(next(iter(self._used)))

    def all(self) -> list[ClientConversation]:
        """Every conversation, the most recently used last."""
        return list(self._used.values())

    def _forget(self, key: int) -> None:
        conversation = self._used.pop(key)
        self._memory_bytes -= conversation.memory_bytes
        for digest in conversation.chain:
            if self._by_hash.get(digest) is conversation:
                del self._by_hash[digest]
        self._forgotten(conversation)

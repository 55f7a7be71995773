"""The conversations that are known now, found by the hashes of their messages.

    h1 = H(root, m1) ── h2 = H(h1, m2) ── h3 = H(h2, m3)      the same beginning, the same hashes

A host sends the same beginning again, so the longest known hash says which conversation it is and where it goes on.
The root holds the host's id of the conversation, where it gives one.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from plimsoll.integrations.tracked import TrackedConversation
from plimsoll.messages import Message

_SIZE = 16


def chain_of(conversation: str, log: Iterable[Message]) -> list[bytes]:
    """One hash for each message, over it and everything before it."""
    chain, digest = [], blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
    for message in log:
        text = json.dumps(message, sort_keys=True, default=repr)
        digest = blake2b(digest + text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
        chain.append(digest)
    return chain


class TrackedConversations:
    """What one adapter remembers, the least used conversation forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_hash: dict[bytes, TrackedConversation] = {}
        self._used: OrderedDict[int, TrackedConversation] = OrderedDict()

    def __len__(self) -> int:
        return len(self._used)

    def find(self, chain: Sequence[bytes]) -> tuple[TrackedConversation, int] | None:
        """The conversation that shares most of its beginning with this chain, and how much."""
        for place in range(len(chain), 0, -1):
            found = self._by_hash.get(chain[place - 1])
            if found is not None:
                return found, place
        return None

    def keep(self, conversation: TrackedConversation) -> None:
        """Remember a conversation as the most recently used one."""
        key = id(conversation)
        self._used.pop(key, None)
        self._used[key] = conversation
        for digest in conversation.chain:
            self._by_hash.setdefault(digest, conversation)
        if conversation.chain:
            # Of several that end alike, the one that was used last goes on.
            self._by_hash[conversation.chain[-1]] = conversation
        while len(self._used) > self._most:
            _, forgotten = self._used.popitem(last=False)
            for digest in forgotten.chain:
                if self._by_hash.get(digest) is forgotten:
                    del self._by_hash[digest]

"""The conversations in memory, found by the hashes of their messages.

    h1 = H(root, m1) ── h2 = H(h1, m2) ── h3 = H(h2, m3)      the same prefix, the same hashes

A host sends the same prefix again, so the longest known hash identifies the conversation and where it continues. The
root includes the host's id of the conversation, if it has one.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from plimsoll.integrations.tracked import TrackedConversation
from plimsoll.messages import Message

_SIZE = 16


def chain_of(conversation: str, log: Iterable[Message]) -> list[bytes]:
    """One hash per message, over it and all messages before it."""
    chain, digest = [], blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
    for message in log:
        text = json.dumps(message, sort_keys=True, default=repr)
        digest = blake2b(digest + text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
        chain.append(digest)
    return chain


class TrackedConversations:
    """The conversations of one adapter; the least recently used is forgotten first."""

    def __init__(self, max_conversations: int) -> None:
        self._max = max_conversations
        self._by_hash: dict[bytes, TrackedConversation] = {}
        self._used: OrderedDict[int, TrackedConversation] = OrderedDict()

    def __len__(self) -> int:
        return len(self._used)

    def find(self, chain: Sequence[bytes]) -> tuple[TrackedConversation, int] | None:
        """The conversation that shares the longest prefix with this chain, and its length."""
        for place in range(len(chain), 0, -1):
            found = self._by_hash.get(chain[place - 1])
            if found is not None:
                return found, place
        return None

    def keep(self, conversation: TrackedConversation) -> None:
        """Keep a conversation as the most recently used one."""
        key = id(conversation)
        self._used.pop(key, None)
        self._used[key] = conversation
        for digest in conversation.chain:
            self._by_hash.setdefault(digest, conversation)
        if conversation.chain:
            # Of several that end alike, the most recently used one continues.
            self._by_hash[conversation.chain[-1]] = conversation
        while len(self._used) > self._max:
            _, forgotten = self._used.popitem(last=False)
            for digest in forgotten.chain:
                if self._by_hash.get(digest) is forgotten:
                    del self._by_hash[digest]

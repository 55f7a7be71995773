"""Call ids that Anthropic accepts: legal characters, unique in the conversation.

    call_0 · call_0 · functions.read:3   ->   call_0 · call_0_2 · functions_read_3_5f2d01ab

Small servers count calls from zero on every turn, and several use dots and colons
in ids; Anthropic rejects both. An id depends only on earlier messages, so a longer
conversation keeps the ids of its beginning. A legal, new id stays unchanged.
"""

import re
from hashlib import sha256
from uuid import uuid4

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def legal_id(call_id: str) -> str:
    """The id if Anthropic accepts it, else a readable one with a hash of the original."""
    if call_id and not _ILLEGAL.search(call_id):
        return call_id
    return f"{_ILLEGAL.sub('_', call_id)}_{sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def new_call_id() -> str:
    """A random id for a call without one; it must be unique in the history that the client sends back."""
    return f"call_{uuid4().hex[:24]}"


class CallIds:
    """Assigns the ids of one conversation, in message order."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._latest: dict[str, str] = {}

    def for_call(self, call_id: str) -> str:
        """The id of a new call."""
        base = chosen = legal_id(call_id)
        count = 1
        while chosen in self._used:
            count += 1
            chosen = f"{base}_{count}"
        self._used.add(chosen)
        self._latest[call_id] = chosen
        return chosen

    def for_result(self, call_id: str) -> str:
        """The id of a result: that of the newest call it can answer."""
        return self._latest.get(call_id, legal_id(call_id))

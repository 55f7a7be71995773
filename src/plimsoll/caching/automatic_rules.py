"""Models of caches that need no markers: OpenAI's, Gemini's, and the single slot of a local server.

openai_breakpoints   an entry at the end of the latest user or tool message and at explicit marks; written
                     at a price; hits only at the end of an entry, never at a shorter prefix
openai_automatic     every prefix, free; reads are rounded down to 128 tokens
gemini_implicit      the same in whole tokens, without guarantee
prefix               the previous prompt, while the server runs
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from plimsoll.caching.blocks import Key, Prompt, RequestOptions
from plimsoll.caching.breakpoints import Breakpoint
from plimsoll.caching.pricing import Bill
from plimsoll.messages import SYSTEM_ROLES

MAX_WRITES = 4  # per request
ROUNDED_TO = 128  # tokens: OpenAI counts cached tokens in steps of this size
_ELIGIBLE = SYSTEM_ROLES | {"user", "tool"}  # messages after which an implicit breakpoint may be

WholeKey: TypeAlias = tuple[Key, RequestOptions]


def _key(prompt: Prompt, block: int) -> WholeKey:
    # Here every request option is part of the prefix, from its first token on.
    return (prompt.key(block), prompt.options)


class BreakpointCache:
    """GPT-5.6 and later: paid writes, at most four per request; only exact matches are hits."""

    def __init__(self, minimum: int, lifetime: int) -> None:
        self.minimum = minimum
        self.lifetime = lifetime
        self._expires: dict[WholeKey, float] = {}
        self._readable: dict[WholeKey, float] = {}

    def request(
        self, now: float, prompt: Prompt, breakpoints: Sequence[Breakpoint], first_token: float
    ) -> Bill:
        """Read, write and count one request, without the cost."""
        blocks = range(len(prompt) - 1, -1, -1) if self._expires else range(0)
        hit = next((block for block in blocks if self._live(prompt, block, now)), None)
        floor = -1 if hit is None else hit
        if hit is not None:
            self._expires[_key(prompt, hit)] = now + self.lifetime
        wanted = sorted({mark.block for mark in breakpoints} | set(_implicit(prompt)))
        past = [block for block in wanted if block > floor][-MAX_WRITES:]
        written = [block for block in past if prompt[block].tokens >= self.minimum]
        for block in written:
            key = _key(prompt, block)
            waiting = now < self._expires.get(key, now)
            self._readable[key] = min(
                now + first_token, self._readable[key] if waiting else now + first_token
            )
            self._expires[key] = now + self.lifetime
        read = 0 if hit is None else prompt[hit].tokens
        end = prompt[written[-1]].tokens if written else read
        return Bill(
            read=read,
            write_5m=end - read,
            plain=prompt.tokens - end,
            hits=int(hit is not None),
            entries=len(written),
            below_minimum=len(past) - len(written),
        )

    def _live(self, prompt: Prompt, block: int, now: float) -> bool:
        key = _key(prompt, block)
        return self._readable.get(key, now + 1) <= now < self._expires[key]


def _implicit(prompt: Prompt) -> Iterator[int]:
    for message in range(prompt.count - 1, -1, -1):
        span = prompt.span(message)
        if span and prompt.role(message) in _ELIGIBLE:
            yield span[-1]
            return


class _Lease:
    """The expiry of a line of prefixes; all prefixes that extend each other share it."""

    __slots__ = ("expires",)

    def __init__(self, expires: float) -> None:
        self.expires = expires


class AutomaticCache:
    """Earlier OpenAI models and Gemini: each sent prefix is kept for a while, free of charge."""

    def __init__(self, minimum: int, lifetime: int, rounded_to: int = ROUNDED_TO) -> None:
        self.minimum = minimum
        self.lifetime = lifetime
        self.rounded_to = rounded_to
        self._leases: dict[WholeKey, tuple[_Lease, float]] = {}

    def request(
        self, now: float, prompt: Prompt, breakpoints: Sequence[Breakpoint], first_token: float
    ) -> Bill:
        """Read and count one request; markers have no effect here."""
        del breakpoints
        hit, lease = None, _Lease(now + self.lifetime)
        for block in range(len(prompt) - 1, -1, -1) if self._leases else ():
            found = self._leases.get(_key(prompt, block))
            if found and found[1] <= now < found[0].expires:
                hit, lease = block, found[0]
                break
        lease.expires = now + self.lifetime
        for block in range(0 if hit is None else hit + 1, len(prompt)):
            key = _key(prompt, block)
            old = self._leases.get(key)
            waiting = old is not None and now < old[0].expires
            self._leases[key] = old if old and waiting else (lease, now + first_token)
        common = 0 if hit is None else prompt[hit].tokens
        read = common // self.rounded_to * self.rounded_to if common >= self.minimum else 0
        return Bill(read=read, plain=prompt.tokens - read, hits=int(read > 0))


class SlotCache:
    """A local server: the common prefix with the previous request is not computed again."""

    def __init__(self) -> None:
        self._slot: dict[Any, None] = {}
        self._order: list[Any] = []

    def request(
        self, now: float, prompt: Prompt, breakpoints: Sequence[Breakpoint], first_token: float
    ) -> Bill:
        """Read and count one request; time and markers have no effect here."""
        del now, breakpoints, first_token
        common = len(prompt)
        while common and _key(prompt, common - 1) not in self._slot:
            common -= 1
        for key in self._order[common:]:
            del self._slot[key]
        del self._order[common:]
        for block in range(common, len(prompt)):
            self._order.append(_key(prompt, block))
            self._slot[self._order[-1]] = None
        read = prompt[common - 1].tokens if common else 0
        return Bill(read=read, plain=prompt.tokens - read, hits=int(read > 0))

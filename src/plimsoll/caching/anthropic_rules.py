"""A model of Anthropic's prompt cache, rule by rule.

    breakpoint at 35:   16 ◄── checks 20 positions, including itself ──► 35
    entry at 15:     one position too far: a miss, and everything is written again

    tokens:   |──── read: A ────|── 1h write: B-A ──|── 5m write: C-B ──|── plain ──|
              0            highest hit        highest 1h marker     last marker    end

An entry can be read once the first response has begun, lives from the start of the request that wrote or last read
it, and a prefix below the model's minimum is never stored. A marker at or before the hit renews a live entry there
and creates none.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from plimsoll.caching.blocks import Key, Prompt
from plimsoll.caching.breakpoints import LIFETIMES, Breakpoint
from plimsoll.caching.pricing import Bill

LOOK_BACK = 20  # positions that a breakpoint checks, including itself
MAX_BREAKPOINTS = 4  # per request, as Anthropic documents
FIRST_TOKEN = 2.0  # seconds until a response begins, after which the request's writes can be read


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One stored prefix."""

    readable: float
    expires: float
    ttl: str

    def renewed(self, now: float) -> "CacheEntry":
        """The entry after a read at `now`."""
        return replace(self, expires=now + LIFETIMES[self.ttl])


def look_back(prompt: Prompt, block: int, found: Callable[[int], bool]) -> int | None:
    """The highest block with an entry that a breakpoint on `block` can see."""
    lowest = prompt[block].position - (LOOK_BACK - 1)
    for index in range(block, -1, -1):
        if prompt[index].position < lowest:
            return None
        if found(index):
            return index
    return None


def highest_hit(prompt: Prompt, blocks: Sequence[int], found: Callable[[int], bool]) -> int | None:
    """The best hit of all breakpoints: the first one found going from the last to the first."""
    for block in sorted(blocks, reverse=True):
        hit = look_back(prompt, block, found)
        if hit is not None:
            return hit
    return None


def refusals(
    prompt: Prompt, breakpoints: Sequence[Breakpoint], automatic: str | None = None
) -> tuple[str, ...]:
    """Why the provider would return 400; empty if it accepts the markers."""
    reasons = []
    count = len({mark.block for mark in breakpoints}) + (automatic is not None)
    if count > MAX_BREAKPOINTS:
        reasons.append(f"{count} cache breakpoints; at most {MAX_BREAKPOINTS} are allowed")
    seen_short = False
    for mark in sorted((*breakpoints, *_automatic(prompt, automatic)), key=lambda mark: mark.block):
        if not 0 <= mark.block < len(prompt):
            reasons.append(f"breakpoint on block {mark.block}, but the prompt has {len(prompt)}")
        elif not prompt[mark.block].markable:
            reasons.append(f"block {mark.block} ({prompt[mark.block].kind}) cannot carry cache_control")
        if mark.ttl == "1h" and seen_short:
            reasons.append(f"a 1h breakpoint on block {mark.block} comes after a 5m breakpoint")
        seen_short = seen_short or mark.ttl == "5m"
    return tuple(reasons)


class AnthropicCache:
    """The entries of one model in one workspace."""

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        # Expired entries stay in the table, because a look-up checks the time anyway.
        self._entries: dict[Key, CacheEntry] = {}

    def request(
        self,
        now: float,
        prompt: Prompt,
        breakpoints: Sequence[Breakpoint],
        first_token: float,
        automatic: str | None = None,
    ) -> Bill:
        """Read, write and count one request, without the cost. `automatic` is a lifetime."""
        refused = refusals(prompt, breakpoints, automatic)
        if refused:
            return Bill(refusals=refused)
        marks = {mark.block: mark for mark in breakpoints}
        for mark in _automatic(prompt, automatic):
            marks.setdefault(mark.block, mark)
        hit = highest_hit(prompt, list(marks), lambda block: self._live(prompt.key(block), now))
        floor = -1 if hit is None else hit
        for block in {floor, *(block for block in marks if block < floor)} - {-1}:
            if self._live(prompt.key(block), now):
                self._entries[prompt.key(block)] = self._entries[prompt.key(block)].renewed(now)
        past = [mark for block, mark in sorted(marks.items()) if block > floor]
        written = [mark for mark in past if prompt[mark.block].tokens >= self.minimum]
        for mark in written:
            self._write(prompt.key(mark.block), mark.ttl, now, first_token)
        return _counted(prompt, written, hit, len(past) - len(written))

    def _write(self, key: Key, ttl: str, now: float, first_token: float) -> None:
        # A second request that could not read an entry yet does not delay when others can.
        old, readable = self._entries.get(key), now + first_token
        if old is not None and now < old.expires:
            readable = min(readable, old.readable)
        self._entries[key] = CacheEntry(readable, now + LIFETIMES[ttl], ttl)

    def _live(self, key: Key, now: float) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.readable <= now < entry.expires


def _counted(prompt: Prompt, written: Sequence[Breakpoint], hit: int | None, below_minimum: int) -> Bill:
    read = 0 if hit is None else prompt[hit].tokens
    long_end = max((prompt[mark.block].tokens for mark in written if mark.ttl == "1h"), default=read)
    end = max((prompt[mark.block].tokens for mark in written), default=read)
    return Bill(
        read=read,
        write_1h=long_end - read,
        write_5m=end - long_end,
        plain=prompt.tokens - end,
        hits=int(hit is not None),
        entries=len(written),
        below_minimum=below_minimum,
    )


def _automatic(prompt: Prompt, ttl: str | None) -> Iterator[Breakpoint]:
    """The position of the top-level marker: the last block that can have one."""
    for block in range(len(prompt) - 1, -1, -1) if ttl is not None else ():
        if prompt[block].markable:
            yield Breakpoint(block, ttl or "5m")
            return

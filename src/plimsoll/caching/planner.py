"""Plans up to four breakpoints so that the provider's look-back finds what the last request cached.

    last request ended here        30 queued messages            now
    ...───────────────[E]──────────────────────────────────────[end]
                       ▲ beyond the look-back of 20 from `end`: `system_and_3` pays for everything again,
                         while a marker on E reads it

Starts from the markers of `system_and_3` and changes them only for known reasons: an entry that they would miss, a
head whose entry can be written for free or is about to expire, a tail that will change. It writes nothing that they
would not write, and always reads the highest live entry, so a plan costs no more than `system_and_3` for the same
requests.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from plimsoll.caching.anthropic_rules import FIRST_TOKEN, MAX_BREAKPOINTS, highest_hit, look_back
from plimsoll.caching.blocks import Key, Prompt
from plimsoll.caching.breakpoints import (
    LIFETIMES,
    BreakpointPlan,
    markable_block,
    plan_of,
    system_and_3_blocks,
)

HEAD_MESSAGES = 3  # kept by every compaction: the system prompt and the first exchange
_REMEMBERED = 32  # cache entries per conversation
_NEVER_EXPIRES = float("inf")


@dataclass(frozen=True, slots=True)
class WrittenPrefix:
    """An entry that an earlier request wrote."""

    key: Key
    block: int
    expires: float
    ttl: str
    readable: float = 0.0  # time from which it can be read: when the response of its request has begun


@dataclass(frozen=True, slots=True)
class CacheMemory:
    """The cache entries of one conversation, passed from request to request."""

    entries: tuple[WrittenPrefix, ...] = ()

    def live(self, prompt: Prompt, now: float) -> dict[int, WrittenPrefix]:
        """The entries that this prompt could read, by block."""
        end = len(prompt)
        return {
            entry.block: entry
            for entry in self.entries
            if entry.readable <= now < entry.expires
            and entry.block < end
            and prompt.key(entry.block) == entry.key
        }


def plan_system_and_3(prompt: Prompt, ttl: str = "5m", native_anthropic: bool = False) -> BreakpointPlan:
    """The markers of `apply_anthropic_cache_control` as a plan."""
    return plan_of(prompt, system_and_3_blocks(prompt, native_anthropic), ttl)


def plan_breakpoints(
    prompt: Prompt,
    memory: CacheMemory | None = None,
    *,
    now: float = 0.0,
    minimum: int = 0,
    ttl: str = "5m",
    native_anthropic: bool = False,
    volatile: int = 0,
    head_messages: int = HEAD_MESSAGES,
) -> BreakpointPlan:
    """Up to four markers for this request.

    The last `volatile` messages will change and are neither marked nor followed by a marker. Without a memory, the
    last request is assumed to have ended before the last assistant message, as agents do.
    """
    stable = prompt.upto(max(0, prompt.count - volatile))
    rolling = system_and_3_blocks(stable, native_anthropic)
    static = rolling.pop(0) if rolling and stable.system_messages and _is_system(stable, rolling[0]) else None
    found = memory.live(prompt, now) if memory is not None else _guess(stable, native_anthropic)
    live = {block: entry for block, entry in found.items() if block < len(stable)}
    wanted: list[int] = rolling[-1:]
    best = max(live, default=None)
    if best is not None and (not wanted or look_back(stable, wanted[0], live.__contains__) != best):
        wanted.append(best)
    statics = [] if static is None else [static]
    wanted += [block for block in statics if stable[block].tokens >= minimum]
    head = _head_block(stable, head_messages, native_anthropic)
    if head is not None and _head_is_due(stable, head, max(wanted, default=-1), live, minimum, now, ttl):
        wanted.append(head)
    # A prompt that is too short by our estimate may be long enough by the provider's count, so keep the marker.
    wanted += [*rolling[-2::-1], *statics]
    chosen = list(dict.fromkeys(wanted))[:MAX_BREAKPOINTS]
    spare = _checkpoints(stable, tuple(chosen), best, native_anthropic)
    chosen += islice(spare, MAX_BREAKPOINTS - len(chosen))
    return plan_of(prompt, chosen, ttl)


def plan_reading(prompt: Prompt, memory: CacheMemory, *, now: float, ttl: str = "5m") -> BreakpointPlan:
    """One marker on the highest live entry: reads it and writes nothing, for a request that is never extended."""
    best = max(memory.live(prompt, now), default=None)
    return plan_of(prompt, [] if best is None else [best], ttl)


def remember(
    memory: CacheMemory | None,
    prompt: Prompt,
    plan: BreakpointPlan,
    *,
    now: float,
    minimum: int = 0,
    first_token: float = FIRST_TOKEN,
) -> CacheMemory:
    """The memory after a request with this plan; its response begins `first_token` seconds later."""
    known = memory or CacheMemory()
    live = known.live(prompt, now)
    blocks = [mark.block for mark in plan.breakpoints]
    hit = highest_hit(prompt, blocks, live.__contains__)
    floor = -1 if hit is None else hit
    kept = {entry.key: entry for entry in known.entries if entry.expires > now}
    for block in {floor, *blocks} - {-1}:
        key = prompt.key(block)
        old = kept.get(key)
        if block <= floor and block in live:
            ttl, readable = live[block].ttl, live[block].readable
        elif block > floor and prompt[block].tokens >= minimum:
            # If written twice before it could be read, the earlier time applies.
            ttl, readable = plan.ttl, min(now + first_token, old.readable if old else now + first_token)
        else:
            continue
        kept.pop(key, None)  # so that the most recently used is last
        kept[key] = WrittenPrefix(key, block, now + LIFETIMES[ttl], ttl, readable)
    return CacheMemory(tuple(kept.values())[-_REMEMBERED:])


def _is_system(prompt: Prompt, block: int) -> bool:
    return prompt[block].message < prompt.system_messages


def _guess(prompt: Prompt, native_anthropic: bool) -> dict[int, WrittenPrefix]:
    newest_reply = next((i for i in range(prompt.count - 1, -1, -1) if prompt.role(i) == "assistant"), 0)
    for message in range(newest_reply - 1, -1, -1):
        block = markable_block(prompt, message, native_anthropic)
        if block is not None:
            return {block: WrittenPrefix(prompt.key(block), block, _NEVER_EXPIRES, "5m")}
    return {}


def _head_block(prompt: Prompt, head_messages: int, native_anthropic: bool) -> int | None:
    """The end of what a compaction keeps, without a message whose tool results it may remove."""
    count = min(head_messages, prompt.count)
    while count and prompt.calls_tools(count - 1):
        count -= 1
    return markable_block(prompt, count - 1, native_anthropic) if count > prompt.system_messages else None


def _head_is_due(
    prompt: Prompt, head: int, end: int, live: dict[int, WrittenPrefix], minimum: int, now: float, ttl: str
) -> bool:
    if head in live:
        return head < max(live) and live[head].expires < now + LIFETIMES[ttl] / 2
    # After the hit and before the end, it is part of what this request writes anyway.
    return max(live, default=-1) < head < end and prompt[head].tokens >= minimum


def _checkpoints(
    prompt: Prompt, chosen: Sequence[int], best: int | None, native_anthropic: bool
) -> Iterator[int]:
    """Markers for the remaining slots: spread over the newly written part, where they are free."""
    end, floor = max(chosen, default=-1), -1 if best is None else best
    room = MAX_BREAKPOINTS - len(chosen)
    first = prompt[floor].position if floor >= 0 else 0
    if room <= 0 or end - floor < 2:
        return
    step = max(1, (prompt[end].position - first) // (room + 1))
    goal = prompt[end].position - step
    for message in range(prompt[end].message - 1, prompt.system_messages - 1, -1):
        block = markable_block(prompt, message, native_anthropic)
        if block is None or block >= end:
            continue
        if block <= floor:
            return
        if prompt[block].position <= goal and block not in chosen:
            goal = prompt[block].position - step
            yield block

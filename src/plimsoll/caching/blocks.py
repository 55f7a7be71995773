"""A request as the provider's cache sees it: ordered blocks with running hashes and token counts.

    tools ─► system ─► messages
    [t][t]   [s][note]  [text][use use][result result][text] ...
     0  1     2   3       4     5   5     6      6      7       positions: a run of calls or results is one
                                                               hash(i) covers blocks 0..i, and so does tokens(i)

Markers are not hashed, and a string hashes like one text part; everything else counts byte for byte. A `BlockChain`
hashes and counts each message once, so replaying a conversation of n messages as n requests is linear work.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from plimsoll.messages import IMAGE_TYPES, MEDIA_TYPES, SYSTEM_ROLES, Message, Part, parts_of, tool_calls
from plimsoll.messages.untyped import objects_in
from plimsoll.models import estimate_message_tokens, estimate_tools_tokens

MARKER = "cache_control"
THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
_RUNS = frozenset({"tool_use", "tool_result"})
_MEDIA_WEIGHT = 6_000  # characters that an image, sound or file counts as when a message's tokens are divided
_BLOCK_KEYS = frozenset({"content", "tool_calls", "thinking_blocks", MARKER})

Key: TypeAlias = tuple[bytes, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Block:
    """One cacheable unit; `tokens` and `digest` are those of the whole prefix that ends with it."""

    kind: str  # tool | system | text | media | tool_use | tool_result | thinking
    message: int  # index in the conversation; -1 for a tool definition
    part: int | None  # index in the content list; None if a marker would be on the message itself
    position: int
    tokens: int
    digest: bytes
    markable: bool = True


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Request options that are part of the cached prefix although they are not blocks."""

    web_search: bool = False
    citations: bool = False
    speed: str = ""
    tool_choice: str = ""
    thinking: str = ""
    response_format: str = ""

    @property
    def of_system(self) -> tuple[Any, ...]:
        """The options that invalidate the system prompt and everything after it."""
        return (self.web_search, self.citations, self.speed)

    @property
    def of_messages(self) -> tuple[Any, ...]:
        """The options that invalidate only the messages."""
        return (*self.of_system, self.tool_choice, self.thinking)


DEFAULT_OPTIONS = RequestOptions()


@dataclass(slots=True)
class _Store:
    """Append-only; prompts are views of its prefix. Every list except `blocks` has one entry per message."""

    blocks: list[Block]
    messages: list[Message] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # blocks up to and including the message
    digests: list[bytes] = field(default_factory=list)  # the running hash after the message
    tokens: list[int] = field(default_factory=list)  # tokens up to and including the message
    images: list[bool] = field(default_factory=list)  # an image is in or before the message
    system_messages: int = 0  # messages of the system prompt at the start

    def beginning(self, count: int, tools: int) -> "_Store":
        """A store of the first `count` messages that can grow independently."""
        return _Store(
            self.blocks[: self.ends[count - 1] if count else tools],
            self.messages[:count],
            self.ends[:count],
            self.digests[:count],
            self.tokens[:count],
            self.images[:count],
            min(count, self.system_messages),
        )


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request: the first `count` messages of a chain."""

    _store: _Store
    count: int
    tool_blocks: int
    options: RequestOptions = DEFAULT_OPTIONS
    _of_system: tuple[Any, ...] = field(init=False, repr=False)
    _of_messages: tuple[Any, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # An image anywhere in the conversation changes how all of its messages are cached.
        images = self.count > 0 and self._store.images[self.count - 1]
        object.__setattr__(self, "_of_system", self.options.of_system)
        object.__setattr__(self, "_of_messages", (*self.options.of_messages, images))

    def __repr__(self) -> str:
        return f"Prompt({self.count} messages, {len(self)} blocks, {self.tokens:,} tokens)"

    def __len__(self) -> int:
        return self._store.ends[self.count - 1] if self.count else self.tool_blocks

    def __getitem__(self, index: int) -> Block:
        return self._store.blocks[index]

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self._store.blocks[len(self) - 1].tokens if len(self) else 0

    @property
    def system_messages(self) -> int:
        """How many messages at the start are the system prompt."""
        return min(self.count, self._store.system_messages)

    def role(self, message: int) -> str:
        """The role of a message."""
        return str(self._store.messages[message].get("role"))

    def calls_tools(self, message: int) -> bool:
        """Whether a message waits for tool results."""
        return bool(tool_calls(self._store.messages[message]))

    def span(self, message: int) -> range:
        """The blocks of one message."""
        start = self._store.ends[message - 1] if message else self.tool_blocks
        return range(start, self._store.ends[message])

    def tokens_of(self, message: int) -> int:
        """Tokens of one message, even of one after this prompt in its chain."""
        tokens = self._store.tokens
        tools = self._store.blocks[self.tool_blocks - 1].tokens if self.tool_blocks else 0
        return tokens[message] - (tokens[message - 1] if message else tools)

    def upto(self, count: int) -> "Prompt":
        """The request that ended after `count` messages."""
        return Prompt(self._store, min(count, self.count), self.tool_blocks, self.options)

    def key(self, index: int) -> Key:
        """Identifies the prefix that ends with a block, including request options."""
        block = self._store.blocks[index]
        if block.message >= self._store.system_messages:
            return (block.digest, self._of_messages)
        return (block.digest, self._of_system if block.message >= 0 else ())


class BlockChain:
    """Renders conversations into blocks, and keeps what it rendered for the next request of the same one."""

    def __init__(
        self,
        tools: Sequence[dict[str, Any]] = (),
        count_tokens: Callable[[Message], int] = estimate_message_tokens,
    ) -> None:
        self._count_tokens = count_tokens
        self._tools = _tool_blocks(tools)
        self._store = _Store(list(self._tools))

    def prompt(self, messages: Sequence[Message], options: RequestOptions = DEFAULT_OPTIONS) -> Prompt:
        """The request with these messages; message objects from the previous call are not rendered again."""
        store, same = self._store, 0
        for known, message in zip(store.messages, messages, strict=False):
            if known is not message:
                break
            same += 1
        if same < min(len(store.messages), len(messages)):
            # Earlier prompts keep the old store. A shorter list is only a view of it.
            store = self._store = store.beginning(same, len(self._tools))
        for message in messages[len(store.messages) :]:
            self._append(store, message)
        return Prompt(store, len(messages), len(self._tools), options)

    def fork(self) -> "BlockChain":
        """An independent chain that starts with what this one has rendered."""
        copy = BlockChain((), self._count_tokens)
        # Sharing is safe: a store only grows, and each prompt checks that the growth matches its messages.
        copy._tools, copy._store = self._tools, self._store
        return copy

    def _append(self, store: _Store, message: Message) -> None:
        index = len(store.messages)
        is_system = message.get("role") in SYSTEM_ROLES and store.system_messages == index
        drafts = list(_drafts(message, is_system))
        last = store.blocks[-1] if store.blocks else None
        digest = store.digests[-1] if index else last.digest if last else b""
        before = store.tokens[-1] if index else last.tokens if last else 0
        total, weight = self._count_tokens(message), max(1, sum(draft.weight for draft in drafts))
        digest, seen = _chained(digest, _frame(message)), 0
        for draft in drafts:
            digest, seen = _chained(digest, draft.rendered), seen + draft.weight
            position = last.position + (draft.kind not in _RUNS or draft.kind != last.kind) if last else 0
            tokens = before + total * seen // weight
            last = Block(draft.kind, index, draft.part, position, tokens, digest, draft.markable)
            store.blocks.append(last)
        store.messages.append(message)
        store.ends.append(len(store.blocks))
        store.digests.append(digest)
        store.tokens.append(before + total)
        store.images.append((index > 0 and store.images[-1]) or any(draft.is_image for draft in drafts))
        store.system_messages += is_system


@dataclass(frozen=True, slots=True)
class _Draft:
    """A block before it has a position in the chain."""

    kind: str
    part: int | None
    rendered: str
    weight: int
    markable: bool = True
    is_image: bool = False


def _drafts(message: Message, is_system: bool) -> Iterator[_Draft]:
    if message.get("role") == "tool":
        parts = [_plain(part) for part in parts_of(message)]
        rendered = _canonical(parts)
        # Parts inside a result are sub-blocks, which cannot have a marker, so the result is one block.
        images = any(part.get("type") in IMAGE_TYPES for part in parts)
        yield _Draft("tool_result", None, rendered, _MEDIA_WEIGHT if images else len(rendered), True, images)
        return
    drafts = [_thinking_draft(None, block) for block in _thinking(message)]
    drafts += [_part_draft(index, part, is_system) for index, part in enumerate(parts_of(message))]
    for call in tool_calls(message):
        rendered = _canonical(_plain(call))
        drafts.append(_Draft("tool_use", None, rendered, len(rendered)))
    yield from _reordered(drafts, message.get("block_order"))


def _thinking(message: Message) -> list[Any]:
    """Thinking outside the content; on the wire, each piece is a block before the content.

    Routers pass the same blocks on as details; unsigned ones are not blocks.
    """
    blocks, details = message.get("thinking_blocks"), message.get("reasoning_details")
    if isinstance(blocks, list) and blocks:
        return blocks
    found = objects_in(details)
    return [each for each in found if each.get("signature") or each.get("data")]


def _reordered(drafts: list[_Draft], order: Any) -> list[_Draft]:
    """The blocks as the model interleaved them; ignores an order that does not match them."""
    kinds = [draft.kind if draft.kind in ("thinking", "tool_use") else "content" for draft in drafts]
    if not isinstance(order, list) or Counter(map(str, order)) != Counter(kinds):
        return drafts
    waiting = {
        kind: iter([d for d, k in zip(drafts, kinds, strict=True) if k == kind]) for kind in set(kinds)
    }
    return [next(waiting[kind]) for kind in order]


def _thinking_draft(index: int | None, block: Any) -> _Draft:
    rendered = _canonical(block)
    return _Draft("thinking", index, rendered, len(rendered), False)


def _part_draft(index: int, part: Part, is_system: bool) -> _Draft:
    rendered = _canonical(_plain(part))
    kind = part.get("type")
    if kind in MEDIA_TYPES:
        return _Draft("media", index, rendered, _MEDIA_WEIGHT, True, kind in IMAGE_TYPES)
    if kind in THINKING_TYPES:
        return _thinking_draft(index, part)
    return _Draft("system" if is_system else "text", index, rendered, len(rendered), can_carry_marker(part))


def can_carry_marker(part: Part) -> bool:
    """Whether the provider accepts a marker on a content part: not on thinking, not on empty or blank text."""
    kind = part.get("type")
    return kind not in THINKING_TYPES and (kind != "text" or bool(str(part.get("text") or "").strip()))


def _tool_blocks(tools: Sequence[dict[str, Any]]) -> list[Block]:
    rendered = [_canonical(_plain(tool)) for tool in tools]
    total, weight = estimate_tools_tokens(list(tools)), max(1, sum(map(len, rendered)))
    blocks: list[Block] = []
    digest, seen = b"", 0
    for position, text in enumerate(rendered):
        digest, seen = _chained(digest, text), seen + len(text)
        blocks.append(Block("tool", -1, position, position, total * seen // weight, digest))
    return blocks


def _frame(message: Message) -> str:
    """Everything in a message outside its blocks: role, ids, names and other fields."""
    return _canonical({key: value for key, value in message.items() if key not in _BLOCK_KEYS})


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != MARKER} if MARKER in part else part


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _chained(digest: bytes, rendered: str) -> bytes:
    return blake2b(digest + rendered.encode("utf-8", "surrogatepass"), digest_size=16).digest()

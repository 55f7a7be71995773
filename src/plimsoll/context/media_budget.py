"""Keeps the images and documents of a request within the provider's limits. Pure.

    before   u1+png  a  u2+pdf  a  t3+png  a  u4+png       41 MB, 25 images
    after    u1      a  u2      a  t3+png  a  u4+png       half of the limit that was exceeded

The oldest are removed first, and a line that describes it replaces each. The newest user request and everything after
the last reply stay unchanged. Each removal is large enough for several turns: between two removals, the start of the
conversation stays the same, so the provider's cache stays valid.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from plimsoll.messages import MEDIA_TYPES, Message, Part, media_of, original_handle
from plimsoll.messages.untyped import object_of
from plimsoll.models.media_facts import MediaFacts, facts_of
from plimsoll.models.media_limits import MediaLimits

ENGINE = "media"  # the engine name of a removal in compaction records
TRIGGER = "media limits"
TOO_LARGE = 413  # the status of a request with too many bytes
KEPT_SHARE = 0.5  # of an exceeded limit: the share that stays, so that the next removal is some turns away
_MARGIN = (
    0.95  # of the bytes: quotes and line breaks take two bytes in JSON, and keys and brackets are not counted
)
_STUB = re.compile(
    r"\[(?:image|audio|document) removed[^\]\n]*?(?:; full content under handle (h:[0-9a-f]{10}))?\]"
)
_HANDLE = re.compile(r"; full content under handle h:[0-9a-f]{10}(?=\]\Z)")


@dataclass(frozen=True, slots=True, eq=False)
class MediaItem:
    """An image or a document, and where it is."""

    message: int
    part: int
    facts: MediaFacts
    is_protected: bool  # in the newest user request, or after the last reply


Weight: TypeAlias = Callable[[MediaItem], float]


@dataclass(frozen=True, slots=True)
class MediaInventory:
    """The images and documents of a list of messages, and its bytes."""

    items: tuple[MediaItem, ...]
    text_bytes: int

    @property
    def bytes(self) -> int:
        """The approximate bytes of the messages in a request."""
        return self.text_bytes + sum(map(_encoded, self.items))


def inventory(messages: Sequence[Message], overhead_bytes: int = 0) -> MediaInventory:
    """The images and documents of these messages; `overhead_bytes` are the rest of the request."""
    newest = _protected(messages)
    items = tuple(
        MediaItem(place, index, facts_of(part), place in newest)
        for place, message in enumerate(messages)
        for index, part in _media(message)
    )
    whole = sum(map(_size, messages)) + overhead_bytes
    return MediaInventory(items, max(0, whole - sum(map(_encoded, items))))


def exceeds(messages: Sequence[Message], limits: MediaLimits) -> bool:
    """Whether a provider with these limits rejects the messages for their images, documents or bytes."""
    return not limits.is_empty and bool(_leaving(inventory(messages), limits, protects=False))


def within_limits(
    messages: Sequence[Message], limits: MediaLimits, overhead_bytes: int = 0, *, names_handles: bool = True
) -> list[Message] | None:
    """The messages without the oldest images and documents; None if nothing has to or may be removed."""
    if limits.is_empty:
        return None
    leaving = _leaving(inventory(messages, overhead_bytes), limits)
    return _without(messages, leaving, names_handles) if leaving else None


def after_rejection(
    messages: Sequence[Message], *, images: int | None = None, is_repeated: bool = False
) -> list[Message] | None:
    """The messages after a provider rejected them for their bytes or images; None if nothing may be removed.

    `images` is the number that the provider accepts, if it stated one. Otherwise half of the bytes are removed, or,
    the second time, every image and document outside the newest request.
    """
    found = inventory(messages)
    if images is not None:
        leaving = _leaving(found, MediaLimits(images=images, pages_are_images=True))
    elif is_repeated:
        leaving = _removable(found)
    else:
        leaving = _oldest(_removable(found), _encoded, found.bytes * KEPT_SHARE)
    leaving = leaving or _removable(found)
    return _without(messages, leaving, True) if leaving else None


def without_media_handles(message: Message) -> Message:
    """The message without handles in the lines that replace media, for a reader that cannot fetch them."""
    content = message.get("content")
    if not isinstance(content, list) or not any(_is_stub(part) for part in content):
        return message
    parts = [{**part, "text": _HANDLE.sub("", part["text"])} if _is_stub(part) else part for part in content]
    plain = message.copy()
    plain["content"] = parts
    return plain


def _leaving(found: MediaInventory, limits: MediaLimits, protects: bool = True) -> list[MediaItem]:
    """The items to remove; without `protects`, also from the newest messages."""
    free = _removable(found) if protects else list(found.items)
    leaving = _rejected(found.items, free, limits)
    for limit, weight in _counts(limits):
        left = sum(map(weight, _rest(found.items, leaving)))
        if limit is not None and left > limit:
            leaving += _oldest(_rest(free, leaving), weight, left - limit * KEPT_SHARE)
    size = found.text_bytes + sum(map(_encoded, _rest(found.items, leaving)))
    if limits.request_bytes is not None and size > limits.request_bytes * _MARGIN:
        leaving += _oldest(_rest(free, leaving), _encoded, size - limits.request_bytes * KEPT_SHARE)
    return leaving


def _counts(limits: MediaLimits) -> Iterator[tuple[int | None, Weight]]:
    """Each count limit, with the weight of an item."""
    yield limits.images, lambda item: _is_image(item) or (item.facts.pages if limits.pages_are_images else 0)
    yield limits.pages, lambda item: item.facts.pages


def _is_image(item: MediaItem) -> int:
    return int(item.facts.kind == "image")


def _encoded(item: MediaItem) -> int:
    return item.facts.encoded


def _rest(items: Sequence[MediaItem], leaving: Sequence[MediaItem]) -> list[MediaItem]:
    gone = set(leaving)
    return [item for item in items if item not in gone]


def _rejected(items: Sequence[MediaItem], free: Sequence[MediaItem], limits: MediaLimits) -> list[MediaItem]:
    """Images that the provider rejects by themselves: too many bytes or pixels."""
    leaving = [item for item in free if _is_above(item, limits.image_bytes, limits.image_edge)]
    images = [item for item in _rest(items, leaving) if item.facts.kind == "image"]
    if limits.many_images is None or limits.many_edge is None or len(images) <= limits.many_images:
        return leaving
    large = [item for item in images if _is_above(item, None, limits.many_edge)]
    if not large:
        return leaving
    # Either no image is large, or there are few images.
    removed = _oldest(_rest(free, leaving), _is_image, len(images) - limits.many_images * KEPT_SHARE)
    can_leave = set(large) <= set(free)
    return leaving + (large if can_leave and len(large) < len(removed) else removed)


def _is_above(item: MediaItem, most_bytes: int | None, edge: int | None) -> bool:
    facts = item.facts
    is_heavy = most_bytes is not None and facts.encoded > most_bytes
    return facts.kind == "image" and (is_heavy or (edge is not None and facts.edge > edge))


def _oldest(items: Sequence[MediaItem], weight: Weight, excess: float) -> list[MediaItem]:
    """The oldest items that together cover the excess; items without weight stay."""
    leaving: list[MediaItem] = []
    for item in items:
        if excess <= 0:
            break
        if weight(item) > 0:
            leaving.append(item)
            excess -= weight(item)
    return leaving


def _removable(found: MediaInventory) -> list[MediaItem]:
    return [item for item in found.items if not item.is_protected]


def _protected(messages: Sequence[Message]) -> set[int]:
    """The positions of the newest user request and of everything after the last reply."""
    protected = set()
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "assistant":
            break
        protected.add(place)
    newest = (n for n in range(len(messages) - 1, -1, -1) if messages[n].get("role") == "user")
    return protected | {n for n in (next(newest, None),) if n is not None}


def _without(messages: Sequence[Message], leaving: Sequence[MediaItem], names_handles: bool) -> list[Message]:
    gone: dict[int, dict[int, MediaFacts]] = {}
    for item in leaving:
        gone.setdefault(item.message, {})[item.part] = item.facts
    return [
        _replaced(message, gone[place], names_handles) if place in gone else message
        for place, message in enumerate(messages)
    ]


def _replaced(message: Message, gone: Mapping[int, MediaFacts], names_handles: bool) -> Message:
    named = f"; full content under handle {_handle(message)}" if names_handles else ""
    parts = [
        {"type": "text", "text": _stub(gone[index], named)} if index in gone else part
        for index, part in enumerate(message["content"])
    ]
    return {**message, "content": parts}


def _stub(facts: MediaFacts, named: str) -> str:
    described = facts.described
    return f"[{facts.kind} removed{': ' if described else ''}{described}{named}]"


def _handle(message: Message) -> str:
    """The handle of the original message; the one that an earlier removal named, if there was one."""
    earlier = (_STUB.fullmatch(part["text"]) for part in message["content"] if _is_stub(part))
    return next((found[1] for found in earlier if found and found[1]), None) or original_handle(message)


def _is_stub(part: Any) -> bool:
    text = object_of(part).get("text")
    return isinstance(text, str) and len(text) < 400 and _STUB.fullmatch(text) is not None


def _media(message: Message) -> Iterator[tuple[int, Part]]:
    if media_of(message):
        for index, part in enumerate(message["content"]):
            if isinstance(part, dict) and part.get("type") in MEDIA_TYPES:
                yield index, part


def _size(value: Any) -> int:
    """The approximate JSON size of a value; strings are not scanned, so that megabytes cost nothing."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(len(str(key)) + 4 + _size(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_size, value)) + 2 * len(value)
    return 6

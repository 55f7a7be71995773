"""Facts about an image or a document: kind, type, name, bytes, pixels, pages. Reads parts of every dialect."""

import base64
import binascii
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal

from plimsoll.messages import IMAGE_TYPES, Message, Part, media_of
from plimsoll.models.media import (
    FILE_BYTES_PER_PAGE,
    data_url_mime,
    mime_of,
    payload_of,
    pixel_size,
)

_PDF = "JVBERi0"  # %PDF- in base64
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,6})(?!\d)")
_SHORTEST = 60  # characters of encoded data; anything shorter is a file id
_MAX_KNOWN = 1_024  # documents whose pages are remembered
_known_pages: OrderedDict[tuple[int, int], int] = OrderedDict()  # by length and hash: the data is not kept


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """One image, audio clip or document in a message."""

    kind: Literal["image", "audio", "document"]
    mime: str = ""
    name: str = ""
    encoded: int = 0  # bytes as they are sent
    width: int = 0  # pixels; 0 if unknown
    height: int = 0
    pages: int = 0  # of a PDF
    is_link: bool = False  # the data is elsewhere

    @property
    def edge(self) -> int:
        """The longer edge in pixels."""
        return max(self.width, self.height)

    @property
    def described(self) -> str:
        """A description for the line that replaces the part: `image/png, 1280 × 720, 512 KB`."""
        size = self.encoded * 3 // 4
        facts = (
            self.name,
            self.mime,
            f"{self.width} × {self.height}" if self.edge else "",
            f"{self.pages} page{'s' if self.pages > 1 else ''}" if self.pages else "",
            f"{max(1, round(size / 1_000)):,} KB" if size and not self.is_link else "",
        )
        return ", ".join(fact for fact in facts if fact)


def facts_of(part: Part) -> MediaFacts:
    """The facts about an image, audio or file part."""
    data, holder = payload_of(part)
    is_image, is_audio = part.get("type") in IMAGE_TYPES, part.get("type") == "input_audio"
    mime = _mime(data, holder, part)
    if is_image:
        width, height = pixel_size(data) or (0, 0)
        return MediaFacts(
            "image", mime, _name(part, holder), len(data), width, height, is_link=_is_link(data)
        )
    pages = 0 if is_audio or _is_link(data) else _pages(data, mime)
    kind: Literal["audio", "document"] = "audio" if is_audio else "document"
    return MediaFacts(kind, mime, _name(part, holder), len(data), pages=pages, is_link=_is_link(data))


def media_bytes(message: Message) -> int:
    """The bytes of a message's images, sounds and files, decoded; a link has none."""
    payloads = (payload_of(part)[0] for part in media_of(message))
    return sum(_decoded_bytes(data) for data in payloads if not _is_link(data))


def _decoded_bytes(data: str) -> int:
    """Four characters of base64 are three bytes."""
    padding = data.count("=", max(0, len(data) - 2))
    return (len(data) - _payload_start(data) - padding) * 3 // 4


def _payload_start(data: str) -> int:
    return data.find(",", 0, 256) + 1 if data[:5].lower() == "data:" else 0


def _is_link(data: str) -> bool:
    return "://" in data[:16] or len(data) < _SHORTEST


def _mime(data: str, *holders: Any) -> str:
    stated = next((mime for holder in holders if (mime := mime_of(holder))), "")
    found = stated or data_url_mime(data).split(";")[0].split(",")[0]
    return found if len(found) <= 40 and found.isprintable() else ""


def _name(*holders: Any) -> str:
    """The file name, shortened to one line, because it is inserted into the conversation."""
    for holder in holders:
        for key in ("filename", "title", "displayName", "name"):
            if isinstance(name := holder.get(key), str) and name:
                return " ".join(name.split())[:80].replace("]", ")")
    return ""


def _pages(data: str, mime: str) -> int:
    start = _payload_start(data)
    if mime != "application/pdf" and not data.startswith(_PDF, start):
        return 0
    key = len(data), hash(data)
    found = _known_pages.get(key)
    if found is None:
        found = _known_pages[key] = _counted_pages(data[start:])
        if len(_known_pages) > _MAX_KNOWN:
            _known_pages.popitem(last=False)
    return found


def _counted_pages(encoded: str) -> int:
    """The page count that a PDF states; estimated from its size if the count is compressed."""
    try:
        raw = base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return 1
    stated = max((int(count) for count in _COUNT.findall(raw)), default=0)
    return max(len(_PAGE.findall(raw)), stated) or 1 + len(raw) // FILE_BYTES_PER_PAGE

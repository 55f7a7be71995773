"""What a provider accepts in one request besides tokens: bytes, images, pixels, pages of documents.

The numbers are in `cards.toml`, by family, with their sources. None means that no limit is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """The limits on one request."""

    request_bytes: int | None = None  # of the whole body
    images: int | None = None  # in the request
    pages: int | None = None  # of all PDFs in the request
    image_bytes: int | None = None  # of one image as it is sent, in base64
    image_edge: int | None = None  # pixels of the longer edge of one image
    many_images: int | None = None  # with more images than this, `many_edge` applies instead of `image_edge`
    many_edge: int | None = None
    pages_are_images: bool = False  # a page of a PDF counts as an image too

    @property
    def is_empty(self) -> bool:
        """Whether there are no limits."""
        return self == MediaLimits()

    def changed(self, changes: Mapping[str, Any]) -> "MediaLimits":
        """The limits with these values replaced."""
        return replace(self, **changes)

    def lowered(self, *, request_bytes: int | None = None, images: int | None = None) -> "MediaLimits":
        """The limits, lowered to those that a provider stated in an error."""
        return replace(
            self,
            request_bytes=_lower(self.request_bytes, request_bytes),
            images=_lower(self.images, images),
        )


MEDIA_COUNTS = tuple(field.name for field in fields(MediaLimits) if field.name != "pages_are_images")


def _lower(known: int | None, stated: int | None) -> int | None:
    return min((limit for limit in (known, stated) if limit is not None), default=None)

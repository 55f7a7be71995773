"""Images that a provider rejects: too many bytes, or an unsupported type.

The limits are those that the providers document (platform.claude.com "Vision", OpenAI "Images and vision", Google
"File input methods", all 2026). Claude's limit applies to the encoded bytes.
"""

import re
from dataclasses import dataclass

_DATA_URL = re.compile(r"data:([^,;]*)[^,]*;base64,")
_MEGABYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The images that a provider accepts."""

    provider: str
    types: frozenset[str]
    max_bytes: int | None = None  # of one image in base64


_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
ANTHROPIC_IMAGES = ImageLimits("Anthropic", _IMAGE_TYPES, 5 * _MEGABYTE)
OPENAI_IMAGES = ImageLimits("OpenAI", _IMAGE_TYPES)
GEMINI_IMAGES = ImageLimits("Google", (_IMAGE_TYPES - {"image/gif"}) | {"image/heic", "image/heif"})


def image_problem(media_type: str, data: str, limits: ImageLimits) -> tuple[str, str] | None:
    """The problem of an image and the text that replaces it; None if the image is valid."""
    size = f"{len(data) / _MEGABYTE:.1f} MB" if len(data) >= _MEGABYTE else f"{len(data):,} bytes"
    if media_type.lower() not in limits.types:
        problem = f"{limits.provider} does not read images of the type {media_type or 'unknown'}"
    elif limits.max_bytes is not None and len(data) > limits.max_bytes:
        maximum = f"{limits.max_bytes / _MEGABYTE:.0f} MB"
        problem = f"an image of {size} exceeds the {maximum} that {limits.provider} takes"
    elif not data:
        problem = "an image is empty"
    else:
        return None
    return problem, f"[An image ({media_type or 'unknown type'}, {size}) was removed: {problem}.]"


def url_problem(url: str, limits: ImageLimits) -> tuple[str, str] | None:
    """The same for a data URL; other URLs are not checked."""
    found = _DATA_URL.match(url)
    return image_problem(found[1], url[found.end() :], limits) if found else None

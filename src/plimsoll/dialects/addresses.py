"""Addresses of model APIs: paths on a base URL, and names inside a path."""

import re
from functools import cache, lru_cache
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from plimsoll.errors import UserError


def base_path(base_url: str) -> str:
    """The path of an address, without a trailing slash."""
    return urlsplit(base_url).path.rstrip("/")


@lru_cache(maxsize=256)  # called for each request; paths contain model names, so there may be many
def with_path(base_url: str, path: str) -> str:
    """The address with another path."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def path_segment(name: str) -> str:
    """A name as one segment of a path.

    Percent-encodes everything except letters, digits and `-._~`. Rejects a name that contains a dot segment in any
    level of encoding, because an upstream may decode and resolve it.
    """
    plain, decoded = "", name
    while plain != decoded:
        plain, decoded = decoded, unquote(decoded)
    if any(part in ("", ".", "..") for part in re.split(r"[/\\]", plain)) or not plain.isprintable():
        raise UserError(f"{name[:80]!r} is not a valid model name.")
    return quote(name, safe="")


@cache
def path_pattern(written: str) -> re.Pattern[str]:
    """The paths that a route like `/v1/models/{model}` matches; `{model:path}` may contain slashes."""
    escaped = re.sub(r"\\{(\w+):path\\}", r"(?P<\1>.+)", re.escape(written))
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", escaped))

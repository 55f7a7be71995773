"""The registered dialects. Built-in ones are registered like any other.

register_dialect(MyDialect())     every gateway created afterwards serves its paths
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from plimsoll.dialects.anthropic.dialect import AnthropicDialect
from plimsoll.dialects.dialect import Dialect
from plimsoll.dialects.gemini.dialect import GeminiDialect
from plimsoll.dialects.openai.dialect import OpenAiDialect
from plimsoll.dialects.responses.dialect import ResponsesDialect

OPENAI = OpenAiDialect()
ANTHROPIC = AnthropicDialect()
GEMINI = GeminiDialect()
RESPONSES = ResponsesDialect()
_REGISTERED: dict[str, Dialect] = {}


def register_dialect(dialect: Dialect) -> None:
    """Register a dialect under its name."""
    if _REGISTERED.setdefault(dialect.name, dialect) is not dialect:
        raise ValueError(f"A dialect named {dialect.name!r} is already registered.")
    _forget_lists()


@contextmanager
def registered(dialect: Dialect) -> Iterator[Dialect]:
    """Register a dialect for the duration of a `with` block."""
    register_dialect(dialect)
    try:
        yield dialect
    finally:
        del _REGISTERED[dialect.name]
        _forget_lists()


@cache
def dialects() -> tuple[Dialect, ...]:
    """Every dialect; the first is the default for clients and servers that show none."""
    return tuple(_REGISTERED.values())


def dialect_named(name: str) -> Dialect:
    """The dialect with this name."""
    try:
        return _REGISTERED[name]
    except KeyError:
        known = ", ".join(_REGISTERED)
        raise ValueError(f"{name!r} is not a dialect; known: {known}.") from None


def dialect_with_mode(api_mode: str) -> Dialect:
    """The dialect with this API mode, its name in settings and plugins."""
    found = next((dialect for dialect in dialects() if dialect.api_mode == api_mode), None)
    if found is None:
        known = ", ".join(dialect.api_mode for dialect in dialects())
        raise ValueError(f"{api_mode!r} is not an API mode; known: {known}.")
    return found


def dialect_of(path: str, headers: Iterable[tuple[bytes, bytes]]) -> Dialect:
    """The dialect of a client: by the path, else by a header that only its clients send."""
    known = dialects()
    by_prefix = (dialect for dialect in known if path.startswith(dialect.path_prefixes))
    by_path = (dialect for dialect in known if dialect.path_values(path) is not None)
    sent = {name.decode("latin-1") for name, _ in headers}
    by_header = (dialect for dialect in known if not sent.isdisjoint(dialect.own_headers))
    return next(by_prefix, None) or next(by_path, None) or next(by_header, None) or known[0]


def dialect_shown_by(base_url: str) -> Dialect | None:
    """The dialect that a base URL identifies; None if it identifies none."""
    return next((dialect for dialect in dialects() if dialect.serves_address(base_url)), None)


def dialect_at(base_url: str) -> Dialect:
    """The dialect for the base URL of an unknown provider."""
    return dialect_shown_by(base_url) or dialects()[0]


@cache
def key_headers() -> dict[bytes, str]:
    """Every header that may contain a key, in the order they are checked, with the prefix before the key."""
    prefixes = {dialect.key_header.encode(): dialect.key_prefix.strip().lower() for dialect in dialects()}
    return dict(reversed(prefixes.items()))


def _forget_lists() -> None:
    """Clear the cached lists after a dialect was added or removed; every request reads them."""
    dialects.cache_clear()
    key_headers.cache_clear()


for _dialect in (OPENAI, ANTHROPIC, GEMINI, RESPONSES):
    register_dialect(_dialect)

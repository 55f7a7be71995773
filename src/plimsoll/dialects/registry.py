"""The dialects that are known. Built-in ones are registered like any other.

register_dialect(MyDialect())     its paths are served by every gateway that is built from then on
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
    """Make a dialect known under its name."""
    if _REGISTERED.setdefault(dialect.name, dialect) is not dialect:
        raise ValueError(f"A dialect named {dialect.name!r} is registered already.")
    _forget_lists()


@contextmanager
def registered(dialect: Dialect) -> Iterator[Dialect]:
    """The dialect is known inside of a `with` block."""
    register_dialect(dialect)
    try:
        yield dialect
    finally:
        del _REGISTERED[dialect.name]
        _forget_lists()


@cache
def dialects() -> tuple[Dialect, ...]:
    """Every dialect; the first is that of clients and servers that show none."""
    return tuple(_REGISTERED.values())


def dialect_named(name: str) -> Dialect:
    """The dialect of this name."""
    try:
        return _REGISTERED[name]
    except KeyError:
        known = ", ".join(_REGISTERED)
        raise ValueError(f"{name!r} is not a dialect; known: {known}.") from None


def dialect_with_mode(api_mode: str) -> Dialect:
    """The dialect that settings and plugins call by this name."""
    found = next((one for one in dialects() if one.api_mode == api_mode), None)
    if found is None:
        known = ", ".join(one.api_mode for one in dialects())
        raise ValueError(f"{api_mode!r} is not an API mode; known: {known}.")
    return found


def dialect_of(path: str, headers: Iterable[tuple[bytes, bytes]]) -> Dialect:
    """The dialect that a client speaks: by the path, else by a header that only its clients send."""
    known = dialects()
    by_prefix = (one for one in known if path.startswith(one.path_prefixes))
    by_path = (one for one in known if one.path_values(path) is not None)
    sent = {name.decode("latin-1") for name, _ in headers}
    by_header = (one for one in known if not sent.isdisjoint(one.own_headers))
    return next(by_prefix, None) or next(by_path, None) or next(by_header, None) or known[0]


def dialect_shown_by(base_url: str) -> Dialect | None:
    """The dialect that an address shows by itself; None where it shows none."""
    return next((one for one in dialects() if one.serves_address(base_url)), None)


def dialect_at(base_url: str) -> Dialect:
    """The dialect that is spoken at an address of no known provider."""
    return dialect_shown_by(base_url) or dialects()[0]


@cache
def key_headers() -> dict[bytes, str]:
    """Every header that carries a key, in the order in which they are looked at, and what stands before the key."""
    prefixes = {one.key_header.encode(): one.key_prefix.strip().lower() for one in dialects()}
    return dict(reversed(prefixes.items()))


def _forget_lists() -> None:
    """Every request reads these lists, so they are kept until a dialect is added or removed."""
    dialects.cache_clear()
    key_headers.cache_clear()


for _dialect in (OPENAI, ANTHROPIC, GEMINI, RESPONSES):
    register_dialect(_dialect)

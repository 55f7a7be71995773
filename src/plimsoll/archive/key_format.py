"""The text format of an access key: a fixed prefix, an id and a secret.

    plim-4f9c2a71d0e3-Zk3v…        12 hexadecimal digits, then 43 characters of 256 random bits

A secret of 256 random bits cannot be guessed, so one round of a fast hash is enough; a slow one would only slow down
every request.
"""

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest

PREFIX = "plim-"
_ID_BYTES = 6
_SECRET_BYTES = 32
_LONGEST = 200  # maximum characters of a key


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key; the only time its text is known."""

    id: str
    text: str = field(repr=False)
    digest: bytes = field(repr=False)


def new_key(id: str | None = None) -> NewKey:
    """A new key, or a new secret for an existing id."""
    id, secret = id or secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    return NewKey(id, f"{PREFIX}{id}-{secret}", digest_of(secret))


def is_key(text: str) -> bool:
    """Whether a text has the form of a gateway key, valid or not."""
    return text.startswith(PREFIX)


def split_key(text: str) -> tuple[str, str] | None:
    """Id and secret; None if the text is not a key."""
    if not is_key(text) or len(text) > _LONGEST:
        return None
    id, _, secret = text.removeprefix(PREFIX).partition("-")
    return (id, secret) if id and secret else None


def digest_of(secret: str) -> bytes:
    """The stored digest of a secret."""
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()


def matches_digest(secret: str, digest: bytes) -> bool:
    """Whether a secret matches, in constant time."""
    return compare_digest(digest_of(secret), digest)

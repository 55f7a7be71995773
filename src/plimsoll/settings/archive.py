"""`archive`: the location of the archive.

archive:
  url: null                                     archive.db in PLIMSOLL_HOME
  url: sqlite:///srv/plimsoll.db                another file
  url: postgresql://me:secret@host/plimsoll     a database that many machines share
"""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from plimsoll.settings.section import Section

FILE_SCHEME = "sqlite"
SERVER_SCHEMES = ("postgresql", "postgres")
FORMS = "sqlite:///path/to/archive.db or postgresql://user:password@host/database"


def fault_of(url: str) -> str | None:
    """What is wrong with an address. The text never quotes the address, which may contain a password."""
    parts = urlsplit(url)
    if parts.scheme in SERVER_SCHEMES:
        # `plimsoll config` masks a password only in front of the host.
        return (
            "it must have the password before the host: postgresql://user:password@host/database"
            if "password=" in parts.query
            else None
        )
    if parts.scheme != FILE_SCHEME or parts.netloc or len(parts.path) < 2:
        return f"it must be {FORMS}"
    return None


def _address(url: str) -> str:
    fault = fault_of(url)
    if fault:
        raise PydanticCustomError("endpoint", "{fault}", {"fault": fault})
    return url


class ArchiveSettings(Section):
    """Where conversations are stored."""

    url: Annotated[str, AfterValidator(_address)] | None = Field(
        default=None,
        description=(
            "The archive: an SQLite file, or a PostgreSQL database that several machines can share. "
            "Null: archive.db in PLIMSOLL_HOME."
        ),
        json_schema_extra={
            "allowed": "sqlite:///path/to/file, postgresql://user:password@host/database, or null"
        },
    )

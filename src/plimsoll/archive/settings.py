"""Settings of this package: where the archive is.

archive:
  url: null                          archive.db in the home of Plimsoll
  url: sqlite:///srv/plimsoll.db     a file of its own
"""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from plimsoll.models.settings import Section

SCHEME = "sqlite"


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != SCHEME or parts.netloc or len(parts.path) < 2:
        raise PydanticCustomError("endpoint", "it must be a file written as sqlite:///path/to/archive.db")
    return url


class ArchiveSettings(Section):
    """Where conversations are kept."""

    url: Annotated[str, AfterValidator(_address)] | None = Field(
        default=None,
        description="The archive, such as sqlite:///path/to/archive.db. Null: archive.db in PLIMSOLL_HOME.",
        json_schema_extra={"allowed": "sqlite:///path/to/file, or null"},
    )

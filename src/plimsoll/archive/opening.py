"""From the setting `archive.url` to an open archive."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from plimsoll.archive.interface import Archive
from plimsoll.archive.settings import SCHEME
from plimsoll.archive.sqlite import SqliteArchive
from plimsoll.errors import SettingError

FILE_NAME = "archive.db"


def archive_file(url: str | None, home: Path) -> Path:
    """The file of the archive: where the setting says, or in the home of Plimsoll."""
    if url is None:
        return home / FILE_NAME
    parts = urlsplit(url)
    if parts.scheme != SCHEME or parts.netloc or len(parts.path) < 2:
        # Not repeated: an address of another kind may hold a password.
        raise SettingError("archive.url must be a file written as sqlite:///path/to/archive.db.")
    return Path(unquote(parts.path))


async def open_archive(url: str | None, home: Path) -> Archive:
    """The archive that the setting names, made where there is none."""
    return await SqliteArchive.open(archive_file(url, home))

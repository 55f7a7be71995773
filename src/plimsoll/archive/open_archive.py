"""Opens the archive that the setting `archive.url` names.

null, sqlite:///…       a file       sqlite/
postgresql://…          a server     postgres/, with the extra `postgres`
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from plimsoll.archive.sqlite import SqliteStore
from plimsoll.archive.store import ArchiveStore
from plimsoll.errors import SettingError, UserError
from plimsoll.installation import install_command
from plimsoll.settings.archive import SERVER_SCHEMES, fault_of

FILE_NAME = "archive.db"


def archive_file(url: str | None, home: Path) -> Path | None:
    """The archive's file: as configured, or in PLIMSOLL_HOME; None for a server."""
    if url is None:
        return home / FILE_NAME
    fault = fault_of(url)
    if fault:
        raise SettingError(f"archive.url is invalid: {fault}.")
    parts = urlsplit(url)
    return None if parts.scheme in SERVER_SCHEMES else Path(unquote(parts.path))


async def open_archive(url: str | None, home: Path) -> ArchiveStore:
    """Open the configured archive; create it if it does not exist."""
    path = archive_file(url, home)
    return await SqliteStore.open(path) if path else await _on_server(str(url))


async def _on_server(url: str) -> ArchiveStore:
    try:
        from plimsoll.archive.postgres import PostgresStore
    except ImportError as error:
        # Also if the driver is installed but its library is missing.
        if not (error.name or "psycopg").startswith("psycopg"):
            raise
        raise UserError(
            "archive.url names a PostgreSQL database, but its driver is not installed. "
            f"Run `{install_command('postgres')}`, or set archive.url to a file."
        ) from error
    return await PostgresStore.open(url)

"""PostgreSQL errors as messages that name the setting to change.

    connect ──► unreachable · password · role · database · too many      each with the setting to change
    later   ──► lost · disk full · read-only · busy                      and whether the write was stored

A message never contains the password. Errors in our own SQL are not converted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout, TooManyRequests

from plimsoll.errors import ArchiveError, SettingError

OLDEST = 13  # the first server version with all features used here
_EXAMPLE = "postgresql://user:password@host:5432/database"
# libpq has no codes for failed connections; these are its messages and the server's, in English.
_REFUSALS = (
    ("password authentication failed", "the user name or the password is wrong. Correct archive.url"),
    ("no password supplied", "it needs a password. Set it in archive.url or in ~/.pgpass"),
    (
        "no pg_hba.conf entry",
        "it rejects this user from this host. Correct its pg_hba.conf or archive.url",
    ),
    ("Peer authentication failed", "it rejects this user. Correct the user in archive.url"),
    ("too many clients", "it has no free connections. Try again, or raise its max_connections"),
    ("remaining connection slots", "it has no free connections. Try again, or raise its max_connections"),
)
_BY_SQLSTATE = {
    "53100": "its disk is full. The last change was not stored; all earlier ones are. Free some disk space",
    "53200": "it is out of memory. The last change was not stored. Try again",
    "53300": "it has no free connections. Try again, or raise its max_connections",
    "25006": "it is read-only. Set archive.url to a server that accepts writes",
    "42501": "this user lacks permission. Grant it the right to create and write tables, or correct archive.url",
    "3F000": "no schema allows creating tables. Correct search_path in archive.url",
    "55P03": "another process has been writing to the same session for too long. Nothing was stored; try again",
    "57014": "the statement took too long and was cancelled. Nothing was stored; try again",
    "28P01": "the user name or the password is wrong. Correct archive.url",
    "28000": "it rejects this user. Correct archive.url",
    "XX001": "its files are damaged. Restore the database from a backup",
    "XX002": "one of its indexes is damaged. Ask its administrator to run REINDEX",
}


@dataclass(frozen=True, slots=True)
class Address:
    """The archive's address: for the driver, and without the password for display."""

    conninfo: str
    shown: str
    database: str
    user: str

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def address_of(url: str) -> Address:
    """The parts of an address. The driver's own error may contain the password."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.Error:
        parts = {"host": "@"}
    host, port = parts.get("host") or "localhost", parts.get("port") or "5432"
    user, database = parts.get("user", ""), parts.get("dbname") or parts.get("user", "")
    # After an unescaped sign, a part of the password would be mistaken for the port or the database.
    if "@" in host + database or set(port) - set("0123456789,"):
        raise SettingError(
            f"archive.url is not a PostgreSQL address; use one like {_EXAMPLE}, "
            "with characters such as @ or / in a password written as %40 or %2F."
        )
    return Address(url, f"postgresql://{host}:{port}/{database}", database, user)


def refused(address: Address, error: psycopg.Error) -> ArchiveError:
    """The error for a failed connection."""
    text = str(error)
    if "does not exist" in text and "database" in text:
        problem = (
            f"there is no database {address.database!r}. Create it with `createdb {address.database}`, "
            "or correct archive.url"
        )
    elif "does not exist" in text and "role" in text:
        problem = f"there is no user {address.user!r}. Correct archive.url"
    else:
        known = (problem for words, problem in _REFUSALS if words in text)
        problem = next(known, f"{_reason(text)}. Start the server, or correct host and port in archive.url")
    return ArchiveError(f"The archive {address.shown} cannot be opened: {problem}.")


def _reason(text: str) -> str:
    """The driver's last line without its address, which may be long."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[0] if lines else "no answer"
    return last.rpartition("failed: ")[2].removeprefix("FATAL:").strip().rstrip(".") or "no answer"


def lost(address: Address, *, unsure: bool = False) -> ArchiveError:
    """The error for a lost connection, if a retry failed or would not be safe."""
    became = (
        "It is unknown whether the last change was stored; check before you repeat it"
        if unsure
        else "Nothing was stored; try again"
    )
    return ArchiveError(
        f"The connection to the archive {address.shown} was lost. {became}. If it happens again, check the server, "
        "or correct archive.url."
    )


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection was lost, so that the transaction ended without a response."""
    code = error.sqlstate or ""
    # 57P: the server was stopped; 25P03: the transaction was cancelled because this process stalled.
    if code:
        return code.startswith(("08", "57P")) or code == "25P03"
    return isinstance(error, psycopg.OperationalError)


@contextmanager
def readable_errors(address: Address) -> Iterator[None]:
    """Convert server errors to messages."""
    try:
        yield
    except (PoolTimeout, TooManyRequests) as error:
        raise ArchiveError(
            f"The archive {address.shown} cannot be reached: no connection in time. Start the server, or correct "
            "host and port in archive.url."
        ) from error
    except psycopg.Error as error:
        problem = _BY_SQLSTATE.get(error.sqlstate or "")
        if problem is None:
            raise
        raise ArchiveError(f"The archive {address.shown} refuses: {problem}.") from error


def require_server(address: Address, version: int, encoding: str) -> None:
    """Raise if the server cannot store an archive. `version` is the driver's: 130004 is 13.4."""
    if version < OLDEST * 10_000:
        raise ArchiveError(
            f"The archive {address.shown} is on PostgreSQL {version // 10_000}.{version % 10_000}; Plimsoll needs "
            f"{OLDEST} or later. Update the server, or set archive.url to another one."
        )
    if encoding != "UTF8":
        raise ArchiveError(
            f"The database of the archive {address.shown} is encoded as {encoding}, which cannot store all "
            "text. Create one with `createdb --encoding=UTF8 --template=template0`, and set archive.url to it."
        )

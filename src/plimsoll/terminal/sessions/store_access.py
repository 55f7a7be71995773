"""Opens the configured archive for synchronous commands.

    with open_store() as access:
        session = access.run(access.store.session("20261115-09"))
        pins = access.run(access.archive_of(session).pins(session.id))

These commands are administration: they find sessions of all owners and then use the owner's archive.
Reading creates nothing; without an archive, the user sees how to create one.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from plimsoll.archive import OPERATOR, Archive, ArchiveStore, Session
from plimsoll.archive.open_archive import archive_file, open_archive
from plimsoll.config import Settings, load_settings, plimsoll_home
from plimsoll.errors import UserError
from plimsoll.terminal.prose import show_notice

Result = TypeVar("Result")
COMPLETIONS = 50


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """An open store and the loop that its methods run on."""

    store: ArchiveStore
    settings: Settings
    runner: asyncio.Runner

    @property
    def archive(self) -> Archive:
        """The operator's own sessions."""
        return self.store.for_owner(OPERATOR)

    def archive_of(self, session: Session) -> Archive:
        """The archive of a session's owner."""
        return self.store.for_owner(session.owner)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to completion."""
        return self.runner.run(work)


@contextmanager
def open_store(*, create: bool = False) -> Iterator[StoreAccess]:
    """Open the configured archive; with `create`, create it if it does not exist."""
    loaded = load_settings()
    for notice in loaded.notices:
        show_notice(notice)
    url, home = loaded.settings.archive.url, plimsoll_home()
    path = archive_file(url, home)
    if not create and path is not None and not path.exists():
        raise UserError(nothing_yet(path))
    with asyncio.Runner() as runner:
        store = runner.run(open_archive(url, home))
        try:
            yield StoreAccess(store, loaded.settings, runner)
        finally:
            runner.run(store.close())


def has_archive() -> bool:
    """Whether the archive exists; assumed for a server."""
    path = archive_file(load_settings().settings.archive.url, plimsoll_home())
    return path is None or path.exists()


def nothing_yet(path: Path | None = None) -> str:
    """The message for a user without sessions."""
    where = f" in {path}" if path else ""
    return f"There are no sessions yet{where}. `plimsoll sessions import FILE` imports a conversation."


def session_ids(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids with this prefix, with their titles, for shell completion."""
    if not has_archive():
        return []
    with open_store() as access:
        found = access.run(access.store.sessions(prefix=incomplete, limit=COMPLETIONS))
    return [CompletionItem(session.id, help=session.title) for session in found]

"""Opens sessions in this process with shared resources: one model client and the same tool servers.

    first session ─► resolve the model ─► SharedResources ─┐
    every session, its owner's archive ────────────────────┴─► OpenConversation

No model is resolved before the first session is opened: a gateway without a model serves everything else, and a
message to a session gets an error that says what is missing.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path

from plimsoll.agent import Reserve, Workers, on_this_loop
from plimsoll.archive import Archive, Owner, UsageRecord
from plimsoll.assembly import (
    OpenConversation,
    SessionOptions,
    SharedResources,
    join_conversation,
    open_shared,
)
from plimsoll.config import Settings
from plimsoll.gateway.upstream.target import require_demo
from plimsoll.providers import resolve
from plimsoll.sessions import Hygiene


def system_prompt() -> str:
    """The prompt of a session that was created without one."""
    return files("plimsoll.gateway.sessions").joinpath("system_prompt.md").read_text("utf-8")


Charge = Callable[[Owner, UsageRecord], None]


class SessionOpener:
    """Opens sessions. `holder` identifies this process and is never reused; tools work in `place`.

    `charge` bills the usage of summaries to the session's owner. With `demo` the embedded model may answer.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        home: Path,
        holder: str,
        place: Path,
        reserve: Reserve | None = None,
        workers: Workers | None = None,
        charge: Charge | None = None,
        demo: bool = False,
    ) -> None:
        self._settings, self._environ, self._home = settings, environ, home
        self._holder, self._place = holder, place
        self._reserve, self._workers, self._charge = reserve, workers, charge
        self._demo = demo
        waits = settings.gateway.sessions
        hygiene = Hygiene(waits.hygiene_seconds)
        self._session_options = SessionOptions(waits.patience_seconds, waits.lease_seconds, hygiene)
        self._shared: SharedResources | None = None
        self._opening = asyncio.Lock()
        self._joined = 0

    async def join(self, archive: Archive, id: str) -> OpenConversation:
        """Open the session with this id in its owner's archive. The caller closes it."""
        async with self._opening:
            if self._shared is None:
                self._shared = await self._open()
        self._joined += 1
        # Each has a unique holder: two that are open for one session must never be mistaken for one.
        opened = await join_conversation(
            self._shared,
            archive,
            f"{self._holder}-{self._joined}",
            system_prompt(),
            id,
            self._session_options,
        )
        opened.conversation.agent.connection.reserve = self._reserve
        compactor = opened.conversation.agent.compactor
        compactor.host.workers = self._workers
        if self._charge is not None:
            compactor.account.charge = on_this_loop(partial(self._charge, archive.owner))
        return opened

    async def close(self) -> None:
        """Close the shared resources."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()

    async def _open(self) -> SharedResources:
        resolution = await resolve(self._settings.model, self._environ, home=self._home)
        require_demo(resolution.endpoint, self._home, self._demo)
        return await open_shared(
            self._settings,
            self._environ,
            self._home,
            resolution=resolution,
            place=self._place,
            tools=frozenset(self._settings.gateway.sessions.tools),
        )

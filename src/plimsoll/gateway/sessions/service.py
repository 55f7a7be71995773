"""The sessions that this process has open, for all owners. `owner_sessions.py` has the operations of one owner.

REST ───────┐                                        ┌─ archive of the owner: read, search, pin, fork
messaging ──┼─► SessionService.for_owner ─► OwnerSessions ┤
a test ─────┘                                        └─ open sessions ─► one turn at a time: send, compact, undo
"""

import os
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from plimsoll.agent import Reserve, Workers
from plimsoll.archive import Archive, Owner
from plimsoll.assembly import limits_of
from plimsoll.config import Settings
from plimsoll.gateway.sessions.open_sessions import OpenSessions
from plimsoll.gateway.sessions.owner_sessions import LimitsFor, OwnerSessions
from plimsoll.gateway.sessions.running_turns import RunningTurns
from plimsoll.gateway.sessions.session_opener import Charge, SessionOpener
from plimsoll.settings.gateway import GatewaySessions


class SessionService:
    """The sessions of all owners in one process. Close it before the store."""

    def __init__(
        self,
        archive_of: Callable[[Owner], Archive],
        opener: SessionOpener,
        limits: GatewaySessions,
        limits_for: LimitsFor,
    ) -> None:
        self._archive_of, self._limits_for = archive_of, limits_for
        self._opener = opener
        self._open_sessions = OpenSessions(opener.join, limits.waiting, limits.open)
        self._turns = RunningTurns()

    @classmethod
    def open(
        cls,
        settings: Settings,
        environ: Mapping[str, str],
        home: Path,
        archive_of: Callable[[Owner], Archive],
        reserve: Reserve | None = None,
        workers: Workers | None = None,
        charge: Charge | None = None,
        demo: bool = False,
    ) -> "SessionService":
        """Open the sessions of this process; the agent's tools work in its current directory.

        `reserve` reserves a request in the caller's limits; `charge` records the usage of summaries. With `demo` the
        embedded model may answer.
        """
        holder = f"gateway-{os.getpid()}-{secrets.token_hex(4)}"
        opener = SessionOpener(settings, environ, home, holder, Path.cwd(), reserve, workers, charge, demo)
        return cls(archive_of, opener, settings.gateway.sessions, partial(limits_of, settings))

    def for_owner(self, owner: Owner, actor: str = "") -> OwnerSessions:
        """The operations of this owner on their sessions. Other owners' sessions are not visible.

        `actor` is the name in recorded actions, by default the owner's.
        """
        archive = self._archive_of(owner)
        return OwnerSessions(archive, self._open_sessions, self._turns, self._limits_for, actor or owner)

    async def close(self, grace_seconds: float = 0.0) -> None:
        """Close all sessions. Turns in progress may continue for `grace_seconds` and are then stopped."""
        await self._turns.close(grace_seconds)
        await self._open_sessions.close()
        await self._opener.close()

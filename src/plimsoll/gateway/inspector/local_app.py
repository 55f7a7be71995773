"""The session endpoints and the page for one user on this machine, without the rest of the gateway."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from plimsoll.archive import OPERATOR, Owner
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.problems import problem
from plimsoll.gateway.inspector.live import LiveSessions
from plimsoll.gateway.inspector.local_access import LocalAccess
from plimsoll.gateway.inspector.routes import inspector_routes, page_preloaded
from plimsoll.gateway.sessions import SessionService
from plimsoll.gateway.sessions.endpoint import session_routes


class LocalInspector:
    """The application, the token that opens it, and the sessions that it serves while it runs."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], home: Path, owner: Owner = OPERATOR
    ) -> None:
        self._settings, self._environ, self._home = settings, environ, home
        self._service: SessionService | None = None
        self.token = secrets.token_urlsafe(24)
        self.live = LiveSessions()
        self.app = Starlette(
            routes=[
                *inspector_routes(self._open_service, self.live),
                *session_routes(self._open_service, settings.gateway),
            ],
            lifespan=self._opened,
            middleware=[Middleware(LocalAccess, self.token, owner)],
            exception_handlers={HTTPException: _refused},
        )

    def address(self, port: int, session: str = "") -> str:
        """The link that opens the page once, at a session."""
        at = f"&session={session}" if session else ""
        return f"http://127.0.0.1:{port}/inspect#token={self.token}{at}"

    @asynccontextmanager
    async def _opened(self, _app: object) -> AsyncIterator[None]:
        settings, home = self._settings, self._home
        async with await open_archive(settings.archive.url, home) as store, page_preloaded():
            service = SessionService.open(settings, self._environ, home, store.for_owner, demo=True)
            self._service = service
            try:
                yield
            finally:
                await service.close()

    def _open_service(self) -> SessionService:
        assert self._service is not None, "the application has not started"
        return self._service


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    answer = problem(status, f"There is nothing at {request.url.path}.")
    return Response(jsontext.write(answer.as_dict()), status, media_type="application/problem+json")

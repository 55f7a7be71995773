"""Health endpoints for supervisors and load balancers.

    /healthz   200 as long as the process answers
    /readyz    200 if the archive answers and an upstream is known, else 503 with the one that is missing
    /metrics   the metrics

Both need no key, so they reveal nothing confidential, and check at most once a second.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plimsoll.errors import PlimsollError
from plimsoll.gateway.telemetry.metrics import Metrics

CHECK_SECONDS = 2.0
KEPT_SECONDS = 1.0
Check = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Readiness:
    """The dependencies that must answer. A check that raises or takes too long has failed."""

    checks: dict[str, Check]
    clock: Callable[[], float] = time.monotonic
    _found: dict[str, str] | None = None
    _at: float = 0.0
    _ending: "dict[str, asyncio.Task[str]]" = field(default_factory=dict)  # checks that took too long

    async def found(self) -> dict[str, str]:
        """Each dependency with `ok` or `unreachable`."""
        if self._found is None or self.clock() - self._at >= KEPT_SECONDS:
            states = await asyncio.gather(*map(self._check, self.checks))
            self._found, self._at = dict(zip(self.checks, states, strict=True)), self.clock()
        return self._found

    async def _check(self, name: str) -> str:
        """Check one dependency. A driver may cancel a query slowly; at most one cancelled check runs at a time."""
        if name in self._ending:
            await asyncio.wait({self._ending[name]}, timeout=CHECK_SECONDS)
        if name in self._ending:
            return "unreachable"
        check = asyncio.create_task(_status_of(self.checks[name]))
        done, _ = await asyncio.wait({check}, timeout=CHECK_SECONDS)
        if not done:
            self._ending[name] = check
            check.add_done_callback(lambda _: self._ending.pop(name))
            check.cancel()
            return "unreachable"
        return check.result()


async def _status_of(check: Check) -> str:
    try:
        await check()
    except (PlimsollError, OSError):
        return "unreachable"
    return "ok"


def telemetry_routes(readiness: Readiness, metrics: Metrics | None) -> list[Route]:
    """The health and metrics routes."""

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        found = await readiness.found()
        is_ready = all(word == "ok" for word in found.values())
        return JSONResponse({"status": "ok" if is_ready else "not ready", **found}, 200 if is_ready else 503)

    routes = [Route("/healthz", healthz), Route("/readyz", readyz)]
    if metrics is not None:
        shown = metrics

        async def metrics_text(_request: Request) -> Response:
            body = await asyncio.to_thread(shown.text)
            return Response(body, media_type=CONTENT_TYPE_LATEST)

        routes.append(Route("/metrics", metrics_text))
    return routes

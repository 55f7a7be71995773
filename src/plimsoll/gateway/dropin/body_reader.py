"""Reads bodies without delaying other requests: small ones on the event loop, large ones in a worker process.

raw ─┬─ small ──────────────────────► parsed at once
     └─ large ──► thread ──► worker ──► parsed, hashed and counted
                    └─ no worker yet, or none at all: in the thread itself
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from plimsoll.agent.workers import NotReady, WorkerDied, Workers
from plimsoll.dialects import Dialect
from plimsoll.gateway.dropin.analysis import assembled, pieces_of
from plimsoll.gateway.dropin.client_request import Analysis
from plimsoll.gateway.http.body import LARGE_BYTES, parse_body
from plimsoll.settings.gateway import GatewaySection

MODULE = pieces_of.__module__  # what a worker imports to read bodies
_THREADS = 4  # bodies read at the same time; others wait


class BodyReader:
    """Reads request bodies. Close it after use."""

    def __init__(self, workers: Workers | None = None) -> None:
        self._workers = workers
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gateway-body")

    async def read(
        self, raw: bytes, dialect: Dialect, root: bytes, limits: GatewaySection
    ) -> tuple[dict[str, Any], Analysis | None]:
        """The body, and for a large one the analysis of its messages; raises `Refused` if it is not a request."""
        if len(raw) < LARGE_BYTES:
            return parse_body(raw, limits), None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read, raw, dialect, root, limits)

    def close(self) -> None:
        """Shut the threads down."""
        self._threads.shutdown(wait=False)

    def _read(
        self, raw: bytes, dialect: Dialect, root: bytes, limits: GatewaySection
    ) -> tuple[dict[str, Any], Analysis | None]:
        if self._workers is not None:
            try:
                return assembled(dialect, self._workers.run_short(pieces_of, dialect, root, limits, data=raw))
            except (NotReady, WorkerDied):
                pass  # the worker is starting or has died; do not wait for another
        return assembled(dialect, list(pieces_of(dialect, root, limits, raw)))

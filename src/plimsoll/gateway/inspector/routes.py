"""The routes of the page. They return no data: the page calls the session endpoints, with a key in a header."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from plimsoll.gateway.inspector.live import LiveSessions, live_routes
from plimsoll.gateway.sessions.endpoint import Service
from plimsoll.inspector import PAGE_HEADERS, Asset, script, shell, stylesheet

_FOREVER = "public, max-age=31536000, immutable"  # an asset's URL changes with its content


@asynccontextmanager
async def page_preloaded() -> AsyncIterator[None]:
    """Build the page in a thread while the server starts; otherwise the first visitor waits 25 ms longer for it."""
    building = asyncio.create_task(asyncio.to_thread(shell))
    try:
        yield
    finally:
        await building


async def _shell(_request: Request) -> Response:
    return Response(shell(), media_type="text/html", headers={**PAGE_HEADERS, "cache-control": "no-cache"})


async def _script(_request: Request) -> Response:
    return _sent(script())


async def _styles(_request: Request) -> Response:
    return _sent(stylesheet())


def _sent(asset: Asset) -> Response:
    headers = {**PAGE_HEADERS, "cache-control": _FOREVER, "etag": f'"{asset.version}"'}
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def inspector_routes(service: Service, live: LiveSessions | None = None) -> list[BaseRoute]:
    """The shell, its two assets, and the events of a watched session."""
    return [
        Route("/inspect", _shell, methods=["GET"]),
        Route("/inspect/app.js", _script, methods=["GET"]),
        Route("/inspect/app.css", _styles, methods=["GET"]),
        *live_routes(service, live or LiveSessions()),
    ]

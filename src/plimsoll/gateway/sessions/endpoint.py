"""One operation as an ASGI application, and all of them as routes."""

import logging
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from plimsoll.errors import PlimsollError
from plimsoll.gateway.asgi import ClientDisconnected, Receive, Scope, Send, caller_in
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import Refused
from plimsoll.gateway.http.problems import PROBLEM_PATHS, Problem, problem, problem_of, send_problem
from plimsoll.gateway.http.responses import JSON, send_whole
from plimsoll.gateway.sessions.openapi import description
from plimsoll.gateway.sessions.operation import Operation
from plimsoll.gateway.sessions.operations import OPERATIONS, SEND
from plimsoll.gateway.sessions.reading import key_of, read
from plimsoll.gateway.sessions.service import SessionService
from plimsoll.gateway.sessions.turn_stream import take_turn
from plimsoll.settings.gateway import GatewaySection

DESCRIPTION_PATH = "/openapi.json"
Service = Callable[[], SessionService]
log = logging.getLogger("plimsoll.gateway")


class SessionEndpoint:
    """All operations on one path."""

    def __init__(self, operations: Iterable[Operation], limits: GatewaySection, service: Service) -> None:
        self._operations = {operation.method: operation for operation in operations}
        self._limits, self._service = limits, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            operation = self._operations.get(scope["method"])
            if operation is None:
                raise self._not_allowed(scope)
            request = await read(operation, scope, receive, self._limits)
            caller = caller_in(scope)
            own = self._service().for_owner(caller.archive_owner, caller.actor)
            if operation is SEND:
                await take_turn(own, request, key_of(scope), receive, send)
                return
            assert operation.run is not None
            result = await operation.run(own, request)
            await send_whole(send, operation.status, [JSON], jsontext.write(result))
        except Problem as error:
            await send_problem(send, error)
        except (PlimsollError, Refused) as error:
            failure = problem_of(error)
            if failure.status == 500:
                log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            await send_problem(send, failure)
        except ClientDisconnected:
            return

    def _not_allowed(self, scope: Scope) -> Problem:
        allowed = ", ".join(sorted(self._operations))
        detail = f"{scope['path']} does not support {scope['method']}. Supported: {allowed}."
        return problem(405, detail, (b"allow", allowed.encode()))


def session_routes(service: Service, limits: GatewaySection) -> list[BaseRoute]:
    """The routes of sessions and of their OpenAPI description."""
    paths: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, []).append(operation)

    async def describe(_request: Any) -> Response:
        return Response(_described(), media_type="application/json")

    return [
        Route(DESCRIPTION_PATH, describe, methods=["GET"]),
        *(Route(path, SessionEndpoint(operations, limits, service)) for path, operations in paths.items()),
    ]


@cache
def _described() -> bytes:
    """The OpenAPI description, built on first use because it takes longer than the rest of the start."""
    return jsontext.write(description())


def refused(path: str, status: int, detail: str) -> Response | None:
    """An error under one of these paths as a problem response; None for other paths."""
    if not path.startswith(PROBLEM_PATHS):
        return None
    return Response(
        jsontext.write(problem(status, detail).as_dict()), status, media_type="application/problem+json"
    )

"""`/openapi.json`: the description of the operations, made of the table that the routes are made of."""

from typing import Any

from plimsoll import __version__
from plimsoll.gateway.sessions.operations import OPERATIONS, SEND, Operation
from plimsoll.gateway.sessions.reading import KEY
from plimsoll.gateway.sessions.schemas import RESULTS, event_schema, named

_PROBLEMS = {
    400: "The request is not what HTTP or JSON allow.",
    401: "The gateway needs a key, and none came or a wrong one.",
    403: "A web page that may not use the gateway.",
    404: "There is no such session or message.",
    408: "The request was not whole in time.",
    409: "Another process was there first, or the turn was stopped.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    422: "Something in the request is not as described, or cannot be done.",
    429: "Too many messages wait, or a limit of the key is reached; try again after Retry-After.",
    502: "The model did not answer.",
    503: "No model is set up, or the archive does not answer.",
    504: "The model did not answer in time.",
}
_KEY_TEXT = (
    "A message with a key is run once, however often it is sent; the answer that was given is returned."
)


def description() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Plimsoll gateway: sessions",
            "version": __version__,
            "description": "Conversations that the gateway keeps, answers in and keeps small.",
        },
        "paths": paths,
        "components": {"schemas": {**RESULTS, "Event": event_schema()}},
    }


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *(_parameter(name, "path", schema, True) for name, schema in operation.parameters.items()),
            *(
                _parameter(name, "query", schema, name in operation.required)
                for name, schema in operation.query.items()
            ),
        ],
        "responses": {str(operation.status): _success(operation), **_problems()},
    }
    if operation is SEND:
        key = _parameter("Idempotency-Key", "header", KEY, False)
        described["parameters"].append({**key, "description": _KEY_TEXT})
    if operation.body is not None:
        described["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": {"schema": operation.body}},
        }
    return described


def _parameter(name: str, place: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": schema}


def _success(operation: Operation) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": named(operation.result)}}
    if operation is SEND:
        content["text/event-stream"] = {"schema": named("Event")}
    return {"description": operation.summary, "content": content}


def _problems() -> dict[str, Any]:
    told = {"application/problem+json": {"schema": named("Problem")}}
    # Whoever stands in front of all paths answers as providers do.
    refused = {"application/json": {"schema": {"type": "object"}}, **told}
    return {
        str(status): {"description": text, "content": refused if status in (401, 403, 429, 503) else told}
        for status, text in _PROBLEMS.items()
    }

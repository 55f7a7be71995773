"""A request as the operation wants it: values of the right kind, or a problem that says which one is not.

What is checked here is what `/openapi.json` shows: both are the same schemas.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator  # type: ignore[import-untyped, unused-ignore]
from jsonschema.exceptions import ValidationError, best_match  # type: ignore[import-untyped, unused-ignore]

from plimsoll.gateway.edge.body import LARGE_BYTES, Receive, Scope, parse_body, read_body
from plimsoll.gateway.sessions.operations import Given, Operation
from plimsoll.gateway.sessions.problems import problem
from plimsoll.gateway.sessions.schemas import Schema
from plimsoll.gateway.settings import Limits

KEY_HEADER = "idempotency-key"
KEY: Schema = {"type": "string", "pattern": "^[!-~]{1,200}$"}
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_LONGEST = 300  # characters of a value that a sentence quotes


async def read(operation: Operation, scope: Scope, receive: Receive, limits: Limits) -> Given:
    """Everything that came with a request."""
    path = _values(operation.parameters, scope["path_params"], 404)
    query = _query(operation, scope["query_string"])
    body = await _body(operation, scope, receive, limits)
    return Given(path, query, body)


def key_of(scope: Scope) -> str:
    """The key that makes a message known when it is sent again; empty where there is none."""
    found = [value for name, value in scope["headers"] if name == KEY_HEADER.encode()]
    if not found:
        return ""
    text = str(found[0], "latin-1")
    _check("Idempotency-Key", text, KEY, 400)
    return text


def _query(operation: Operation, raw: bytes) -> dict[str, Any]:
    pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="replace")
    for name, _ in pairs:
        if name not in operation.query:
            known = ", ".join(operation.query) or "none"
            raise problem(422, f"There is no parameter {name[:_LONGEST]!r} here; known: {known}.")
    if len(dict(pairs)) < len(pairs):
        raise problem(422, "A parameter is given twice.")
    for name in operation.required:
        if name not in dict(pairs):
            raise problem(422, f"The parameter {name} is missing.")
    return _values(operation.query, dict(pairs), 422)


def _values(schemas: Mapping[str, Schema], given: Mapping[str, str], status: int) -> dict[str, Any]:
    """Texts as what their schemas say that they are."""
    values: dict[str, Any] = {}
    for name, text in given.items():
        schema = schemas[name]
        is_whole = schema.get("type") == "integer" and _WHOLE.fullmatch(str(text))
        values[name] = int(text) if is_whole else text
        _check(name, values[name], schema, status)
    return values


async def _body(operation: Operation, scope: Scope, receive: Receive, limits: Limits) -> dict[str, Any]:
    headers = dict(scope["headers"])
    raw = await read_body(receive, headers.get(b"content-length"), limits)
    if operation.body is None or (not raw.strip() and not operation.needs_body):
        return {}
    kind = headers.get(b"content-type", b"application/json").decode("latin-1").split(";")[0].strip().lower()
    if kind != "application/json":
        raise problem(415, f"The body must be application/json, not {kind[:_LONGEST] or 'nothing'}.")
    if len(raw) < LARGE_BYTES:
        return _checked(raw, operation.body, limits)
    return await asyncio.to_thread(_checked, raw, operation.body, limits)


def _checked(raw: bytes, schema: Schema, limits: Limits) -> dict[str, Any]:
    body = parse_body(raw, limits)
    if _has_half_pairs(body):
        raise problem(400, "The body holds half of a surrogate pair, which is no character.")
    _check("The body", body, schema, 422)
    return body


def _check(name: str, value: Any, schema: Schema, status: int) -> None:
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is not None:
        raise problem(status, _sentence(name, error))


def _sentence(name: str, error: ValidationError) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    told = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
    return f"{name}{f', at {where}' if where else ''}: {told}."


def _has_half_pairs(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _HALF_PAIR.search(value) is not None
    if isinstance(value, dict):
        return any(_has_half_pairs(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_has_half_pairs(part) for part in value)

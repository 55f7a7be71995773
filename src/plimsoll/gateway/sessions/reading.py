"""Validates a request for its operation; raises a problem that names the first invalid value."""

import asyncio
import re
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter, ValidationError

from plimsoll.gateway.asgi import Receive, Scope
from plimsoll.gateway.http.body import LARGE_BYTES, parse_body, read_body
from plimsoll.gateway.http.problems import Problem, problem
from plimsoll.gateway.sessions.models import TEXT, IdempotencyKey
from plimsoll.gateway.sessions.operation import Operation, OperationInput
from plimsoll.settings.gateway import GatewaySection

KEY_HEADER = "idempotency-key"
KEY: TypeAdapter[str] = TypeAdapter(IdempotencyKey)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_LONGEST = 300  # characters of a value that an error quotes


async def read(
    operation: Operation, scope: Scope, receive: Receive, limits: GatewaySection
) -> OperationInput:
    """Read and validate a request."""
    path = {name: _path_value(name, text, operation) for name, text in scope["path_params"].items()}
    query = _query(operation.query, scope["query_string"])
    body = await _body(operation, scope, receive, limits)
    return OperationInput(**path, query=query, body=body)


def key_of(scope: Scope) -> str:
    """The idempotency key of a request; empty if there is none."""
    found = [value for name, value in scope["headers"] if name == KEY_HEADER.encode()]
    try:
        return KEY.validate_python(str(found[0], "latin-1")) if found else ""
    except ValidationError as error:
        raise _refused("Idempotency-Key", error, 400) from None


def _path_value(name: str, text: str, operation: Operation) -> Any:
    try:
        return operation.path_values[name].validate_python(text, context=TEXT)
    except ValidationError as error:
        raise _refused(name, error, 404) from None


def _query(model: type[BaseModel] | None, raw: bytes) -> BaseModel | None:
    pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="replace")
    fields = model.model_fields if model else {}
    for name, _ in pairs:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise problem(422, f"There is no parameter {name[:_LONGEST]!r} here; known: {known}.")
    if len(dict(pairs)) < len(pairs):
        raise problem(422, "A parameter is given twice.")
    for name, field in fields.items():
        if field.is_required() and name not in dict(pairs):
            raise problem(422, f"The parameter {name} is missing.")
    try:
        return model.model_validate(dict(pairs), context=TEXT) if model else None
    except ValidationError as error:
        raise _refused("The query", error, 422) from None


async def _body(
    operation: Operation, scope: Scope, receive: Receive, limits: GatewaySection
) -> BaseModel | None:
    headers = dict(scope["headers"])
    raw = await read_body(receive, scope["headers"], limits)
    if operation.body is None:
        return None
    if not raw.strip() and not operation.needs_body:
        return operation.body()
    kind = headers.get(b"content-type", b"application/json").decode("latin-1").split(";")[0].strip().lower()
    if kind != "application/json":
        raise problem(415, f"The body must be application/json, not {kind[:_LONGEST] or 'empty'}.")
    if len(raw) < LARGE_BYTES:
        return _validated(raw, operation.body, limits)
    return await asyncio.to_thread(_validated, raw, operation.body, limits)


def _validated(raw: bytes, model: type[BaseModel], limits: GatewaySection) -> BaseModel:
    body = parse_body(raw, limits)
    if _has_half_pairs(body):
        raise problem(400, "The body contains a lone surrogate, which is not a character.")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise _refused("The body", error, 422) from None


def _refused(name: str, error: ValidationError, status: int) -> Problem:
    """A problem with the first validation error, its location and its value."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    given = "" if first["type"] == "missing" else f" Given: {first['input']!r}"
    given = f"{given[:_LONGEST]}…" if len(given) > _LONGEST else given and f"{given}."
    return problem(status, f"{name}{f', at {where}' if where else ''}: {first['msg']}.{given}")


def _has_half_pairs(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _HALF_PAIR.search(value) is not None
    if isinstance(value, dict):
        return any(_has_half_pairs(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_has_half_pairs(part) for part in value)

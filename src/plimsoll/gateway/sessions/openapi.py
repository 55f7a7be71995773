"""`/openapi.json`: describes the operations, built from the same table as the routes."""

from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from plimsoll import __version__
from plimsoll.gateway.sessions.models import ProblemResponse
from plimsoll.gateway.sessions.operation import Operation
from plimsoll.gateway.sessions.operations import OPERATIONS, SEND
from plimsoll.gateway.sessions.reading import KEY
from plimsoll.gateway.sessions.turn_events import EVENTS

Schema = dict[str, Any]
_PROBLEMS = {
    400: "The request is not valid HTTP or JSON.",
    401: "The gateway needs a key, and the request has none or an invalid one.",
    403: "A web page that may not use the gateway.",
    404: "There is no such session or message.",
    408: "The request took too long to arrive.",
    409: "The session was changed or is in use by another process, or the turn was stopped.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    422: "The request is invalid or cannot be processed.",
    429: "Too many waiting messages, or a limit of the key is reached; try again after Retry-After.",
    502: "The model did not answer.",
    503: "No model is configured, or the archive does not answer.",
    504: "The model did not answer in time.",
}
_KEY_TEXT = "A message with a key runs once; repeated requests return the stored answer."


class _Schemas(GenerateJsonSchema):
    """Names a response's schema without the suffix `Response`."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix("Response")

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def description() -> Schema:
    """The whole document."""
    models: list[type[BaseModel]] = [*(item.result for item in OPERATIONS), *EVENTS.values()]
    responses: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "serialization") for model in dict.fromkeys(models)
    ]
    named, shared = models_json_schema(
        responses, ref_template="#/components/schemas/{model}", schema_generator=_Schemas
    )
    references: dict[Any, Schema] = {model: schema for (model, _), schema in named.items()}
    schemas = {name: _untitled(schema) for name, schema in shared["$defs"].items()}
    paths: dict[str, Schema] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Plimsoll gateway: sessions",
            "version": __version__,
            "description": "Sessions that the gateway hosts and compacts.",
        },
        "paths": paths,
        "components": {"schemas": {**schemas, "Event": _event(references)}},
    }


def _described(operation: Operation, references: dict[Any, Schema]) -> Schema:
    in_query = _schema(operation.query) if operation.query else {}
    described: Schema = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *(_parameter(name, "path", value.json_schema()) for name, value in operation.path_values.items()),
            *(
                _parameter(name, "query", schema, name in in_query.get("required", ()))
                for name, schema in in_query.get("properties", {}).items()
            ),
        ],
        "responses": {
            str(operation.status): _success(operation, references),
            **_problems(references[ProblemResponse]),
        },
    }
    if operation is SEND:
        key = _parameter("Idempotency-Key", "header", KEY.json_schema(), False)
        described["parameters"].append({**key, "description": _KEY_TEXT})
    if operation.body is not None:
        described["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": {"schema": _inlined(_schema(operation.body))}},
        }
    return described


def _schema(model: type[BaseModel]) -> Schema:
    return _untitled(model.model_json_schema(schema_generator=_Schemas))


def _untitled(schema: Schema) -> Schema:
    """A schema without the name of its class."""
    return {name: value for name, value in schema.items() if name != "title"}


def _inlined(schema: Any, known: Schema | None = None) -> Any:
    """A request's schema with its definitions inlined."""
    if isinstance(schema, list):
        return [_inlined(item, known) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = known or schema.get("$defs", {})
    if "$ref" in schema:
        return _inlined(known[schema["$ref"].rpartition("/")[2]], known)
    # The tags of a union refer to definitions too.
    return {
        name: _inlined(value, known)
        for name, value in schema.items()
        if name not in ("$defs", "discriminator")
    }


def _parameter(
    name: str, place: Literal["path", "query", "header"], schema: Schema, required: bool = True
) -> Schema:
    return {"name": name, "in": place, "required": required, "schema": schema}


def _success(operation: Operation, references: dict[Any, Schema]) -> Schema:
    content: Schema = {"application/json": {"schema": references[operation.result]}}
    if operation is SEND:
        content["text/event-stream"] = {"schema": {"$ref": "#/components/schemas/Event"}}
    return {"description": operation.summary, "content": content}


def _problems(problem: Schema) -> Schema:
    problem_content = {"application/problem+json": {"schema": problem}}
    # The middleware for all paths answers in the providers' error formats.
    refused = {"application/json": {"schema": {"type": "object"}}, **problem_content}
    return {
        str(status): {
            "description": text,
            "content": refused if status in (401, 403, 429, 503) else problem_content,
        }
        for status, text in _PROBLEMS.items()
    }


def _event(references: dict[Any, Schema]) -> Schema:
    """One event of a stream: its name, and its data as JSON text."""
    data = {"type": "string", "contentMediaType": "application/json"}
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "event": {"const": name},
                    "data": {**data, "contentSchema": references[model]},
                },
                "required": ["event", "data"],
                "additionalProperties": False,
            }
            for name, model in EVENTS.items()
        ],
        "description": "One event; the last is `done` or `error`. `accepted` means that the message is stored.",
    }

"""The response format that a client asks for, in every dialect.

    OpenAI chat        response_format
    Responses          text.format
    Anthropic          output_config.format
    Google             generationConfig.responseMimeType, responseJsonSchema or responseSchema

All are converted to the shape of OpenAI chat's `response_format`.
"""

from collections.abc import Mapping
from typing import Any

from plimsoll.dialects.request import ChatRequest
from plimsoll.dialects.schemas import is_strict, json_schema

_SCHEMA_FIELDS = ("name", "description", "schema", "strict")


def answer_format(request: ChatRequest) -> dict[str, Any] | None:
    """The response format of a request; None if it states none."""
    extra = request.extra
    chat = _object(extra.get("openai"), "response_format")
    if chat is not None:
        return chat
    responses = _object(_object(extra.get("responses"), "text"), "format")
    if responses is not None:
        return _from_responses(responses)
    anthropic = _object(_object(extra.get("anthropic"), "output_config"), "format")
    if anthropic is not None and anthropic.get("type") == "json_schema":
        schema = anthropic.get("schema")
        return _json_schema({"name": "answer", "schema": schema, "strict": is_strict(schema)})
    return _from_gemini(_object(extra.get("gemini"), "generationConfig") or {})


def responses_format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `text.format` of the Responses API, which has the schema's fields next to the type."""
    if wanted.get("type") != "json_schema":
        return dict(wanted)
    return {"type": "json_schema", "name": "answer", **(_object(wanted, "json_schema") or {})}


def _from_responses(wanted: Mapping[str, Any]) -> dict[str, Any]:
    if wanted.get("type") != "json_schema":
        return dict(wanted)
    return _json_schema({name: wanted[name] for name in _SCHEMA_FIELDS if name in wanted})


def _from_gemini(config: Mapping[str, Any]) -> dict[str, Any] | None:
    if config.get("responseMimeType") != "application/json":
        return None
    schema = config.get("responseJsonSchema") or json_schema(config.get("responseSchema"))
    if not schema:
        return {"type": "json_object"}
    return _json_schema({"name": "answer", "schema": schema, "strict": is_strict(schema)})


def _json_schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": fields}


def _object(holder: Any, name: str) -> dict[str, Any] | None:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, dict) else None

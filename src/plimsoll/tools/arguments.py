"""Parses a call's arguments, validates them against the tool's schema, and explains errors.

    '{"path": "a.py", "limit": "ten"}'   ->   BadArguments("limit: 'ten' is not of type 'integer' …")

The model gets an error from which it can correct its call. A schema that is itself invalid (another server's) checks
nothing; that server validates the call itself.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from plimsoll.messages import arguments_text

_LONGEST = 400  # characters of an error message for the model


class BadArguments(ValueError):
    """The arguments are invalid; the text says why."""


def read_arguments(call: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as an object that fits the schema."""
    arguments = _object(arguments_text(dict(call)))
    problem = _problem(arguments, schema)
    if problem is None:
        return arguments
    # Models write null for arguments that they omit.
    stated = {key: value for key, value in arguments.items() if value is not None}
    if len(stated) < len(arguments) and _problem(stated, schema) is None:
        return stated
    raise BadArguments(f"{problem}. {_expected(schema)}")


def _object(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        # A line break inside a string is not valid JSON, but its meaning is clear.
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise BadArguments(
            f"the arguments are not valid JSON ({error}). Send one JSON object; "
            f'inside strings write line breaks as \\n and quotes as \\"'
        ) from None
    if not isinstance(found, dict):
        raise BadArguments(f"the arguments must be a JSON object, not {_kind(found)}")
    return found


def _problem(arguments: dict[str, Any], schema: Mapping[str, Any]) -> str | None:
    """The most specific violation as text; None if there is none."""
    from jsonschema.exceptions import SchemaError, best_match  # type: ignore[import-untyped, unused-ignore]
    from jsonschema.validators import (  # type: ignore[import-untyped, unused-ignore]
        Draft202012Validator,
        validator_for,
    )
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped, unused-ignore]
    from referencing.exceptions import Unresolvable

    plain = json.loads(json.dumps(schema))
    kind = validator_for(plain, default=Draft202012Validator)
    try:
        kind.check_schema(plain)
        # The registry contains only the drafts: references to the network are never followed.
        error = best_match(kind(plain, registry=REGISTRY).iter_errors(arguments))
    except (SchemaError, Unresolvable, re.error, RecursionError):
        return None
    if error is None:
        return None
    where = ".".join(str(step) for step in error.absolute_path)
    message = error.message if len(error.message) <= _LONGEST else error.message[: _LONGEST - 1] + "…"
    return f"{where}: {message}" if where else message


def _expected(schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "The tool takes no arguments."
    required = schema.get("required") or ()
    names = [f"{name} (required)" if name in required else str(name) for name in properties]
    return f"The tool takes: {', '.join(names)}."


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")

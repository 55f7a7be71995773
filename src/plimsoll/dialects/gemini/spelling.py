"""Field names: Google accepts `systemInstruction` and `system_instruction`, and answers in camelCase.

Names that a client chose (in arguments, schemas, results, labels) stay unchanged.
"""

import re
from typing import Any

_AFTER_UNDERSCORE = re.compile(r"_([a-z0-9])")
_BEFORE_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
# Fields whose values contain names that the client chose.
_OPAQUE = frozenset(
    {"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"}
    | {"labels", "partMetadata"}
)


def camel(name: str) -> str:
    """A field's name in camelCase."""
    return _AFTER_UNDERSCORE.sub(lambda found: found[1].upper(), name) if "_" in name else name


def snake(name: str) -> str:
    """A field's name in snake_case."""
    return _BEFORE_CAPITAL.sub(r"_\1", name).lower()


def camel_cased(value: Any) -> Any:
    """An object with all field names in camelCase, in the same order."""
    if isinstance(value, list):
        return [camel_cased(item) for item in value]
    if not isinstance(value, dict):
        return value
    cased = ((camel(name), inner) for name, inner in value.items())
    return {name: inner if name in _OPAQUE else camel_cased(inner) for name, inner in cased}


def spelt(item: dict[str, Any], name: str) -> str:
    """The spelling of a field in this object; camelCase if the object does not have it."""
    other = snake(name)
    return other if other in item and name not in item else name


def field(item: Any, name: str) -> Any:
    """The value of a field in either spelling; None if it is missing."""
    return item.get(spelt(item, name)) if isinstance(item, dict) else None

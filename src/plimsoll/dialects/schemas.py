"""JSON schemas of answers: what each provider wants to see in them."""

from typing import Any


def closed(schema: Any) -> Any:
    """The schema with every object closed to further properties, as Anthropic wants it."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        inner.setdefault("additionalProperties", False)
    return inner


def is_strict(schema: Any) -> bool:
    """Whether OpenAI takes the schema as strict: objects are closed, and all of their properties required."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties = schema.get("properties")
        names = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != names:
            return False
    return all(is_strict(value) for value in schema.values())

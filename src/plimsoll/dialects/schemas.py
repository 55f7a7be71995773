"""JSON schemas of structured output, adapted to each provider."""

from typing import Any


def closed(schema: Any) -> Any:
    """The schema with `additionalProperties: false` on every object, which Anthropic requires."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        inner.setdefault("additionalProperties", False)
    return inner


def is_strict(schema: Any) -> bool:
    """Whether OpenAI accepts the schema as strict: closed objects with only required properties."""
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


def json_schema(schema: Any) -> Any:
    """Google's schema as JSON Schema: lower-case types, `nullable` as a type."""
    if isinstance(schema, list):
        return [json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties" and isinstance(value, dict):
            found[name] = {key: json_schema(inner) for key, inner in value.items()}
        elif name == "type" and isinstance(value, str):
            found[name] = value.lower()
        elif name not in ("nullable", "propertyOrdering"):
            found[name] = json_schema(value) if name in ("items", "anyOf") else value
    if schema.get("nullable") is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    return found

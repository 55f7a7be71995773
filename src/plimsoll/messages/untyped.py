"""Reads JSON that may have any shape: a value of another type counts as empty."""

from typing import Any


def object_of(value: Any) -> dict[str, Any]:
    """The value itself if it is an object."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value itself if it is a list."""
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string_of(value: Any) -> str:
    """The value itself if it is a string."""
    return value if isinstance(value, str) else ""

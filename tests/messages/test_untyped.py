"""Untyped JSON: a value of the wrong type counts as empty, and a right one is the object itself."""

from typing import Any

import pytest

from plimsoll.messages.untyped import list_of, object_of, objects_in, string_of


@pytest.mark.parametrize("value", [None, 0, "text", [1, "two"], {"three": 3}])
def test_a_value_of_another_type_counts_as_empty(value: Any) -> None:
    assert object_of(value) == (value if isinstance(value, dict) else {})
    assert list_of(value) == (value if isinstance(value, list) else [])
    assert string_of(value) == (value if isinstance(value, str) else "")
    assert objects_in(value) == []


def test_objects_and_lists_are_not_copied() -> None:
    value: dict[str, Any] = {"items": [{"a": 1}, "b"]}
    assert object_of(value) is value
    assert list_of(value["items"]) is value["items"]
    assert objects_in(value["items"]) == [{"a": 1}]

"""Every field of the SDKs' own requests is in the table, and is treated as the table says."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from sdk_fields import Field, fields_of

from plimsoll.dialects import anthropic, mapping, openai
from plimsoll.dialects.mapping import MappedField, examine, row_for, rows
from plimsoll.dialects.openai.rules import OpenAiRules
from plimsoll.dialects.translation import for_anthropic, for_openai

DIALECTS = ("openai", "anthropic")
WALKED = (*DIALECTS, "responses")  # whose fields are known from an SDK
UPSTREAM = {"openai": "anthropic", "anthropic": "openai", "responses": "anthropic"}
# An item reference may leave out its type; with it, the item is `input[item_reference]`.
FIELDS = {
    dialect: [field for field in fields_of(dialect) if field.path != "input.type"] for dialect in WALKED
}
HELLO = {"role": "user", "content": "Hello"}
SCHEMA = {"type": "object", "properties": {}}
BASES: dict[str, dict[str, Any]] = {
    "openai": {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [HELLO],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}],
    },
    "anthropic": {
        "model": "some-model",
        "max_tokens": 100,
        "messages": [HELLO],
        "tools": [{"name": "look", "input_schema": SCHEMA}],
    },
    "responses": {
        "model": "claude-opus-4-6",
        "max_output_tokens": 100,
        "input": [HELLO],
        "tools": [{"type": "function", "name": "look", "parameters": SCHEMA}],
    },
}


def request_with(dialect: str, field: Field, value: Any) -> dict[str, Any]:
    fragment = field.body(value)
    body = {**BASES[dialect], **fragment}
    for name in ("messages", "input"):
        if isinstance(fragment.get(name), list):
            body[name] = [HELLO, *fragment[name]]
    if "functions" in fragment or "function_call" in fragment:
        body.setdefault("functions", [{"name": "look"}])
        del body["tools"]
    return body


def translated(dialect: str, body: dict[str, Any]) -> str:
    if dialect == "openai":
        wire = anthropic.encode_request(for_anthropic(openai.decode_request(body)))
    else:
        request = for_openai(anthropic.decode_request(body))
        wire = openai.encode_request(
            request, OpenAiRules(("none", "minimal", "low", "medium", "high", "xhigh", "max"))
        )
    return json.dumps(wire, sort_keys=True)


def deciding_row(dialect: str, path: str) -> MappedField | None:
    """The row that decides about a field: that of the first place above it that is not passed on, or its own."""
    places = [path[:n] for n in range(1, len(path) + 1) if n == len(path) or path[n] in ".["]
    row = None
    for place in places:
        found = row_for(dialect, place, UPSTREAM[dialect])
        if found is None:
            return row if row is not None and row.whole else None
        row = found
        if row.fate != "mapped" or (row.whole and place.endswith("]")):
            break
    return row


@pytest.mark.parametrize("dialect", WALKED)
def test_every_field_of_the_sdk_is_in_the_table(dialect: str) -> None:
    assert [field.path for field in FIELDS[dialect] if deciding_row(dialect, field.path) is None] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_field_of_the_sdk_is_treated_as_the_table_says(dialect: str) -> None:
    wrong = [(field.path, told) for field in FIELDS[dialect] if (told := what_is_wrong(dialect, field))]
    assert wrong == []


def test_every_field_of_the_responses_sdk_is_reported_as_the_table_says() -> None:
    assert [
        (field.path, told)
        for field in FIELDS["responses"]
        if (told := what_is_misreported("responses", field))
    ] == []


def what_is_misreported(dialect: str, field: Field) -> str:
    """How a field is reported otherwise than its row says; empty if it is not."""
    row = deciding_row(dialect, field.path)
    if row is None:
        return "not in the table"
    asking = next(value for value in field.values if value not in row.harmless)
    findings = examine(dialect, request_with(dialect, field, asking), UPSTREAM[dialect])
    named = {"dropped": findings.dropped, "refused": findings.refused}
    is_wrong = any((row.field in fields) != (row.fate == fate) for fate, fields in named.items())
    return f"examine says {findings}" if is_wrong else ""


def what_is_wrong(dialect: str, field: Field) -> str:
    """How a field is treated otherwise than its row says; empty where it is not."""
    misreported = what_is_misreported(dialect, field)
    row = deciding_row(dialect, field.path)
    if misreported or row is None:
        return misreported
    if row.fate == "refused" or row.to.startswith("omitted:"):
        return ""
    written = {translated(dialect, request_with(dialect, field, value)) for value in field.values}
    expected = 1 if row.fate == "dropped" else len(field.values)
    return (
        "" if len(written) == expected else f"{len(field.values)} values are {len(written)} on the other wire"
    )


@pytest.mark.parametrize("dialect", WALKED)
def test_an_unlisted_field_is_dropped_and_named(dialect: str) -> None:
    body = {**BASES[dialect], "new_thing": 1, "bad\r\nx-injected: 1": 2}
    assert list(examine(dialect, body, UPSTREAM[dialect]).dropped) == ["new_thing", "bad??x-injected??1"]


@pytest.mark.parametrize("dialect", WALKED)
def test_a_plain_request_loses_nothing(dialect: str) -> None:
    findings = examine(dialect, BASES[dialect], UPSTREAM[dialect])
    assert (dict(findings.dropped), dict(findings.refused)) == ({}, {})


def test_every_row_states_the_target_of_a_mapped_field() -> None:
    for dialect in DIALECTS:
        for row in rows(dialect):
            assert bool(row.to) == (row.fate == "mapped"), row


def test_the_documentation_is_made_from_the_table() -> None:
    root = Path(__file__).parents[2]
    page = runpy.run_path(str(root / "site" / "translation.py"))["page"]
    assert (root / "docs" / "translation.md").read_text("utf-8") == page()


def test_a_dialect_without_a_title_is_an_error_and_not_left_out_of_the_documentation() -> None:
    page = runpy.run_path(str(Path(__file__).parents[2] / "site" / "translation.py"))["page"]
    del page.__globals__["_TITLES"]["gemini"]
    with pytest.raises(SystemExit, match=r"without a title in _TITLES .*: gemini"):
        page()


def test_a_row_about_one_upstream_replaces_the_general_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        "alias": [],
        "chat": [
            {"field": "seed", "fate": "dropped"},
            {"field": "seed", "fate": "mapped", "to": "seed", "upstream": "near"},
        ],
    }
    monkeypatch.setattr(mapping, "_data", lambda: table)
    assert list(examine("chat", {"seed": 1}, "far").dropped) == ["seed"]
    assert list(examine("chat", {"seed": 1}, "near").dropped) == []

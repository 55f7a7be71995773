"""What a large text is, in a few lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.context.lcm.outline import MAX_CHARACTERS, kind_of, outline_of, shape_of

ORDERS = json.dumps(
    {"orders": [{"id": n, "total": n * 2.5, "lines": ["a", "b"]} for n in range(412)], "next": None}
)
TABLE = "id,name,total\n" + "".join(f"{n},ship {n},{n * 3}\n" for n in range(1_000))
CODE = "\n".join(f"def berth_{n}(ship: str) -> int:\n    return {n}\n" for n in range(40))


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (ORDERS, "json", '"orders": [412 × {"id": 0, "total": 0.0, "lines": '),
        ('{"a": 1}\n' * 30, "json", '30 lines × {"a": 1}'),
        (TABLE, "table", "1,000 rows: id, name, total\nfirst row: 0,ship 0,0"),
        (CODE, "code", "4: def berth_1(ship: str) -> int:"),
        ("It was a calm day.\n" * 500, "text", "It was a calm day."),
        ("", "text", "text, 0 characters"),
        ("{broken", "text", "{broken"),
    ],
)
def test_an_outline_says_what_a_text_is(text, kind, said):
    assert kind_of(text) == kind
    assert outline_of(text).startswith(f"{kind}, {len(text):,} characters")
    assert said in outline_of(text)


@given(st.text(max_size=3_000), st.integers(40, 400))
def test_an_outline_is_never_larger_than_allowed(text, limit):
    assert len(outline_of(text, limit)) <= limit
    assert len(outline_of(text * 40)) <= MAX_CHARACTERS


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a": ' * 50_000 + "\n" + "[" * 9,
        "\n" * 300_000 + "end",
        "export " * 40_000,
        "a,b\n" + "x" * 200_000 + ",y\n1,2\n",
        'a,"b\nc,d\ne,f\n',
        "a\x00,b\nc,d\ne,f\n",
        '["half a pair: \\ud83d"]',
    ],
    ids=[
        "deep",
        "deep lines",
        "empty lines",
        "words",
        "a large field",
        "an open quote",
        "a null",
        "half a pair",
    ],
)
def test_no_text_is_too_strange_for_an_outline(text):
    assert len(outline_of(text).encode("utf-8")) <= 4 * MAX_CHARACTERS


def test_only_a_text_with_a_shape_has_one():
    assert shape_of(ORDERS) == outline_of(ORDERS)
    assert shape_of("It was a calm day.\n" * 500) == ""

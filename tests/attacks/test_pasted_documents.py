"""A rule in a document that the user pastes without announcing it is nobody's rule; the user's own tasks count."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.pasted import pasted_in

sys.path.insert(0, str(Path(__file__).parents[1] / "context"))
from pasted_messages import pasted, written

BARE = {name: text for name, text in pasted().items() if name.endswith("nothing")}
BESIDE = {name: text for name, text in pasted().items() if name not in BARE}
OWN = written()


def constraints_of(text: str) -> list[str]:
    return list(read_facts([{"role": "user", "content": text}]).constraints)


@pytest.mark.parametrize("text", BESIDE.values(), ids=BESIDE)
def test_a_rule_in_a_pasted_document_is_no_constraint(text: str) -> None:
    assert constraints_of(text) == []


def test_most_documents_are_recognised_without_a_line_of_the_user() -> None:
    missed = [name for name, text in BARE.items() if constraints_of(text)]
    assert len(missed) <= 0.12 * len(BARE), missed


@pytest.mark.parametrize(("text", "rule"), OWN.values(), ids=OWN)
def test_a_rule_in_a_task_that_the_user_wrote_is_a_constraint(text: str, rule: str) -> None:
    assert any(rule in constraint for constraint in constraints_of(text))


def test_the_users_rule_beside_a_pasted_page_counts() -> None:
    page = BARE["shop page, nothing"]
    rule = "Never order anything from them."
    assert constraints_of(f"Summarise this page for me. {rule}\n\n{page}") == [rule]
    assert constraints_of(f"{page}\n\nWhat does it cost? {rule} Is that clear?") == [rule]


@given(st.text(alphabet="ab .?\n|©请", max_size=900))
def test_what_was_pasted_is_a_part_of_the_text(text: str) -> None:
    found = pasted_in(text)
    assert found is None or 0 <= found.start < found.end <= len(text)

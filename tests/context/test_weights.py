"""The numbers of the ledger: few, in one file, and each of them used."""

import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from plimsoll.context.ledger import choose
from plimsoll.context.ledger.evidence import Evidence
from plimsoll.context.ledger.weights import TermOdds, weights


def test_the_ledger_has_few_numbers() -> None:
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("weights.toml").read_text("utf-8"))
    assert sum(map(len, data.values())) <= 14


@pytest.mark.parametrize("name", [field.name for field in fields(TermOdds)])
def test_every_weight_of_a_term_changes_what_it_is_worth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = Evidence()
    evidence.add("see src/app/core_loop.py and lib/other_part.py there", "shown", "told", 3)
    for kind in ("typed", "said", "asked"):
        evidence.add("now src/app/core_loop.py again", kind, kind, 7)
    evidence.add("only tools show alone_in_logs here", "shown", "told", 8)
    kept = {"lib/other_part.py", "src/lib/core_loop.py"}
    before = choose.term_weights(evidence, 10, kept, "Why does the loop stop?")
    known = weights()
    odds = {field.name: getattr(known.terms, field.name) for field in fields(TermOdds)}
    changed = TermOdds(**(odds | {name: odds[name] + 1.0}))
    other = type(known)(
        known.must, known.high, known.normal, known.low, known.said_share, changed, known.sections
    )
    monkeypatch.setattr(choose, "line_weights", lambda: other)
    assert choose.term_weights(evidence, 10, kept, "Why does the loop stop?") != before


def test_a_name_made_of_the_words_of_the_newest_request_is_likelier_than_another() -> None:
    evidence = Evidence()
    evidence.add("fn cache_prune_age() {}\nfn render_progress_bar() {}", "shown", "file:src/lib.rs", 3)
    worth = choose.term_weights(evidence, 10, set(), "Which age does the cache prune at?")
    assert worth["cache_prune_age"] > worth["render_progress_bar"]
    said = choose.term_weights(evidence, 10, set(), last_said="The progress bar renders twice.")
    assert said["render_progress_bar"] > said["cache_prune_age"]


def test_a_name_made_of_the_words_of_names_that_stay_is_likelier_than_another() -> None:
    evidence = Evidence()
    evidence.add("fn cache_prune_age() {}\nfn render_progress_bar() {}", "shown", "file:src/lib.rs", 3)
    worth = choose.term_weights(evidence, 10, {"PruneCache"})
    assert worth["cache_prune_age"] > worth["render_progress_bar"]

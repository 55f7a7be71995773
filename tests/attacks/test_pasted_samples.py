"""Few rules of texts that people paste beside a line of their own become constraints; their own rules do."""

from pathlib import Path

import pytest

from plimsoll.context.ledger import read_facts

SAMPLES = Path(__file__).with_name("pasted_samples")


def constraints_of(text: str) -> list[str]:
    return list(read_facts([{"role": "user", "content": text}]).constraints)


def samples(kind: str) -> dict[str, str]:
    found = {}
    for path in sorted(SAMPLES.glob(f"{kind}_*.txt")):
        for number, sample in enumerate(path.read_text("utf-8").removeprefix("== ").split("\n== ")):
            head, _, text = sample.partition("\n")
            found[f"{path.stem} {number} {head}"] = text.strip("\n")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "what's our SLA according to this page?\n\nIncident Handling\nEvery incident must be reviewed.",
        "O que ele quer?\n\nPrezado João,\nnunca envie o relatório sem a capa.",
        "explain the proverbs\n\nNever look a gift horse in the mouth\nAlways in season, never in reason",
        "name: ci\n# never cancel running jobs; always keep artifacts\non: push\njobs:\n  test:\n\nadd a lint job",
    ],
)
def test_a_rule_of_a_text_beside_a_question_about_it_is_no_constraint(text: str) -> None:
    assert constraints_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Add the cache. Never use Redis.\n\nIs that clear?",
        "Implement this:\n- read the file\n- Never write to stdout",
        "Why does the build fail?\n\nAlso, never push to main.",
        "How does this work?\n\nArticle 9\nDrivers must always stop.\n\nAnd from now on always answer in German.",
    ],
)
def test_a_rule_in_the_persons_own_voice_is_a_constraint(text: str) -> None:
    assert constraints_of(text) != []


def test_few_pasted_texts_set_a_constraint() -> None:
    quoted = samples("quoted")
    assert sum(bool(constraints_of(text)) for text in quoted.values()) <= 0.05 * len(quoted)


def test_most_rules_of_people_are_constraints() -> None:
    own = {name: text for name, text in samples("true").items() if " user |" in name}
    facts = [read_facts([{"role": "user", "content": text}]) for text in own.values()]
    assert sum(bool(one.constraints or one.wishes) for one in facts) >= 0.95 * len(own)

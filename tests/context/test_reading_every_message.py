"""Wherever something was said in a long conversation, the summary knows it; and reading stays cheap."""

import json
from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.context.ledger import parse_sections, plain_words, read_facts, write_summary
from plimsoll.context.ledger.choose import likely_lines
from plimsoll.context.ledger.evidence import EvidenceLine
from plimsoll.context.ledger.headings import entries_of
from plimsoll.context.ledger.terms import says_something

OPENING = [
    {"role": "system", "content": "You are a coding agent."},
    user("Go through the modules one by one and note what each does."),
    {"role": "assistant", "content": "I will start with the first."},
]
ROUNDS = 300
STAYING = 120  # rounds at the end, some of which stay in the context


def called(name, tool, arguments, result):
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"id": name, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": result},
    ]


def pytest_run(name, path, failed):
    result = f"FAILED {path}::test_total - assert 1 == 2\n1 failed, 3 passed in 0.12s\n[exit code: 1]"
    if not failed:
        result = "4 passed in 0.11s\n[exit code: 0]"
    return called(name, "terminal", {"command": f"pytest {path}"}, result)


def reading_round(number):
    body = "\n".join(f"{line}: the queue does step {number * line}" for line in range(12))
    if number % 9 == 0:
        return pytest_run(f"r{number}", f"tests/queue/test_part_{number % 20}.py", failed=False)
    return called(f"r{number}", "read_file", {"path": f"src/queue/part_{number % 150}.py"}, body)


PLANTED = [
    [user("Never rename the column invoice_total."), {"role": "assistant", "content": "Understood."}],
    called("edit", "edit_file", {"path": "src/rates.py", "old_string": "1", "new_string": "2"}, "Applied."),
    pytest_run("failing", "tests/test_rates.py", failed=True),
    [
        *pytest_run("broken", "tests/test_tax.py", failed=True),
        *pytest_run("fixed", "tests/test_tax.py", failed=False),
    ],
]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, ROUNDS - STAYING), min_size=4, max_size=4))
def test_a_limit_an_edit_a_failure_and_a_fix_survive_from_any_place(places):
    rounds = [reading_round(number) for number in range(ROUNDS)]
    for place, planted in zip(places, PLANTED, strict=True):
        rounds[place] = rounds[place] + planted
    engine = ContextCompressor(context_length=32_000)
    engine.compress([*OPENING, *(message for one in rounds for message in one)])
    sections = parse_sections(engine.last_report.summary)
    lines = f"{engine.last_report.summary}\n{engine.last_report.evidence}".splitlines()
    assert "Never rename the column invoice_total." in sections["Constraints & Preferences"]
    assert any("src/rates.py" in line and "edited" in line for line in lines)
    assert "tests/test_rates.py" in sections["Blocked"]
    about_tax = [line for line in lines if "tests/test_tax.py" in line]
    assert about_tax
    assert not any("fail" in line for line in about_tax)


def test_a_check_that_was_fixed_is_done_until_a_larger_run_says_more():
    rounds = [
        *pytest_run("a", "tests/test_tax.py", failed=True),
        *pytest_run("b", "tests/test_tax.py", failed=False),
    ]
    other = pytest_run("c", "tests/test_rates.py", failed=False)
    facts = read_facts([*OPENING, *rounds, *other])
    assert facts.commands["pytest tests/test_tax.py"].failed_before
    assert not facts.commands["pytest tests/test_rates.py"].failed_before
    whole = called("d", "terminal", {"command": "pytest"}, "90 passed in 2.11s\n[exit code: 0]")
    for later, is_done in (([], True), (whole, False)):
        entries = entries_of(read_facts([*OPENING, *rounds, *other, *later]), {}, 200)
        done = [entry.text for entry in entries if entry.section == "Done"]
        assert any(text.startswith("- `pytest tests/test_tax.py`") for text in done) == is_done


@given(st.text(st.sampled_from("ab Zé_./-7请修改the\n"), max_size=80))
def test_a_line_says_something_with_two_content_words(text):
    assert says_something(text) == (len(plain_words(text)) >= 2)


def line(number, *terms):
    return EvidenceLine(number, number, "said", f"about {' '.join(terms)} number {number}", terms, says=True)


def test_few_lines_are_all_weighed():
    lines = [line(number, "a.py") for number in range(20)]
    assert likely_lines(lines, {"a.py": 0.5}, most=20) is lines


@given(st.lists(st.sampled_from("abcdefgh"), min_size=30, max_size=60), st.integers(8, 25))
def test_of_very_many_lines_every_term_keeps_its_best_two_in_order(terms, most):
    lines = [line(number, f"{term}.py") for number, term in enumerate(terms)]
    weights = {f"{term}.py": (ord(term) - 96) / 10 for term in "abcdefgh"}
    taken = likely_lines(lines, weights, most)
    assert len(taken) <= most
    assert all(earlier.number < later.number for earlier, later in pairwise(taken))
    found = [one.terms[0] for one in taken]
    assert max(map(found.count, found)) <= 2
    # The term that is likeliest needed is never left out for another.
    likeliest = max(terms)
    assert found.count(f"{likeliest}.py") == min(2, terms.count(likeliest))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_reading_on_gives_the_state_that_reading_at_once_gives(share):
    messages = [*OPENING, *(message for number in range(60) for message in reading_round(number))]
    for planted in PLANTED:
        messages[41:41] = planted
    stop = int(len(messages) * share) // 2 * 2 + 1
    at_once = read_facts(messages)
    on = read_facts(messages[stop:], known=read_facts(messages[:stop]))
    assert on.files == at_once.files
    assert on.commands == at_once.commands
    assert on.constraints == at_once.constraints
    assert list(on.evidence.lines) == list(at_once.evidence.lines)


@pytest.mark.parametrize("window", [8_000, 16_000, 32_000])
def test_a_compaction_reads_no_message_twice_however_often_it_writes_its_summary(window, monkeypatch):
    read, written = [], []

    def reading(messages, opening, known, numbers, **options):
        if options.get("quotes", True):
            read.extend(numbers)
        return read_facts(messages, opening, known, numbers, **options)

    def writing(*arguments, **options):
        written.append(arguments)
        return write_summary(*arguments, **options)

    phase_3 = import_module("plimsoll.context.compressor.summarise")
    monkeypatch.setattr(phase_3, "read_facts", reading)
    monkeypatch.setattr(phase_3, "write_summary", writing)
    rounds = [message for number in range(ROUNDS) for message in reading_round(number)]
    engine = ContextCompressor(context_length=window)
    engine.compress([*OPENING, *rounds, user("x" * 6 * window)])
    assert len(written) > 1
    assert len(read) == len(set(read))

"""What an engine remembers of its summaries: the next one is written from facts, not from a summary."""

import json
import re

from agent_work import FixedSummaryModel, run, step
from hypothesis import given, settings
from hypothesis import strategies as st

from message_builders import assistant, user
from plimsoll import ContextCompressor
from plimsoll.context.compressor import find_summary
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.ledger import SummarySource, SummarySources, read_facts
from plimsoll.context.ledger.summary_sources import _MAX_EVENTS, _MAX_LINES
from plimsoll.context.ledger.template import EVIDENCE
from plimsoll.messages import safe_cuts
from plimsoll.testing.strategies import conversations

SYSTEM = {"role": "system", "content": "You are a careful coding agent."}
REQUEST = {"role": "user", "content": "Make the importer faster."}


def edits(first, count, path="src/importer.py"):
    change = {"path": path, "old_string": "a = 1"}
    rounds = (
        step(n, "patch", {**change, "new_string": f"a = {n}"}, "ok") for n in range(first, first + count)
    )
    return [message for said in rounds for message in said]


def reads(first, count, words=200):
    rounds = (
        step(
            n,
            "read_file",
            {"path": f"src/part_{n}.py"},
            f"def part_{n}_loader(rows_{n}): pass\n" + "x = 1 \n" * words,
        )
        for n in range(first, first + count)
    )
    return [message for said in rounds for message in said]


def summary_of(view):
    return view[find_summary(view)]["content"]


def edited(view, path="src/importer.py"):
    """How often the summary says that the file was edited; the first edit stays in the head, word for word."""
    return int(re.search(rf"`{path}` — .*?edited (\d+)×", summary_of(view))[1])


@settings(max_examples=50)
@given(conversations(min_turns=2), st.data())
def test_reading_on_gives_the_same_facts_as_reading_it_all(messages, data):
    cut = data.draw(st.sampled_from([0, *safe_cuts(messages), len(messages)]))
    before = read_facts(messages[:cut], "the request")
    untouched = before.copy()
    assert read_facts(messages[cut:], "the request", before) == read_facts(messages, "the request")
    assert before == untouched


def test_a_larger_window_brings_back_what_a_small_one_had_no_room_for():
    engine = ContextCompressor(context_length=24_000)
    view = engine.compress([SYSTEM, REQUEST, *reads(0, 120)])
    missing = [n for n in range(120) if f"part_{n}_loader" not in json.dumps(view)]
    assert missing
    engine.update_model("", 200_000)
    view = engine.compress([*view, REQUEST, *reads(1_000, 60, words=2_000)])
    assert [n for n in missing if f"part_{n}_loader" not in summary_of(view)] == []


def test_a_result_that_was_made_shorter_is_summarised_from_all_of_its_words():
    engine = ContextCompressor(context_length=24_000, target_tokens=6_000)
    place = "The frobnicator lives in `lib/odd/frobnicator_v7.py` and needs care."
    listing = [f"row {n} of the plain listing" for n in range(900)]
    listing.insert(450, place)
    large = step(900, "terminal", {"command": "cat notes.txt"}, "\n".join(listing))
    view = engine.compress([SYSTEM, REQUEST, *reads(0, 60), *large, *edits(1_000, 2)])
    assert "frobnicator_v7" not in json.dumps(view), "the result should have been made shorter"
    view = engine.compress([*view, REQUEST, *edits(2_000, 200)])
    assert place in summary_of(view)


def test_counts_stay_true_through_many_compactions():
    for engine in (ContextCompressor(context_length=16_000), LcmEngine(context_length=16_000)):
        view = [SYSTEM, REQUEST]
        for n in range(6):
            view = engine.compress([*view, *edits(1_000 * n, 20), *reads(1_000 * n + 500, 30)])
        assert edited(view) == 119, engine.name


def test_the_lossless_engine_counts_nothing_twice_beyond_what_it_reads_at_once():
    first = LcmEngine(context_length=16_000)
    view = [SYSTEM, REQUEST]
    for n in range(5):
        view = first.compress([*view, *edits(1_000 * n, 20), *reads(1_000 * n + 500, 100, words=20)])
    restarted = LcmEngine(context_length=16_000, store=first.store)
    for n in range(5, 7):
        view = restarted.compress([*view, *edits(1_000 * n, 20), *reads(1_000 * n + 500, 100, words=20)])
    assert edited(view) == 139


def test_an_engine_that_was_started_anew_continues_from_the_words_of_the_summary():
    constraint = "Never write to the production database."
    view = ContextCompressor(context_length=24_000).compress(
        [SYSTEM, REQUEST, *edits(0, 30), {"role": "user", "content": constraint}, *reads(100, 60)]
    )
    view = ContextCompressor(context_length=24_000).compress([*view, *edits(1_000, 10), *reads(2_000, 60)])
    assert constraint in json.dumps(view)
    assert edited(view) == 40


def test_what_a_model_wrote_is_kept_when_it_no_longer_answers():
    said = "The importer reads rows in batches because memory was short"
    model = FixedSummaryModel(f"## Goal\n{said}.\n\n## Progress\n### Done\nThe importer reads rows.")
    engine = ContextCompressor(context_length=24_000, summarizer=model)
    view = engine.compress([SYSTEM, REQUEST, *edits(0, 10), *reads(100, 60)])
    assert said in summary_of(view)
    model.text = ""
    view = engine.compress([*view, *reads(2_000, 60)])
    assert engine.last_report.summary_source == "deterministic"
    assert said in summary_of(view)


def test_a_view_of_before_an_undo_is_compacted_as_it_was():
    engine = ContextCompressor(context_length=24_000)
    first = engine.compress([SYSTEM, REQUEST, *edits(0, 20), *reads(100, 60)])
    later = [*first, *edits(1_000, 5), *reads(2_000, 60)]
    once = engine.compress(later)
    engine.compress([*once, *reads(3_000, 60)])
    assert engine.compress(later) == once


def test_a_new_session_remembers_nothing_of_the_one_before():
    engine = ContextCompressor(context_length=24_000)
    view = engine.compress([SYSTEM, REQUEST, *edits(0, 20), *reads(100, 60)])
    fresh = ContextCompressor(context_length=24_000)
    engine.on_session_reset()
    later = [*view, *reads(2_000, 60)]
    assert engine.compress(later) == fresh.compress(later)


def test_what_is_remembered_has_a_limit_and_keeps_what_the_summary_quotes():
    said = [
        {"role": "assistant", "content": f"The value of `limit_{n}` is what {n} workers need."}
        for n in range(300)
    ]
    facts, remembered, quoted = None, SummarySources(), "The value of `limit_3` is what 3 workers need."
    for turn in range(45):
        later = [{**one, "content": one["content"].replace("limit_", f"limit_{turn}_")} for one in said]
        runs = [
            m for n in range(40) for m in step(n, "terminal", {"command": f"make part{turn}-{n}"}, "done")
        ]
        facts = read_facts([*said, *later, *runs] if not turn else [*later, *runs], known=facts)
        remembered.keep(f"summary {turn}: {quoted}", SummarySource(facts))
        facts = remembered.source_of(f"summary {turn}: {quoted}").facts
    assert len(facts.evidence.lines) <= _MAX_LINES + 1
    assert len(facts.commands) <= _MAX_EVENTS
    assert quoted in facts.evidence.lines
    assert remembered.source_of("summary 0: " + quoted).facts is None, (
        "only the newest summaries are remembered"
    )


def test_the_goal_cites_the_message_of_the_person_and_not_that_of_a_program_before_it():
    rules = "# AGENTS.md instructions for /src\n<INSTRUCTIONS>\nAlways lint.\n</INSTRUCTIONS>"
    turns = [
        one for n in range(60) for one in (user(f"Load ship {n}. " * 40), assistant(f"Ship {n} is loaded."))
    ]
    said = [
        {"role": "system", "content": "You load ships."},
        user(rules),
        user("Plan the harbour of Whitby."),
        assistant("I begin with the berths."),
        *turns,
    ]
    engine = ContextCompressor(context_length=16_000)
    engine.compress(said)
    goal = next(line for line in engine.last_report.lines if line.section == "Goal")
    assert "Whitby" in goal.text
    assert [one.message for one in goal.sources] == [2]


def test_the_label_of_a_quoted_call_cites_that_call_although_a_later_run_covers_it():
    failed = "tests/harbour_test.py:41: in test_berths\nBerthTaken: berth 17 of Whitby is taken by the Esk"
    said = [
        user("Make pytest pass for tests/harbour_test.py; berths are the point of it."),
        assistant("I run them."),
        *run(1, "pytest tests/harbour_test.py -k berths", f"{failed}\n1 failed\nexit code: 1"),
        *edits(10, 20),
        *run(2, "pytest tests/harbour_test.py", "1 passed in 0.1s\nexit code: 0"),
        *reads(40, 60),
    ]
    engine = ContextCompressor(context_length=32_000)
    engine.compress([SYSTEM, *said])
    labels = [
        line
        for line in engine.last_report.lines
        if line.section == EVIDENCE and line.text.startswith("- `pytest")
    ]
    assert labels, "the failure is quoted"
    for label in labels:
        assert {one.message for one in label.sources} <= {3, 4}

"""Cuts, windows, fabrications, figures, and settings for a size."""

import re
from pathlib import Path

from conversations_to_measure import done, filler, said
from hypothesis import given
from hypothesis import strategies as st

import plimsoll
from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.quality import (
    fabrications,
    figures,
    first_and_last,
    fit,
    measure,
    prepare,
    recency_window,
    spread,
    tokens,
    turns_of,
)
from plimsoll.transcripts import read_example

SYSTEM = {"role": "system", "content": "You are careful."}


def test_cuts_follow_user_messages_once_the_history_is_long_enough():
    long = said("word " * 4_000)
    talk = [SYSTEM, user("first"), long, user("second"), {**user("x"), "name": "meta"}, *filler(6)]
    assert turns_of(talk, 4_000) == [4]
    assert turns_of(talk, 10_000) == []


def test_a_cut_needs_messages_after_it():
    assert turns_of([SYSTEM, said("word " * 4_000), user("last"), *filler(4)], 1_000) == []


@given(st.lists(st.integers(), max_size=30, unique=True), st.integers(1, 8))
def test_a_spread_is_bounded_ordered_and_ends_at_the_last_place(places, most):
    chosen = spread(places, most)
    assert len(chosen) == min(len(places), most)
    assert [places.index(place) for place in chosen] == sorted(places.index(place) for place in chosen)
    assert not places or chosen[-1] == places[-1]


def test_the_recency_window_is_the_system_prompt_and_the_newest_that_fit():
    talk = [SYSTEM, *(user("x" * 400) for _ in range(10))]
    window = recency_window(talk, 310)
    assert window[0] == SYSTEM
    assert len(window) == 4
    assert tokens(window) <= 310


def test_first_and_last_do_not_overlap():
    talk = [SYSTEM, *filler(10)]
    assert first_and_last(talk) == talk


def test_an_identifier_that_was_never_there_is_a_fabrication():
    history = [user("Fix src/app_main.py please")]
    assert fabrications(history, [said("Fixed src/app_main.py and src/invented.py")]) == ["src/invented.py"]


def test_a_shortened_term_and_a_handle_are_no_fabrications():
    history = [user("Fix src/app_main.py please")]
    assert fabrications(history, [said("Fixed src/app_ma… (h:3f2a9c1b7d)")]) == []


def test_a_whole_conversation_has_the_best_of_all_figures():
    history = [
        SYSTEM, user("Please repair the invoice importer in src/importer.py, and never touch the tests."),
        *done("Edit", "ok", file_path="src/importer.py"), *filler(20),
    ]  # fmt: skip
    looked_for = prepare(history, [said("Now src/importer.py again")])
    best = figures([measure(looked_for, history, history)])
    assert (best.far_facts, best.far_present, best.far_grounded, best.stated) == (1, 1.0, 1.0, 1.0)
    assert (best.valid, best.fabrications) == (1.0, 0)
    worst = figures([measure(looked_for, history, [SYSTEM])])
    assert (worst.far_present, worst.far_grounded, worst.stated) == (0.0, 0.0, 0.0)


def test_a_call_without_its_result_is_not_valid():
    history = [SYSTEM, user("Go"), *done("Edit", "ok", file_path="src/importer.py")]
    assert measure(prepare(history, []), history, history[:-1]).violations


def test_a_compaction_of_the_example_is_sound():
    messages = read_example()[0].messages
    at = turns_of(messages)[-1]
    history = messages[:at]
    result = ContextCompressor(context_length=64_000).compress(history)
    measured = measure(prepare(history, messages[at:]), history, result)
    assert measured.violations == ()
    assert measured.fabricated == ()
    assert measured.tokens < measured.prepared.tokens / 3


def test_settings_for_a_size_come_near_it_from_below():
    def size(size_settings):
        return max(3_000, 1.15 * size_settings.target_tokens)

    for budget in (7_000, 16_000):
        assert 0.95 * budget <= size(fit(size, budget)) <= budget
    assert size(fit(size, 100)) == 3_000


def test_the_ruler_shares_no_code_with_what_it_measures():
    folder = Path(plimsoll.__file__).parent / "quality"
    for path in folder.glob("*.py"):
        imported = re.findall(r"(?:from|import) plimsoll\.(\w+)", path.read_text("utf-8"))
        assert set(imported) <= {"messages", "quality"}, path.name

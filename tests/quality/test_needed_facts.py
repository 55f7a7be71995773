"""What counts as needed, near or far, present and grounded."""

import re

from conversations_to_measure import done, filler, said
from hypothesis import given
from hypothesis import strategies as st

from message_builders import user
from plimsoll.quality import Reading, grade, needed_facts, places_of, terms_in
from plimsoll.quality.terms import STOP_WORDS

ABOUT = said("The broken parser lives in src/parse_config.py because the loader skips comments.")


def needed(history, continuation, generic=frozenset()):
    return {fact.term: fact for fact in needed_facts(history, continuation, generic)}


def graded(fact, text):
    (one,) = grade([fact], Reading(text))
    return one.is_present, one.is_grounded


def test_a_term_that_the_agent_types_from_memory_is_needed():
    assert "src/parse_config.py" in needed([ABOUT], [said("I will change src/parse_config.py now.")])


def test_a_term_that_was_shown_again_first_is_not_needed():
    shown = [user("Look at src/parse_config.py"), said("I will change src/parse_config.py now.")]
    assert needed([ABOUT], shown) == {}


def test_a_term_that_the_history_never_had_is_not_needed():
    assert needed([ABOUT], [said("I will make src/other_file.py now.")]) == {}


def test_a_generic_term_is_not_needed():
    assert needed([ABOUT], [said("src/parse_config.py")], frozenset({"src/parse_config.py"})) == {}


def test_values_of_arguments_count_and_their_names_do_not():
    history = done("edit_file", "ok", file_path="src/app_main.py", old_string="def load_config")
    typed = done("edit_file", "ok", 1, file_path="src/app_main.py", old_string="load_config")
    assert needed(history, typed).keys() == {"src/app_main.py", "load_config"}


def test_far_facts_are_absent_from_the_last_twenty_messages():
    behind = [said("src/parse_config.py")]
    assert needed([ABOUT, *filler(20)], behind)["src/parse_config.py"].is_far
    assert not needed([ABOUT, *filler(19)], behind)["src/parse_config.py"].is_far


def test_a_bare_list_of_names_is_present_and_not_grounded():
    fact = needed([ABOUT], [said("src/parse_config.py")])["src/parse_config.py"]
    assert graded(fact, "src/parse_config.py, src/other.py, load_config") == (True, False)


def test_two_words_of_the_original_next_to_the_term_ground_it():
    fact = needed([ABOUT], [said("src/parse_config.py")])["src/parse_config.py"]
    assert graded(fact, "src/parse_config.py: the parser, broken") == (True, True)
    assert graded(fact, "src/parse_config.py: the parser, fine") == (True, False)
    assert graded(fact, f"broken parser {'x ' * 70} src/parse_config.py") == (True, False)


def test_a_word_cut_by_the_edge_of_the_distance_does_not_count():
    reading = Reading("parser " + "_" * 10 + " term_here")
    assert reading.words_around(18, 9, 18) == {"parser"}
    assert reading.words_around(18, 9, 17) == set()


def test_a_term_is_not_found_within_a_longer_word():
    assert list(places_of("app.py", "myapp.py app.pyc app.py, src/app.py")) == [17, 29]


def test_terms_are_recognised_by_their_shape():
    text = "See https://example.org/a/b. In cmd/main.go, loadConfig fixed PLM-4711 at 3f2a9c1b7d for the old parser"
    assert terms_in(text) == {
        "https://example.org/a/b",
        "cmd/main.go",
        "loadConfig",
        "PLM-4711",
        "3f2a9c1b7d",
    }


@given(st.text(max_size=200), st.text(alphabet="ab_/.", min_size=1, max_size=6))
def test_every_place_contains_the_term(text, term):
    for place in places_of(term, text):
        assert text[place : place + len(term)] == term


@given(st.text(alphabet="abcdefg .,_/()\n", max_size=300))
def test_words_between_all_places_are_all_words(text):
    reading = Reading(text)
    assert reading.words_between(0, len(text)) == reading.words


def plain_word_at(text, start, end):
    """Whether these letters are a plain word, said in another way than in `quality/terms.py`."""
    word, before, after = text[start:end], text[:start][-1:], text[end : end + 1]
    is_word = word[1:].islower() and len(word) >= 4 if word.isascii() else len(word) >= 2
    joins_before = bool(before) and before in "_./@~$-0123456789"
    joins_after = (bool(after) and after in "_/@~$(=-0123456789") or (
        after == "." and text[end + 1 : end + 2].isalnum()
    )
    return is_word and not joins_before and not joins_after and word.lower() not in STOP_WORDS


@given(st.text(st.sampled_from("abcdeABC zé中文²٣0_/@~$(=-\n."), max_size=16))
def test_plain_words_are_separate_words_and_no_parts_of_names(text):
    runs = [found.span() for found in re.finditer(r"[^\W\d_]+", text)]
    plain = [text[start:end].lower() for start, end in runs if plain_word_at(text, start, end)]
    assert Reading(text).words == plain

"""Search on a server finds what search in a file finds, with and without an index of three-character pieces."""

from pathlib import Path

import pytest
from archive_driver import Driver, user
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.archive import SearchQuery
from plimsoll.archive.postgres.words import MAX_BYTES, expression_of, folded, like, vector_of, words_of

WORDS = ("heron", "Heron", "parse_config", "src/loader.py", "東京", "été", "x1", "=>", "50%", "a\\b", "don't")
WITH_DATABASE = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def pair(tmp_path: Path):
    drivers = [Driver(tmp_path, store) for store in ("sqlite", "postgres")]
    yield drivers
    for driver in drivers:
        assert driver.check() == []
        driver.close()


def found(driver: Driver, id: str, text: str, mode: str) -> list[int]:
    page = driver.search(SearchQuery(text, mode, session=id, order="oldest", limit=100))
    return [hit.sequence for hit in page.hits]


@WITH_DATABASE
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=6),
    wanted=st.lists(st.sampled_from([*WORDS, '"heron x1"', "her*", "par*"]), min_size=1, max_size=3).map(
        " ".join
    ),
    mode=st.sampled_from(["words", "substring"]),
    has_grams=st.booleans(),
)
def test_both_stores_find_the_same_messages(pair: list[Driver], texts, wanted, mode, has_grams):
    sqlite, postgres = pair
    postgres._store._index.has_grams = has_grams
    ids = [driver.begin(*map(user, texts)) for driver in pair]
    assert found(postgres, ids[1], wanted, mode) == found(sqlite, ids[0], wanted, mode)


def test_a_message_with_more_words_than_an_index_can_store_is_found_by_each_of_them(archive: Driver):
    many = " ".join(f"w{n}" for n in range(MAX_BYTES // 5))
    assert vector_of(many) is None
    archive.begin(user("w7 alone"), user(many))
    assert [hit.sequence for hit in archive.search(SearchQuery("w7")).hits] == [2, 1]
    assert [hit.sequence for hit in archive.search(SearchQuery('"w50000 w50001"')).hits] == [2]
    assert archive.search(SearchQuery('"w50001 w50000"')).hits == ()
    assert {hit.sequence for hit in archive.search(SearchQuery("w7", order="relevance")).hits} == {1, 2}


def test_a_phrase_is_found_after_thousands_of_the_same_words(archive: Driver):
    archive.begin(user("heron " * 20_000 + "heron fishes " + "gull " * 10))
    assert len(archive.search(SearchQuery('"heron fishes gull"')).hits) == 1
    assert archive.search(SearchQuery('"fishes heron"')).hits == ()


def test_a_word_longer_than_the_index_accepts_is_found(archive: Driver):
    archive.begin(user("x" * 5_000), user("x" * 999))
    assert [hit.sequence for hit in archive.search(SearchQuery("x" * 999)).hits][-1:] == [2]
    assert len(archive.search(SearchQuery("x" * 40 + "*")).hits) == 2


def test_words_are_split_as_people_search_for_them():
    assert words_of("Übergröße in src/loader.py") == ["ubergroße", "in", "src", "loader", "py"]
    assert vector_of("a b a") == "'a':1,3 'b':2"
    assert expression_of('load_settings "conf file" x*') == "'load' & 'settings' & 'conf' & 'file' & 'x':*"


@given(text=st.text(max_size=40), start=st.integers(0, 40), length=st.integers(1, 10))
def test_every_part_of_a_text_is_found_without_case(text: str, start: int, length: int):
    assert folded(text[start : start + length].upper()) in folded(text.upper())
    assert folded(text[start : start + length]) in folded(text)


def test_pattern_characters_are_matched_literally():
    assert like("50%_\\") == "%50\\%\\_\\\\%"

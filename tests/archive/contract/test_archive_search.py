"""What every store promises about search."""

import json
import re

import pytest
from archive_driver import START, Driver, assistant, talk, user
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.archive import SearchQuery
from plimsoll.errors import UnknownSession, UserError


def call(name: str, **arguments: object) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }


def found(archive: Driver, text: str, mode: str = "words", **more: object) -> list[int]:
    return [hit.sequence for hit in archive.search(SearchQuery(text, mode, **more)).hits]


def marked(archive: Driver, text: str, mode: str = "words") -> list[str]:
    (hit,) = archive.search(SearchQuery(text, mode)).hits
    return [hit.snippet[start:end] for start, end in hit.marks]


@pytest.fixture
def shelf(archive: Driver) -> Driver:
    archive.begin(
        user("Please fix parse_config in src/loader.py"),
        call("terminal", command='grep -rn "load_settings" src\nls', timeout=30),
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": [{"type": "text", "text": "Übergröße: 東京タワー is high"}],
        },
        assistant("Готово => the parser returns early", reasoning_content="a quiet thought"),
        user("parse parse parse config"),
    )
    return archive


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("loader", [1]),
        ("LOADER fix", [1]),
        ("parse", [5, 1]),
        ('"fix parse_config"', [1]),
        ('"config parse"', []),
        ("pars*", [5, 4, 1]),
        ("load_settings", [2]),
        ("timeout 30", [2]),
        ("terminal", [2]),
        ("ubergroße", [3]),
        ("東京", [3]),
        ("京タ", [3]),
        ("готово", [4]),
        ("thought", [4]),
        ("=>", [4]),
        ('a "quoted', []),
        ("AND OR NOT NEAR(", []),
        ("nowhere", []),
    ],
)
def test_words_are_found_in_contents_and_in_arguments(shelf: Driver, text: str, numbers: list[int]):
    assert found(shelf, text) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("rse_conf", [1]),
        ("RSE_CONF", [1]),
        ("src/load", [1]),
        ('-rn "load_set', [2]),
        ("src\nls", [2]),
        ("=> the", [4]),
        ("京タワ", [3]),
        ("東京", [3]),
        ("=>", [4]),
        ("größe", [3]),
        ("parser config", []),
        ("%", []),
    ],
)
def test_substrings_are_found_as_they_stand(shelf: Driver, text: str, numbers: list[int]):
    assert found(shelf, text, "substring") == numbers


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        (r"parse_\w+", [1]),
        (r"(?i)PARSE", [5, 4, 1]),
        (r"^parse", [5]),
        (r"load(er|_settings)", [2, 1]),
        (r"loader|タワー", [3, 1]),
        (r"grep -\w+ \"load", [2]),
        (r"x*y?early", [4]),
        (r"\x70arse_config", [1]),
        (r"ls$", [2]),
        (r"zzz+", []),
    ],
)
def test_patterns_are_found_with_or_without_a_literal(shelf: Driver, pattern: str, numbers: list[int]):
    assert found(shelf, pattern, "regex") == numbers


def test_hits_say_where_they_stand_and_mark_what_was_found(shelf: Driver):
    assert marked(shelf, "loader") == ["loader"]
    assert marked(shelf, "fix src") == ["fix", "src"]
    assert marked(shelf, "東京") == ["東京"]
    assert marked(shelf, "rse_conf", "substring") == ["rse_conf"]
    assert marked(shelf, r"parse_\w+", "regex") == ["parse_config"]


def test_a_snippet_of_a_long_text_shows_the_place_and_not_the_beginning(archive: Driver):
    archive.begin(user("word " * 500 + "needle " + "word " * 500))
    (hit,) = archive.search(SearchQuery("needle")).hits
    assert [hit.snippet[a:b] for a, b in hit.marks] == ["needle"]
    assert hit.snippet.startswith("… ")
    assert hit.snippet.endswith(" …")
    assert len(hit.snippet) < 200


def test_search_is_limited_by_session_range_role_and_time(archive: Driver):
    first = archive.begin(*[user(f"heron {n}") for n in range(4)])
    archive.clock.now = START + 100
    second = archive.begin(user("heron"), assistant("heron"))
    for mode in ("words", "substring", "regex"):
        assert found(archive, "heron", mode, session=first) == [4, 3, 2, 1]
        assert found(archive, "heron", mode, session=first, first=2, last=3) == [3, 2]
        assert found(archive, "heron", mode, session=first, first=9) == []
        assert found(archive, "heron", mode, role="assistant") == [2]
        assert found(archive, "heron", mode, since=START + 50) == [2, 1]
        assert found(archive, "heron", mode, before=START + 50) == [4, 3, 2, 1]
        assert found(archive, "heron", mode, since=START + 200) == []
        assert found(archive, "heron", mode, before=START) == []
        assert found(archive, "heron", mode, order="oldest", limit=2) == [1, 2]
    assert {hit.session for hit in archive.search(SearchQuery("heron", since=START + 50)).hits} == {second}
    with pytest.raises(UnknownSession):
        found(archive, "heron", session="nobody")


@pytest.mark.parametrize("order", ["newest", "oldest", "relevance"])
def test_pages_follow_each_other_without_gap_or_repetition(archive: Driver, order: str):
    archive.begin(*[user(f"heron number {n}") for n in range(7)])
    numbers, cursor = [], None
    while True:
        page = archive.search(SearchQuery("heron", order=order, limit=3, cursor=cursor))
        numbers += [hit.sequence for hit in page.hits]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(numbers) == list(range(1, 8))
    assert len(numbers) == 7


def test_by_relevance_the_message_that_says_it_most_comes_first(archive: Driver):
    archive.begin(user("heron " * 6), user("one heron among a great many other words " * 5), user("no bird"))
    assert found(archive, "heron", order="relevance") == [1, 2]


def test_a_fork_finds_its_shared_past_once_and_not_what_its_parent_said_later(archive: Driver):
    id = archive.begin(*talk(4, "heron"))
    fork = archive.fork(id, at=2).id
    archive.append(fork, [user("heron fork")], turn="t")
    hits = archive.search(SearchQuery("heron", session=fork)).hits
    assert [(hit.session, hit.sequence) for hit in hits] == [(fork, 3), (fork, 2), (fork, 1)]
    assert len(archive.search(SearchQuery("heron")).hits) == 5


def test_a_pattern_that_never_ends_stops_at_the_deadline_and_says_so(archive: Driver):
    archive.begin(user("fine"), user("a" * 4_000), user("later"))
    page = archive.search(SearchQuery(r"(a|aa)+(b|c)$", "regex", deadline=1.0))
    assert not page.complete
    assert page.next is not None
    rest = archive.search(SearchQuery(r"(a|aa)+(b|c)$", "regex", cursor=page.next))
    assert rest.complete


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"text": ""}, "empty"),
        ({"text": "  "}, "empty"),
        ({"text": "x" * 2_000}, "1,000 characters"),
        ({"text": "x", "limit": 0}, "limit must be at least 1"),
        ({"text": "x", "first": 3}, "needs a session"),
        ({"text": "x", "mode": "regex", "order": "relevance"}, "Only word searches"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused_with_the_reason(query: dict, why: str):
    with pytest.raises(UserError, match=why):
        SearchQuery(**query)


def test_a_broken_pattern_is_a_mistake_of_the_person(archive: Driver):
    archive.begin(user("x"))
    with pytest.raises(UserError, match=r"'\(\[' is not a valid regular expression"):
        found(archive, "([", "regex")


_ALPHABET = "abAB_ .東京é("


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(_ALPHABET, max_size=30), min_size=1, max_size=6),
    wanted=st.text(_ALPHABET, min_size=1, max_size=6).filter(str.strip),
)
def test_substring_search_finds_exactly_the_messages_that_contain_it(archive: Driver, texts, wanted):
    id = archive.begin(*map(user, texts))
    expected = [n for n, text in enumerate(texts, 1) if wanted.lower() in text.lower()]
    assert found(archive, wanted, "substring", session=id, order="oldest") == expected


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text("abc_.(", max_size=20), min_size=1, max_size=5),
    pattern=st.lists(
        st.sampled_from(
            ["a", "b", "c", "abc", ".", "a+", "b*", "c?", "(ab)", "[ab]", r"\.", r"\w", "a{2}", "(c|a)"]
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
)
def test_narrowing_by_literals_loses_no_match(archive: Driver, texts, pattern):
    id = archive.begin(*map(user, texts))
    expected = [n for n, text in enumerate(texts, 1) if re.search(pattern, text)]
    assert found(archive, pattern, "regex", session=id, order="oldest") == expected


def test_a_predicate_decides_with_the_call_of_a_tool_result(shelf: Driver) -> None:
    asked: list[tuple[object, object]] = []

    def accepts(message: dict[str, object], caller: dict[str, object] | None) -> bool:
        asked.append((message["role"], caller and caller["tool_calls"]))
        return message["role"] == "tool"

    assert found(shelf, ".", "regex", accepts=accepts) == [3]
    assert [caller is not None for _, caller in asked] == [False, False, True, False, False]


def test_a_page_with_a_predicate_continues_after_what_it_refused(shelf: Driver) -> None:
    def accepts(message: dict[str, object], _caller: object) -> bool:
        return message["role"] == "user"

    first = shelf.search(SearchQuery(".", "regex", limit=1, accepts=accepts))
    assert [hit.sequence for hit in first.hits] == [5]
    rest = shelf.search(SearchQuery(".", "regex", limit=1, accepts=accepts, cursor=first.next))
    assert [hit.sequence for hit in rest.hits] == [1]

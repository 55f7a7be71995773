"""Patterns that would exhaust time or memory: refused before they are compiled, stopped while they search."""

import json
import string
import time
from contextlib import suppress
from pathlib import Path

import pytest
import regex
from archive_driver import STORES, Driver
from hypothesis import given
from hypothesis import strategies as st
from lcm_host import Host
from session_client import serving
from toolkit import place, text

from plimsoll.archive import SearchQuery, snippet
from plimsoll.archive.snippet import matcher_for
from plimsoll.context.lcm.node_store import InMemoryNodeStore
from plimsoll.errors import UserError
from plimsoll.patterns import MAX_CHARACTERS, MAX_EXPANDED, MAX_GROUPS, MAX_REPEATS, check, compiled
from plimsoll.testing.scripted_server import ScriptedServer, say

# Few enough that a gateway without limits fails the test instead of the machine.
REFUSED = {
    "a large repeat": "a{200000}",
    "a large repeat without a minimum": "a{,200000}",
    "nested repeats": "((a{500}){20}){20}",
    "doubled again and again": "(?:" * 18 + "a" + "){2}" * 18,
    "nested groups that repeat": "(" * 90 + "a" + ")" * 90 + "{150}",
    "nested lookarounds that repeat": "(?:" + "(?=b" * 90 + "a" + ")" * 90 + "){150}",
    "recursion": "a(?R)?b",
    "recursion into a group": "(a(?1)?b)",
    "recursion into a name": "(?P<x>a(?&x)?b)",
    "recursion in the style of Python": "(?P<x>a(?P>x)?b)",
    "nested groups": "(" * 450 + "a" + ")" * 450,
    "a repeat that a character class seems to hide": "[[:alpha:][]a{200000}",
    "a repeat that a comment seems to hide": "(?#[)a{200000}",
    "a repeat in free spacing": "(?x)a{ 200000 }",
    "nested sets": "(?V1)[[a-z]--[aeiou]]",
    "too many characters": "a" * 1_001,
}
# Takes exponential time on a text of many a's.
SLOW = r"(a|aa)+(b|c)$"


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with (
        ScriptedServer(lambda _request: say("On the mast.")) as server,
        serving(server, tmp_path_factory.mktemp("home")) as client,
    ):
        client.say(client.begin(), "Where does the lantern hang? " + "a" * 60)
        yield client.http


@pytest.mark.parametrize("pattern", REFUSED.values(), ids=REFUSED)
def test_the_gateway_refuses_a_pattern_that_would_exhaust_it(http, pattern):
    answer = http.get("/search", params={"mode": "regex", "text": pattern})
    assert answer.status_code == 422, answer.text
    assert http.get("/search", params={"mode": "regex", "text": "lan.{1,3}rn"}).json()["hits"]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    host = Host(tmp_path_factory.mktemp("lcm"))
    host.session = host.begin()
    host.say(host.session, [{"role": "user", "content": "Where does the lantern hang?"}])
    yield host
    host.close()


@pytest.mark.parametrize("pattern", REFUSED.values(), ids=REFUSED)
def test_lcm_grep_refuses_a_pattern_that_would_exhaust_it(host, pattern):
    told = json.loads(host.call(host.session, "lcm_grep", pattern=pattern, mode="regex"))
    assert "error" in told


@pytest.mark.parametrize("pattern", REFUSED.values(), ids=REFUSED)
def test_search_files_refuses_a_pattern_that_would_exhaust_it(tmp_path, pattern):
    (tmp_path / "log.txt").write_text("a" * 50, "utf-8")
    said = text(place(tmp_path), "search_files", pattern=pattern)
    assert any(word in said for word in ("characters", "repeats", "groups", "items", "not supported")), said


def test_search_files_ends_a_glob_that_takes_exponential_time(tmp_path):
    (tmp_path / ("a" * 200)).write_text("a line\n", "utf-8")
    said = text(place(tmp_path), "search_files", pattern="line", glob="*a" * 25 + "b", path=str(tmp_path))
    assert "timed out" in said or "No lines match" in said


@pytest.fixture(params=STORES)
def archive(request, tmp_path: Path):
    driver = Driver(tmp_path, request.param)
    yield driver
    driver.close()


def test_a_search_stops_while_the_database_still_looks_for_a_first_row(archive: Driver):
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x > 0)"
    endless = f"{numbers} SELECT x FROM n WHERE x < 0"

    async def work(db):
        with pytest.raises(TimeoutError):
            async for _ in db.batches(endless, seconds=0.05):
                pass
        return await db.row("SELECT 7")  # the transaction goes on

    async def asked(store):
        return await store._database.read(work, is_long=True)

    assert archive.run_store(asked) == (7,)


def test_searches_that_take_long_do_not_delay_other_reads(archive: Driver):
    id = archive.begin({"role": "user", "content": "a" * 4_000})

    async def work(store):
        import asyncio

        slow = [asyncio.create_task(store.search(SearchQuery(SLOW, "regex", deadline=2.0))) for _ in range(4)]
        session = await store.session(id)
        were_running = [not one.done() for one in slow]
        return session.id, were_running, [page.complete for page in await asyncio.gather(*slow)]

    found, were_running, complete = archive.run(work)
    assert found == id
    assert all(were_running)
    assert complete == [False] * 4


def test_a_memory_without_an_archive_stops_at_the_deadline_of_the_whole_search():
    memory = InMemoryNodeStore()
    memory.positions([{"role": "user", "content": "a" * 4_000} for _ in range(3)])
    assert not memory.search(SearchQuery(SLOW, "regex", deadline=0.05)).complete


def test_a_search_keeps_its_deadline_on_a_machine_that_gives_it_little_time(monkeypatch):
    # The library counts CPU time. Here a fifth of the time that passes seems to be the process's own.
    real, started = time.process_time, time.process_time()
    monkeypatch.setattr(snippet.time, "process_time", lambda: started + (real() - started) / 5)
    places = matcher_for(SearchQuery(SLOW, "regex"))
    before = real()
    with pytest.raises(TimeoutError):
        places("a" * 4_000, 3.0)
    assert real() - before < 1.5


@pytest.mark.parametrize(
    "pattern",
    [
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"(?i)error(?:s)?:\s+(?P<what>\w+)(?!\d)",
        r"(?<=id=)\d{1,10}",
        r"\{99999\}",
        r"[(?]x",
        r'{"name": 1}',
        r"[[:alpha:]]+",
        r"(?s-i:a.b)",
        r"\p{Lu}{2,}",
    ],
)
def test_everyday_patterns_compile(pattern):
    assert compiled(pattern)


@given(st.text(alphabet="ab\\|()[]{}?*+^$.:<>=!#,0129iPRx-& ", max_size=60))
def test_every_pattern_compiles_or_is_refused_with_a_sentence(pattern):
    with suppress(UserError):  # anything else, such as a RecursionError, is a failure
        assert compiled(pattern).pattern == pattern


@given(st.lists(st.integers(2, 2_000), min_size=1, max_size=8))
def test_nested_repeats_are_accepted_up_to_their_product(counts):
    pattern = "a"
    product = 1
    for count in counts:
        pattern, product = f"(?:{pattern}){{{count}}}", product * count
    if max(counts) <= MAX_REPEATS and product <= MAX_EXPANDED:
        check(pattern)
    else:
        with pytest.raises(UserError):
            check(pattern)


@pytest.mark.parametrize("group", ["(?:", "(?i:", "(?s-i:", "(?-i:"])
def test_a_group_that_only_groups_parts_adds_nothing_to_the_size(group):
    check(f"{group}{group}a){{100}}){{100}}")
    with pytest.raises(UserError):
        check(f"{group}{group}ab){{100}}){{100}}")


@pytest.mark.parametrize("group", ["(", "(?P<name>", "(?<name>", "(?=", "(?!", "(?<=", "(?<!", "(?>"])
def test_a_group_that_is_written_out_at_every_repeat_counts_as_one_item(group):
    check(f"(?:(?:{group}a)){{100}}){{50}}")
    with pytest.raises(UserError):
        check(f"(?:(?:{group}a)){{100}}){{51}}")


@given(st.text(alphabet=string.printable, max_size=MAX_CHARACTERS))
def test_a_text_that_is_escaped_is_never_refused_for_its_repeats(words):
    escaped = regex.escape(words)
    if len(escaped) <= MAX_CHARACTERS:
        check(escaped)


def test_the_limit_on_groups_keeps_the_compiler_within_the_recursion_limit():
    assert compiled("(" * MAX_GROUPS + "a" + ")" * MAX_GROUPS)

"""On a narrow terminal, ids and numbers are shown whole; other columns give way."""

import io

import pytest
from rich.console import Console

from plimsoll.archive import Action, CompactionEvent, Session
from plimsoll.archive.keys import AccessKey, KeyLimits, KeySnapshot, KeyUsage
from plimsoll.bulk.measurement import MeasuredConversation, PairedResult
from plimsoll.plugins import Catalogue, CatalogueEntry
from plimsoll.quality.measure import Measurement, MeasurementCase
from plimsoll.terminal.bench import bench_table
from plimsoll.terminal.gateway_keys import listed_keys
from plimsoll.terminal.plugins.listing import plugin_list
from plimsoll.terminal.plugins.screen import message_lines
from plimsoll.terminal.sessions.actions import action_line
from plimsoll.terminal.sessions.compactions import described
from plimsoll.terminal.sessions.listing import table

WIDTHS = [60, 70, 80, 120, 200]
ID = "20261115-094512-quiet-harbour"


def session(**changes):
    facts = {
        "id": ID, "title": "Move the parser to the new grammar", "model": "claude-sonnet-4.5", "engine": "compressor",
        "created": 0.0, "updated": 0.0, "messages": 1_234_567, "tokens": 98_765_432, "view": 0,
    }  # fmt: skip
    return Session(**{**facts, **changes})


def drawn(thing, width):
    """The lines on a terminal of this width; none is wider."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(thing)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert not any("…" in line for line in lines)
    return lines


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_sessions_cuts_no_id_and_no_number(width):
    out = io.StringIO()
    Console(file=out, width=width).print(table([session()], 1e9, width))
    shown = out.getvalue()
    assert ID in shown
    assert "1,234,567" in shown
    assert "98.8M" in shown
    assert all(len(line) <= width for line in shown.splitlines())


def test_a_title_below_its_session_has_the_whole_line():
    lines = drawn(table([session()], 1e9, 60), 60)
    assert "  Move the parser to the new grammar" in lines


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_keys_cuts_no_name_no_id_and_no_number(width):
    limits = KeyLimits(6_000, 100_000_000, 1_250.0)
    keys = [
        AccessKey("4f9c2a71", "laptop-of-margarete@example.org", b"", limits, 0.0),
        AccessKey("5f9c2a72", "dashboard", b"", KeyLimits(), 0.0, reads="key:4f9c2a71"),
    ]
    book = KeySnapshot(0.0, tuple(keys), {"4f9c2a71": KeyUsage(1_234_567, 98_765_432, 1_049.12)})
    shown = "\n".join(drawn(listed_keys(book, keys, width), width))
    for whole in (
        "laptop-of-margarete@example.org", "4f9c2a71", "5f9c2a72", "dashboard (reads key:4f9c2a71)",
        "1,234,567 (6,000/min)", "98,765,432 of 100,000,000", "1,049.12 of 1,250.00",
    ):  # fmt: skip
        assert whole in shown


@pytest.mark.parametrize("width", WIDTHS)
def test_a_compaction_is_shown_with_its_outcome_its_author_and_whole_numbers(width):
    event = CompactionEvent(
        "threshold", "compressor", "compacted", "", 1_234_567, 123_456, 987_654_321, 98_765_432,
        author="key:4f9c2a71", model="claude-sonnet-4.5", money=0.0123,
    )  # fmt: skip
    lines = drawn(described(12, event, None, None, [], 0), width)
    words = " ".join(" ".join(lines).split())
    for whole in ("· compacted · by key:4f9c2a71", "987,654,321 98,765,432", "1,234,567 123,456", "10%"):
        assert whole in words


@pytest.mark.parametrize("width", WIDTHS)
def test_an_action_is_wrapped_between_words_so_that_its_ids_stay_whole(width):
    numbers = list(range(1_000_000, 1_000_020))
    fork = Action("fork", "key:4f9c2a71", {"session": ID, "at": 1_234_567})
    drop = Action("drop", "operator", {"messages": numbers})
    assert any(ID in line for line in drawn(action_line(fork), width))
    shown = drawn(action_line(drop), width)
    assert all(any(str(number) in line for line in shown) for number in numbers)
    export = Action("export", "operator", {"format": "html", "view": False})
    assert str(action_line(export)).endswith("export  format html, view no")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_plugins_shows_every_name_and_path_whole(width):
    path = "/home/margarete/.local/share/plimsoll/plugins/context_engine/keep-the-ends-and-the-decisions"
    engine = CatalogueEntry("keep-the-ends-and-the-decisions", "Keeps the ends of a conversation.", path)
    lines = drawn(plugin_list(Catalogue((engine,), ()), engine.name), width)
    assert any(engine.name in line for line in lines)
    assert path in "".join("".join(lines).split())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_of_bench_cuts_no_number_and_no_name(width):
    case = MeasurementCase(98_765_432, 1_234_567, (), ())
    result = Measurement(case, 12_345_678, 123_456, (), (), (), ())
    pair = PairedResult(1, result, result, is_taken_up=True)
    name = "2026-11-15T09-45-12-rollout-quiet-harbour.jsonl"
    found = [MeasuredConversation("", f"/sessions/{name}", 12_345, None, 98_765_432, (pair,))]
    lines = drawn(bench_table(found, width), width)
    assert any("12,345,678" in line for line in lines)
    shown = "".join(line.split(" ")[1] if line.startswith(" ") else line.split(" ")[0] for line in lines)
    assert f"{name}:12345" in shown


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_message_below_the_menu_of_plugins_is_wrapped_between_words(width):
    message = "The engine keep-the-ends-and-the-decisions is used from the next session on. " * 2
    lines = message_lines(message, width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert " ".join(" ".join(lines).split()) == message.strip()

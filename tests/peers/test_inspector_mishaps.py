"""The inspector's page when something goes wrong: sessions that are gone, wrong patterns, edits by two people."""

import json
import os
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from browsing import TestBrowser, browser
from inspecting import Running, stored
from processes import PROGRAM, running_gateway

pytestmark = pytest.mark.xdist_group("inspector mishaps")
EXAMPLE = Path(str(files("plimsoll").joinpath("examples", "fastapi.json")))
WINDOW = 40_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("mishaps") / "plimsoll"
    home.mkdir()
    # No model is asked: code writes the summaries.
    settings = {"MODEL__NAME": "claude-sonnet-4-5", "MODEL__CONTEXT_LENGTH": str(WINDOW)}
    environ = {**os.environ, "PLIMSOLL_HOME": str(home), "ANTHROPIC_API_KEY": "any"}
    environ |= {f"PLIMSOLL_{name}": value for name, value in settings.items()}
    os.environ["ANTHROPIC_API_KEY"] = "any"
    with running_gateway(home, settings) as gateway:
        yield Running(gateway, home, "", environ)


@pytest.fixture(scope="module")
def page() -> Iterator[TestBrowser]:
    with browser() as opened:
        yield opened


def example(running: Running, title: str) -> str:
    told = json.loads(EXAMPLE.read_text("utf-8"))
    return stored(running.home, told["messages"] if isinstance(told, dict) else told, title)


def test_a_session_that_does_not_exist_is_said_to_be_missing_and_offers_the_list(
    running: Running, page: TestBrowser
) -> None:
    id = example(running, "Here")
    page.open(running.page("20200101-000000-nowhere"))
    page.see(".empty:has-text('This session does not exist')")
    assert page.count("select[aria-label='Actions']") == 0
    page.click("button:has-text('All sessions')")
    page.see(f"tr:has-text('{id}')")


def test_a_session_without_requests_has_no_cost_in_the_list(running: Running, page: TestBrowser) -> None:
    id = example(running, "Free")
    page.open(f"{running.gateway.url}/inspect")
    page.see(f"tr:has-text('{id}')")
    assert page.text(f"tr:has-text('{id}') td:nth-last-child(2)") == "–"


def test_a_session_that_is_deleted_while_it_is_watched_keeps_its_last_state(
    running: Running, page: TestBrowser
) -> None:
    id = example(running, "Gone")
    page.open(running.page(id))
    page.see(".live.on")
    running.terminal("delete", id, "--yes")
    page.see("[role=alert]:has-text('was deleted')")
    assert page.count("canvas") == 1


def test_on_a_phone_the_chosen_message_comes_into_sight(running: Running, page: TestBrowser) -> None:
    page.open(running.page(example(running, "Small")), width=390, height=844)
    page.click(".row >> nth=3")
    page.see("article.detail .message-body")
    page.until("document.querySelector('article.detail').getBoundingClientRect().top < innerHeight - 100")


def test_a_pattern_that_is_wrong_leaves_no_hits_of_the_search_before(
    running: Running, page: TestBrowser
) -> None:
    page.open(running.page(example(running, "Searched"), "search"))
    page.fill("input[type=search]", "berth")
    page.see(".hit")
    page.choose(".search-form select", "regex")
    page.fill("input[type=search]", "(berth")
    page.see(".problem:has-text('not a valid regular expression')")
    assert page.count(".hit") == 0


def test_a_page_in_one_file_searches_words_exact_text_and_patterns(
    running: Running, page: TestBrowser, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    command = [PROGRAM, "inspect", example(running, "File"), "-o", str(target)]
    subprocess.run(command, env=running.environ, check=True, timeout=300)
    page.open(f"file://{target}")
    page.click("nav button:has-text('Search')")
    for mode, text, finds in (
        ("", "pence integer", True),
        ("substring", "pence integer", False),
        ("regex", "port 84\\d\\d", True),
        ("substring", "port 84\\d\\d", False),
    ):
        page.choose(".search-form select", mode)
        page.fill("input[type=search]", text)
        page.see(".hit" if finds else ".empty:has-text('Nothing found')")
    page.choose(".search-form select", "regex")
    page.fill("input[type=search]", "(")
    page.see(".problem")
    assert page.noted() == []


def test_an_edit_that_comes_too_late_can_be_compared_and_saved_again(
    running: Running, page: TestBrowser, tmp_path: Path
) -> None:
    id = example(running, "Edited twice")
    running.terminal("compact", id)
    page.open(running.page(id))
    page.see("canvas")
    page.choose("select[aria-label='Actions']", "edit")
    page.see("dialog textarea")
    summary = running.get(id, "summary")
    page.fill("dialog textarea", f"{summary['text']}\n- Mine.")
    (tmp_path / "summary.md").write_text(f"{summary['text']}\n- Theirs.", "utf-8")
    running.terminal("edit", id, "--file", str(tmp_path / "summary.md"), "--node", summary["node"])
    page.see("dialog button.primary:not(:disabled)")
    page.click("dialog button.primary")
    page.click("dialog button:has-text('Load the newest summary')")
    page.see("dialog .diff .removed:has-text('- Theirs.')")
    assert "- Mine." in page.text("dialog .diff .added")
    page.see("dialog button.primary:not(:disabled)")
    page.click("dialog button.primary")
    page.see(".notice:has-text('The summary was edited')")
    assert running.get(id, "summary")["text"].rstrip().endswith("- Mine.")


def test_what_if_starts_with_the_window_of_the_session(running: Running, page: TestBrowser) -> None:
    page.open(running.page(example(running, "Window"), "cache"))
    page.see(".what-if .figure")
    assert page.text(".what-if .figure:has-text('Compactions') dd").split()[0] != "0"
    assert page.text(".what-if .figure:has-text('Over the window') dd") == "0 requests"


def test_a_system_prompt_with_a_note_is_kept_and_not_shortened(running: Running, page: TestBrowser) -> None:
    id = example(running, "Note")
    running.terminal("compact", id)
    page.open(running.page(id, "compactions"))
    page.see("[aria-label='Before'] .row")
    assert "fate-kept" in (page.attribute("[aria-label='Before'] .row", "class") or "")
    assert "fate-new" not in (page.attribute("[aria-label='After'] .row", "class") or "")

"""What the page shows of conversations of every kind: hostile texts, images, lost facts, odd files."""

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browsing import TestBrowser, browser
from hostile_texts import TEXTS, conversation
from inspecting import MODEL, Running, stored
from processes import PROGRAM, running_gateway

from plimsoll.archive import OPERATOR, CompactionEvent, draft_of
from plimsoll.archive.open_archive import open_archive
from plimsoll.caching import replay
from plimsoll.context.compressor.assemble import summary_message
from plimsoll.models import card_for

pytestmark = pytest.mark.xdist_group("inspector contents")
EXAMPLE = Path(str(files("plimsoll").joinpath("examples", "fastapi.json")))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("inspected") / "plimsoll"
    home.mkdir()
    with running_gateway(home, {}) as gateway:
        yield Running(gateway, home, "", {**os.environ, "PLIMSOLL_HOME": str(home)})


@pytest.fixture(scope="module")
def page() -> Iterator[TestBrowser]:
    with browser() as opened:
        yield opened


def test_hostile_conversations_run_nothing_and_break_no_layout(running: Running, page: TestBrowser) -> None:
    assert len(TEXTS) >= 40
    messages = conversation()
    id = stored(running.home, messages, "<img src=x onerror=hit('title')>\u202e evil")
    page.open(running.page(id), script="window.hits = []; window.hit = (how) => window.hits.push(how);")
    page.see("canvas")
    width = page.evaluate("document.documentElement.clientWidth")
    for number in range(2, len(messages), 3):
        page.evaluate(f"location.hash = 'session={id}&message={number}'")
        page.see(f"article[aria-label='Message {number}'] .message-body")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, messages[number - 1]
        rows = page.evaluate("[...document.querySelectorAll('.row')].map((row) => row.offsetHeight)")
        assert set(rows) == {28}
    made = "img, iframe, object, embed, svg, a, base, form, style, link:not([href^='/inspect/']), details[ontoggle]"
    assert page.count(made) == 0
    assert page.evaluate("window.hits") == []
    page.evaluate(f"location.hash = 'session={id}&message={2 + 3 * list(TEXTS).index('override')}'")
    page.see("article.detail .sign")
    assert page.text("article.detail .sign") == "RLO"
    page.picture("hostile")
    assert page.noted() == []


def test_a_page_in_one_file_works_without_a_server_and_runs_nothing(
    running: Running, page: TestBrowser, tmp_path: Path
) -> None:
    id = stored(running.home, conversation(), "<script>hit('title')</script>")
    target = tmp_path / "page.html"
    environ = {**os.environ, "PLIMSOLL_HOME": str(running.home)}
    subprocess.run([PROGRAM, "inspect", id, "-o", str(target)], env=environ, check=True, timeout=300)
    page.open(f"file://{target}", script="window.hits = []; window.hit = (how) => window.hits.push(how);")
    page.see("canvas")
    page.click("nav button:has-text('Search')")
    page.fill("input[type=search]", "invoice")
    page.see(".hit")
    page.click(".hit")
    page.see("article.detail .sign")
    assert page.evaluate("window.hits") == []
    assert page.noted() == []


def test_what_if_computes_what_the_simulator_does(running: Running, page: TestBrowser) -> None:
    """The page simulates sizes alone. Estimates of blocks and of whole messages differ a little."""
    told = json.loads(EXAMPLE.read_text("utf-8"))
    messages = told["messages"] if isinstance(told, dict) else told
    id = stored(running.home, messages, "Example")
    page.open(running.page(id, "cache"))
    page.see(".what-if .figure")
    for model in ("claude-sonnet-4.5", "claude-haiku-4.5", "gpt-5"):
        for ttl, gap in (("5m", 30), ("5m", 600), ("1h", 600)):
            options = {
                "model": model,
                "ttl": ttl,
                "threshold": 0.99,
                "target": 0.2,
                "policy": "never",
                "gap": gap,
            }
            simulated = page.evaluate(
                f"fetch('/sessions/{id}/timeline').then((answer) => answer.json())"
                f".then((told) => Plimsoll.simulate(Plimsoll.derive(told), {json.dumps(options)}).total)"
            )
            expected = replay(messages, card_for(model), "auto", ttl, gap).total
            assert simulated["money"] == pytest.approx(expected.money, rel=0.05), (options, expected)
            assert simulated["read"] == pytest.approx(expected.read, rel=0.05, abs=2_000), (options, expected)


def test_images_stand_below_the_bars_by_their_bytes(running: Running, page: TestBrowser) -> None:
    url = f"data:image/png;base64,{base64.b64encode(bytes(48_000)).decode()}"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}},
        ]},
        {"role": "assistant", "content": "A quay."},
    ]  # fmt: skip
    id = stored(running.home, messages, "A picture")
    page.open(running.page(id))
    page.see("canvas")
    page.press("canvas", "Home")
    assert "images" not in page.attribute("canvas", "aria-valuetext")
    page.press("canvas", "End")
    assert "images and files 48 kB" in page.attribute("canvas", "aria-valuetext")
    assert "48 kB" in page.text(".legend .key:has-text('Images and files')")
    page.see(".row:has-text('[image 48 kB]')")
    page.evaluate(f"location.hash = 'session={id}&message=3'")
    page.see("article.detail .placeholder")
    assert page.text("article.detail .placeholder") == "image · image/png · 48 kB"
    page.picture("images")
    assert page.noted() == []


def compacted_with_a_loss(home: Path) -> str:
    """A session whose compaction lost two facts."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "The gate code is 8417-A; see /srv/quay/gates.toml."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Go on."},
    ]
    lost = [
        {"kind": "number", "text": "8417-A", "at": 0},
        {"kind": "path", "text": "/srv/quay/gates.toml", "at": 0},
    ]
    ledger = {"counts": {"number": {"had": 1, "kept": 0}, "path": {"had": 2, "kept": 1}}, "lost": lost}

    async def work() -> str:
        async with await open_archive(None, home) as store:
            archive = store.for_owner(OPERATOR)
            session = await archive.create_session(title="A loss", model=MODEL)
            await archive.append(session.id, messages, turn="begin")
            view, items = await archive.view(session.id), await archive.items(session.id)
            after = [summary_message("## Goal\nopen the gate", "user"), messages[2]]
            event = CompactionEvent("threshold", "compressor", ledger=ledger)
            await archive.commit_compaction(session.id, draft_of(session.id, view, items, after), event)
            return session.id

    return asyncio.run(work())


def test_lost_facts_lead_to_their_message_and_to_a_search(running: Running, page: TestBrowser) -> None:
    id = compacted_with_a_loss(running.home)
    page.open(running.page(id, "compactions"))
    page.see(".lost li")
    assert page.texts(".lost li code") == ["8417-A", "/srv/quay/gates.toml"]
    page.picture("lost-facts")
    page.click(".lost li:has-text('8417-A') button:has-text('message 1')")
    page.see("article[aria-label='Message 1'] .text")
    page.open(running.page(id, "compactions"))
    page.click(".lost li:has-text('gates.toml') button:has-text('Search for it')")
    page.see(".hit")
    assert page.text(".hit mark") == "/srv/quay/gates.toml"
    assert page.noted() == []


def test_every_format_of_the_export_dialog_downloads_the_conversation(
    running: Running, page: TestBrowser, tmp_path: Path
) -> None:
    id = stored(running.home, [{"role": "user", "content": "Which ships?"}], "Ships")
    page.open(running.page(id))
    page.see("canvas, .empty")
    page.choose("select[aria-label='Actions']", "export")
    formats = page.evaluate("[...document.querySelector('dialog select').options].map((one) => one.value)")
    assert set(formats) == {"openai", "anthropic", "markdown"}
    for number, format in enumerate(formats):
        if number:
            page.choose("select[aria-label='Actions']", "export")
        page.choose("dialog select", format)
        page.saved("dialog button.primary", str(tmp_path / format))
        page.see(".notice:has-text('Exported')")
    assert (tmp_path / "markdown").read_text("utf-8") == "# Ships\n\n## 1 · user\n\nWhich ships?\n\n"
    for format in ("openai", "anthropic"):
        (message,) = json.loads((tmp_path / format).read_text("utf-8"))["messages"]
        assert (message["role"], "Which ships?" in str(message["content"])) == ("user", True)
    assert page.noted() == []


def test_an_address_that_names_no_session_opens_the_list_and_asks_for_nothing_else(
    running: Running, page: TestBrowser
) -> None:
    for odd in ("..%2F..%2Fmetrics", "%3Cimg%20src%3Dx%3E", "a%20b"):
        page.open(f"{running.gateway.url}/inspect#session={odd}")
        page.see(".sessions")
        asked = page.evaluate(
            "performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
        )
        assert [path for path in asked if not path.startswith("/inspect/") and path != "/sessions"] == []
        assert page.noted() == []


@pytest.mark.parametrize("calls", [None, [], [None], ["read"], {"id": "c1"}])
def test_a_message_with_odd_tool_calls_is_shown(running: Running, page: TestBrowser, calls: Any) -> None:
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "Done.", "tool_calls": calls},
    ]
    id = stored(running.home, messages, "Odd calls")
    page.open(running.page(id))
    page.see(".row:has-text('Done.')")
    page.evaluate(f"location.hash = 'session={id}&message=2'")
    page.see("article[aria-label='Message 2'] .text")
    assert page.text("article[aria-label='Message 2'] .text") == "Done."
    assert page.noted() == []

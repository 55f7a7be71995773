"""The inspector in a real browser, used as a person does: a session of the chat and a live drop-in conversation."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import TestBrowser, axe_script, browser
from inspecting import MODEL, Running, act, stored
from processes import PROGRAM, running_gateway, upstream_settings

from plimsoll.testing.scripted_server import ScriptedServer, call, say

pytestmark = pytest.mark.xdist_group("inspector")
FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
WINDOW = 24_000
FATAL = ("serious", "critical")


def answer(request: Any) -> Any:
    """A model that looks at a file now and then, and remembers one fact in its summaries."""
    if "Look" in json.dumps(request.messages[-1]):
        return call("read_file", path="notes.txt")
    return say(f"Noted. {FILLER * 12}")


def chatted(environ: dict[str, str], folder: Path) -> None:
    """A session of the chat with several turns, long enough to be compacted."""
    for number in range(5):
        asked = (
            f"{'Look at notes.txt. ' if number == 1 else ''}Ship {number}: berth-{number}.md. {FILLER * 160}"
        )
        command = [PROGRAM, "chat", *(["--continue"] if number else []), "--yes", "-q", asked]
        done = subprocess.run(
            command, env=environ, cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("inspector")
    home = folder / "plimsoll"
    home.mkdir()
    (folder / "notes.txt").write_text("The quay is 240 m long.\n" * 20)
    with ScriptedServer(answer, window=900_000) as server:
        settings = {
            **upstream_settings(server, "anthropic"),
            "MODEL__NAME": MODEL,
            "MODEL__CONTEXT_LENGTH": str(WINDOW),
            "COMPRESSION__PROTECT_LAST_N": "2",
            "COMPRESSION__BACKGROUND": "false",
        }
        environ = {**os.environ, "PLIMSOLL_HOME": str(home), "ANTHROPIC_API_KEY": "any"}
        environ |= {f"PLIMSOLL_{name}": value for name, value in settings.items()}
        chatted(environ, folder)
        os.environ["ANTHROPIC_API_KEY"] = "any"
        with running_gateway(home, settings) as gateway:
            listed = httpx.get(f"{gateway.url}/sessions", timeout=60).json()["sessions"]
            yield Running(gateway, home, listed[0]["id"], environ)


@pytest.fixture(scope="module")
def page() -> Iterator[TestBrowser]:
    with browser() as opened:
        yield opened


def test_the_list_shows_every_session_and_opens_one(running: Running, page: TestBrowser) -> None:
    page.open(f"{running.gateway.url}/inspect")
    page.see(".sessions")
    row = page.text(f"tr:has-text('{running.chat}')")
    assert "Ship 0" in row
    assert "compaction" in row
    page.picture("sessions")
    page.click(f"tr:has-text('{running.chat}') .session-link")
    page.see("canvas")
    assert running.chat in page.evaluate("location.hash")
    assert page.noted() == []


def test_the_timeline_has_every_request_and_is_used_with_the_keyboard(
    running: Running, page: TestBrowser
) -> None:
    page.open(running.page(running.chat))
    page.see("canvas")
    timeline = running.timeline(running.chat)
    requests = timeline["messages"]["roles"].count("a")
    assert page.attribute("canvas", "aria-valuemax") == str(requests)
    page.press("canvas", "Home")
    assert "Request 1 of" in page.attribute("canvas", "aria-valuetext")
    page.press("canvas", "ArrowRight ArrowRight")
    assert f"Request 3 of {requests}" in page.attribute("canvas", "aria-valuetext")
    # The part "new" is there, and the sizes add up to the prompt that the provider counted.
    said = page.attribute("canvas", "aria-valuetext")
    assert "New messages" in said
    page.press("canvas", "Home ]")
    assert "Summary" in page.attribute("canvas", "aria-valuetext")
    page.press("canvas", "+ + ArrowRight 0 -")
    assert page.count(".marks .mark") == len(
        [e for e in timeline["events"] if e["view_after"] != e["view_before"]]
    )
    page.press("canvas", "End Enter")
    page.see("article.detail h2")
    page.picture("timeline")
    assert page.noted() == []


def test_a_compaction_shows_where_a_line_comes_from_and_what_became_of_a_message(
    running: Running, page: TestBrowser
) -> None:
    page.open(running.page(running.chat))
    page.click(".marks .mark.accent")
    page.see(".columns .line")
    lines = page.count(".line")
    assert lines > 2
    sourced = page.evaluate(
        "[...document.querySelectorAll('.line')].findIndex((one) => one.textContent.includes('←'))"
    )
    page.click(f".line >> nth={sourced}")
    page.see("#page .row.related")
    assert "Line from message" in page.text(".fate-note")
    page.click("[aria-label='Before'] .row >> nth=-1")
    assert " was " in page.text(".fate-note")
    page.picture("compaction")
    assert page.noted() == []


def test_the_cache_names_the_reason_of_each_miss_and_answers_what_if_at_once(
    running: Running, page: TestBrowser
) -> None:
    page.open(running.page(running.chat, "cache"))
    page.see(".what-if .figure")
    reasons = page.texts("td .tag")
    assert "First request" in reasons
    assert "Prefix changed by a compaction" in reasons
    before, recorded = page.text(".what-if .figure"), page.texts("td.figures-cell")
    page.choose(".what-if select", "claude-opus-4.1")
    after = page.text(".what-if .figure")
    assert before != after
    assert page.texts("td.figures-cell") == recorded
    page.picture("cache")
    page.click("td .link:has-text('Show the change')")
    page.see(".columns")
    assert page.noted() == []


def test_search_finds_a_message_and_opens_it_in_its_place(running: Running, page: TestBrowser) -> None:
    page.open(running.page(running.chat, "search"))
    page.fill("input[type=search]", "berth-1.md")
    page.choose(".search-form select", "substring")
    page.choose(".search-form label:has-text('Role') select", "user")
    page.see(".hit")
    page.until("document.querySelectorAll('.hit').length === 1")
    assert "berth-1.md" in page.text(".hit mark")
    page.picture("search")
    page.click(".hit")
    page.see("article.detail .text")
    assert "berth-1.md" in page.text("article.detail .text")
    assert page.attribute(".row.selected", "aria-selected") == "true"
    assert page.noted() == []


def test_actions_in_the_page_leave_the_archive_as_those_of_the_terminal_do(
    running: Running, page: TestBrowser, tmp_path: Path
) -> None:
    page.open(running.page(running.chat))
    page.see("canvas")
    page.choose("select[aria-label='Actions']", "fork")
    act(page, "Forked at message")
    page.until(f"!location.hash.includes('{running.chat}')")
    by_page = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('session')")
    last = running.timeline(by_page)["session"]["messages"]
    text = f"{running.get(by_page, 'summary')['text']}\n- The quay is 240 m long."
    page.choose("select[aria-label='Actions']", "edit")
    page.see("dialog textarea")
    page.fill("dialog textarea", text)
    page.see("dialog .figure:has-text('written again')")
    assert page.texts("dialog .diff .added, dialog .diff .removed") == ["Added:\n- The quay is 240 m long."]
    page.picture("edit")
    act(page, "The summary was edited")
    page.evaluate(f"location.hash = 'session={by_page}&message={last}'")
    page.click("button:has-text('Drop from view')")
    page.see("dialog .figure:has-text('Leave the view')")
    act(page, "left the view")
    page.choose("select[aria-label='Actions']", "undo")
    act(page, "Undone")
    page.choose("select[aria-label='Actions']", "redo")
    act(page, "Redone")
    page.choose("select[aria-label='Actions']", "undo")
    act(page, "Undone")
    page.click("button:has-text('Pin')")
    act(page, "is pinned")
    page.see("article .tag.pin")
    page.choose("select[aria-label='Actions']", "history")
    page.see(".history li")
    assert page.noted() == []

    known = {one["id"] for one in httpx.get(f"{running.gateway.url}/sessions").json()["sessions"]}
    running.terminal("fork", running.chat)
    listed = httpx.get(f"{running.gateway.url}/sessions").json()["sessions"]
    (by_terminal,) = {one["id"] for one in listed} - known
    (tmp_path / "summary.md").write_text(text, "utf-8")
    node = running.get(by_terminal, "summary")["node"]
    running.terminal("edit", by_terminal, "--file", str(tmp_path / "summary.md"), "--node", node)
    running.terminal("drop", by_terminal, str(last))
    for action in ("undo", "redo", "undo"):
        running.terminal(action, by_terminal)
    running.terminal("pin", by_terminal, str(last))
    assert running.state(by_page) == running.state(by_terminal)
    assert running.state(by_page)["pins"] == [last]

    page.open(running.page(by_page))
    page.see("canvas")
    page.choose("select[aria-label='Actions']", "export")
    page.saved("dialog button.primary", str(tmp_path / "export.json"))
    assert len(json.loads((tmp_path / "export.json").read_text("utf-8"))["messages"]) == last


def test_a_compaction_is_previewed_and_then_made(running: Running, page: TestBrowser) -> None:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Count ships."}]
    for number in range(10):
        messages += [
            {"role": "user", "content": f"Ship {number}: berth-{number}.md. {FILLER * 40}"},
            {"role": "assistant", "content": f"Noted berth {number}."},
        ]
    id = stored(running.home, messages, "To be compacted")
    page.open(running.page(id))
    page.see("canvas")
    page.choose("select[aria-label='Actions']", "compact")
    page.fill("dialog input", "berth-3.md")
    page.click("dialog button:has-text('Preview')")
    page.see("dialog .columns .line")
    assert running.timeline(id)["events"] == []
    page.picture("preview")
    act(page, "Compacted")
    page.see(".marks .mark")
    assert [one["outcome"] for one in running.timeline(id)["events"]] == ["compacted"]
    assert page.noted() == []


def dropin(url: str, turns: int, messages: list[dict[str, str]]) -> None:
    """A client of the gateway that sends its whole history each time."""
    for _ in range(turns):
        messages.append({"role": "user", "content": f"Ship {len(messages)}? {FILLER * 160}"})
        body = {"model": MODEL, "max_tokens": 500, "messages": messages}
        answered = httpx.post(f"{url}/v1/messages", json=body, headers={"x-api-key": "any"}, timeout=120)
        assert answered.status_code == 200, answered.text
        messages.append({"role": "assistant", "content": answered.json()["content"][0]["text"]})


def test_the_bars_of_a_drop_in_conversation_grow_while_two_people_watch(
    running: Running, page: TestBrowser
) -> None:
    before = {one["id"] for one in httpx.get(f"{running.gateway.url}/sessions").json()["sessions"]}
    said: list[dict[str, str]] = []
    dropin(running.gateway.url, 8, said)
    listed = httpx.get(f"{running.gateway.url}/sessions").json()["sessions"]
    (live,) = [one["id"] for one in listed if one["id"] not in before]
    with browser() as other:
        for one in (page, other):
            one.open(running.page(live))
            one.see(".live.on")
        known = int(page.attribute("canvas", "aria-valuemax"))
        dropin(running.gateway.url, 2, said)
        for one in (page, other):
            one.until(f"Number(document.querySelector('canvas').ariaValueMax) > {known}")
            assert one.noted() == []
    page.picture("live")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everybody_can_use_each_part(running: Running, page: TestBrowser, scheme: str, width: int) -> None:
    found = []
    for tab in ("", "timeline", "compactions", "cache", "search"):
        address = running.page(running.chat, tab) if tab else f"{running.gateway.url}/inspect"
        page.open(address, width, 844, scheme)
        page.see({"": ".sessions", "compactions": ".columns", "search": ".search-form"}.get(tab, "canvas"))
        if tab == "timeline":
            page.press("canvas", "End Enter")
            page.see("article.detail .text")
        if width == 390 or scheme == "dark":
            page.picture(f"{tab or 'sessions'}-{scheme}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.add_script(str(axe_script()))
        problems = page.evaluate("axe.run(document).then((result) => result.violations)")
        found += [
            (tab, one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in problems
            if one["impact"] in FATAL
        ]
    assert found == []

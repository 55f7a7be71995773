"""The inspector page over HTTP: who may open it, what it is sent, and what it is told while a session grows."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from gateway_keys import add_key, owned
from session_client import Sessions, serving
from test_sessions_rest import heavy

from plimsoll.archive import OPERATOR, SessionOutline
from plimsoll.archive.open_archive import open_archive
from plimsoll.gateway.inspector import live
from plimsoll.gateway.inspector.standalone import redacted
from plimsoll.inspector import page, script, shell, standalone, stylesheet
from plimsoll.testing.scripted_server import ScriptedServer, say

LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
LARGEST = 1_500_000  # bytes before the first view


@contextmanager
def gateway(home: Path) -> Iterator[Sessions]:
    settings = {"compression": {"protect_last_n": 2}, "model": {"context_length": 40_000}}
    with (
        ScriptedServer(lambda _request: say("Two ships."), window=900_000) as server,
        serving(server, home, **settings) as sessions,
    ):
        yield sessions


def test_the_page_is_an_empty_shell_that_may_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    with gateway(tmp_path) as sessions:
        answers = [sessions.http.get(path) for path in ("/inspect", "/inspect/app.js", "/inspect/app.css")]
    assert [one.status_code for one in answers] == [200, 200, 200]
    policy = answers[0].headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answers[0].text.count("<script") == 1
    assert not re.search(r"https?://", answers[0].text)
    assert sum(len(one.content) for one in answers) < LARGEST / 5


def test_the_page_is_built_before_anyone_opens_it(tmp_path: Path) -> None:
    for part in (shell, script, stylesheet):
        part.cache_clear()
    with gateway(tmp_path):
        pass
    assert [part.cache_info().currsize for part in (shell, script, stylesheet)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/inspect", LINK, 200),
        ("/inspect", {**LINK, "sec-fetch-dest": "iframe"}, 403),
        ("/inspect", {**LINK, "sec-fetch-mode": "cors"}, 403),
        ("/inspect/app.js", LINK, 403),
        ("/sessions", LINK, 403),
        ("/sessions", {"origin": "https://other.example.org"}, 403),
        ("/sessions", {"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_a_link_of_another_site_opens_the_empty_page_and_nothing_else(
    shared: Sessions, path: str, headers: dict[str, str], status: int
) -> None:
    assert shared.http.get(path, headers=headers).status_code == status


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    with gateway(tmp_path_factory.mktemp("shared")) as sessions:
        yield sessions


def test_with_keys_the_shell_opens_and_the_data_does_not(tmp_path: Path) -> None:
    mine, other = add_key(tmp_path, "mine"), add_key(tmp_path, "other")
    with gateway(tmp_path) as sessions:
        created = sessions.http.post("/sessions", json={}, headers={"x-plimsoll-key": mine}).json()["id"]
        assert sessions.http.get("/inspect").status_code == 200
        for path in (f"/sessions/{created}/timeline", f"/sessions/{created}/live"):
            assert sessions.http.get(path).status_code == 401
            assert sessions.http.get(path, headers={"x-plimsoll-key": other}).status_code == 404
        seen = sessions.http.get(f"/sessions/{created}/timeline", headers={"x-plimsoll-key": mine})
        assert seen.json()["messages"]["roles"] == "s"


@pytest.mark.rewrites_history("compactions are what is tested")
def test_a_timeline_has_every_message_view_and_request(shared: Sessions) -> None:
    id = heavy(shared)
    assert shared.http.post(f"/sessions/{id}/compact", json={}).json()["outcome"] == "compacted"
    shared.say(id, "And now?")
    timeline = shared.http.get(f"/sessions/{id}/timeline").json()
    log = shared.http.get(f"/sessions/{id}/messages", params={"limit": 100}).json()["messages"]
    assert timeline["messages"]["roles"] == "".join(one["message"]["role"][0] for one in log)
    assert timeline["messages"]["tokens"] == [one["tokens"] for one in log]
    assert timeline["requests"]["purpose"].count("turn") == timeline["messages"]["roles"].count("a")
    assert [one["number"] for one in timeline["views"]] == [timeline["view"]]
    event = timeline["events"][-1]
    assert (event["outcome"], event["view_after"]) == ("compacted", timeline["view"])
    assert 0 < timeline["threshold"] < timeline["window"]
    ((_, _, tokens, _, evidence),) = [one for one in timeline["views"][0]["references"] if one[3]]
    assert 0 <= evidence < tokens
    later = shared.http.get(f"/sessions/{id}/timeline", params={"first": 3}).json()["messages"]
    assert later["tokens"] == timeline["messages"]["tokens"][2:]


def test_every_watcher_of_a_session_is_notified_when_it_grows(shared: Sessions) -> None:
    id = shared.begin()
    with (
        shared.http.stream("GET", f"/sessions/{id}/live") as first,
        httpx.Client(base_url=shared.gateway.url, timeout=60) as other,
        other.stream("GET", f"/sessions/{id}/live") as second,
    ):
        told = [_states(first), _states(second)]
        assert [next(one)["messages"] for one in told] == [1, 1]
        httpx.post(
            f"{shared.gateway.url}/sessions/{id}/messages", json={"content": "Which ships?"}, timeout=60
        )
        for states in told:
            assert next(one for one in states if one["messages"] == 3 and one["requests"] == 1)["title"]


def test_a_stream_that_has_lasted_long_enough_ends_as_a_whole_response(
    shared: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.05)
    id = shared.begin()
    answer = shared.http.get(f"/sessions/{id}/live")  # httpx refuses a body without its end
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def _states(stream: httpx.Response) -> Iterator[dict[str, object]]:
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_a_page_in_one_file_names_its_scripts_and_contains_any_text_as_data() -> None:
    hostile = "</script><script>alert(1)</script><!-- \u2028 ]]>"
    text = standalone({"session": "one", "answers": {"/x": hostile}}).decode()
    assert hostile not in text
    stored = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert stored is not None
    assert json.loads(stored[1])["answers"]["/x"] == hostile
    policy = re.search(r'content-security-policy" content="([^"]*)"', text)
    assert policy is not None
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    inline = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert [page._digest(one) in policy[1] for one in inline] == [True]


def test_values_that_only_their_names_show_to_be_secret_are_redacted() -> None:
    calls = [{"name": "login", "arguments": {"user": "ada", "password": "correct horse", "retries": 3}}]
    headers = [{"name": "x-api-key", "value": "plain words"}, {"name": "accept", "value": "json"}]
    told = redacted({"tool_calls": calls, "headers": headers, "metadata": {"apiKey": "plain words"}})
    assert "correct horse" not in json.dumps(told)
    assert "plain words" not in json.dumps(told)
    assert told["tool_calls"][0]["arguments"] == {"user": "ada", "password": "[redacted]", "retries": 3}
    assert told["headers"][1] == {"name": "accept", "value": "json"}


def test_secrets_are_redacted_in_every_place() -> None:
    key = "sk-ant-api03-" + "Qx7" * 30 + "-AAAA"
    told = json.dumps(redacted({"a": [f"the key is {key}", {key: 1}], "b": 2, "c": None}))
    assert key not in told
    assert "the key is" in told


def test_no_script_of_the_page_writes_markup_or_runs_text() -> None:
    """Conversation text is put into text nodes only; Trusted Types would refuse the rest anyway."""
    own = script().content.decode()
    own = own[own.index("/* text.js */") :]
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
    ):
        assert way not in own
    assert "dangerouslySetInnerHTML" not in own
    assert b"@import" not in stylesheet().content
    assert b"url(" not in stylesheet().content
    assert b"<style" not in shell()


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_drop_in_conversation_that_was_never_compacted_is_shown_where_the_settings_say_so(
    tmp_path: Path, is_stored: bool
) -> None:
    settings = {"gateway": {"store_conversations": is_stored}}
    with (
        ScriptedServer(lambda _request: say("Two ships.")) as server,
        serving(server, tmp_path, **settings) as sessions,
    ):
        said: list[dict[str, str]] = [{"role": "system", "content": "Count ships."}]
        for number in range(3):
            said.append({"role": "user", "content": f"Which ships came in on day {number}?"})
            body = {"model": "gpt-4.1", "messages": said}
            answered = sessions.http.post("/v1/chat/completions", json=body).json()
            said.append(answered["choices"][0]["message"])
        sessions.gateway.stop()  # what runs beside the requests is finished then
    listed = owned(tmp_path, None)
    assert len(listed) == int(is_stored)
    if is_stored:
        (session,) = listed
        outline = asyncio.run(outline_of(tmp_path, session.id))
        assert outline.roles == ("system", "user", "assistant", "user", "assistant")
        assert len(outline.usage.time) == 3
        answers = [
            time for role, time in zip(outline.roles, outline.times, strict=True) if role == "assistant"
        ]
        assert all(used <= answer for used, answer in zip(outline.usage.time, answers, strict=False))


async def outline_of(home: Path, id: str) -> SessionOutline:
    async with await open_archive(None, home) as store:
        return await store.for_owner(OPERATOR).outline(id)

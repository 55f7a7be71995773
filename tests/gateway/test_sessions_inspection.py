"""What an inspector reads about sessions over HTTP: figures, clipped messages, compaction details, search filters."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from session_client import Sessions, serving

from plimsoll.testing.scripted_server import ScriptedServer, call, say

pytestmark = pytest.mark.xdist_group("sessions inspection")
FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    options: dict[str, Any] = {"compression": {"protect_last_n": 2}, "model": {"context_length": 40_000}}
    with (
        ScriptedServer(lambda request: say("Noted."), window=900_000) as server,
        serving(server, tmp_path_factory.mktemp("home"), **options) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def compacted(sessions: Sessions) -> str:
    """A session with one compaction."""
    id = sessions.begin(system_prompt="Be brief.")
    sessions.say(id, f"Never push to main. The port is 8417 in src/harbour.py. {FILLER * 30}")
    for number in range(7):
        sessions.say(id, f"Ship {number}? {FILLER * 75}")
    assert sessions.http.post(f"/sessions/{id}/compact").json()["outcome"] == "compacted"
    return id


@pytest.mark.rewrites_history("compactions are what is tested")
def test_a_list_shows_the_size_the_state_and_the_cost_of_each_session(
    sessions: Sessions, compacted: str
) -> None:
    whole = sessions.begin()
    listed = {one["id"]: one for one in sessions.http.get("/sessions").json()["sessions"]}
    view = sessions.http.get(f"/sessions/{compacted}/view").json()
    assert (listed[compacted]["state"], listed[whole]["state"]) == ("compacted", "whole")
    assert listed[compacted]["view_tokens"] == view["tokens"] < listed[compacted]["tokens"]
    assert listed[compacted]["compactions"] == 1
    assert listed[compacted]["requests"] >= 8  # the turns, and what the summary took
    assert listed[compacted]["money"] > 0
    assert (listed[whole]["requests"], listed[whole]["money"]) == (0, 0)


def test_a_compaction_shows_what_became_of_every_message(sessions: Sessions, compacted: str) -> None:
    (event,) = sessions.http.get(f"/sessions/{compacted}/compactions").json()["compactions"]
    detail = sessions.http.get(f"/sessions/{compacted}/compactions/1").json()
    assert {name: detail[name] for name in event} == event
    assert [one["number"] for one in detail["before"]] == list(range(1, 18))
    view = sessions.view(compacted)
    assert [one["number"] for one in detail["after"]] == [one["number"] for one in view]
    stays = {one["number"] for one in view}
    for item in detail["before"]:
        assert (item["fate"] in ("kept", "shortened")) == (item["number"] in stays), item
        assert len(item["preview"]) <= 200
    assert "summarised" in {item["fate"] for item in detail["before"]}
    (summary,) = (one for one in detail["after"] if one["kind"] == "node")
    assert summary["is_new"]
    assert summary["node"] == detail["node"]
    assert detail["summary"].startswith("## Goal")


def test_every_line_of_a_summary_leads_to_messages_of_the_log(sessions: Sessions, compacted: str) -> None:
    detail = sessions.http.get(f"/sessions/{compacted}/compactions/1").json()
    rule = next(one for one in detail["lines"] if "Never push to main" in one["text"])
    assert 2 in rule["sources"]
    said = {one["number"] for one in detail["before"]}
    assert all(set(line["sources"]) <= said for line in detail["lines"])


def test_a_lost_fact_names_the_message_that_stated_it(sessions: Sessions, compacted: str) -> None:
    detail = sessions.http.get(f"/sessions/{compacted}/compactions/1").json()
    lost = {kind: count["had"] - count["kept"] for kind, count in detail["facts"].items()}
    listed: dict[str, int] = {}
    for one in detail["lost"]:
        listed[one["kind"]] = listed.get(one["kind"], 0) + 1
    assert listed == {kind: count for kind, count in lost.items() if count}


def test_what_was_said_after_a_compaction_is_not_in_its_detail(sessions: Sessions) -> None:
    id = sessions.begin(system_prompt="Be brief.")
    for number in range(8):
        sessions.say(id, f"Ship {number}? {FILLER * 75}")
    sessions.http.post(f"/sessions/{id}/compact")
    before = sessions.http.get(f"/sessions/{id}/compactions/1").json()
    sessions.say(id, "And now?")
    assert sessions.http.get(f"/sessions/{id}/compactions/1").json() == before
    missing = sessions.http.get(f"/sessions/{id}/compactions/2")
    assert (missing.status_code, "compactions 1 to 1" in missing.json()["detail"]) == (422, True)


def test_clipped_messages_have_short_texts_and_no_media(sessions: Sessions) -> None:
    id = sessions.begin(system_prompt="Be brief.")
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    sessions.say(id, [{"type": "text", "text": "x" * 500}, image])
    page = sessions.http.get(f"/sessions/{id}/messages", params={"first": 1, "limit": 2, "clip": 50}).json()
    system, said = page["messages"]
    assert (system["clipped"], system["message"]["content"]) == (False, "Be brief.")
    assert (said["clipped"], said["characters"]) == (True, 500)
    assert said["message"]["content"] == [
        {"type": "text", "text": "x" * 50},
        {"type": "image", "media_type": "image/png", "bytes": 70},
    ]
    assert "clipped" not in sessions.http.get(f"/sessions/{id}/messages").json()["messages"][0]


def test_search_finds_by_tool_by_file_and_by_failure(tmp_path: Path) -> None:
    (tmp_path / "ships.txt").write_text("Albatross\n")
    there, missing = str(tmp_path / "ships.txt"), str(tmp_path / "missing.txt")
    script = [
        call("read_file", path=there), call("read_file", path=missing), call("search_files", pattern="Alb"),
        say("One ship."),
    ]  # fmt: skip
    tools = {"sessions": {"tools": ["read_file", "search_files"]}}
    with ScriptedServer(script) as server, serving(server, tmp_path, gateway=tools) as sessions:
        id = sessions.begin(system_prompt="Be brief.")
        sessions.say(id, "Which ships?")

        def numbers(**filters: str) -> list[int]:
            query = {"text": ".", "mode": "regex", "order": "oldest", **filters}
            response = sessions.http.get(f"/sessions/{id}/search", params=query)
            assert response.status_code == 200, response.text
            return [hit["number"] for hit in response.json()["hits"]]

        assert numbers() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert numbers(tool="search_files") == [7, 8]
        assert numbers(file="missing.txt", tool="read_file") == [5, 6]
        assert numbers(errors="true") == [6]
        assert numbers(errors="false", role="user") == [2]
        assert sessions.http.get("/search", params={"text": "a", "errors": "perhaps"}).status_code == 422

"""Each operation on sessions, by a real client over HTTP, against a scripted model."""

from pathlib import Path
from typing import Any

import pytest
from session_client import Sessions, serving, texts

from plimsoll.settings.gateway import GatewaySessions
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "


def test_a_session_is_begun_listed_read_and_deleted(tmp_path: Path) -> None:
    with ScriptedServer() as server, serving(server, tmp_path) as sessions:
        first = sessions.begin(title="Ships")
        second = sessions.begin(system_prompt="You count boats.")
        listed = sessions.http.get("/sessions").json()["sessions"]
        assert [one["id"] for one in listed] == [second, first]
        assert sessions.http.get("/sessions", params={"limit": 1, "offset": 1}).json()["sessions"] == [
            listed[1]
        ]
        assert sessions.http.get("/sessions", params={"prefix": first}).json()["sessions"] == [listed[1]]
        assert sessions.http.get(f"/sessions/{first}").json()["title"] == "Ships"
        assert texts(sessions.log(second)) == ["You count boats."]
        assert sessions.http.delete(f"/sessions/{first}").json() == {"id": first, "kept_for_forks": 0}
        assert sessions.http.get(f"/sessions/{first}").status_code == 404


def test_a_message_is_answered_as_one_json_answer(tmp_path: Path) -> None:
    with ScriptedServer([say("Two ships.")]) as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        answer = sessions.say(id, "Which ships?").json()
        assert answer == {
            "session": id, "first": 2, "last": 3, "ending": "answered", "repeated": False, "text": "Two ships.",
            "message": {"role": "assistant", "content": "Two ships."},
        }  # fmt: skip
        assert texts(sessions.log(id))[1:] == ["Which ships?", "Two ships."]
        assert sessions.http.get(f"/sessions/{id}").json()["title"] == "Which ships?"


def test_a_message_with_an_image_reaches_the_model(tmp_path: Path) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    content = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixel}"}},
    ]
    with ScriptedServer([say("A pixel.")]) as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        assert sessions.say(id, content).json()["text"] == "A pixel."
        assert sessions.log(id)[1]["content"] == content


def test_a_turn_is_streamed_as_it_happens(tmp_path: Path) -> None:
    (tmp_path / "ships.txt").write_text("Albatross\nBounty\n")
    script = [call("read_file", path=str(tmp_path / "ships.txt")), say("Albatross and Bounty.")]
    reading = {"sessions": {"tools": ["read_file"]}}
    with ScriptedServer(script) as server, serving(server, tmp_path, gateway=reading) as sessions:
        id = sessions.begin()
        events = sessions.stream(id, "Which ships?")
        names = [name for name, _ in events]
        assert (names[0], names[-1]) == ("accepted", "done")
        assert names.index("tool_call") < names.index("tool_result") < names.index("text")
        assert events[0][1] == {"session": id, "number": 2}
        assert "".join(data["text"] for name, data in events if name == "text") == "Albatross and Bounty."
        assert "read_file" in next(data["line"] for name, data in events if name == "tool_call")
        assert events[-1][1]["text"] == "Albatross and Bounty."
        assert events[-1][1]["last"] == 5


def heavy(sessions: Sessions, turns: int = 8) -> str:
    id = sessions.begin(system_prompt="Be brief.")
    for number in range(turns):
        assert sessions.say(id, f"Ship {number}? {FILLER * 75}").status_code == 200
    return id


@pytest.mark.rewrites_history("compactions are what is tested")
def test_a_session_is_compacted_with_a_focus_and_the_compaction_undone(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda request: say("Noted."), window=900_000) as server,
        serving(
            server, tmp_path, compression={"protect_last_n": 2}, model={"context_length": 40_000}
        ) as sessions,
    ):
        id = heavy(sessions)
        before = sessions.view(id)
        event = sessions.http.post(f"/sessions/{id}/compact", json={"focus": "ship 3"}).json()
        assert (event["trigger"], event["outcome"]) == ("by hand", "compacted")
        view = sessions.view(id)
        assert len(view) < len(before)
        assert any(one["summary"] for one in view)
        told = sessions.http.get(f"/sessions/{id}/compactions").json()["compactions"]
        assert told == [event]
        assert sessions.http.post(f"/sessions/{id}/undo").status_code == 200
        assert sessions.view(id) == before
        assert sessions.http.post(f"/sessions/{id}/undo").status_code == 422
        assert sessions.say(id, "Still there?").json()["text"] == "Noted."


@pytest.mark.rewrites_history("the compaction is what is tested")
def test_a_pinned_message_outlives_a_compaction_also_where_another_process_makes_it(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"compression": {"protect_last_n": 2}, "model": {"context_length": 40_000}}
    with (
        ScriptedServer(lambda request: say("Noted."), window=900_000) as server,
        serving(server, tmp_path, **sections) as sessions,
        serving(server, tmp_path, **sections) as others,
    ):
        id = heavy(sessions)
        assert others.say(id, "Here too.").status_code == 200
        assert sessions.http.put(f"/sessions/{id}/pins/6").json() == {"pins": [6]}
        assert others.http.get(f"/sessions/{id}/pins").json() == {"pins": [6]}
        assert others.http.post(f"/sessions/{id}/compact").json()["outcome"] == "compacted"
        assert 6 in [one["number"] for one in sessions.view(id)]
        assert 8 not in [one["number"] for one in sessions.view(id)]
        assert sessions.http.delete(f"/sessions/{id}/pins/6").json() == {"pins": []}
        assert sessions.http.put(f"/sessions/{id}/pins/600").status_code == 422


def test_messages_are_found_in_one_session_and_in_all(tmp_path: Path) -> None:
    with ScriptedServer(lambda request: say("Noted.")) as server, serving(server, tmp_path) as sessions:
        first, second = sessions.begin(), sessions.begin()
        sessions.say(first, "The Albatross lies at pier four.")
        sessions.say(second, "The albatross is a bird.")
        found = sessions.http.get(f"/sessions/{first}/search", params={"text": "albatross"}).json()
        assert [(hit["session"], hit["number"]) for hit in found["hits"]] == [(first, 2)]
        everywhere = sessions.http.get(
            "/search", params={"text": "batro", "mode": "substring", "limit": 1}
        ).json()
        assert [hit["session"] for hit in everywhere["hits"]] == [second]
        following = {"text": "batro", "mode": "substring", "cursor": everywhere["next"]}
        assert [hit["session"] for hit in sessions.http.get("/search", params=following).json()["hits"]] == [
            first
        ]
        assert sessions.http.get("/search", params={"text": "(", "mode": "regex"}).status_code == 422


@pytest.mark.rewrites_history("a fork goes on from the middle of a conversation")
def test_a_fork_shares_the_past_and_continues_separately(tmp_path: Path) -> None:
    with ScriptedServer() as server, serving(server, tmp_path) as sessions:
        id = sessions.begin(system_prompt="Be brief.")
        for word in ("one", "two", "three"):
            sessions.say(id, word)
        fork = sessions.http.post(f"/sessions/{id}/fork", json={"at": 3, "title": "Another way"})
        assert fork.status_code == 201
        other = fork.json()["id"]
        assert (fork.json()["parent"], fork.json()["forked_at"], fork.json()["title"]) == (
            id,
            3,
            "Another way",
        )
        sessions.say(other, "four")
        assert texts(sessions.log(other)) == ["Be brief.", "one", "You said: one", "four", "You said: four"]
        assert len(sessions.log(id)) == 7
        assert sessions.http.delete(f"/sessions/{id}").json()["kept_for_forks"] == 3
        assert texts(sessions.log(other))[1] == "one"


@pytest.mark.rewrites_history("the session is compacted before the turn, which is what is tested")
def test_a_session_that_is_too_heavy_is_compacted_before_the_turn_and_the_stream_says_so(
    tmp_path: Path,
) -> None:
    big = {"model": {"context_length": 100_000}, "compression": {"threshold": 0.99, "protect_last_n": 2}}
    with ScriptedServer(lambda request: say("Noted."), window=900_000) as server:
        with serving(server, tmp_path, **big) as sessions:
            id = heavy(sessions, 6)
        # The same session with a model whose window is smaller, as after a change of the settings.
        small = {"model": {"context_length": 9_000}, "compression": {"threshold": 0.99, "protect_last_n": 2}}
        with serving(server, tmp_path, **small) as sessions:
            events = sessions.stream(id, "Still there?")
    compactions = [data for name, data in events if name == "compaction"]
    assert [(one["trigger"], one["outcome"]) for one in compactions] == [("hygiene", "compacted")]
    assert "of 9,000 tokens" in compactions[0]["reason"]
    assert events[0][0] == "accepted"
    assert events[-1][1]["text"] == "Noted."


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/sessions/nobody", {}, 404),
        ("GET", "/sessions/UPPER%20CASE", {}, 404),
        ("GET", "/sessions/%00", {}, 404),
        ("DELETE", "/sessions/{begin}", {}, 404),  # the beginning of an id is no id
        ("GET", "/sessions?limit=0", {}, 422),
        ("GET", "/sessions?limit=ten", {}, 422),
        ("GET", "/sessions?limit=1&limit=2", {}, 422),
        ("GET", "/sessions?colour=red", {}, 422),
        ("GET", "/sessions?offset=99999999999999999999", {}, 422),
        ("GET", "/search", {}, 422),
        ("POST", "/sessions", {"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ("POST", "/sessions", {"content": b"[" * 100_000}, 400),
        ("POST", "/sessions", {"content": b'{"title": "\\ud800"}'}, 400),
        ("POST", "/sessions", {"json": {"title": "a\x00b"}}, 422),
        ("POST", "/sessions", {"json": {"colour": "red"}}, 422),
        ("POST", "/sessions", {"content": b"a=b", "headers": {"content-type": "text/plain"}}, 415),
        ("POST", "/sessions/{id}/messages", {}, 400),
        ("POST", "/sessions/{id}/messages", {"json": {"content": "  "}}, 422),
        ("POST", "/sessions/{id}/messages", {"json": {"content": []}}, 422),
        (
            "POST",
            "/sessions/{id}/messages",
            {"json": {"content": "a"}, "headers": {"idempotency-key": "a b"}},
            400,
        ),
        ("POST", "/sessions/{id}/fork", {"json": {"at": 99}}, 422),
        ("PUT", "/sessions/{id}/pins/0", {}, 404),
        ("PATCH", "/sessions", {}, 405),
        ("GET", "/sessions/{id}/nothing", {}, 404),
    ],
)
def test_bad_input_is_a_problem_with_a_sentence(
    tmp_path: Path, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    with ScriptedServer() as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        response = sessions.http.request(method, path.format(id=id, begin=id[:12]), **options)
        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"
        told = response.json()
        assert told["status"] == status
        assert told["detail"].endswith(".")
        assert len(sessions.log(id)) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_is_reported_and_the_message_is_kept(tmp_path: Path, stream: bool) -> None:
    with ScriptedServer([fault(401), say("Back.")]) as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        response = sessions.say(id, "Hello?", "k1", stream=stream)
        told = response.json() if not stream else None
        assert response.status_code == (200 if stream else 502)
        assert stream or told["title"] == "The model did not answer"
        assert not stream or "event: error" in response.text
        # The same key does not run it again; another one does.
        again = sessions.say(id, "Hello?", "k1")
        assert again.status_code == 502
        assert "another Idempotency-Key" in again.json()["detail"]
        assert sessions.say(id, "Hello?", "k2").json()["text"] == "Back."
        assert texts(sessions.log(id))[1:3] == ["Hello?", "[no answer: the request failed]"]


def test_without_a_model_everything_else_works_and_the_sentence_says_what_is_missing(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        serving(
            server, tmp_path, model={"provider": "anthropic", "base_url": None, "name": "claude-sonnet-5"}
        ) as sessions,
    ):
        id = sessions.begin()
        response = sessions.say(id, "Hello?")
        assert response.status_code == 503
        assert "ANTHROPIC_API_KEY" in response.json()["detail"]
        assert len(sessions.log(id)) == 1


def test_the_description_names_every_operation(tmp_path: Path) -> None:
    with ScriptedServer() as server, serving(server, tmp_path) as sessions:
        described = sessions.http.get("/openapi.json").json()
    assert described["openapi"] == "3.1.0"
    assert len([one for path in described["paths"].values() for one in path]) == 25


def test_idle_sessions_are_closed_and_opened_again(tmp_path: Path) -> None:
    with ScriptedServer() as server, serving(server, tmp_path, GatewaySessions(open=1)) as sessions:
        ids = [sessions.begin() for _ in range(3)]
        for word in ("one", "two"):
            for id in ids:
                assert sessions.say(id, word).json()["text"] == f"You said: {word}"
        desk = sessions.gateway.within.session_service
        assert desk is not None
        assert len(desk._open_sessions) == 1
        assert {len(sessions.log(id)) for id in ids} == {5}

"""One turn at a time: who waits, who goes away, who sends the same thing twice."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from clients import sent
from session_client import Sessions, events_of, serving, texts

from plimsoll.archive import OPERATOR
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.settings.gateway import GatewaySessions
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, fault, say


class Held:
    """A model that answers when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, request: ChatRequest) -> ScriptedAnswer:
        self.go.wait(120)
        return say(f"You said: {text_of(request.messages[-1])}")


def until(condition: Callable[[], Any]) -> Any:
    """What the condition gives, once it gives something."""
    for _ in range(12_000):
        found = condition()
        if found:
            return found
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")


def present(sessions: Sessions, id: str) -> int:
    desk = sessions.gateway.within.session_service
    assert desk is not None
    place = desk._open_sessions._by_key.get((OPERATOR, id))
    return place.present if place else 0


def test_messages_wait_in_order_and_no_more_of_them_than_may(tmp_path: Path) -> None:
    model = Held()
    with (
        ScriptedServer(model) as server,
        serving(server, tmp_path, GatewaySessions(waiting=2)) as sessions,
        ThreadPoolExecutor() as pool,
    ):
        id, other = sessions.begin(), sessions.begin(system_prompt="Be brief.")
        waiting = []
        for number in range(3):
            waiting.append(pool.submit(sessions.say, id, f"message {number}"))
            until(lambda number=number: present(sessions, id) == number + 1)
        refused = sessions.say(id, "one too many")
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "2"
        assert "2 wait" in refused.json()["detail"]
        elsewhere = pool.submit(sessions.say, other, "somewhere else")
        assert server.wait_until(lambda: len(server.requests) == 2)  # another session does not wait
        model.go.set()
        assert [one.result().json()["first"] for one in waiting] == [2, 4, 6]
        assert elsewhere.result().status_code == 200
        said = [text for number in range(3) for text in (f"message {number}", f"You said: message {number}")]
        assert texts(sessions.log(id))[1:] == said


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_disconnects_stops_its_turn_if_it_asked_for_that(tmp_path: Path, stream: bool) -> None:
    with ScriptedServer([fault("hang"), say("Back.")]) as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        _leave(sessions, server, id, stream=stream, on_disconnect="cancel")
        assert server.wait_until(lambda: server.requests[0].is_done)
        until(lambda: len(sessions.log(id)) == 3)
        assert texts(sessions.log(id))[1:] == ["Think long.", "[interrupted by the user]"]
        again = sessions.say(id, "Think long.", "k1").json()
        assert (again["ending"], again["repeated"]) == ("interrupted", True)
        assert sessions.say(id, "Hello?").json()["text"] == "Back."


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_disconnects_leaves_its_turn_to_finish_by_default(tmp_path: Path, stream: bool) -> None:
    model = Held()
    with ScriptedServer(model) as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        _leave(sessions, server, id, stream=stream)
        model.go.set()
        until(lambda: len(sessions.log(id)) == 3)
        again = sessions.say(id, "Think long.", "k1").json()
        assert (again["text"], again["ending"], again["repeated"]) == (
            "You said: Think long.",
            "answered",
            True,
        )
        assert len(server.requests) == 1


def _leave(sessions: Sessions, server: ScriptedServer, id: str, *, stream: bool, **body: Any) -> None:
    """Send a message and go away while the model thinks."""
    url, headers = f"/sessions/{id}/messages", {"idempotency-key": "k1"}
    body = {"content": "Think long.", "stream": stream, **body}
    if stream:
        with sessions.http.stream("POST", url, json=body, headers=headers) as response:
            first = next(response.iter_text())
            assert events_of(first) == [("accepted", {"session": id, "number": 2})]
            assert server.wait_until(lambda: len(server.requests) == 1)
        return
    with sent(sessions.gateway.url + url, body, headers):
        assert server.wait_until(lambda: len(server.requests) == 1)


def test_a_key_stays_valid_across_a_restart(tmp_path: Path) -> None:
    with ScriptedServer([say("Two ships."), say("None.")]) as server:
        with serving(server, tmp_path) as sessions:
            id = sessions.begin()
            first = sessions.say(id, "Which ships?", "k1").json()
        with serving(server, tmp_path) as sessions:
            again = sessions.say(id, "Which ships?", "k1")
            assert again.json() == {**first, "repeated": True}
            streamed = sessions.stream(id, "Which ships?", "k1")
            assert [name for name, _ in streamed] == ["accepted", "done"]
            assert streamed[-1][1] == again.json()
            other = sessions.say(id, "Which boats?", "k1")
            assert other.status_code == 422
            assert "different content" in other.json()["detail"]
            assert sessions.say(id, "Which boats?", "k2").json()["text"] == "None."
            assert len(sessions.log(id)) == 5
    assert len(server.requests) == 2


def test_the_same_key_sent_to_two_processes_at_once_runs_once(tmp_path: Path) -> None:
    model = Held()
    with (
        ScriptedServer(model) as server,
        serving(server, tmp_path) as one,
        serving(server, tmp_path) as two,
        ThreadPoolExecutor() as pool,
    ):
        id = one.begin()
        sent = [pool.submit(where.say, id, "Which ships?", "k1") for where in (one, two, one, two)]
        until(lambda: present(one, id) == present(two, id) == 2)
        model.go.set()
        answers = [done.result().json() for done in sent]
        assert sorted(answer.pop("repeated") for answer in answers) == [False, True, True, True]
        assert all(answer == answers[0] for answer in answers)
        assert len(server.requests) == 1
        assert len(one.log(id)) == 3


def test_deleting_a_session_stops_its_running_turn(tmp_path: Path) -> None:
    with (
        ScriptedServer([fault("hang")]) as server,
        serving(server, tmp_path) as sessions,
        ThreadPoolExecutor() as pool,
    ):
        id = sessions.begin()
        speaking = pool.submit(sessions.say, id, "Think long.")
        assert server.wait_until(lambda: len(server.requests) == 1)
        assert sessions.http.delete(f"/sessions/{id}").status_code == 200
        assert speaking.result().status_code == 409
        assert sessions.say(id, "Hello?").status_code == 404


def test_a_gateway_that_ends_leaves_the_session_in_good_order(tmp_path: Path) -> None:
    with ScriptedServer([fault("hang"), say("Back.")]) as server:
        with serving(server, tmp_path, shutdown_seconds=0.1) as sessions:
            id = sessions.begin()
            _leave(sessions, server, id, stream=True)
        with serving(server, tmp_path) as sessions:
            assert texts(sessions.log(id))[1:] == ["Think long.", "[interrupted by the user]"]
            assert sessions.say(id, "Hello?").json()["text"] == "Back."

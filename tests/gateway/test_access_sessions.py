"""Sessions over HTTP are seen by their owner alone, and what their turns use counts for his key."""

from pathlib import Path

from clients import http
from gateway_keys import add_key, answering, used_so_far
from gateway_server import RunningGateway, settings_for


def test_sessions_of_one_key_do_not_exist_for_another(tmp_path: Path) -> None:
    one, two = ({"authorization": f"Bearer {add_key(tmp_path, name)}"} for name in ("one", "two"))
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        url = f"{gateway.url}/sessions"
        id = http().post(url, json={"title": "mine"}, headers=one).json()["id"]
        assert [each["id"] for each in http().get(url, headers=one).json()["sessions"]] == [id]
        assert http().get(url, headers=two).json()["sessions"] == []
        assert http().get(f"{url}/{id}", headers=one).status_code == 200
        for hidden in (
            http().get(f"{url}/{id}", headers=two),
            http().get(f"{url}/{id}/messages", headers=two),
            http().post(f"{url}/{id}/messages", json={"content": "Hello"}, headers=two),
            http().post(f"{url}/{id}/fork", json={}, headers=two),
            http().delete(f"{url}/{id}", headers=two),
        ):
            assert hidden.status_code == 404
            assert "mine" not in hidden.text
        found = http().get(f"{gateway.url}/search", params={"q": "Hello"}, headers=two)
        assert found.status_code == 422 or id not in found.text


def test_a_turn_of_the_agent_counts_for_the_key_and_is_in_the_figures(tmp_path: Path) -> None:
    key = add_key(tmp_path, "one", tokens_per_day=10)
    mine = {"authorization": f"Bearer {key}"}
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        url = f"{gateway.url}/sessions"
        id = http().post(url, json={}, headers=mine).json()["id"]
        turn = http().post(f"{url}/{id}/messages", json={"content": "Hello"}, headers=mine)
        assert turn.status_code == 200, turn.text
        refused = http().post(f"{url}/{id}/messages", json={"content": "Again"}, headers=mine)
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    assert "may use 10 tokens a day" in refused.json()["detail"]
    (usage,) = [seen.usage for seen in server.requests if seen.usage]
    assert used_so_far(tmp_path)["one"].tokens == usage.prompt_tokens + usage.completion_tokens


def test_without_a_key_sessions_are_refused_as_problems(tmp_path: Path) -> None:
    add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        refused = http().get(f"{gateway.url}/sessions")
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["title"] == "No key"
    assert server.requests == []

"""What a person dropped stays away from the model of a drop-in client, also when the client goes back."""

import copy
import json
from pathlib import Path

import httpx
import pytest
from clients import AnthropicClient, converse, model
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer


@pytest.mark.rewrites_history("a person drops a message, and the client goes back to an earlier one")
def test_a_dropped_message_stays_away_when_the_client_rewinds_one_turn(tmp_path: Path) -> None:
    small = {"model": {"context_length": 8_000}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, window=900_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
        httpx.Client(base_url=gateway.url, timeout=30) as http,
    ):
        client, number = AnthropicClient(gateway.url), 0
        while not client.last or client.last.headers["x-plimsoll-view"] == "log":
            converse(client, 1, first=number)
            number += 1
        converse(client, 1, first=number)
        url = f"/sessions/{client.last.headers['x-plimsoll-session']}"
        view = http.get(f"{url}/view").json()["messages"]
        summary = http.get(f"{url}/summary").json()
        victim = next(one for one in view if one["message"]["role"] == "tool")
        words = json.dumps(victim["message"]["content"])[1:31]
        assert words in json.dumps(server.requests[-1].body)
        edited = {"text": f"{summary['text']}\n- The pilot is called Marlowe.", "node": summary["node"]}
        assert http.put(f"{url}/summary", json=edited).status_code == 200
        dropped = http.post(f"{url}/drop", json={"messages": [victim["number"]]})
        assert dropped.status_code == 200, dropped.text
        before = copy.deepcopy(client.history)
        converse(client, 1, first=number + 1)
        asked = [
            n for n, one in enumerate(before) if one["role"] == "user" and isinstance(one["content"], str)
        ]
        client.history = before[: asked[-1]]
        client.say("Another question, please.")
        sent = json.dumps(server.requests[-1].body)
        assert words not in sent
        assert "Marlowe" in sent
        seen = http.get(f"/sessions/{client.last.headers['x-plimsoll-session']}/view").json()["messages"]
        assert not set(dropped.json()["messages"]) & {one["number"] for one in seen}
    assert all(seen.status == 200 for seen in server.requests)

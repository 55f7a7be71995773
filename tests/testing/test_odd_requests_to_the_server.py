"""A client that sends values of the wrong kind gets the error of its provider, not a closed connection."""

import json
import sys
from pathlib import Path

import httpx
import pytest

from plimsoll.dialects import dialect_named, dialects
from plimsoll.testing.scripted_server import ScriptedServer, say

sys.path.insert(0, str(Path(__file__).parents[1] / "dialects"))
from test_odd_requests import MODELS, ODD, body_of, places, with_value

HEADERS = {
    "anthropic-version": "2023-06-01",
    "x-api-key": "k",
    "x-goog-api-key": "k",
    "authorization": "Bearer k",
}


@pytest.mark.parametrize("name", [one.name for one in dialects()])
def test_a_value_of_the_wrong_kind_gets_an_error_of_the_dialect_or_an_answer(name: str) -> None:
    dialect, body = dialect_named(name), body_of(name)
    statuses: dict[int, int] = {}
    with ScriptedServer(lambda _request: say("Yes.")) as server, httpx.Client(headers=HEADERS) as client:
        url = dialect.url(dialect.local_url(server.url), MODELS.get(name, "gpt-4.1"), False)
        for number, at in enumerate(places(body)):
            value = [1] if number % 2 else ODD[number // 2 % len(ODD)]
            answer = client.post(url, content=json.dumps(with_value(body, at, value)))
            assert answer.status_code == 200 or dialect.is_error(answer.json()), (at, value)
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
    assert set(statuses) <= {200, 400, 404}, statuses
    assert statuses[400] > 15

"""The drop-in endpoint serves a dialect that only the tests know: `lantern_dialect.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients import FILLER, LOOKUP, http, last_turn, model, run_tool
from gateway_keys import add_key, used_so_far
from gateway_server import RunningGateway, settings_for
from lantern_provider import LANTERN, LanternProvider

import plimsoll
from plimsoll.config import Settings
from plimsoll.dialects.registry import registered
from plimsoll.testing.prefix import broken_prefixes
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, fault, say

UPSTREAMS = ("lantern", "openai", "anthropic")
WINDOW, TURNS = 8_000, 16
MODEL = "claude-sonnet-4-5"


@pytest.fixture(autouse=True)
def lantern() -> Iterator[None]:
    with registered(LANTERN):
        yield


class LanternClient:
    """Keeps its history, or leaves that to the server and names the reply that it continues."""

    def __init__(self, url: str, *, stream: bool = False, remembers: bool = True, key: str = "own") -> None:
        self.url, self.stream, self.remembers = url, stream, remembers
        self.headers = {"x-lantern-token": key}
        self.turns: list[dict[str, Any]] = []  # that were not sent yet, or all of them
        self.continues = ""
        self.last: httpx.Response | None = None

    def say(self, text: str) -> str:
        """One turn with its calls; the last answer."""
        self.turns.append({"from": "person", "say": text})
        while True:
            turn = self.ask()
            calls = turn.get("calls") or []
            if not calls:
                return str(turn["say"])
            outcomes = [{"do": one["do"], "gave": run_tool(one["with"]["key"])} for one in calls]
            self.turns.append({"from": "tools", "outcomes": outcomes})

    def ask(self) -> dict[str, Any]:
        response = self.last = self.post()
        assert response.status_code == 200, response.text
        reply = _streamed(response.text) if self.stream else response.json()
        assert set(reply["tally"]) == {"read", "reused", "wrote"}
        if self.remembers:
            self.turns.append(reply["turn"])
        else:
            self.turns, self.continues = [], reply["reply"]
        turn: dict[str, Any] = reply["turn"]
        return turn

    def post(self, **more: Any) -> httpx.Response:
        body: dict[str, Any] = {"preamble": "Be brief.", "turns": self.turns, "longest": 300, **more}
        body["abilities"] = [{"do": LOOKUP, "about": "Look it up.", "takes": {"type": "object"}}]
        if self.continues:
            body["continues"] = self.continues
        path = f"/lantern/{MODEL}/{'stream' if self.stream else 'answer'}"
        return http().post(self.url + path, json=body, headers=self.headers)


def _streamed(text: str) -> dict[str, Any]:
    said, calls, end = "", [], {}
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "data" not in lines:
            continue
        data = json.loads(lines["data"])
        if lines["event"] == "word":
            said += data["add"]
        elif lines["event"] == "call":
            calls.append(data)
        else:
            end = data
    turn = {"from": "model", "say": said, **({"calls": calls} if calls else {})}
    return {**end, "turn": turn}


def upstream(server: ScriptedServer, dialect: str, **sections: Any) -> Settings:
    """Settings whose upstream is the scripted server in this dialect."""
    if dialect != LANTERN.name:
        return settings_for(server, dialect, **sections)
    model = {"base_url": f"{server.url}/lantern", **sections.pop("model", {})}
    return Settings.model_validate({"model": model, **sections})


def scripted(script: Any = model, **options: Any) -> ScriptedServer:
    return ScriptedServer(script, model=MODEL, providers=[LanternProvider()], **options)


def converse(client: LanternClient, turns: int) -> list[str]:
    return [client.say(f"ship{n}: where does it lie? {FILLER * 3}") for n in range(turns)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("dialect", UPSTREAMS)
def test_a_long_conversation_is_compacted_and_answered_as_without_the_gateway(
    dialect: str, remembers: bool, stream: bool, tmp_path: Path
) -> None:
    with scripted(window=900_000) as server:
        direct = converse(LanternClient(server.url, stream=stream), TURNS)
    with (
        scripted(window=WINDOW) as server,
        RunningGateway(upstream(server, dialect, model={"context_length": WINDOW}), tmp_path) as gateway,
    ):
        client = LanternClient(gateway.url, stream=stream, remembers=remembers)
        assert converse(client, TURNS) == direct
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
        seen = server.requests
    assert all(one.status == 200 and one.refusal is None for one in seen)
    assert {one.dialect for one in seen} == {dialect}
    last = last_turn(seen).request
    assert last is not None
    assert sum("[Note: Some earlier conversation turns" in str(one) for one in last.messages) == 1
    assert sum("[CONTEXT COMPACTION]" in str(one.get("content")) for one in last.messages) == 1
    assert broken_prefixes(map(_as_messages, seen)) == []


def _as_messages(request: CapturedRequest) -> dict[str, Any]:
    """A body with the usual names for what a cache sees of it."""
    body = request.body or {}
    names = {"turns": "messages", "preamble": "system", "abilities": "tools"}
    return {names.get(name, name): value for name, value in body.items()}


def test_a_conversation_that_is_kept_by_the_server_reaches_the_upstream_whole(tmp_path: Path) -> None:
    with (
        scripted([say("Noted."), say("At pier 4."), say("Still there.")]) as server,
        RunningGateway(upstream(server, "lantern"), tmp_path) as gateway,
    ):
        client = LanternClient(gateway.url, remembers=False)
        for text in ("The Anna lies at pier 4.", "Where is she?", "And now?"):
            client.say(text)
        bodies = [one.body or {} for one in server.requests]
    assert [len(body["turns"]) for body in bodies] == [1, 3, 5]
    assert all("continues" not in body for body in bodies)
    assert bodies[2]["turns"][:3] == bodies[1]["turns"]


def test_a_reply_belongs_to_the_caller_that_got_it(tmp_path: Path) -> None:
    with (
        scripted([say("Noted.")]) as server,
        RunningGateway(upstream(server, "lantern"), tmp_path) as gateway,
    ):
        first = LanternClient(gateway.url, remembers=False, key="first")
        first.say("The Anna carries amber.")
        other = LanternClient(gateway.url, key="second")
        other.continues, other.turns = first.continues, [{"from": "person", "say": "What does she carry?"}]
        refused = other.post()
        # The request goes on as it came, and the upstream does not know the reply either.
        assert (refused.status_code, refused.json()["fault"]["name"]) == (404, "NotThere")
        assert "amber" not in server.requests[-1].raw.decode()


def test_continuing_an_unknown_reply_is_refused_if_the_upstream_has_another_dialect(
    tmp_path: Path,
) -> None:
    with scripted() as server, RunningGateway(upstream(server, "openai"), tmp_path) as gateway:
        client = LanternClient(gateway.url)
        client.continues, client.turns = "lan_nobody", [{"from": "person", "say": "And?"}]
        refused = client.post()
    assert refused.status_code == 400
    assert refused.json()["fault"]["name"] == "BadRequest"
    assert "continues" in refused.json()["fault"]["text"]


@pytest.mark.parametrize("dialect", UPSTREAMS)
def test_errors_of_the_upstream_arrive_in_the_clients_format(dialect: str, tmp_path: Path) -> None:
    with (
        scripted([fault("rate_limit", retry_after=7)]) as server,
        RunningGateway(upstream(server, dialect), tmp_path) as gateway,
    ):
        client = LanternClient(gateway.url)
        client.turns = [{"from": "person", "say": "Hello"}]
        refused = client.post()
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert refused.json()["fault"]["name"] == "SlowDown"


def test_errors_of_the_gateway_are_in_the_clients_format(tmp_path: Path) -> None:
    with scripted() as server, RunningGateway(upstream(server, "lantern"), tmp_path) as gateway:
        broken = http().post(
            f"{gateway.url}/lantern/{MODEL}/answer", content=b"{", headers={"x-lantern-token": "k"}
        )
        missing = http().get(f"{gateway.url}/lantern/{MODEL}/nothing")
    assert (broken.status_code, broken.json()["fault"]["name"]) == (400, "BadRequest")
    assert (missing.status_code, missing.json()["fault"]["name"]) == (404, "NotThere")


def test_an_overflow_is_recovered_from_in_the_dialects_own_words(tmp_path: Path) -> None:
    with (
        scripted(window=WINDOW // 2) as server,
        RunningGateway(upstream(server, "lantern"), tmp_path) as gateway,
    ):
        client = LanternClient(gateway.url)
        converse(client, TURNS)
        refused = [one.refusal.kind for one in server.requests if one.refusal]
    assert refused[:1] == ["TooLong"]


@pytest.mark.parametrize("dialect", UPSTREAMS)
def test_a_key_of_the_gateway_is_read_from_the_dialects_header_and_charged(
    dialect: str, tmp_path: Path
) -> None:
    key = add_key(tmp_path)
    with (
        scripted(lambda _request: say("At pier 4.")) as server,
        RunningGateway(upstream(server, dialect, gateway={"keys": "required"}), tmp_path) as gateway,
    ):
        client = LanternClient(gateway.url, key=key)
        assert client.say("Where is she?") == "At pier 4."
        refused = LanternClient(gateway.url, key="plim-nobody")
        refused.turns = [{"from": "person", "say": "And?"}]
        assert refused.post().status_code == 401
        arrived = server.requests
    assert all(key not in str(one.headers) for one in arrived)
    used = used_so_far(tmp_path)["laptop"]
    assert (used.requests, used.tokens > 0) == (1, True)


@pytest.mark.parametrize("dialect", UPSTREAMS)
def test_the_clients_own_key_is_sent_upstream_in_the_header_of_the_upstreams_dialect(
    dialect: str, tmp_path: Path
) -> None:
    with (
        scripted(lambda _request: say("Yes."), api_key="own") as server,
        RunningGateway(upstream(server, dialect), tmp_path) as gateway,
    ):
        assert LanternClient(gateway.url).say("Is she there?") == "Yes."


@pytest.mark.parametrize("dialect", UPSTREAMS)
def test_a_key_in_the_query_is_read_like_one_in_the_header_and_is_not_passed_on(
    dialect: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = add_key(tmp_path)
    body = {"turns": [{"from": "person", "say": "Is she there?"}], "longest": 50}
    with (
        scripted(lambda _request: say("Yes.")) as server,
        RunningGateway(upstream(server, dialect, gateway={"keys": "required"}), tmp_path) as gateway,
    ):
        url = f"{gateway.url}/lantern/{MODEL}/answer"
        assert http().post(f"{url}?token={key}&x=1", json=body).status_code == 200
        assert http().post(f"{url}?token=plim-nobody", json=body).status_code == 401
        assert http().post(f"{url}?token=a%0d%0ax-injected:%201", json=body).status_code == 401
        arrived = server.requests
    assert len(arrived) == 1
    assert key not in str(arrived[0].headers) + arrived[0].path + caplog.text


@pytest.mark.parametrize("dialect", UPSTREAMS)
def test_a_stream_is_one_json_array_for_a_client_that_asks_for_it(dialect: str, tmp_path: Path) -> None:
    body = {"turns": [{"from": "person", "say": "Is she there?"}], "longest": 50}
    with (
        scripted([say("Yes, she is there."), fault("rate_limit")]) as server,
        RunningGateway(upstream(server, dialect), tmp_path) as gateway,
    ):
        url = f"{gateway.url}/lantern/{MODEL}/stream?as=array&token=own"
        streamed, refused = (http().post(url, json=body) for _ in range(2))
    assert streamed.headers["content-type"] == "application/json"
    assert "".join(one.get("add", "") for one in streamed.json()) == "Yes, she is there."
    assert streamed.json()[-1]["ended"] == "done"
    assert (refused.status_code, refused.json()[0]["fault"]["name"]) == (429, "SlowDown")


def test_a_limit_on_the_answer_is_lowered_to_the_models_cap(tmp_path: Path) -> None:
    with (
        scripted(lambda _request: say("Yes.")) as server,
        RunningGateway(upstream(server, "lantern", model={"max_output_tokens": 200}), tmp_path) as gateway,
    ):
        LanternClient(gateway.url).say("Is she there?")
        assert (server.requests[0].body or {})["longest"] == 200


def test_models_are_listed_in_the_clients_format(tmp_path: Path) -> None:
    with scripted() as server, RunningGateway(upstream(server, "openai"), tmp_path) as gateway:
        listed = http().get(f"{gateway.url}/lantern/models").json()
    assert listed == {"models": [MODEL]}


def test_the_gateway_has_no_line_of_its_own_for_it():
    source = Path(plimsoll.__file__).parent
    assert not [path for path in source.rglob("*.py") if "lantern" in path.read_text("utf-8").lower()]

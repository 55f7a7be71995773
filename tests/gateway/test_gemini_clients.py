"""Clients of Google's dialect at the gateway: compaction, keys, counts, models, errors."""

from pathlib import Path

import pytest
from clients import FILLER, http, last_turn, model
from gateway_keys import add_key, used_so_far
from gateway_server import RunningGateway, settings_for
from gemini_client import GeminiClient, chunks_of

from plimsoll.testing.prefix import broken_prefixes
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say, think

UPSTREAMS = ("gemini", "openai", "anthropic")
WINDOW, TURNS = 8_000, 14


def converse(client: GeminiClient, turns: int = TURNS) -> list[str]:
    return [client.say(f"ship{n}: where does it lie? {FILLER * 3}") for n in range(turns)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-3-pro"])  # without ids, with signatures
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_a_long_conversation_is_compacted_and_answered_as_without_the_gateway(
    upstream: str, name: str, stream: bool, tmp_path: Path
) -> None:
    with ScriptedServer(model, model=name, window=900_000) as server:
        direct = converse(GeminiClient(server.url, stream=stream, model=name))
    with (
        ScriptedServer(model, model=name, window=WINDOW) as server,
        RunningGateway(settings_for(server, upstream, model={"context_length": WINDOW}), tmp_path) as gateway,
    ):
        client = GeminiClient(gateway.url, stream=stream, model=name)
        assert converse(client) == direct
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
        seen = server.requests
    assert all(one.status == 200 and one.refusal is None for one in seen)
    assert {one.dialect for one in seen} == {upstream}
    last = last_turn(seen).request
    assert last is not None
    assert sum("[Note: Some earlier conversation turns" in str(one) for one in last.messages) == 1
    assert sum("[CONTEXT COMPACTION]" in str(one.get("content")) for one in last.messages) == 1
    assert broken_prefixes(one.body or {} for one in seen) == []


def test_the_prefix_is_read_from_the_cache_again_within_two_turns_of_a_compaction(tmp_path: Path) -> None:
    window, long = 24_000, "A rule of the harbour that everybody must keep in mind. " * 400
    with (
        ScriptedServer(model, model="gemini-2.5-pro", window=window) as server,
        RunningGateway(settings_for(server, "gemini", model={"context_length": window}), tmp_path) as gateway,
    ):
        client = GeminiClient(gateway.url, system=long)
        views, reads = [], []
        for number in range(20):
            client.say(f"ship{number}: where does it lie? {FILLER * 12}")
            assert client.last is not None
            views.append(client.last.headers["x-plimsoll-view"])
            reads.append(client.last.json()["usageMetadata"].get("cachedContentTokenCount") or 0)
    first = views.index("compacted")
    assert any(read > 2_048 for read in reads[first : first + 2]), reads


def test_the_bytes_of_a_short_request_are_passed_on_unchanged(tmp_path: Path) -> None:
    raw = b'{"contents": [{"parts":[{"text":"Hi"}]}], "safety_settings":[], "cachedContent": "cachedContents/a"}'
    with (
        ScriptedServer([say("Hello.")]) as server,
        RunningGateway(settings_for(server, "gemini"), tmp_path) as gateway,
    ):
        url = f"{gateway.url}/v1/models/gemini-2.5-pro:generateContent"
        http().post(url, content=raw, headers={"x-goog-api-key": "k"}).raise_for_status()
        seen = server.requests[0]
    assert seen.raw == raw
    assert seen.path == "/v1beta/models/gemini-2.5-pro:generateContent"


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_thoughts_calls_usage_and_reasons_arrive_in_googles_form(upstream: str, tmp_path: Path) -> None:
    answers = [
        think("Let me see.") + say("One moment.") + call("lookup", key="Anna"),
        say("It was cut").ending("length"),
    ]
    with (
        ScriptedServer([*answers, *answers], model="gemini-3-pro") as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        for stream in (False, True):
            client = GeminiClient(gateway.url, stream=stream, model="gemini-3-pro")
            client.history.append({"role": "user", "parts": [{"text": "Where is the Anna?"}]})
            parts = client.ask()
            assert parts[-1]["functionCall"]["args"] == {"key": "Anna"}
            assert {"text": "One moment."} in parts
            assert "".join(part["text"] for part in parts if part.get("thought")) == "Let me see."
            client.ask()
            assert client.last is not None
            last = chunks_of(client.last.text)[-1] if stream else client.last.json()
            assert last["candidates"][0]["finishReason"] == "MAX_TOKENS"
            usage = last["usageMetadata"]
            assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["candidatesTokenCount"]


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_a_key_of_the_gateway_is_read_from_header_or_query_and_charged(upstream: str, tmp_path: Path) -> None:
    key = add_key(tmp_path)
    with (
        ScriptedServer(lambda _request: say("Yes.")) as server,
        RunningGateway(settings_for(server, upstream, gateway={"keys": "required"}), tmp_path) as gateway,
    ):
        client = GeminiClient(gateway.url)
        client.history.append({"role": "user", "parts": [{"text": "Is she there?"}]})
        client.headers = {"x-goog-api-key": key}
        assert client.post().status_code == 200
        client.headers = {}
        assert client.post(query=f"?key={key}").status_code == 200
        refused = client.post(query="?key=plim-wrong")
        seen = server.requests
    assert (refused.status_code, refused.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
    assert all(key not in str(one.headers) + one.path for one in seen)
    used = used_so_far(tmp_path)["laptop"]
    assert (used.requests, used.tokens > 0) == (2, True)


def test_a_stream_without_sse_is_one_json_array(tmp_path: Path) -> None:
    with (
        ScriptedServer([say("Yes, she is at pier 4."), fault("rate_limit", retry_after=7)]) as server,
        RunningGateway(settings_for(server, "gemini"), tmp_path) as gateway,
    ):
        client = GeminiClient(gateway.url)
        client.history.append({"role": "user", "parts": [{"text": "Is she there?"}]})
        whole = client.post("streamGenerateContent", "?x=1").json()
        refused = client.post("streamGenerateContent", "?x=1")
    texts = [part["text"] for chunk in whole for part in chunk["candidates"][0]["content"]["parts"]]
    assert (len(whole) > 1, "".join(texts)) == (True, "Yes, she is at pier 4.")
    assert refused.json()[0]["error"]["status"] == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_tokens_are_counted_as_they_would_be_sent(upstream: str, tmp_path: Path) -> None:
    with (
        ScriptedServer([], model="gemini-2.5-pro") as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        client = GeminiClient(gateway.url)
        client.history.append({"role": "user", "parts": [{"text": FILLER * 20}]})
        plain = client.post("countTokens").json()
        whole = {"generateContentRequest": {**client.body, "contents": client.history, "model": "models/x"}}
        url = f"{gateway.url}/v1beta/models/gemini-2.5-pro:countTokens"
        nested = http().post(url, json=whole, headers=client.headers).json()
    assert plain["totalTokens"] > 300
    assert nested == plain


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_models_are_listed_in_googles_form_for_googles_clients_alone(upstream: str, tmp_path: Path) -> None:
    with (
        ScriptedServer([], model="gemini-2.5-pro") as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        listed = http().get(f"{gateway.url}/v1beta/models?key=k").json()
        one = http().get(f"{gateway.url}/v1/models/gemini-2.5-pro", headers={"x-goog-api-key": "k"}).json()
        other = http().get(f"{gateway.url}/v1/models", headers={"authorization": "Bearer k"}).json()
    assert [model["name"] for model in listed["models"]] == ["models/gemini-2.5-pro"]
    assert one["name"] == "models/gemini-2.5-pro"
    assert [model["id"] for model in other["data"]] == ["gemini-2.5-pro"]


def test_what_no_other_dialect_has_is_named_or_refused(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _request: say("Yes.")) as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        client = GeminiClient(gateway.url)
        client.history.append({"role": "user", "parts": [{"text": "Hi"}]})
        config = {"topK": 3, "maxOutputTokens": 5}
        answered = client.post(safety_settings=[{"category": "X"}], generationConfig=config, novel=1)
        searched = client.post(tools=[{"google_search": {}}])
        cached = client.post(cachedContent="cachedContents/a")
        client.history[0]["parts"].append({"inlineData": {"mimeType": "audio/wav", "data": "AA=="}})
        heard = client.post()
    assert answered.headers["x-plimsoll-dropped"] == "generationConfig.topK, safetySettings, novel"
    for refused, field in (
        (searched, "tools.googleSearch"),
        (cached, "cachedContent"),
        (heard, "inlineData"),
    ):
        assert (refused.status_code, refused.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
        assert field in refused.json()["error"]["message"]


def test_an_overflow_is_recovered_from(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, model="gemini-2.5-pro", window=WINDOW // 2) as server,
        RunningGateway(settings_for(server, "gemini"), tmp_path) as gateway,
    ):
        converse(GeminiClient(gateway.url))
        refused = [one.refusal.message for one in server.requests if one.refusal]
    assert "exceeds the maximum number of tokens allowed" in refused[0]

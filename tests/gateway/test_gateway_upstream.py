"""Keys, errors, overflows, limits, clients that leave: what passes between a client and its upstream."""

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients import AnthropicClient, OpenAIClient, converse, http, model, sent
from gateway_server import RunningGateway, settings_for

from plimsoll.config import Settings
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.providers import Timeouts
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

SECRET = "sk-ant-the-gateways-own-key-0123456789"
ANTHROPIC = {"x-api-key": "client-key", "anthropic-version": "2023-06-01"}
HELLO: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}


def post(url: str, path: str = "/v1/messages", body: Any = HELLO, **headers: str) -> httpx.Response:
    return http().post(url + path, json=body, headers={**ANTHROPIC, **headers})


def test_the_gateways_own_key_outranks_the_clients_and_never_comes_back(tmp_path: Path) -> None:
    leaking = f"Your key {SECRET} has a typo near {SECRET[-12:]}."
    with (
        ScriptedServer([say("Hello."), fault(401, message=leaking)]) as server,
        RunningGateway(settings_for(server), tmp_path, environ={"ANTHROPIC_API_KEY": SECRET}) as gateway,
    ):
        assert post(gateway.url).status_code == 200
        refused = post(gateway.url)
        assert refused.status_code == 401
        assert SECRET not in refused.text
        assert SECRET[-12:] not in refused.text
        assert SECRET not in str(refused.headers)
    assert [seen.headers.get("x-api-key") for seen in server.requests] == [SECRET, SECRET]


def test_without_a_key_of_its_own_the_gateway_passes_the_clients_on(tmp_path: Path) -> None:
    with ScriptedServer() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        post(gateway.url)
        post(gateway.url, authorization="Bearer token", **{"anthropic-beta": "oauth-2025-04-20"})
        post(gateway.url, "/v1/chat/completions", {**HELLO, "max_tokens": 99}, authorization="Bearer other")
    first, second, third = server.requests
    assert first.headers["x-api-key"] == "client-key"
    assert second.headers["authorization"] == "Bearer token"
    assert second.headers["anthropic-beta"] == "oauth-2025-04-20"
    assert third.headers["x-api-key"] == "client-key"  # the other dialect's way to send the same key


def test_with_nothing_configured_each_dialect_is_sent_to_its_own_provider(tmp_path: Path) -> None:
    with ScriptedServer() as one, ScriptedServer() as other:
        environ = {"ANTHROPIC_BASE_URL": one.anthropic_url, "OPENAI_BASE_URL": other.openai_url}
        with RunningGateway(Settings(), tmp_path, environ=environ) as gateway:
            assert post(gateway.url).status_code == 200
            assert post(gateway.url, "/v1/chat/completions").status_code == 200
    assert [seen.path for seen in one.requests] == ["/v1/messages"]
    assert [seen.path for seen in other.requests] == ["/v1/chat/completions"]


def test_a_provider_that_is_named_without_a_key_takes_the_clients(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        environ = {"OPENROUTER_BASE_URL": server.openai_url}
        settings = Settings.model_validate({"model": {"provider": "openrouter"}})
        with RunningGateway(settings, tmp_path, environ=environ) as gateway:
            assert post(gateway.url, "/v1/chat/completions", authorization="Bearer mine").status_code == 200
            assert post(gateway.url, **{"x-api-key": "other"}).status_code == 200
    assert [seen.headers["authorization"] for seen in server.requests] == ["Bearer mine", "Bearer other"]


def test_a_page_in_a_browser_is_not_served(tmp_path: Path) -> None:
    with ScriptedServer() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert post(gateway.url, origin="https://example.org").status_code == 403
    assert server.requests == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
@pytest.mark.parametrize("upstream", ["anthropic", "openai"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_a_refusal_keeps_its_status_and_speaks_the_clients_dialect(
    path: str, upstream: str, status: int, tmp_path: Path
) -> None:
    refusing = fault(status, times=None, message="No ship may leave.", retry_after=7)
    with (
        ScriptedServer([refusing]) as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        response = post(gateway.url, path)
    assert response.status_code == status
    error = response.json()["error"]
    assert "No ship may leave" in error["message"]
    assert response.json().get("type") == ("error" if path == "/v1/messages" else None)
    assert response.headers.get("retry-after") == "7"


@pytest.mark.rewrites_history("an overflow is cured by a compaction, which is what the test is about")
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_an_overflow_is_compacted_and_retried_once_and_its_number_learned(
    dialect: str, tmp_path: Path
) -> None:
    make = AnthropicClient if dialect == "anthropic" else OpenAIClient
    settings = {"compression": {"protect_last_n": 4}}  # the card says 200 000 or more
    with (
        ScriptedServer(model, window=9_000) as server,
        RunningGateway(settings_for(server, dialect, **settings), tmp_path) as gateway,
    ):
        client = make(gateway.url)
        converse(client, 34)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
    assert sum(seen.status == 400 for seen in server.requests) == 1


def test_with_compression_off_an_overflow_is_the_upstreams_own_error(tmp_path: Path) -> None:
    settings = {"compression": {"enabled": False}, "model": {"context_length": 2_000}}
    with (
        ScriptedServer(window=2_000) as server,
        RunningGateway(settings_for(server, **settings), tmp_path) as gateway,
    ):
        body = {**HELLO, "messages": [{"role": "user", "content": "word " * 9_000}]}
        response = post(gateway.url, body=body)
    assert response.status_code == 400
    assert "prompt is too long" in response.json()["error"]["message"]
    assert len(server.requests) == 1


def test_what_is_too_large_too_deep_or_no_json_is_refused_here(tmp_path: Path) -> None:
    limits = {"body_limit": 5_000, "depth_limit": 20}
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, gateway=limits), tmp_path) as gateway,
    ):
        large = post(gateway.url, body={**HELLO, "x": "y" * 6_000})
        deep = http().post(f"{gateway.url}/v1/messages", content=b'{"a":' * 30 + b"1" + b"}" * 30)
        deeper = http().post(
            f"{gateway.url}/v1/messages", content=b'{"a":' + b"[" * 2_000 + b"]" * 2_000 + b"}"
        )
        broken = http().post(f"{gateway.url}/v1/chat/completions", content=b'{"model": ')
        listed = http().post(f"{gateway.url}/v1/chat/completions", content=b"[1]")
    assert [r.status_code for r in (large, deep, deeper, broken, listed)] == [413, 400, 400, 400, 400]
    assert large.json()["error"]["type"] == "request_too_large"
    assert server.requests == []


def test_an_upstream_that_is_not_there_or_says_nothing_is_a_gateway_error(tmp_path: Path) -> None:
    hasty = RuntimeOptions(
        timeouts=Timeouts(connect=1.0, first_byte=0.3, between_chunks=0.3, whole_reply=0.3)
    )
    with ScriptedServer([fault("hang", times=None)]) as server:
        with RunningGateway(settings_for(server), tmp_path, hasty) as gateway:
            late = post(gateway.url)
            streamed = post(gateway.url, body={**HELLO, "stream": True})
        settings = settings_for(server)
    with RunningGateway(settings, tmp_path, hasty) as gateway:
        gone = post(gateway.url)
    assert (late.status_code, streamed.status_code, gone.status_code) == (504, 504, 502)
    assert gone.json()["type"] == "error"


@pytest.mark.parametrize("upstream", ["anthropic", "openai"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_a_stream_that_is_cut_off_ends_with_an_error_in_the_clients_dialect(
    path: str, upstream: str, tmp_path: Path
) -> None:
    with (
        ScriptedServer([fault("cut")]) as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        response = post(gateway.url, path, {**HELLO, "stream": True})
    last = [line for line in response.text.splitlines() if line.startswith("data:")][-1]
    assert "error" in json.loads(last[5:])


def test_a_client_that_leaves_cancels_its_request_upstream(tmp_path: Path) -> None:
    with (
        ScriptedServer(
            [fault("hang"), fault("slow", seconds=0, between=0.05, then=say("word " * 400))]
        ) as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        with sent(f"{gateway.url}/v1/messages", HELLO, ANTHROPIC):
            assert server.wait_until(lambda: len(server.requests) == 1)
        body = {**HELLO, "stream": True}
        with httpx.stream("POST", f"{gateway.url}/v1/messages", json=body, headers=ANTHROPIC) as response:
            next(response.iter_bytes())
        assert server.wait_until(
            lambda: len(server.requests) == 2 and all(s.is_abandoned for s in server.requests)
        )


def test_requests_under_way_are_finished_when_the_gateway_ends(tmp_path: Path) -> None:
    with ScriptedServer([fault("slow", seconds=0.6, then=say("Late."))]) as server:
        gateway = RunningGateway(settings_for(server), tmp_path)
        with gateway:
            got: list[httpx.Response] = []
            asking = threading.Thread(target=lambda: got.append(httpx.post(
                f"{gateway.url}/v1/messages", json=HELLO, headers=ANTHROPIC, timeout=60)))  # fmt: skip
            asking.start()
            assert server.wait_until(lambda: len(server.requests) == 1)
        asking.join(60)
    assert got[0].json()["content"][0]["text"] == "Late."


def test_a_connection_that_the_upstream_closed_while_it_was_kept_is_replaced(tmp_path: Path) -> None:
    """An upstream that answers once on each connection and closes it a moment later, without saying so."""
    listening = socket.create_server(("127.0.0.1", 0))
    body = json.dumps(
        {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    ).encode()
    answer = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    )

    def serve() -> None:
        for _ in range(5):
            connection, _peer = listening.accept()
            with connection:
                with connection.makefile("rb") as arriving:
                    head = iter(arriving.readline, b"\r\n")
                    length = next(
                        int(line[15:]) for line in head if line.lower().startswith(b"content-length:")
                    )
                    for _ in head:
                        pass
                    arriving.read(length)
                connection.sendall(answer)
                time.sleep(0.02)

    threading.Thread(target=serve, daemon=True).start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings = Settings.model_validate({"model": {"provider": "anthropic", "base_url": address}})
    with listening, RunningGateway(settings, tmp_path) as gateway:
        assert [post(gateway.url).status_code for _ in range(5)] == [200] * 5

"""Names and headers of a client that would reach other resources upstream, with the gateway's key."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from clients import http
from gateway_keys import ASK, PATHS, add_key
from gateway_server import RunningGateway
from hostile_upstream import HostileUpstream, Reply
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.config import Settings
from plimsoll.errors import UserError
from plimsoll.gateway.upstream.target import path_segment

KEYS = {"ANTHROPIC_API_KEY": "sk-gateway-own-key-0001", "OPENAI_API_KEY": "sk-gateway-own-key-0001"}
ESCAPES = [
    "../files", "..%2ffiles", "%2e%2e/files", "%2e%2e%2ffiles", ".%2e/files", "a/../../files", "..%5cfiles",
    "%252e%252e%252ffiles", "..", "%2e", "%00", "a%00b", "a%0d%0aX-Injected:%201", "a%0ab", "//files", "x/",
]  # fmt: skip
NAMES = {
    "caf%c3%a9": "/v1/models/caf%C3%A9",
    "a%3fb=c": "/v1/models/a%3Fb%3Dc",
    "a%23b": "/v1/models/a%23b",
    "meta/llama-3": "/v1/models/meta%2Fllama-3",
    "claude-sonnet-4.5": "/v1/models/claude-sonnet-4.5",
}


def upstream() -> HostileUpstream:
    return HostileUpstream(lambda _sent: Reply())


def get(url: str, target: str) -> int:
    """A GET whose path no client library has tidied up; the status."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), 30) as connection:
        head = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nanthropic-version: 1\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return int(answer.split(b" ", 2)[1])


def test_a_name_never_leaves_the_list_of_models(tmp_path: Path) -> None:
    with upstream() as server, RunningGateway(server.settings(), tmp_path, environ=KEYS) as gateway:
        statuses = {name: get(gateway.url, f"/v1/models/{name}") for name in ESCAPES}
        assert server.requests == []
    assert set(statuses.values()) <= {400, 404}, statuses


@pytest.mark.parametrize("action", ["generateContent", "streamGenerateContent", "countTokens"])
@pytest.mark.parametrize("dialect", ["gemini", "openai"])
def test_a_model_in_the_path_of_a_request_never_leaves_the_models(
    tmp_path: Path, action: str, dialect: str
) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    with upstream() as server:
        google = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": f"{server.url}/v1beta"}
        settings, keys = (Settings(), google) if dialect == "gemini" else (server.settings(dialect), KEYS)
        with RunningGateway(settings, tmp_path, environ=keys) as gateway:
            for name in ESCAPES:
                refused = http().post(f"{gateway.url}/v1beta/models/{name}:{action}", json=body)
                assert refused.status_code in (400, 404, 405), (name, refused.text)
            assert server.requests == []


@pytest.mark.parametrize(("name", "sent"), NAMES.items())
def test_any_other_name_is_one_percent_encoded_segment(tmp_path: Path, name: str, sent: str) -> None:
    with upstream() as server, RunningGateway(server.settings(), tmp_path, environ=KEYS) as gateway:
        assert get(gateway.url, f"/v1/models/{name}") < 500
        assert [seen.path for seen in server.requests] == [sent]


@given(st.text(min_size=1, max_size=40))
def test_a_name_is_refused_or_becomes_one_segment(name: str) -> None:
    try:
        segment = path_segment(name)
    except UserError:
        return
    assert segment not in (".", "..")
    assert segment.isascii()
    assert not set(segment) & set("/\\?#\r\n\0 ")


@pytest.mark.parametrize("query", ["%ff=1", "a=\xe9", "a=b%0d%0aX:1"])
def test_a_query_that_is_not_ascii_is_no_failure_of_the_gateway(tmp_path: Path, query: str) -> None:
    with upstream() as server, RunningGateway(server.settings(), tmp_path, environ=KEYS) as gateway:
        assert get(gateway.url, f"/v1/models?{query}") != 500


ACCOUNT = {
    "openai-organization": "org-other", "openai-project": "proj_other", "anthropic-organization": "other",
    "anthropic-workspace-id": "wrk_other", "x-goog-user-project": "other", "api-key": "client",
    "x-goog-api-key": "client",
}  # fmt: skip


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
@pytest.mark.parametrize("has_key", [True, False], ids=["the gateway's key", "the client's key"])
def test_account_headers_go_up_only_with_the_clients_own_key(
    tmp_path: Path, dialect: str, has_key: bool
) -> None:
    headers = {**ACCOUNT, "idempotency-key": "once", "x-api-key": "client", "authorization": "Bearer client"}
    environ = KEYS if has_key else {}
    with upstream() as server, RunningGateway(server.settings(dialect), tmp_path, environ=environ) as gateway:
        http().post(gateway.url + PATHS[dialect], json={"model": "any", **ASK}, headers=headers)
        sent = server.requests[0].headers
    assert ("sk-gateway-own-key-0001" in str(sent)) is has_key
    assert bool(ACCOUNT.keys() & sent.keys()) is not has_key
    assert sent["idempotency-key"] == "once"


GOOGLE_PATH = "/v1beta/models/gemini-2.5-pro:generateContent"
QUESTION = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


@pytest.mark.parametrize("has_key", [True, False], ids=["the gateway's key", "the client's key"])
def test_account_parameters_go_up_only_with_the_clients_own_key(tmp_path: Path, has_key: bool) -> None:
    accounts = "access_token=a&userProject=b&%24userProject=c&oauth%5Ftoken=d&organization=e&KEY=f"
    with upstream() as server:
        environ = {"GOOGLE_GEMINI_BASE_URL": f"{server.url}/v1beta"} | (
            {"GEMINI_API_KEY": "k"} if has_key else {}
        )
        with RunningGateway(Settings(), tmp_path, environ=environ) as gateway:
            query = f"{accounts}&quotaUser=g&alt=json&pageToken=h"
            sent = http().post(
                f"{gateway.url}{GOOGLE_PATH}?{query}", json=QUESTION, headers={"x-goog-api-key": "c"}
            )
        assert sent.status_code < 500
        (path,) = [seen.path for seen in server.requests]
    kept = query if not has_key else "quotaUser=g&alt=json&pageToken=h"
    assert path == f"{GOOGLE_PATH}?{kept}"


@pytest.mark.parametrize("name", ["key", "%6bey", "k%65y"])
def test_a_key_in_the_query_never_goes_upstream_however_its_name_is_written(
    tmp_path: Path, name: str
) -> None:
    own = add_key(tmp_path)
    with upstream() as server:
        environ = {"GOOGLE_GEMINI_BASE_URL": f"{server.url}/v1beta", "GEMINI_API_KEY": "k"}
        with RunningGateway(Settings(), tmp_path, environ=environ) as gateway:
            accepted = http().post(f"{gateway.url}{GOOGLE_PATH}?{name}={own}", json=QUESTION)
            beside = http().post(
                f"{gateway.url}{GOOGLE_PATH}?x={own.replace('p', '%70', 1)}",
                json=QUESTION,
                headers={"x-goog-api-key": own},
            )
        assert accepted.status_code == beside.status_code == 200
        assert [seen.path for seen in server.requests] == [GOOGLE_PATH] * 2


def test_a_slash_at_the_end_of_a_path_is_not_redirected_to_a_host_that_the_request_names(
    tmp_path: Path,
) -> None:
    key = add_key(tmp_path)
    named = {"x-api-key": key, "host": "evil.example.org"}
    with upstream() as server, RunningGateway(server.settings(), tmp_path, environ=KEYS) as gateway:
        for path in ("/sessions/", "/v1/messages/", "/inspect/", "/metrics/"):
            answer = http().post(gateway.url + path, json=ASK, headers=named, follow_redirects=False)
            assert answer.status_code == 404
            assert "location" not in answer.headers
        assert server.requests == []

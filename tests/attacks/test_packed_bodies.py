"""Bodies with a content-encoding: nothing unpacks them, so no path may take them for what they say they are."""

import gzip
import json
from collections.abc import Iterator

import pytest
from clients import http
from gateway_keys import ASK, add_key, answering
from gateway_server import RunningGateway, settings_for

PATHS = (
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1beta/models/gemini-2.5-pro:generateContent",
    "/v1/embeddings",
    "/v1/compact",
    "/sessions",
)
BODY = json.dumps({"model": "claude-sonnet-4-5", **ASK, "request": {}, "title": "x"}).encode()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    home = tmp_path_factory.mktemp("home")
    key = add_key(home)
    with answering() as server, RunningGateway(settings_for(server), home) as running:
        yield running.url, key
        assert server.requests == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "encodings", [["gzip"], ["GZIP"], ["br"], ["zstd"], ["gzip", "identity"], ["identity, gzip"], ["x"]]
)
@pytest.mark.parametrize("body", [BODY, gzip.compress(BODY)], ids=["plain", "packed"])
def test_a_body_with_a_content_encoding_is_refused_on_every_path(
    gateway: tuple[str, str], path: str, encodings: list[str], body: bytes
) -> None:
    url, key = gateway
    headers = [("x-plimsoll-key", key), ("content-type", "application/json")]
    headers += [("content-encoding", one) for one in encodings]
    answer = http().post(url + path, content=body, headers=headers)
    assert answer.status_code == 415, answer.text
    assert "content-encoding" in answer.text

"""Input that is small on the wire and large in memory, or large before anybody has shown a key."""

import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from clients import http
from gateway_keys import ASK, add_key, answering
from gateway_server import RunningGateway, settings_for
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.gateway.http.json_limits import _STRING, has_more_elements, is_deeper


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        answering() as server,
        RunningGateway(settings_for(server), tmp_path_factory.mktemp("home")) as gateway,
    ):
        yield gateway.url


def refused_while_sending(url: str, head: bytes, piece: bytes, pieces: int) -> tuple[bytes, int]:
    """The answer to a request whose headers do not end, and how many pieces were sent until it came."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), 30) as connection:
        sent = 0
        try:
            connection.sendall(head)
            for _ in range(pieces):
                connection.sendall(piece)
                sent += 1
        except OSError:
            pass  # the gateway closed the connection, as it should
        answer = b""
        try:
            while more := connection.recv(65_536):
                answer += more
        except OSError:
            pass
    return answer, sent


START = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n"
PIECES = 160  # of 64 KB: 10 MB, far more than the buffers of both sockets take


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (START + b"x-long: ", b"a" * 65_536),
        (START, b"x-many: aaaaaaaaaaaaaaaaaaaaaa\r\n" * 2_048),
        (b"GET /", b"a" * 65_536),
    ],
    ids=["one long header", "many headers", "a long path"],
)
def test_headers_beyond_the_limit_end_the_connection_before_a_key_is_asked_for(
    tmp_path: Path, head: bytes, piece: bytes
) -> None:
    add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        answer, sent = refused_while_sending(gateway.url, head, piece, PIECES)
    assert sent < PIECES
    assert answer[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400", b"")


def test_complete_headers_beyond_the_limit_get_431_and_those_within_are_served(url: str) -> None:
    ask = {"model": "claude-sonnet-4-5", **ASK}
    assert http().post(f"{url}/v1/messages", json=ask, headers={"x-long": "a" * 70_000}).status_code == 431
    assert http().post(f"{url}/v1/messages", json=ask, headers={"x-long": "a" * 50_000}).status_code == 200


BODIES = {
    "empty lists": (b'{"model":"m","messages":[' + b"[]," * 300_000 + b"[]]}", 413),
    "numbers": (b'{"model":"m","messages":[' + b"1," * 300_000 + b"1]}", 413),
    "messages": (b'{"model":"m","messages":[' + b'{"role":"user","content":"x"},' * 130_000 + b"{}]}", 413),
    "nested lists": (b'{"messages":' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400),
    "nested objects": (b'{"a":' * 200 + b"1" + b"}" * 200, 400),
    "a long name": (json.dumps({"model": "m" * 3_000_000, **ASK}).encode(), 400),
}


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/v1/chat/completions", "/v1/messages/count_tokens", "/sessions"]
)
@pytest.mark.parametrize(("body", "status"), BODIES.values(), ids=BODIES)
def test_a_body_that_stands_for_too_much_is_refused(url: str, path: str, body: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    assert http().post(url + path, content=body, headers=headers).status_code == status
    assert http().get(f"{url}/healthz").status_code == 200


@pytest.mark.parametrize(
    "action", ["generateContent", "streamGenerateContent?alt=sse", "countTokens", "embedContent"]
)
def test_a_long_model_name_in_the_path_is_refused_like_one_in_the_body(url: str, action: str) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    refused = http().post(f"{url}/v1beta/models/{'m' * 257}:{action}", json=body)
    assert (refused.status_code, refused.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "at most 256" in refused.text
    assert http().get(f"{url}/v1/models/{'m' * 257}").status_code == 400


def test_commas_and_brackets_inside_of_texts_do_not_count(url: str) -> None:
    text = 'a, [b], {"c": "\\"[" } ' * 20_000
    body = {"model": "claude-sonnet-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": text}]}
    assert http().post(f"{url}/v1/messages/count_tokens", json=body).status_code == 200


def test_labels_of_figures_come_from_a_known_set(url: str) -> None:
    for model in ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "evil\nlabel", "x" * 200, 'a"b'):
        http().post(f"{url}/v1/messages", json={"model": model, **ASK})
    for path in ("/v1/models/one", "/v1/models/two", "/three", "/sessions/four"):
        http().get(url + path)
    told = http().get(f"{url}/metrics").text
    assert set(re.findall(r'model="([^"]*)"', told)) <= {"claude-sonnet-4.5", "other"}
    assert not [
        word for word in ("evil", "one", "two", "three", "four") if f"/{word}" in told or f'"{word}' in told
    ]


JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{},"\\ a\n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text('[],{}"\\', max_size=3), inner, max_size=4)
    ),
    max_leaves=25,
)


def counted(value: object) -> tuple[int, int]:
    """Lists, objects and commas, and the depth, of a value."""
    if not isinstance(value, list | dict):
        return 0, 0
    inner = [counted(one) for one in (value.values() if isinstance(value, dict) else value)]
    return 1 + max(0, len(value) - 1) + sum(n for n, _ in inner), 1 + max((d for _, d in inner), default=0)


@given(JSON, st.sampled_from([None, 1]))
def test_elements_and_depth_are_told_exactly(value: object, indent: int | None) -> None:
    raw = json.dumps(value, indent=indent).encode()
    elements, depth = counted(value)
    assert not has_more_elements(raw, elements)
    assert not is_deeper(value, raw, depth)
    if elements:
        assert has_more_elements(raw, elements - 1)
        assert is_deeper(value, raw, depth - 1)


@given(
    st.recursive(
        st.integers(0, 9) | st.none(),
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        max_leaves=40,
    )
)
def test_json_has_at_most_two_elements_in_three_bytes(value: object) -> None:
    """Where a body is too short to reach the limit, nothing is counted."""
    raw = json.dumps(value, separators=(",", ":")).encode()
    elements = sum(raw.count(sign) for sign in (b"[", b"{", b","))
    assert not has_more_elements(raw, elements)
    assert elements == 0 or has_more_elements(raw, elements - 1)


def test_counting_the_elements_of_a_large_body_ends_at_the_limit():
    raw = json.dumps([{"role": "user", "content": "go, [on]"}] * 100_000).encode()
    began = time.process_time()
    _STRING.sub(b"", raw)
    whole, began = time.process_time() - began, time.process_time()
    assert has_more_elements(raw, 10_000)
    assert time.process_time() - began < whole / 2
    assert not has_more_elements(raw, 300_000)
    assert has_more_elements(raw, 299_999)

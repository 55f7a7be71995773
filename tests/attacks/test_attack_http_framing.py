"""Requests whose framing hides another request, headers behind the body, or bytes that nothing counts."""

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from gateway_keys import ASK, MODELS, add_key, answering
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer

BODY = json.dumps({"model": MODELS["anthropic"], **ASK}).encode()
CHUNK = b"%x\r\n%b\r\n" % (len(BODY), BODY)
SMUGGLED = b"GET /sessions HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
UPGRADES = {
    "WebSocket": "Upgrade: websocket\r\nConnection: Upgrade",
    "Java's HTTP client": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB",
}


@contextmanager
def sent(gateway: RunningGateway, *packets: bytes) -> Iterator[socket.socket]:
    """A connection over which these bytes went, each alone."""
    parts = urlsplit(gateway.url)
    with socket.create_connection((parts.hostname, parts.port), 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for packet in packets:
            connection.sendall(packet)
        yield connection


def answers(gateway: RunningGateway, *packets: bytes) -> bytes:
    """What the gateway sends until it closes the connection."""
    whole = b""
    with sent(gateway, *packets) as connection:
        while more := connection.recv(65_536):
            whole += more
    return whole


def post(*lines: str, framing: str = "Transfer-Encoding: chunked", last: bool = True) -> bytes:
    """The head of a question; after the `last` request the server closes the connection."""
    closing = ("Connection: close",) if last else ()
    head = ("POST /v1/messages HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", framing)
    return "\r\n".join([*head, *closing, *lines, "", ""]).encode()


def header_names(server: ScriptedServer) -> set[str]:
    return {name.lower() for name in server.requests[-1].headers}


def test_a_key_or_a_header_behind_the_body_does_not_count(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    trailers = f"0\r\nx-api-key: {key}\r\n\r\n".encode()
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert answers(gateway, post() + CHUNK + trailers).startswith(b"HTTP/1.1 401 ")
        assert not server.requests
        behind = b"0\r\nx-trailing: yes\r\nanthropic-beta: trailing\r\n\r\n"
        assert answers(gateway, post(f"x-api-key: {key}") + CHUNK + behind).startswith(b"HTTP/1.1 200 ")
        assert header_names(server).isdisjoint({"x-trailing", "anthropic-beta"})


@pytest.mark.parametrize(
    "pieces",
    [
        [CHUNK + b"0\r\n", *[b"t: " + b"x" * 30_000 + b"\r\n"] * 40],
        [CHUNK + b"0\r\nt: ", *[b"x" * 30_000] * 40],
        [b"1;", *[b"x" * 30_000] * 40],
    ],
    ids=["trailers", "one trailer", "chunk extension"],
)
@pytest.mark.parametrize("has_key", [True, False])
def test_bytes_around_a_body_are_limited_like_headers(
    tmp_path: Path, pieces: Sequence[bytes], has_key: bool
) -> None:
    key = add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        own = [f"x-api-key: {key}"] if has_key else []
        with pytest.raises(ConnectionError):  # the gateway closes while bytes arrive
            answers(gateway, post(*own, last=False), *pieces, *pieces[1:] * 10)
        assert not server.requests or not has_key or pieces[0].startswith(CHUNK)


@pytest.mark.parametrize("upgrade", UPGRADES)
@pytest.mark.parametrize("is_split", [True, False])
def test_the_body_of_a_request_for_an_upgrade_is_its_body(
    tmp_path: Path, upgrade: str, is_split: bool
) -> None:
    lines = UPGRADES[upgrade]
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        for framing, body in (
            (f"Content-Length: {len(BODY)}", BODY),
            ("Transfer-Encoding: chunked", CHUNK + b"0\r\n\r\n"),
        ):
            head = post(lines, framing=framing, last=False)
            following = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
            packets = [head, body, following] if is_split else [head + body + following]
            answer = answers(gateway, *packets)
            assert b"On the mast." in answer
            assert answer.count(b"HTTP/1.1 200 ") == 2, "the request and the one after it"
        assert header_names(server).isdisjoint({"upgrade", "http2-settings"})


@pytest.mark.parametrize("upgrade", UPGRADES)
def test_a_request_inside_the_body_of_a_request_for_an_upgrade_is_not_served(
    tmp_path: Path, upgrade: str
) -> None:
    lines = (UPGRADES[upgrade], "Expect: 100-continue")
    head = post(*lines, framing=f"Content-Length: {len(SMUGGLED)}", last=False)
    last = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    with (
        answering() as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
        sent(gateway, head) as connection,
    ):
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n", "the head was read alone"
        connection.sendall(SMUGGLED + last)
        answer = b""
        while more := connection.recv(65_536):
            answer += more
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"sessions"' not in answer


def test_requests_for_an_upgrade_in_a_row_are_all_answered(tmp_path: Path) -> None:
    one = f"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\n{UPGRADES['WebSocket']}\r\n\r\n".encode()
    last = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        answer = answers(gateway, one * 2_000 + last)
    assert answer.count(b"HTTP/1.1 426 ") == 2_000
    assert answer.endswith(b'{"status":"ok"}')


def test_a_length_and_chunks_in_one_request_are_refused(tmp_path: Path) -> None:
    both = [
        post(f"Content-Length: {len(BODY)}") + CHUNK + b"0\r\n\r\n" + SMUGGLED,
        post("Transfer-Encoding: chunked", framing=f"Content-Length: {len(BODY)}") + CHUNK + b"0\r\n\r\n",
        post("Content-Length: 5", framing=f"Content-Length: {len(BODY)}") + BODY,
        post(framing="Transfer-Encoding: chunked, identity") + CHUNK + b"0\r\n\r\n",
        post(framing="Transfer-Encoding : chunked") + CHUNK + b"0\r\n\r\n",
        post(framing="Transfer-Encoding:\r\n chunked") + CHUNK + b"0\r\n\r\n",
    ]
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        for request in both:
            answer = answers(gateway, request)
            assert answer.startswith(b"HTTP/1.1 400 "), request[:200]
            assert answer.count(b"HTTP/1.1") == 1
        assert not server.requests

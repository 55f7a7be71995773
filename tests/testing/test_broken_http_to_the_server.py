"""Requests that are not HTTP get an error of their provider, not a closed connection."""

import json
import socket

import pytest

from plimsoll.dialects import dialect_named, dialects
from plimsoll.testing.scripted_server import ScriptedServer, say

HEADERS = "host: x\r\nanthropic-version: 2023-06-01\r\n"
BROKEN = {
    "no length": (HEADERS + "content-length: many\r\n\r\n", 400),
    "a negative length": (HEADERS + "content-length: -5\r\n\r\n", 400),
    "a length with a sign": (HEADERS + "content-length: +5\r\n\r\n12345", 400),
    "a length of thousands of digits": (HEADERS + f"content-length: {'9' * 5_000}\r\n\r\n", 400),
    "no chunk": (HEADERS + "transfer-encoding: chunked\r\n\r\nzz\r\n", 400),
    "a negative chunk": (HEADERS + "transfer-encoding: chunked\r\n\r\n-5\r\n", 400),
    "an endless chunk line": (HEADERS + "transfer-encoding: chunked\r\n\r\n" + "1" * 70_000, 400),
    "an unknown coding": (HEADERS + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
}


def answer_to(server: ScriptedServer, raw: bytes) -> tuple[int, dict]:
    """The status and body with which the server answers before it closes the connection."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30) as client:
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(lambda _request: say("Yes.")) as running:
        yield running


@pytest.mark.parametrize("name", [one.name for one in dialects()])
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_request_gets_an_error_of_the_provider(server, name, case):
    rest, expected = BROKEN[case]
    url = dialect_named(name).url(dialect_named(name).local_url(server.url), "m", False)
    path = url.removeprefix(server.url)
    status, body = answer_to(server, f"POST {path} HTTP/1.1\r\n{rest}".encode())
    assert status == expected
    assert dialect_named(name).is_error(body), body


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1 x\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 200_000 + b"\r\n\r\n", 431),
    ],
)
def test_what_is_no_request_at_all_gets_an_error_too(server, raw, expected):
    status, body = answer_to(server, raw)
    assert status == expected
    assert "error" in body

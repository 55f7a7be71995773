"""Clients that hold a connection without ever finishing their request."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from gateway_keys import ASK, add_key
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer, fault, say

HURRIED = {"receive_seconds": 0.5}
PLAIN = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[socket.socket]:
    """A connection to a gateway that waits half a second for a request and answers after more than that."""
    slow = fault("slow", seconds=1.5, then=say("On the mast."))
    with (
        ScriptedServer([slow]) as server,
        RunningGateway(settings_for(server, gateway=HURRIED), tmp_path) as gateway,
    ):
        parts = urlsplit(gateway.url)
        with socket.create_connection((parts.hostname, parts.port), 30) as made:
            yield made


def rest_of(connection: socket.socket) -> bytes:
    """Everything that the gateway sends until it closes the connection."""
    answer = b""
    while more := connection.recv(65_536):
        answer += more
    return answer


@pytest.mark.parametrize(
    "sent",
    [b"", b"P", b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: "],
    ids=["nothing", "a byte", "half of the headers"],
)
def test_headers_that_never_end_do_not_keep_a_connection_open(
    connection: socket.socket, tmp_path: Path, sent: bytes
) -> None:
    add_key(tmp_path)  # a client that only holds the connection needs none
    connection.sendall(sent)
    assert rest_of(connection).startswith(b"HTTP/1.1 408 ")


def test_half_of_a_second_request_does_not_keep_a_connection_open(connection: socket.socket) -> None:
    connection.sendall(PLAIN)
    answer = b""
    while not answer.endswith(b"}"):
        answer += connection.recv(65_536)
    connection.sendall(b"POST /v1/mess")
    assert rest_of(connection).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_drips_on_after_its_refusal_does_not_keep_the_connection_open(
    connection: socket.socket,
) -> None:
    connection.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000\r\n\r\n{")
    assert connection.recv(65_536).startswith(b"HTTP/1.1 408 ")
    connection.settimeout(0.2)
    is_open = True
    for _ in range(100):  # twenty seconds; the gateway waits five
        try:
            connection.sendall(b" ")
            is_open = connection.recv(65_536) != b""
        except TimeoutError:
            continue
        except OSError:
            is_open = False
        if not is_open:
            break
    assert not is_open


def test_stray_bytes_behind_a_request_do_not_cut_off_a_slow_answer(connection: socket.socket) -> None:
    body = json.dumps({"model": "claude-sonnet-4-5", **ASK}).encode()
    head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(body)
    connection.sendall(head + body + b"\r\n")
    assert b"On the mast." in rest_of(connection)

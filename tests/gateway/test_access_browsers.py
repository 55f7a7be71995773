"""Pages that a person opens in a browser must not use a gateway on his machine, unless he names them."""

import asyncio
from pathlib import Path

import pytest
from clients import http
from gateway_keys import add_key, answering, ask, error_of
from gateway_server import RunningGateway, settings_for

from plimsoll.archive.open_archive import open_archive
from plimsoll.errors import UserError
from plimsoll.gateway.access.key_policy import KeyPolicy

PAGE = "https://chat.example.org"
PREFLIGHT = {
    "origin": PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,x-api-key",
}


def test_by_default_no_page_is_served_or_allowed(tmp_path: Path) -> None:
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        refused = ask(gateway.url, origin=PAGE)
        asked = http().options(gateway.url + "/v1/messages", headers=PREFLIGHT)
    assert refused.status_code == 403
    assert "gateway.allowed_origins" in error_of(refused)["message"]
    assert asked.status_code >= 400
    for answer in (refused, asked):
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert server.requests == []


def test_a_name_that_a_page_points_at_this_machine_is_not_answered(tmp_path: Path) -> None:
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        port = gateway.url.rpartition(":")[2]
        for name in ("evil.example.org", f"127.0.0.1.example.org:{port}", "[::"):
            assert ask(gateway.url, host=name).status_code == 403
        for name in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert ask(gateway.url, host=name).status_code == 200
    assert len(server.requests) == 3


def test_a_page_that_is_named_is_served_and_its_origin_stays_here(tmp_path: Path) -> None:
    settings = {"gateway": {"allowed_origins": [PAGE]}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        asked = http().options(gateway.url + "/v1/messages", headers=PREFLIGHT)
        answered = ask(gateway.url, origin=PAGE)
        other = ask(gateway.url, origin="https://other.example.org")
    assert (asked.status_code, answered.status_code, other.status_code) == (200, 200, 403)
    assert asked.headers["access-control-allow-origin"] == PAGE
    assert answered.headers["access-control-allow-origin"] == PAGE
    assert "access-control-allow-origin" not in other.headers
    assert [seen for seen in server.requests if "origin" in seen.headers] == []


def test_with_keys_a_page_needs_one_and_can_read_that_it_does(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    settings = {"gateway": {"allowed_origins": ["*"]}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        refused, answered = ask(gateway.url, origin=PAGE), ask(gateway.url, origin=PAGE, key=key)
    assert (refused.status_code, answered.status_code) == (401, 200)
    assert refused.headers["access-control-allow-origin"] == "*"


async def opened(key_policy: KeyPolicy, path: Path) -> None:
    async with await open_archive(None, path) as store:
        await key_policy.open(store.keys)


def test_every_page_at_once_needs_keys(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="allows every page"):
        asyncio.run(opened(KeyPolicy("127.0.0.1", "auto", ["*"]), tmp_path))

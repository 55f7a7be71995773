"""Web pages that make a person's browser send requests to a local gateway."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from clients import http
from gateway_keys import ASK, add_key, answering
from gateway_server import RunningGateway, settings_for

PAGE = "https://evil.example.org"
FRIEND = "https://chat.example.org"
PATHS = [
    ("POST", "/v1/messages"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/messages/count_tokens"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/claude-sonnet-4-5"),
    ("POST", "/sessions"),
    ("GET", "/sessions"),
    ("DELETE", "/sessions/x"),
    ("GET", "/search?text=x"),
    ("GET", "/openapi.json"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("OPTIONS", "/sessions"),
    ("HEAD", "/healthz"),
    ("GET", "/nothing-here"),
]


@pytest.fixture(scope="module", params=["without keys", "with keys"])
def gateway(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, str]]]:
    home = tmp_path_factory.mktemp("home")
    headers = {"x-api-key": add_key(home)} if request.param == "with keys" else {}
    settings = {"gateway": {"allowed_origins": [FRIEND]}}
    with answering() as server, RunningGateway(settings_for(server, **settings), home) as running:
        yield running.url, headers


def send(gateway: tuple[str, dict[str, str]], method: str, path: str, **headers: str) -> httpx.Response:
    url, own = gateway
    body = {"model": "claude-sonnet-4-5", **ASK} if method == "POST" else None
    sent = {**own, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return http().request(method, url + path, json=body, headers=sent)


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_page_is_refused_on_every_path_and_method(gateway, method, path, site):
    assert send(gateway, method, path, sec_fetch_site=site).status_code == 403
    assert send(gateway, method, path, sec_fetch_site=site, origin=PAGE).status_code in (400, 403)


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_a_page_in_a_browser_without_fetch_metadata_is_refused_by_its_origin(gateway, method, path):
    assert send(gateway, method, path, origin=PAGE).status_code == 403
    assert send(gateway, method, path, origin="null").status_code == 403


@pytest.mark.parametrize("site", ["", "none", "same-origin"])
def test_programs_the_address_bar_and_own_pages_are_served(gateway, site):
    headers = {"sec_fetch_site": site} if site else {}
    assert send(gateway, "POST", "/v1/messages", **headers).status_code == 200
    assert send(gateway, "GET", "/sessions", **headers).status_code == 200


def test_a_page_that_the_settings_name_is_served(gateway):
    answer = send(gateway, "POST", "/v1/messages", sec_fetch_site="cross-site", origin=FRIEND)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == FRIEND


def test_a_second_header_does_not_outweigh_the_first(gateway):
    url, own = gateway
    twice = [*own.items(), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "none")]
    assert http().get(url + "/sessions", headers=twice).status_code == 403
    origins = [*own.items(), ("origin", FRIEND), ("origin", PAGE)]
    assert http().get(url + "/sessions", headers=origins).status_code == 403


def test_what_a_browser_says_about_its_page_is_not_sent_upstream(tmp_path: Path) -> None:
    told = {"sec-fetch-site": "none", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as running:
        body = {"model": "claude-sonnet-4-5", **ASK}
        assert http().post(running.url + "/v1/messages", json=body, headers=told).status_code == 200
    assert not told.keys() & server.requests[0].headers.keys()

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


NEAR_MISSES = [
    "http://chat.example.org",
    "https://chat.example.org:8443",
    "https://chat.example.org.evil.example",
    "https://evil-chat.example.org",
    "https://a.chat.example.org",
    "https://chat.example.org/",
    "https://chat.example.org@evil.example",
    "https://chat.example.org https://evil.example",
    "https://chat.example.org,https://evil.example",
    "HTTPS://CHAT.EXAMPLE.ORG",
    "chat.example.org",
    "file://",
    "null",
    "*",
]


@pytest.mark.parametrize("origin", NEAR_MISSES)
def test_an_origin_that_only_resembles_an_allowed_one_is_refused(gateway, origin):
    for site in ({}, {"sec_fetch_site": "cross-site"}):
        assert send(gateway, "GET", "/sessions", origin=origin, **site).status_code == 403
        asked = {"origin": origin, "access_control_request_method": "POST", **site}
        preflight = send(gateway, "OPTIONS", "/v1/messages", **asked)
        assert preflight.status_code in (400, 403)
        assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize(
    "site",
    ["Cross-Site", "CROSS-SITE", "Same-Site", "unknown", "", "none, cross-site", "same-origin;x", "\xe9"],
)
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_a_site_in_another_form_is_refused_like_another_site(gateway, method, path, site):
    url, own = gateway
    sent = [*own.items(), ("sec-fetch-site", site.encode("latin-1"))]
    for more in ([], [("sec-fetch-site", "same-origin")], [("origin", PAGE)]):
        assert http().request(method, url + path, headers=[*sent, *more]).status_code in (400, 403)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"]
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/compact", "/v1/embeddings", "/sessions"])
def test_a_form_of_another_page_is_not_answered(gateway, path, kind):
    form = {"content_type": kind, "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    for page in ({"sec_fetch_site": "cross-site"}, {"origin": "null"}, {"origin": PAGE}):
        assert send(gateway, "POST", path, **form, **page).status_code == 403


@pytest.mark.parametrize("path", ["/", "/sessions", "/v1/responses", "/inspect"])
def test_a_websocket_is_opened_for_no_page(gateway, path):
    opening = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec_websocket_version": "13",
        "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for page in ({"origin": PAGE}, {"sec_fetch_site": "cross-site"}, {"origin": "null"}):
        assert send(gateway, "GET", path, **opening, **page).status_code == 403
    assert send(gateway, "GET", path, **opening).status_code != 101


LINKED = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}


def test_a_link_opens_the_empty_page_of_the_inspector_and_nothing_else(gateway):
    assert send(gateway, "GET", "/inspect", **LINKED).status_code == 200
    for path in (
        "/inspect/",
        "/inspect/app.js",
        "/inspect/../sessions",
        "/sessions",
        "/inspect%2f",
        "//inspect",
    ):
        assert send(gateway, "GET", path, **LINKED).status_code == 403, path
    for changed in ({"sec_fetch_dest": "iframe"}, {"sec_fetch_mode": "no-cors"}, {"sec_fetch_dest": "empty"}):
        assert send(gateway, "GET", "/inspect", **{**LINKED, **changed}).status_code == 403
    for method in ("POST", "HEAD", "PUT", "OPTIONS"):
        assert send(gateway, method, "/inspect", **LINKED).status_code == 403
    page = send(gateway, "GET", "/inspect", **LINKED).headers
    assert "frame-ancestors 'none'" in page["content-security-policy"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "evil.example:80", "127.0.0.1@evil.example",
        "[::ffff:8.8.8.8]", "0.0.0.0", "127.1.evil", "localhost,evil.example", "evil.example#localhost", "xlocalhost",
    ],
)  # fmt: skip
def test_a_name_that_an_attacker_points_at_this_machine_is_refused(gateway, host):
    url, own = gateway
    if own:
        pytest.skip("a key protects the gateway")
    for path in ("/sessions", "/v1/models", "/metrics", "/search?text=x"):
        assert http().get(url + path, headers={"host": host}).status_code in (400, 403), path

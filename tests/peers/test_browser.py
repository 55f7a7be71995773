"""A real browser: a page of another site cannot use the gateway, unless its origin is named in the settings."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from cases import PEERS
from processes import running_gateway, upstream_settings

from plimsoll.testing.scripted_server import ScriptedServer, say

# Three ways in which a page may try: as an API client does, without a preflight, and without reading the answer.
PAGE = """<!doctype html><script>
const body = JSON.stringify({model: "claude-sonnet-4-5", max_tokens: 50, messages: [{role: "user", content: "hi"}]});
const url = new URLSearchParams(location.search).get("gateway") + "/v1/messages";
const json = {"content-type": "application/json", "x-api-key": "any", "anthropic-version": "2023-06-01"};
const tries = [{headers: json}, {headers: {"content-type": "text/plain"}}, {mode: "no-cors"}];
(async () => {
  const seen = [];
  for (const options of tries) {
    try {
      const answer = await fetch(url, {method: "POST", body, ...options});
      seen.push(answer.ok ? (await answer.json()).content[0].text : String(answer.status));
    } catch (error) {
      seen.push("blocked");
    }
  }
  await fetch("/report", {method: "POST", body: JSON.stringify(seen)});
})();
</script>"""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 180  # seconds; only a browser that hangs takes so long


class Site(BaseHTTPRequestHandler):
    """A web site with one page, which reports what it could do."""

    reports: "Queue[list[str]]"

    def do_GET(self) -> None:
        """The page, and nothing else."""
        self.send_response(200 if self.path.startswith("/page") else 404)
        self.send_header("content-type", "text/html")
        self.end_headers()
        if self.path.startswith("/page"):
            self.wfile.write(PAGE.encode())

    def do_POST(self) -> None:
        """What the page found."""
        self.reports.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing on the screen of the tests."""


@contextmanager
def site() -> Iterator[tuple[str, "Queue[list[str]]"]]:
    """A site on loopback: its origin, and what its page reports."""
    reports: Queue[list[str]] = Queue()
    handler = type("Reporting", (Site,), {"reports": reports})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", reports
        finally:
            server.shutdown()
            thread.join()


def visit(url: str, reports: "Queue[list[str]]", folder: Path) -> list[str]:
    """Open a page in the browser; what it reported."""
    peer = PEERS["chromium"]
    assert peer.is_installed, "chromium is not installed; run `make peers`"
    command = [
        str(peer.program("chromium")),
        *FLAGS,
        f"--user-data-dir={folder}",
        "--remote-debugging-port=0",
        url,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            return reports.get(timeout=PATIENCE)
        finally:
            browser.kill()


@pytest.mark.parametrize("is_named", [False, True], ids=["an unknown page", "a named page"])
def test_only_a_page_whose_origin_is_named_is_answered_in_a_real_browser(
    is_named: bool, tmp_path: Path
) -> None:
    with (
        site() as (origin, reports),
        ScriptedServer(lambda _: say("Hello, page.")) as server,
        running_gateway(
            tmp_path / "plimsoll",
            {
                **upstream_settings(server, "anthropic"),
                **({"GATEWAY__ALLOWED_ORIGINS": json.dumps([origin])} if is_named else {}),
            },
        ) as gateway,
    ):
        found = visit(f"{origin}/page?gateway={gateway.url}", reports, tmp_path / "browser")
    if is_named:
        assert found[0] == "Hello, page."
        assert {seen.headers.get("origin") for seen in server.requests} == {None}
    else:
        assert found[:2] == ["blocked", "blocked"]
        assert server.requests == []

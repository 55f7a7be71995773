"""Clients that try to write lines of their own into the gateway's log."""

import io
import json
import logging
import signal
from pathlib import Path

import pytest
from clients import http
from gateway_keys import ASK, answering, gateway_program
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.gateway.client_lines import client_lines
from plimsoll.gateway.telemetry.request_log import JsonLines, TextLines

FORGED = "2030-01-01T00:00:00.000Z GET /forged 200 0.001 s caller=admin"
PATHS = [
    f"/x%0a{FORGED.replace(' ', '%20')}",
    "/x%0d%0ay",
    "/x%1b[2J",
    "/x%c2%9b2J",
    "/x%e2%80%a8y",
    "/x%20status=200",
]


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_path_or_model_forges_a_line_of_the_log(tmp_path: Path, form: str) -> None:
    config = f"gateway:\n  log: {form}\n"
    with answering() as server, gateway_program(tmp_path / "home", server, config=config) as (url, process):
        for path in PATHS:
            http().get(url + path)
        for model in (f"m\n{FORGED}", "m\x1b[2J", "m\u2028x", "m status=200", "m\u202ex"):
            http().post(f"{url}/v1/messages", json={"model": model, **ASK})
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        banner, *lines = process.stderr.read().split("\n")[:-1]
    assert banner.startswith("  upstream: ")
    lines = lines[len(list(client_lines(url))) :]
    requests = [line for line in lines if "/healthz" not in line]
    assert len(requests) == len(PATHS) + 5
    assert not [line for line in lines if line.startswith("2030-")]
    assert all(line.isprintable() for line in lines)
    if form == "text":
        assert not [line for line in lines if " status=200" in line.replace('"', "\0").split("\0")[0]]
    else:
        assert len({json.loads(line)["path"] for line in requests}) == len(PATHS) + 1


def record(message: str, error: Exception | None = None, **told: str) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    made = logging.LogRecord("plimsoll", logging.WARNING, __file__, 1, "%s", (message,), info)
    if told:
        made.fields = {"event": "request", "method": "GET", "status": 200, "seconds": 0.1, **told}
    return made


@given(st.text(), st.text())
def test_a_request_is_one_printable_line_whatever_its_values_are(path: str, model: str) -> None:
    for formatter in (TextLines(), JsonLines()):
        line = formatter.format(record("request", path=path, model=model))
        assert line.splitlines() == [line]
        assert "\x1b" not in line
    assert json.loads(line)["path"] == path


@given(st.text())
def test_a_message_is_one_line_and_a_traceback_is_indented(words: str) -> None:
    first, *rest = TextLines().format(record(words, ValueError(words))).split("\n")
    assert first.splitlines() == [first]
    assert rest
    assert all(line.startswith("    ") for line in rest)


def test_a_half_surrogate_pair_can_be_written() -> None:
    line = TextLines().format(record("request", path="/x", model="\ud800"))
    io.TextIOWrapper(io.BytesIO(), "utf-8").write(line)
    assert "\\ud800" in line

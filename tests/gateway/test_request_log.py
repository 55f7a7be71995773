"""The log of the program itself: one JSON object for each request, and never what was said unless it is asked for."""

import io
import json
import logging
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from clients import http
from gateway_keys import ASK, MODELS, add_key, answering, ask, gateway_program

from plimsoll.gateway.telemetry.request_log import REQUESTS, start_log
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

SECRET = "AKIAIOSFODNN7EXAMPLE"


def lines_of(
    folder: Path, config: str, *, keyed: bool = False, said: str = "a word"
) -> tuple[list[str], str]:
    """What a gateway writes while one question is asked, and the key of who asks."""
    key = add_key(folder) if keyed else ""
    with answering() as server, gateway_program(folder, server, config=config) as (url, running):
        body = {"model": MODELS["anthropic"], **ASK, "messages": [{"role": "user", "content": said}]}
        headers = {"x-api-key": key} if key else {}
        answer = http().post(url + "/v1/messages?note=lantern", json=body, headers=headers)
        assert answer.status_code == 200
        running.send_signal(signal.SIGTERM)
        assert running.stderr is not None
        written = running.stderr.read()
        assert running.wait(120) == 0
    return [line for line in written.splitlines() if "/v1/messages" in line], key


def test_a_request_is_one_json_object_without_contents(tmp_path: Path) -> None:
    (line,), key = lines_of(tmp_path, "", keyed=True, said="the harbour master")
    told: dict[str, Any] = json.loads(line)
    assert (told["event"], told["level"], told["method"], told["path"], told["status"]) == (
        "request",
        "info",
        "POST",
        "/v1/messages",
        200,
    )
    assert (told["caller"], told["key"]) == ("laptop", key.split("-")[1])
    assert (told["model"], told["provider"]) == ("claude-sonnet-4-5", "anthropic")
    assert told["input"] + told["cache_write"] + told["cache_read"] > 0
    assert told["output"] > 0
    assert told["usd"] > 0
    assert told["seconds"] >= told["first_byte_seconds"] >= told["gateway_seconds"] > 0
    for hidden in ("harbour", "mast", "lantern", key, key.split("-", 2)[2], "upstream-key"):
        assert hidden not in line


def test_log_contents_has_what_was_said_without_secrets(tmp_path: Path) -> None:
    (line,), _ = lines_of(tmp_path, "gateway:\n  log_contents: true\n", said=f"harbour {SECRET}")
    told = json.loads(line)
    assert "harbour" in told["request"]
    assert "On the mast." in told["reply"]
    assert SECRET not in line


def test_log_text_is_a_line_for_people_and_off_is_none(tmp_path: Path) -> None:
    (line,), _ = lines_of(tmp_path / "text", "gateway:\n  log: text\n")
    assert " POST /v1/messages 200 " in line
    assert "model=claude-sonnet-4-5" in line
    assert lines_of(tmp_path / "off", "gateway:\n  log: 'off'\n")[0] == []


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_the_log_is_short_lines_on_a_terminal_and_json_elsewhere(on_a_terminal: bool) -> None:
    theirs, ours = os.openpty() if on_a_terminal else os.pipe()
    facts = {
        "event": "request", "id": "1a2b", "method": "POST", "path": "/v1/messages", "status": 200, "seconds": 1.2379,
        "bytes": 812, "model": "claude-sonnet-4-5", "input": 110, "cache_read": 8_700, "cache_write": 310,
        "output": 42, "usd": 0.02414, "compactions": [{"trigger": "threshold", "outcome": "compacted",
                                                       "before": 96_120, "after": 21_040}],
    }  # fmt: skip
    with open(ours, "w") as stream:  # noqa: PTH123 (a descriptor)
        log = start_log("auto", stream)
        record = logging.LogRecord(REQUESTS, logging.INFO, __file__, 1, "request", None, None)
        record.fields = facts
        logging.getLogger(REQUESTS).handle(record)
        log.stop()
        for name in ("plimsoll", "uvicorn"):
            logging.getLogger(name).handlers = []
        written = os.read(theirs, 10_000).decode().strip()
    os.close(theirs)
    if on_a_terminal:
        assert written[8:] == (
            " POST /v1/messages 200 1.24 s model=claude-sonnet-4-5 in=9120 cached=95% out=42 usd=0.0241 "
            "compacted=96120>21040"
        )
    else:
        told = json.loads(written)
        assert facts.items() <= told.items()


def test_lines_are_written_together_and_one_that_cannot_be_written_loses_no_other() -> None:
    class Stream(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            return super().write(text)

    stream = Stream()
    log = start_log("json", stream)
    for number in range(100):
        record = logging.LogRecord(REQUESTS, logging.INFO, __file__, 1, "request", None, None)
        record.fields = {"event": "request", "id": object() if number == 7 else str(number)}
        logging.getLogger(REQUESTS).handle(record)
    log.stop()
    for name in ("plimsoll", "uvicorn"):
        logging.getLogger(name).handlers = []
    written = [json.loads(line)["id"] for line in stream.getvalue().splitlines()]
    assert written == [str(number) for number in range(100) if number != 7]
    assert stream.writes < 20


def test_the_header_of_an_answer_names_its_line(tmp_path: Path) -> None:
    with answering() as server, gateway_program(tmp_path, server) as (url, running):
        answer = ask(url)
        running.send_signal(signal.SIGTERM)
        assert running.stderr is not None
        written = running.stderr.read()
    assert f'"id":"{answer.headers["x-plimsoll-request"]}"' in written


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_gateway_that_is_ended_finishes_what_is_under_way(tmp_path: Path, workers: str) -> None:
    text = "one two three four five six seven eight nine ten"
    slow = fault("slow", seconds=0.2, between=0.1, then=say(text))
    answers: list[str] = []
    begun = threading.Event()

    def asking(url: str) -> None:
        body = {"model": MODELS["anthropic"], **ASK, "stream": True}
        with http().stream("POST", url + "/v1/messages", json=body) as reply:
            for piece in reply.iter_text():
                begun.set()
                answers.append(piece)

    with (
        ScriptedServer([slow]) as server,
        gateway_program(tmp_path, server, "--workers", workers) as (url, running),
    ):
        thread = threading.Thread(target=asking, args=(url,))
        thread.start()
        assert begun.wait(120)
        running.send_signal(signal.SIGTERM)
        thread.join(120)
        assert running.wait(120) == 0
    assert "message_stop" in "".join(answers)


def test_a_gateway_beyond_this_machine_does_not_start_without_keys(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match=r"does not listen on 0\.0\.0\.0 without keys"),
        answering() as server,
        gateway_program(tmp_path, server, "--host", "0.0.0.0", "--workers", "2"),
    ):
        pytest.fail("it started")

"""The log on standard error: a line for each request, and the gateway's own messages.

    {"time":"2026-03-01T10:00:00.123Z","level":"info","event":"request","id":"…","path":"/v1/messages","status":200,…}
    10:00:00 POST /v1/messages 200 1.24 s model=claude-sonnet-4-5 in=9120 cached=95% out=310 usd=0.0241

Lines contain no message contents and no query strings unless `gateway.log_contents` is set; secrets are redacted even
then. A separate thread writes the lines, so a full pipe blocks no request.
"""

import json
import logging
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TextIO

from plimsoll.archive import CompactionEvent
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.telemetry.request_facts import RequestFacts, is_degraded
from plimsoll.secrets import redact
from plimsoll.settings.gateway import LogForm

REQUESTS = "plimsoll.gateway.requests"
_NAMES = ("plimsoll", "uvicorn")
_WORD = re.compile(r"[!#-<>-~]+")  # printable ASCII without blanks, quotes and equals signs
# Controls, line and paragraph separators, bidirectional marks, half surrogate pairs.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff\\ufeff]"
)
_ALWAYS = ("seconds", "bytes")  # logged even if zero
_MAX_WAITING = 10_000  # queued lines; more are dropped
_PAUSE = 0.05  # seconds in which lines are collected


class RequestLog:
    """Logs each request."""

    def __init__(self) -> None:
        self._log = logging.getLogger(REQUESTS)

    def ended(self, facts: RequestFacts, path: str, now: float) -> None:
        """Log one line."""
        if self._log.isEnabledFor(logging.INFO):
            # Built directly, because `log.info` would look up the calling line each time.
            record = logging.LogRecord(REQUESTS, logging.INFO, __file__, 0, "request", None, None)
            record.fields = log_fields(facts, now)
            self._log.handle(record)


def log_fields(facts: RequestFacts, now: float) -> dict[str, Any]:
    """The fields of a request's log line; unknown values are left out."""
    fields: dict[str, Any] = {
        "event": "request",
        "id": facts.id,
        "method": facts.method,
        "path": facts.path,
        "status": facts.status,
        "seconds": round(now - facts.start, 6),
        "first_byte_seconds": _since(facts.start, facts.first_byte),
        "gateway_seconds": _since(facts.start, facts.sent),
        "bytes": facts.sent_bytes,
        "caller": facts.caller.name,
        "key": facts.caller.owner,
        "provider": facts.provider,
        "model": facts.model,
        "refusal": facts.refusal,
        "error": facts.error,
        "compactions": [_compaction_of(compaction) for compaction in facts.compactions],
    }
    fields = {name: value for name, value in fields.items() if value or name in _ALWAYS}
    if facts.usage:
        fields["input"], fields["cache_read"], fields["cache_write"], fields["output"] = facts.tokens
        if facts.money is not None:
            fields["usd"] = facts.money
    if facts.bodies is not None:
        request, reply = (redact(bytes(body).decode("utf-8", "replace")) for body in facts.bodies)
        fields["request"], fields["reply"] = request, reply
    return fields


def _since(start: float, end: float | None) -> float | None:
    return None if end is None else round(end - start, 6)


def _compaction_of(event: CompactionEvent) -> dict[str, Any]:
    return {
        "trigger": event.trigger,
        "outcome": event.outcome,
        "before": event.tokens_before,
        "after": event.tokens_after,
        **({"summary_model_failed": True} if is_degraded(event) else {}),
    }


class JsonLines(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {"time": _moment(record.created), "level": record.levelname.lower()}
        facts = getattr(record, "fields", None)
        if isinstance(facts, Mapping):
            fields |= facts
        else:
            fields |= {"event": "message", "from": record.name, "message": record.getMessage()}
            if record.exc_info:
                fields["traceback"] = self.formatException(record.exc_info)
        return _escaped(jsontext.write(fields).decode())


class TextLines(logging.Formatter):
    """A record as one short line for people, with the local time; JSON lines have all fields.

    Paths, models and names come from clients. None of their characters can start a line, move a terminal's cursor or
    look like another field: values with a blank, a quote or an equals sign are quoted. The lines of a traceback are
    indented, so that none looks like a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "fields", None)
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        if not isinstance(facts, Mapping):
            text = f"{moment} {record.levelname.lower()} {_escaped(record.getMessage())}"
            if not record.exc_info:
                return text
            traceback = self.formatException(record.exc_info).split("\n")
            return "\n".join([text, *(f"    {_escaped(line)}" for line in traceback)])
        request = f"{_value(facts['method'])} {_value(facts['path'])}"
        head = f"{moment} {request} {facts.get('status', '-')} {facts['seconds']:.2f} s"
        return " ".join((head, *(f"{name}={_value(value)}" for name, value in _short_facts(facts))))


def _short_facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The short fields of a request for a person."""
    yield from ((name, facts[name]) for name in ("caller", "model") if name in facts)
    if "input" in facts:
        prompt = facts["input"] + facts["cache_read"] + facts["cache_write"]
        yield "in", prompt
        if facts["cache_read"]:
            yield "cached", f"{facts['cache_read'] / prompt:.0%}"
        yield "out", facts["output"]
    if "usd" in facts:
        yield "usd", f"{facts['usd']:.4f}"
    for event in facts.get("compactions", ()):
        yield event["outcome"], f"{event['before']}>{event['after']}"
        if event.get("summary_model_failed"):
            yield "summary_model", "failed"
    yield from ((name, facts[name]) for name in ("refusal", "error", "request", "reply") if name in facts)


def _value(value: object) -> str:
    """A field's value, quoted if needed."""
    text = str(value)
    return text if _WORD.fullmatch(text) else _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(text: str) -> str:
    """The text without characters that end a line or control a terminal."""
    return text if text.isprintable() else _UNPRINTABLE.sub(_escape, text)


def _escape(found: "re.Match[str]") -> str:
    code = ord(found[0])
    # JSON has only this form of escape; a character beyond the BMP needs two.
    pair = found[0].encode("utf-16-be", "surrogatepass")
    return f"\\u{code:04x}" if code < 0x10000 else "".join(f"\\u{pair[i : i + 2].hex()}" for i in (0, 2))


class _Queue(logging.Handler):
    """Queues records for the writing thread; drops them if it does not keep up."""

    def __init__(self) -> None:
        super().__init__()
        self.records: deque[logging.LogRecord] = deque()
        self.is_filled = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.records) < _MAX_WAITING:
            self.records.append(record)
            if not self.is_filled.is_set():
                self.is_filled.set()


class LogThread:
    """The writing thread. After `stop`, records are written directly.

    It wakes up for many records at once: waking it for each one takes longer than writing it.
    """

    def __init__(self, queue: _Queue, writer: "logging.StreamHandler[TextIO]") -> None:
        self._queue, self._writer, self._is_open = queue, writer, True
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gateway-log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the queued records and stop."""
        if self._is_open:
            self._is_open = False
            self._stopping.set()
            self._queue.is_filled.set()
            self._thread.join()
            for name in _NAMES:
                logging.getLogger(name).handlers = [self._writer]
            self._write_queued()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._queue.is_filled.wait()
            self._stopping.wait(_PAUSE)
            self._queue.is_filled.clear()
            self._write_queued()

    def _write_queued(self) -> None:
        records = self._queue.records
        text = "".join([self._line(records.popleft()) for _ in range(len(records))])
        if text:
            with suppress(OSError, ValueError):  # nobody reads the log any more
                self._writer.stream.write(text)
                self._writer.flush()

    def _line(self, record: logging.LogRecord) -> str:
        try:
            return self._writer.format(record) + self._writer.terminator
        except Exception:  # of one record; the others are written
            self._writer.handleError(record)
            return ""


def start_log(form: LogForm, stream: TextIO | None = None) -> LogThread:
    """Send this process's log to standard error. Stop it at the end."""
    # No line names a thread, process or task; looking them up takes a quarter of a record's cost.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    queue = _Queue()
    target = stream or sys.stderr
    writer = logging.StreamHandler(target)
    is_text = form == "text" or (form == "auto" and target.isatty())
    writer.setFormatter(TextLines() if is_text else JsonLines())
    for name in _NAMES:
        logger = logging.getLogger(name)
        logger.handlers = [queue]
        logger.propagate = False
        logger.setLevel(logging.WARNING)
    # Without request lines, warnings are still logged.
    logging.getLogger(REQUESTS).setLevel(logging.WARNING if form == "off" else logging.INFO)
    return LogThread(queue, writer)


def _moment(seconds: float) -> str:
    return f"{_second(int(seconds))}.{int(seconds % 1 * 1000):03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))

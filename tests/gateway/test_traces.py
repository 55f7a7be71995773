"""Traces by the GenAI conventions, as a collector gets them over HTTP."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gateway_keys import answering, ask
from gateway_server import RunningGateway, settings_for
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from plimsoll.testing.scripted_server import ScriptedServer, fault

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A collector on loopback, and what it got."""
    got: list[bytes] = []

    class Takes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            got.append(body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Takes) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", got
        finally:
            listening.shutdown()
            thread.join()


def spans_in(bodies: list[bytes]) -> list[Span]:
    return [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def values(span: Span) -> dict[str, Any]:
    found = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        assert kind
        found[one.key] = getattr(one.value, kind)
    return found


def test_a_request_is_a_span_and_the_model_that_was_asked_one_inside(tmp_path: Path) -> None:
    with collector() as (url, got):
        settings = {"gateway": {"traces": url}}
        with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
            parent = f"00-{TRACE}-00f067aa0ba902b7-01"
            assert ask(gateway.url, traceparent=parent).status_code == 200
        request, asked = sorted(spans_in(got), key=lambda span: span.kind)
    assert (request.name, asked.name) == ("POST /v1/messages", "chat claude-sonnet-4-5")
    assert (request.kind, asked.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT)
    assert asked.parent_span_id == request.span_id
    assert request.trace_id.hex() == asked.trace_id.hex() == TRACE
    assert request.start_time_unix_nano <= asked.start_time_unix_nano < asked.end_time_unix_nano
    (usage,) = [seen.usage for seen in server.requests if seen.usage]
    told = values(asked)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "anthropic"
    assert told["gen_ai.request.model"] == "claude-sonnet-4-5"
    assert told["gen_ai.usage.input_tokens"] == usage.prompt_tokens
    assert told["gen_ai.usage.output_tokens"] == usage.completion_tokens
    assert told["gen_ai.usage.cache_creation.input_tokens"] == (usage.cache_write_tokens or 0)
    assert values(request)["http.response.status_code"] == 200
    assert b"lantern" not in b"".join(got)
    assert b"mast" not in b"".join(got)


def test_a_refusal_of_the_upstream_is_an_error_of_its_span(tmp_path: Path) -> None:
    with collector() as (url, got):
        settings = {"gateway": {"traces": url}}
        with (
            ScriptedServer([fault(529, times=None)]) as server,
            RunningGateway(settings_for(server, **settings), tmp_path) as gateway,
        ):
            assert ask(gateway.url).status_code == 529
        request, asked = sorted(spans_in(got), key=lambda span: span.kind)
    assert values(asked)["error.type"] == values(request)["error.type"] == "529"
    assert "gen_ai.usage.input_tokens" not in values(asked)


def test_an_unreachable_collector_delays_no_request(tmp_path: Path) -> None:
    with collector() as (url, _):
        pass
    settings = {"gateway": {"traces": url}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        assert ask(gateway.url).status_code == 200

"""Traces for OpenTelemetry: a span for each request, with a child span for the model request.

    POST /v1/messages                 SERVER   http.request.method · http.route · http.response.status_code
      └─ chat claude-sonnet-4.5       CLIENT   gen_ai.operation.name · gen_ai.request.model · gen_ai.usage.*

Names follow the GenAI semantic conventions. Both spans are created when the request has ended, with the recorded
times, so that nothing waits for them; batches are sent in the background. They contain numbers and names, no
contents. A client that sends `traceparent` finds them in its own trace.
"""

from typing import Any

from plimsoll.errors import UserError
from plimsoll.gateway.telemetry.request_facts import RequestFacts
from plimsoll.installation import install_command

_NANOSECONDS = 1_000_000_000
Values = dict[str, str | int | float | bool]


class Traces:
    """Exports each request to a collector. Created by `open_traces`."""

    def __init__(self, tracer: Any, provider: Any) -> None:
        self._tracer, self._provider = tracer, provider

    def ended(self, facts: RequestFacts, path: str, now: float) -> None:
        """Create the spans of one request."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = None
        if facts.traceparent:
            parent = TraceContextTextMapPropagator().extract({"traceparent": facts.traceparent})
        request = self._tracer.start_span(
            f"{facts.method} {path}",
            context=parent,
            kind=trace.SpanKind.SERVER,
            start_time=_moment(facts, facts.start),
            attributes=_of_request(facts, path),
        )
        if facts.status >= 500 or not facts.status:
            request.set_status(trace.StatusCode.ERROR)
        if facts.sent is not None:
            span = self._tracer.start_span(
                f"chat {facts.model}".rstrip(),
                context=trace.set_span_in_context(request),
                kind=trace.SpanKind.CLIENT,
                start_time=_moment(facts, facts.sent),
                attributes=_of_model(facts),
            )
            if facts.status >= 400 or not facts.status:
                span.set_status(trace.StatusCode.ERROR)
            span.end(_moment(facts, now))
        request.end(_moment(facts, now))

    def close(self) -> None:
        """Flush what is left."""
        self._provider.shutdown()


def _of_request(facts: RequestFacts, path: str) -> Values:
    values: Values = {
        "http.request.method": facts.method,
        "http.route": path,
        "plimsoll.request.id": facts.id,
        "plimsoll.compactions": len(facts.compactions),
    }
    if facts.status:
        values["http.response.status_code"] = facts.status
    if facts.refusal:
        values["plimsoll.refusal"] = facts.refusal
    if facts.caller.owner:
        values["plimsoll.key.id"] = facts.caller.owner
    if facts.error or facts.status >= 500:
        values["error.type"] = facts.error or str(facts.status)
    return values


def _of_model(facts: RequestFacts) -> Values:
    values: Values = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": facts.provider}
    if facts.model:
        values["gen_ai.request.model"] = facts.model
    if facts.address:
        values["server.address"] = facts.address
    if facts.usage:
        plain, read, written, output = facts.tokens
        values |= {
            "gen_ai.usage.input_tokens": plain + read + written,
            "gen_ai.usage.output_tokens": output,
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.cache_creation.input_tokens": written,
        }
    if facts.error or facts.status >= 400:
        values["error.type"] = facts.error or str(facts.status)
    return values


def _moment(facts: RequestFacts, when: float) -> int:
    return int((facts.began + when - facts.start) * _NANOSECONDS)


def open_traces(collector: str) -> Traces:
    """Traces to a collector that accepts OTLP over HTTP."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise UserError(
            f"gateway.traces is set, but OpenTelemetry is not installed: {install_command('otel')}."
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "plimsoll-gateway"}))
    exporter = OTLPSpanExporter(endpoint=f"{collector.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Traces(provider.get_tracer("plimsoll.gateway"), provider)

"""Traces the calls of a service with OpenTelemetry: one span for each, without codes, keys and numbers.

    pip install opentelemetry-sdk
    python tracing.py

A program passes ``traced(tracer)`` as ``on_call`` and exports its spans as it is used to.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

import seconder

# A wrong code is a result like any other: it is not an error of the program or of the service.
RESULTS = ("ok", "token_wrong", "token_reused", "token_not_checked", "token_malformed")


def traced(tracer: Tracer) -> Callable[[seconder.results.CallRecord], None]:
    """A function for ``on_call`` that makes a span of each call, in the span that is current."""

    def on_call(record: seconder.results.CallRecord) -> None:
        end = time.time_ns()
        begin = end - int(record.duration * 1e9)
        span = tracer.start_span(f"seconder {record.call}", kind=SpanKind.CLIENT, start_time=begin)
        span.set_attribute("seconder.outcome", record.outcome)
        span.set_attribute("seconder.retries", record.retries)
        for name in ("code", "stage", "factor", "request_id"):
            value = getattr(record, name)
            if value is not None:
                span.set_attribute(f"seconder.{name}", value)
        if record.http_status is not None:
            span.set_attribute("http.response.status_code", record.http_status)
        if record.error is not None and record.outcome not in RESULTS:
            span.set_attribute("error.type", record.error)
            span.set_status(Status(StatusCode.ERROR, record.outcome))
        span.end(end)

    return on_call


def main() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    tracer = provider.get_tracer("example")
    with seconder.open("sandbox:?accept=0000000", on_call=traced(tracer)) as service:
        with tracer.start_as_current_span("log in"):
            user = service.create_user("ada@example.com", "555-010-0123", 1)
            try:
                service.verify(user.user_id, "1234567")
            except seconder.TokenInvalid:
                service.verify(user.user_id, "0000000")
    provider.shutdown()


if __name__ == "__main__":
    main()

"""The example that traces calls with OpenTelemetry."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, Tracer

import seconder
from conftest import RemoteService

EXAMPLE = Path(__file__).parents[3] / "examples" / "tracing.py"
EMAIL, NUMBER, WRONG = "hidden@example.com", "555-010-0199", "7654321"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


@pytest.fixture
def traced(tracer: Tracer) -> Callable[[seconder.results.CallRecord], None]:
    spec = importlib.util.spec_from_file_location("tracing", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook: Callable[[seconder.results.CallRecord], None] = module.traced(tracer)
    return hook


def shown(span: ReadableSpan) -> tuple[str, StatusCode, dict[str, Any]]:
    own = {name: value for name, value in (span.attributes or {}).items()}
    assert len(str(own.pop("seconder.request_id"))) == 16
    return span.name, span.status.status_code, own


def test_each_call_is_a_span_in_the_current_one(
    exporter: InMemorySpanExporter, tracer: Tracer, traced: Any, remote: RemoteService
) -> None:
    with tracer.start_as_current_span("request") as outer:
        with seconder.open("sandbox:?accept=0000000", on_call=traced) as service:
            user = service.create_user(EMAIL, NUMBER, 1).user_id
            with pytest.raises(seconder.TokenInvalid):
                service.verify(user, WRONG)
        remote.status, remote.body = 401, {"message": "Invalid API key", "error_code": "60001"}
        with remote.open(on_call=traced) as service, pytest.raises(seconder.Unauthorized):
            service.verify(user, WRONG)

        async def ask() -> None:
            async with seconder.open_async("sandbox:", on_call=traced) as service:
                await service.app_details()

        asyncio.run(ask())
    spans = exporter.get_finished_spans()
    assert [shown(span) for span in spans[:-1]] == [
        ("seconder create_user", StatusCode.UNSET, {"seconder.outcome": "ok", "seconder.retries": 0}),
        (
            "seconder verify",
            StatusCode.UNSET,
            {"seconder.outcome": "token_wrong", "seconder.retries": 0, "seconder.code": "60020"},
        ),
        (
            "seconder verify",
            StatusCode.ERROR,
            {
                "seconder.outcome": "unauthorized",
                "seconder.retries": 0,
                "seconder.code": "60001",
                "http.response.status_code": 401,
                "error.type": "Unauthorized",
            },
        ),
        ("seconder app_details", StatusCode.UNSET, {"seconder.outcome": "ok", "seconder.retries": 0}),
    ]
    for span in spans[:-1]:
        assert span.parent is not None and span.parent.span_id == outer.get_span_context().span_id
        assert span.start_time is not None and span.end_time is not None
        assert span.start_time <= span.end_time
    everything = "".join(span.to_json() for span in spans)
    secrets = (EMAIL, NUMBER, "5550100199", WRONG, "a-key-that-nobody-sees")
    assert [each for each in secrets if each in everything] == []


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    decoder, text, names = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        span, end = decoder.raw_decode(text)
        names.append(span["name"])
        text = text[end:].lstrip()
    wanted = ["seconder create_user", "seconder verify", "seconder verify", "log in"]
    assert names == wanted

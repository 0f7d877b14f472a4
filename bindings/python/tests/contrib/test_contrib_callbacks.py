"""In every framework, only a callback that is signed, fresh and new becomes an event."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import fastapi
import flask
import pytest
import starlette.applications
import starlette.requests
from contrib import signing
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from starlette.routing import Route
from starlette.testclient import TestClient

import seconder
import seconder.contrib.asgi
import seconder.contrib.flask
from seconder.contrib._receiver import BODY_LIMIT, Receiver, RejectedRequest

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"]
Function = Callable[[seconder.results.Event], object]


@dataclass
class HttpReply:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Site:
    """A web application whose only endpoint passes its events to a function."""

    def __init__(self, function: Function, **options: Any) -> None:
        given = {"api_key": signing.KEY, "url": signing.URL, "replay": seconder.callback.Memory()}
        self.endpoint = self.callback()(**{**given, **options})(function)

    @staticmethod
    def callback() -> Callable[..., Any]:
        raise NotImplementedError

    def send(self, method: str, query: str, body: bytes, headers: dict[str, str]) -> HttpReply:
        raise NotImplementedError


class FlaskSite(Site):
    @staticmethod
    def callback() -> Callable[..., Any]:
        return seconder.contrib.flask.callback

    def send(self, method: str, query: str, body: bytes, headers: dict[str, str]) -> HttpReply:
        app = flask.Flask("example")
        app.testing = True
        app.add_url_rule(signing.PATH, "callback", self.endpoint, methods=METHODS)
        got = app.test_client().open(
            signing.PATH, method=method, query_string=query, data=body, headers=headers
        )
        return HttpReply(got.status_code, dict(got.headers), got.data)


class DjangoSite(Site):
    @staticmethod
    def callback() -> Callable[..., Any]:
        import seconder.contrib.django

        return seconder.contrib.django.callback

    def send(self, method: str, query: str, body: bytes, headers: dict[str, str]) -> HttpReply:
        sent = dict(headers)
        kind = sent.pop("Content-Type", "application/octet-stream")
        with override_settings(ROOT_URLCONF=(path(signing.PATH[1:], self.endpoint),)):
            got = Client(enforce_csrf_checks=True).generic(
                method, f"{signing.PATH}?{query}", body, content_type=kind, headers=sent
            )
        return HttpReply(got.status_code, got.headers, got.content)


class StarletteSite(Site):
    @staticmethod
    def callback() -> Callable[..., Any]:
        return seconder.contrib.asgi.callback

    def app(self) -> starlette.applications.Starlette:
        route = Route(signing.PATH, self.endpoint, methods=METHODS)
        return starlette.applications.Starlette(routes=[route])

    def send(self, method: str, query: str, body: bytes, headers: dict[str, str]) -> HttpReply:
        with TestClient(self.app()) as client:
            url = f"{signing.PATH}?{query}"
            got = client.request(method, url, content=body, headers=headers)
        return HttpReply(got.status_code, got.headers, got.content)


class FastapiSite(StarletteSite):
    def app(self) -> starlette.applications.Starlette:
        app = fastapi.FastAPI()
        app.add_api_route(signing.PATH, self.endpoint, methods=METHODS)
        return app


@dataclass
class Received:
    """The events that the application's function received."""

    events: list[seconder.results.Event] = field(default_factory=list)

    def __call__(self, event: seconder.results.Event) -> str:
        self.events.append(event)
        return "what is returned is ignored"


@pytest.fixture
def received() -> Received:
    return Received()


@pytest.fixture(params=[FlaskSite, DjangoSite, StarletteSite, FastapiSite])
def kind(request: pytest.FixtureRequest, django_app: ModuleType) -> Iterator[type[Site]]:
    yield request.param


@pytest.fixture
def site(kind: type[Site], received: Received) -> Site:
    return kind(received)


def post(site: Site, params: dict[str, Any] | None = None, **headers: str) -> HttpReply:
    given = signing.parameters() if params is None else params
    head = headers or signing.headers(given)
    return site.send("POST", "", signing.body(given), head)


def test_a_signed_callback_is_an_event(site: Site, received: Received) -> None:
    params = signing.parameters()
    lie = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}
    answer = site.send("POST", "", signing.body(params), {**signing.headers(params), **lie})
    assert (answer.status, answer.body) == (200, b"")
    assert received.events[0].uuid == params["uuid"] and received.events[0].approved_by(7)


def test_a_signed_get_is_an_event(site: Site, received: Received) -> None:
    params = signing.parameters(message="50 % off + more")
    head = signing.headers(params, "GET")
    assert site.send("GET", signing.pairs(params), b"", head).status == 200
    assert received.events[0].parameters["message"] == "50 % off + more"


def test_a_signed_form_is_an_event(site: Site, received: Received) -> None:
    params = signing.parameters()
    head = {**signing.headers(params), "Content-Type": "application/x-www-form-urlencoded"}
    assert site.send("POST", "", signing.pairs(params).encode(), head).status == 200
    assert received.events[0].uuid == params["uuid"]


def test_a_forged_callback_is_rejected_with_401(site: Site, received: Received) -> None:
    params = signing.parameters()
    good, other = signing.headers(params), signing.headers(params, url="https://evil.example/")
    assert post(site, params, **{"X-Nothing": "none"}).status == 401
    assert post(site, params, **other).status == 401
    assert post(site, {**params, "svc_id": 8}, **good).status == 401
    assert site.send("GET", signing.pairs(params), b"", good).status == 401
    for name in good:
        assert post(site, params, **{name: good[name]}).status == 401
        assert post(site, params, **{**good, name: "none"}).status == 401
    assert not received.events
    assert post(site, params, **good).status == 200


def test_a_stale_or_replayed_callback_is_rejected_with_401(
    site: Site, received: Received
) -> None:
    params = signing.parameters()
    assert post(site, params, **signing.headers(params, at=time.time() - 400)).status == 401
    head = signing.headers(params)
    assert [post(site, params, **head).status for _ in range(3)] == [200, 401, 401]
    assert len(received.events) == 1


def test_other_methods_are_rejected_with_405(site: Site, received: Received) -> None:
    params = signing.parameters()
    for method in ("PUT", "DELETE", "HEAD"):
        answer = site.send(method, "", signing.body(params), signing.headers(params, method))
        assert answer.status == 405 and answer.headers["Allow"] == "GET, POST"
    assert not received.events


def test_a_body_is_there_and_has_an_end(site: Site, received: Received) -> None:
    assert site.send("POST", "", b"", signing.headers({})).status == 400
    params = signing.parameters(message="x" * BODY_LIMIT)
    assert post(site, params).status == 413
    assert not received.events
    assert post(site, signing.parameters(message="x" * (BODY_LIMIT - 1000))).status == 200


def test_a_full_or_failing_memory_is_answered_with_503(
    kind: type[Site], received: Received
) -> None:
    site = kind(received, replay=seconder.callback.Memory(1))
    assert post(site).status == 200
    answer = post(site)
    assert answer.status == 503 and 0 < int(answer.headers["Retry-After"]) < 310

    class Broken:
        def first_time(self, key: str, until: float) -> bool:
            raise OSError("no such luck")

    answer = post(kind(received, replay=Broken()))
    assert answer.status == 503 and b"luck" not in answer.body
    assert len(received.events) == 1


def test_a_retry_after_the_function_raised_is_accepted(kind: type[Site]) -> None:
    events: list[seconder.results.Event] = []

    def function(event: seconder.results.Event) -> None:
        events.append(event)
        if len(events) == 1:
            raise RuntimeError("not today")

    site, params = kind(function), signing.parameters()
    with pytest.raises(RuntimeError, match="not today"):
        post(site, params)
    assert post(site, params).status == 200
    assert [event.uuid for event in events] == [params["uuid"]] * 2


def test_a_function_may_be_async(kind: type[Site], received: Received) -> None:
    async def function(event: seconder.results.Event) -> None:
        await asyncio.sleep(0)
        received(event)

    assert post(kind(function)).status == 200
    assert len(received.events) == 1


def test_an_awaitable_result_is_not_silently_lost(kind: type[Site], received: Received) -> None:
    async def function(event: seconder.results.Event) -> None:
        received(event)

    site = kind(lambda event: function(event))
    if issubclass(kind, StarletteSite):
        assert post(site).status == 200 and len(received.events) == 1
    else:
        with pytest.raises(TypeError, match="async def"):
            post(site)


def test_the_service_may_use_other_names(kind: type[Site], received: Received) -> None:
    site = kind(received, names=seconder.Names("acme"))
    params = {"uuid": "3f05a350-4b2c", "status": "approved", "acme_id": 7}
    assert post(site, params, **signing.headers(params)).status == 401
    assert post(site, params, **signing.headers(params, prefix="X-Acme-")).status == 200
    assert received.events[0].approved_by(7)


def test_several_urls_can_be_configured(kind: type[Site], received: Received) -> None:
    site = kind(received, url=("https://old.example/callback", signing.URL))
    assert post(site).status == 200


def test_invalid_parameters_are_rejected_at_once(kind: type[Site], received: Received) -> None:
    nothing: list[str] = []
    for wrong in ({"api_key": ""}, {"url": ""}, {"url": nothing}, {"fresh": -1.0}):
        with pytest.raises(seconder.InvalidArgument):
            kind(received, **wrong)
    for replay in ({"replay": object()}, {"fresh": None}):
        with pytest.raises(seconder.InvalidArgument) as caught:
            kind(received, **replay)
        assert caught.value.parameter == "replay"


def test_a_plain_function_does_not_block_the_event_loop(received: Received) -> None:
    threads: list[threading.Thread] = []
    site = StarletteSite(lambda event: threads.append(threading.current_thread()))
    looped: list[threading.Thread] = []

    async def note(event: seconder.results.Event) -> None:
        looped.append(threading.current_thread())

    assert post(site).status == post(StarletteSite(note)).status == 200
    assert threads[0] not in looped


def test_a_query_that_is_not_encoded_is_rejected_with_400() -> None:
    receiver = Receiver(
        api_key=signing.KEY,
        url=signing.URL,
        replay=seconder.callback.Memory(),
        fresh=300,
        names=None,
    )
    for query in ("uuid=ö", "uuid=ö".encode()):
        with pytest.raises(RejectedRequest) as caught:
            receiver.event("GET", query, lambda: b"", lambda name: None)
        assert caught.value.status == 400


def test_an_incomplete_body_is_rejected_with_400(
    django_app: ModuleType, received: Received
) -> None:
    cut_off = {"CONTENT_LENGTH": "100", "wsgi.input": io.BytesIO(b"{}")}
    with flask.Flask("example").test_request_context(method="POST", environ_overrides=cut_off):
        assert FlaskSite(received).endpoint().status_code == 400

    for length in ("abc", "-5", "\u0663"):
        given: dict[str, Any] = {"content_type": "application/json", "CONTENT_LENGTH": length}
        request = RequestFactory().post("/", b"{}", **given)
        assert DjangoSite(received).endpoint(request).status_code == 400

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("gone")

    request = RequestFactory().post("/", b"{}", content_type="application/json")
    request.environ["wsgi.input"] = Broken()
    request = WSGIRequest(request.environ)
    assert DjangoSite(received).endpoint(request).status_code == 400

    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "POST", "query_string": b"", "headers": []}
    got = StarletteSite(received).endpoint(starlette.requests.Request(scope, gone))
    assert asyncio.run(got).status_code == 400
    assert not received.events

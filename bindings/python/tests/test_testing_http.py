"""A sandbox's URL has the same HTTP edge as ``seconder serve``."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from seconder.testing import Sandbox
from seconder.testing._inside import Inside
from seconder.testing._server import HttpRequest, Server

DETAILS = "/protected/json/app/details"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error_code(self) -> object:
        return json.loads(self.body).get("error_code")


@pytest.fixture(name="sandbox")
def opened() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def send(
    sandbox: Sandbox,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: list[tuple[str, str]] | None = None,
) -> Reply:
    connection = http.client.HTTPConnection(sandbox.url.removeprefix("http://"), timeout=10)
    try:
        connection.putrequest(method, target)
        for name, value in headers or []:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        got = connection.getresponse()
        found = {name.lower(): value for name, value in got.getheaders()}
        return Reply(got.status, found, got.read())
    finally:
        connection.close()


def key(sandbox: Sandbox) -> list[tuple[str, str]]:
    return [("X-Svc-API-Key", sandbox.api_key)]


def test_the_key_is_taken_from_the_header_or_the_parameters(sandbox: Sandbox) -> None:
    assert send(sandbox, "GET", DETAILS, headers=key(sandbox)).status == 200
    assert send(sandbox, "GET", f"{DETAILS}?api_key={sandbox.api_key}").status == 200
    for headers in ([], [("X-Svc-API-Key", "another")], key(sandbox) * 2):
        reply = send(sandbox, "GET", DETAILS, headers=headers)
        assert (reply.status, reply.error_code) == (401, "60001")


def test_unknown_paths_and_other_methods_are_rejected(sandbox: Sandbox) -> None:
    assert send(sandbox, "GET", "/nothing", headers=key(sandbox)).status == 404
    for method in ("POST", "PUT", "DELETE", "HEAD", "PROPFIND", "get"):
        reply = send(sandbox, method, DETAILS, headers=key(sandbox))
        assert (reply.status, reply.headers["allow"]) == (405, "GET"), method


def test_bodies_are_forms_or_json_and_never_ambiguous(sandbox: Sandbox) -> None:
    path = "/protected/json/users/new"
    form = b"user[email]=ada@example.com&user[cellphone]=555-010-0123&user[country_code]=1"
    user = {"email": "ada@example.com", "cellphone": "555-010-0123", "country_code": 1}
    ids = {
        json.loads(send(sandbox, "POST", path, body, key(sandbox)).body)["user"]["id"]
        for body in (form, json.dumps({"user": user}).encode())
    }
    assert len(ids) == 1
    twice = send(sandbox, "POST", path, b"a=1&a=2", key(sandbox))
    assert (twice.status, twice.error_code) == (400, "60004")


def test_a_body_over_1_mib_is_rejected_unread(sandbox: Sandbox) -> None:
    headers = [*key(sandbox), ("Content-Length", "1048577")]
    assert send(sandbox, "GET", DETAILS, headers=headers).status == 413


def test_replies_are_xml_where_the_path_asks_for_it_and_never_cached(sandbox: Sandbox) -> None:
    reply = send(sandbox, "GET", "/protected/xml/app/details", headers=key(sandbox))
    assert reply.headers["content-type"] == "application/xml; charset=utf-8"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_an_authenticator_enrolled_over_xml_shows_codes(sandbox: Sandbox) -> None:
    user = sandbox.service.create_user("ada@example.com", "555-010-0123", country_code=1)
    path = f"/protected/xml/users/{user.user_id}/secret"
    assert send(sandbox, "POST", path, b"", key(sandbox)).status == 200
    code = sandbox.authenticator_code(user.user_id)
    assert sandbox.service.verify(user.user_id, code)


def raw(sandbox: Sandbox, request: bytes) -> bytes:
    """Returns the response to bytes that are not valid HTTP, until the connection is closed."""
    host, _, port = sandbox.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    "framing",
    [
        b"Transfer-Encoding: chunked\r\n\r\n4b\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: abc\r\n\r\n",
        b"no colon\r\nContent-Length: 4\r\n\r\n",
        b"Content-Length: 9000\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    ],
)
def test_a_body_without_a_clear_end_is_rejected_and_never_read_as_a_request(
    sandbox: Sandbox, framing: bytes
) -> None:
    head = b"GET %s HTTP/1.1\r\nHost: a\r\nX-Svc-API-Key: %s\r\n"
    head %= DETAILS.encode(), sandbox.api_key.encode()
    smuggled = b"GET /protected/json/app/stats HTTP/1.1\r\nHost: a\r\n\r\n"
    got = raw(sandbox, head + framing + smuggled)
    assert got.count(b"HTTP/1.1 ") == 1
    assert got.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 "))


def test_a_client_that_goes_away_is_no_error(
    sandbox: Sandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    host, _, port = sandbox.url.removeprefix("http://").partition(":")
    for _ in range(3):
        connection = socket.create_connection((host, int(port)), timeout=10)
        connection.sendall(b"GET " + DETAILS.encode() + b" HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
        # With this, closing resets the connection.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    # The earlier ones were accepted, and closing waits for their threads.
    assert send(sandbox, "GET", DETAILS, headers=key(sandbox)).status == 200
    sandbox.close()
    assert capfd.readouterr().err == ""


def test_a_client_that_sends_too_much_can_read_why(sandbox: Sandbox) -> None:
    for _ in range(5):
        assert send(sandbox, "GET", DETAILS, b" " * 4 * 1024 * 1024, key(sandbox)).status == 413


def test_a_target_is_the_same_as_for_the_server(sandbox: Sandbox) -> None:
    assert send(sandbox, "GET", f"http://a{DETAILS}", headers=key(sandbox)).status == 200
    assert send(sandbox, "GET", f"/{DETAILS}", headers=key(sandbox)).status == 200
    path = DETAILS.replace("/json/", "//json/")
    assert send(sandbox, "GET", path, headers=key(sandbox)).status == 404


def test_a_connection_that_is_accepted_while_the_server_stops_is_closed_unserved() -> None:
    requests: list[object] = []
    server = Server(requests.append)
    server.stop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        accepted, address = listener.accept()
    with client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.settimeout(10)
        # As the thread of a connection begins that was accepted just before.
        server.process_request_thread(accepted, address)
        # The request was not read, so there may be a reset.
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
    assert requests == []


def hold_requests(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Holds requests before they reach the engine, from the first event until the second."""
    begun, may_go_on = threading.Event(), threading.Event()
    route = Inside._route

    def held(inside: Inside, request: HttpRequest) -> Any:
        begun.set()
        assert may_go_on.wait(10)
        return route(inside, request)

    monkeypatch.setattr(Inside, "_route", held)
    return begun, may_go_on


def test_threads_that_close_a_sandbox_at_once_all_wait_for_its_requests(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    begun, may_go_on = hold_requests(monkeypatch)
    sandbox = Sandbox()
    with ThreadPoolExecutor() as threads:
        reply = threads.submit(send, sandbox, "GET", DETAILS, headers=key(sandbox))
        assert begun.wait(10)
        closing = [threads.submit(sandbox.close) for _ in range(3)]
        assert wait(closing, timeout=0.3).done == set()
        may_go_on.set()
        assert reply.result(10).status == 200
        for each in closing:
            each.result(10)
    assert capfd.readouterr().err == ""


def test_a_request_that_outlasts_the_close_of_its_sandbox_ends_without_a_report(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("seconder.testing._server.STOP", 0.01)
    begun, may_go_on = hold_requests(monkeypatch)
    sandbox = Sandbox()
    with ThreadPoolExecutor() as threads:
        reply = threads.submit(send, sandbox, "GET", DETAILS, headers=key(sandbox))
        assert begun.wait(10)
        sandbox.close()
        may_go_on.set()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            reply.result(10)
    assert capfd.readouterr().err == ""


def test_a_request_that_closes_its_sandbox_is_waited_for_and_waits_for_nobody(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("seconder.testing._inside.STOP", 60)
    begun, may_go_on = hold_requests(monkeypatch)
    sandbox = Sandbox()
    held = Inside._route

    def closes(inside: Inside, request: HttpRequest) -> Any:
        routed = held(inside, request)
        sandbox.close()
        return routed

    monkeypatch.setattr(Inside, "_route", closes)
    with ThreadPoolExecutor() as threads:
        reply = threads.submit(send, sandbox, "GET", DETAILS, headers=key(sandbox))
        assert begun.wait(10)
        closing = threads.submit(sandbox.close)
        assert wait([closing], timeout=0.2).done == set()
        may_go_on.set()
        assert reply.result(10).status == 200
        closing.result(10)
    assert capfd.readouterr().err == ""

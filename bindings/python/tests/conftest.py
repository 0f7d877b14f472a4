"""Fixtures: a service on a fresh database, and a remote service."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import seconder


@dataclass
class Phone:
    """A service whose messages are appended to a list, and one user of it."""

    service: seconder.Service
    messages: list[seconder.Message] = field(default_factory=list)
    user_id: int = 0

    def code(self) -> str:
        code = self.messages[-1].code
        assert code is not None
        return code


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Phone]:
    messages: list[seconder.Message] = []
    url = f"sqlite:{tmp_path}/test.db"
    with seconder.open(
        url, deliver=messages.append, engine=seconder.EngineOptions(application_name="Example")
    ) as service:
        user = service.create_user(
            "ada@example.com", "555-010-0123", 1, send_install_link_via_sms=False
        )
        yield Phone(service, messages, user.user_id)


PROGRAM = Path(
    os.environ.get("SECONDER_PROGRAM", Path(__file__).parents[3] / "target" / "debug" / "seconder")
)


@pytest.fixture(scope="session")
def served_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The arguments of a ``seconder.testing.Sandbox`` that ``seconder serve --sandbox`` serves."""
    folder = tmp_path_factory.mktemp("sandbox")
    command = [str(PROGRAM), "serve", "--sandbox", "--listen=127.0.0.1:0", "--log-format=human"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log = []
        for line in process.stderr:
            log.append(line)
            if "listening on " in line:
                break
        else:
            pytest.fail("".join(log))
        # Empties the pipe, so that the process does not wait when it is full.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        url = log[-1].rpartition(" ")[2].strip()
        yield {"url": url, "ca_file": folder / "seconder-sandbox.pem"}
        process.kill()


@pytest.fixture
def sent() -> Iterator[list[dict[str, Any]]]:
    """The events that an error tracker sends."""
    from tracker import tracking

    with tracking() as events:
        yield events


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt. A shell starts what runs in its background with SIGINT ignored,
    and Python then leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def named(request: bytes, response: bytes) -> bytes:
    """The response with the id of the request, as a service of Seconder sends it."""
    ids = [line for line in request.split(b"\r\n") if line.startswith(b"seconder-request-id: ")]
    status, rest = response.split(b"\r\n", 1)
    return b"\r\n".join([status, *ids, rest])


@contextmanager
def listening(listener: socket.socket) -> Iterator[socket.socket]:
    """Closes a socket on which a thread waits for connections. Without the shutdown, the thread waits
    on, and could take connections of a later socket with the same descriptor."""
    with listener:
        try:
            yield listener
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def in_child(work: Callable[[], object]) -> None:
    """Does work in a forked child, whose error is the test's."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


RETRIED_ONCE = ["0", "3600"]
"""The ``waits`` after which a call is retried at once, but not a second time: the service decides,
and not the speed of the machine."""


@dataclass
class RemoteService:
    """A service behind HTTP with the same response to every request."""

    url: str
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    waits: list[str] = field(default_factory=list)
    """The ``Retry-After`` of each of the next responses."""
    seen: list[tuple[str, str, bytes]] = field(default_factory=list)
    before: Callable[[], object] = lambda: None
    """Called before each response."""
    answered: int = 0
    """The number of responses that were sent."""

    def open(self, **settings: Any) -> seconder.Service:
        settings.setdefault("allow_loopback_http", True)
        return open_with(self.url, api_key="a-key-that-nobody-sees", **settings)


GROUPS = (seconder.Service, seconder.admin.Admin, seconder.machines.Machines)
"""The classes that have calls."""


def holder(name: str) -> type:
    """The class that has a call."""
    return next(kind for kind in GROUPS if hasattr(kind, name))


def method(service: Any, name: str) -> Any:
    """The method that makes a call."""
    for each in (service, service.admin, service.machines):
        if hasattr(each, name):
            return getattr(each, name)
    raise AttributeError(name)


def open_with(url: str, **settings: Any) -> seconder.Service:
    """Opens a service with the options of a client and of an engine among the other settings."""
    for name, kind in (("client", seconder.ClientOptions), ("engine", seconder.EngineOptions)):
        options = {each: settings.pop(each) for each in kind._fields if each in settings}
        if options:
            settings[name] = kind(**options)
    return seconder.open(url, **settings)


def _once(happened: Callable[[], object], work: Callable[[], object]) -> None:
    def wait() -> None:
        while not happened():
            time.sleep(0.01)
        time.sleep(0.3)
        work()

    threading.Thread(target=wait, daemon=True).start()


def when_asked(remote: RemoteService, work: Callable[[], object]) -> None:
    """Does this a while after the service has received a request."""
    _once(lambda: remote.seen, work)


def when_answered(remote: RemoteService, work: Callable[[], object]) -> None:
    """Does this a while after the service has sent a response, in which the response arrives."""
    _once(lambda: remote.answered, work)


@pytest.fixture
def remote() -> Iterator[RemoteService]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            service.seen.append((self.command, self.path, self.rfile.read(length)))
            service.before()
            text = service.body if isinstance(service.body, str) else json.dumps(service.body)
            self.send_response(service.status)
            for name, value in service.headers.items():
                self.send_header(name, value)
            if service.waits:
                self.send_header("Retry-After", service.waits.pop(0))
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())
            service.answered += 1

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        service = RemoteService(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield service
        server.shutdown()

"""The example applications and the servers that the tests of `seconder.contrib` use."""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import redis
from contrib.shop import Shop, serving
from contrib.visitors import DjangoVisitor, FastapiVisitor, FlaskVisitor, Site, Visitor
from django.db import connections
from fastapi.testclient import TestClient

from seconder.testing import Sandbox

# They run in a process of their own, which test_django.py starts.
if "DJANGO_SETTINGS_MODULE" not in os.environ:
    collect_ignore = ["django_site"]

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "web"


def load(name: str, folder: Path) -> ModuleType:
    """Imports an example application, with its databases in this folder."""
    before = os.getcwd()
    os.chdir(folder)
    # Nothing listens on this port: the tests send the callbacks themselves.
    os.environ["EXAMPLE_URL"] = "http://127.0.0.1:9"
    sys.path.insert(0, str(EXAMPLES))
    try:
        for shared in ("common", "users", "demo_phone"):
            sys.modules.pop(shared, None)
        return importlib.import_module(name)
    finally:
        del os.environ["EXAMPLE_URL"]
        sys.path.remove(str(EXAMPLES))
        os.chdir(before)


@dataclass
class Running:
    """An example application in a process, as a user runs it."""

    url: str
    log: Path


@contextmanager
def running(name: str, folder: Path) -> Iterator[Running]:
    """Runs an example application in a new process, with its databases in this folder."""
    log = folder / "log"
    with ExitStack() as stack:
        for _ in range(5):
            # Another program may take the free port before the application starts, so try again.
            with socket.create_server(("127.0.0.1", 0)) as free:
                url = f"http://127.0.0.1:{free.getsockname()[1]}"
            with open(log, "w") as out:
                app = subprocess.Popen(
                    [sys.executable, str(EXAMPLES / f"{name}.py")],
                    cwd=folder,
                    env={**os.environ, "EXAMPLE_URL": url},
                    stdout=out,
                    stderr=out,
                )
            stack.callback(app.wait)
            stack.callback(app.kill)
            if _starts(app, url):
                break
        else:
            pytest.fail(log.read_text())
        yield Running(url, log)


def _starts(app: subprocess.Popen[bytes], url: str) -> bool:
    deadline = time.monotonic() + 60
    while app.poll() is None and time.monotonic() < deadline:
        if _answers(url):
            return True
        time.sleep(0.05)
    return False


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/login", timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that checks codes, with Ada as user 1 and Eve as user 2."""
    with Sandbox(accept="right") as sandbox:
        sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
        sandbox.service.create_user("eve@example.com", "555-010-0199", 1)
        yield sandbox


@pytest.fixture(autouse=True)
def _warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warnings about visitors' addresses, which a process logs once."""
    monkeypatch.setattr("seconder.contrib._visitor._logged", set())


ADDRESSES = [
    # The connection, the header of a proxy, and the visitor's address by default and by the header.
    ("9.9.9.9", "8.8.8.8", "9.9.9.9", "8.8.8.8"),
    ("2620:fe::fe", "8.8.8.8", "2620:fe::fe", "8.8.8.8"),
    ("::ffff:9.9.9.9", "8.8.8.8", "9.9.9.9", "8.8.8.8"),
    ("127.0.0.1", "8.8.8.8", None, "8.8.8.8"),
    ("10.1.2.3", "10.4.5.6", None, "10.4.5.6"),
]


@pytest.fixture(params=ADDRESSES, ids=[each[0] for each in ADDRESSES])
def addresses(request: pytest.FixtureRequest) -> tuple[str, str, str | None, str]:
    found: tuple[str, str, str | None, str] = request.param
    return found


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def client(shop: Shop, sandbox: Sandbox) -> Iterator[TestClient]:
    """A client of the shop, whose service is the sandbox."""
    with serving(shop.app(), sandbox.service) as client:
        yield client


@pytest.fixture(scope="session")
def flask_app(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return load("flask_app", tmp_path_factory.mktemp("flask"))


@pytest.fixture(scope="session")
def fastapi_app(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return load("fastapi_app", tmp_path_factory.mktemp("fastapi"))


@pytest.fixture(scope="session")
def django_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Django has one set of settings per process, so all its tests share this site."""
    site = load("django_app", tmp_path_factory.mktemp("django"))
    site.call_command("migrate", verbosity=0)
    yield site
    connections.close_all()


@pytest.fixture(params=[FlaskVisitor, DjangoVisitor, FastapiVisitor])
def visitors(request: pytest.FixtureRequest) -> tuple[type[Visitor], ModuleType]:
    name = request.param.__name__.replace("Visitor", "_app").lower()
    return request.param, request.getfixturevalue(name)


@pytest.fixture
def site(visitors: tuple[type[Visitor], ModuleType]) -> Site:
    return Site(*visitors)


@pytest.fixture(scope="session")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a real Redis server."""
    folder = tmp_path_factory.mktemp("redis")
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", ""]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        # The socket is there before it listens.
        while True:
            try:
                with redis.Redis(unix_socket_path=str(socket)) as client:
                    client.ping()
                break
            except redis.ConnectionError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
        yield socket
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture
def redis_client(redis_socket: Path) -> Iterator[redis.Redis]:
    with redis.Redis(unix_socket_path=str(redis_socket)) as client:
        yield client
        client.config_set("maxmemory", 0)
        client.flushall()

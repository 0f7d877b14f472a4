"""Applications under gunicorn, whose master forks the workers, as docs/web.md and docs/processes.md
describe it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlencode

import pytest
from contrib import signing
from contrib.conftest import EXAMPLES

import seconder

TESTS = Path(__file__).parents[1]
ROOT = Path(__file__).parents[4]
PROGRAM = Path(os.environ.get("SECONDER_PROGRAM", ROOT / "target" / "debug" / "seconder"))
WORKERS = 3
VISITORS = 9

T = TypeVar("T")


class Page(NamedTuple):
    status: int
    text: str
    worker: str | None


@dataclass
class Site:
    """An application that gunicorn serves, and one visitor of it."""

    port: int
    log: Path
    access: Path
    cookie: str = ""
    csrf: str = ""

    def send(self, path: str, fields: dict[str, str] | None = None) -> Page:
        """Submits a form, or requests a page."""
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        if fields is None:
            return self.ask("GET", path, None, headers)
        return self.ask("POST", path, urlencode({**fields, "csrf": self.csrf}), headers)

    def ask(
        self, method: str, path: str, body: str | bytes | None, headers: dict[str, str]
    ) -> Page:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers)
            got = connection.getresponse()
            text = got.read().decode()
        finally:
            connection.close()
        self.cookie = (got.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        found = re.search(r'name="csrf" value="([^"]+)"', text)
        self.csrf = found[1] if found else self.csrf
        return Page(got.status, text, got.getheader("X-Worker"))

    def wait_for_workers(self) -> None:
        """Waits until each worker has served a request."""
        deadline = time.monotonic() + 60
        while len(set(self.access.read_text().split())) < WORKERS:
            assert time.monotonic() < deadline, self.log.read_text()
            at_once(lambda _: self.send("/login"))


@contextmanager
def gunicorn(app: str, folder: Path, *options: str, **settings: str) -> Iterator[Site]:
    """Serves the application by three workers, with its databases in this folder."""
    log, access = folder / "log", folder / "access"
    access.touch()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener, open(log, "w") as out:
        port = listener.getsockname()[1]
        given = {"EXAMPLE_URL": f"http://127.0.0.1:{port}", "EXAMPLE_SECRET": "the same for all"}
        served = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}"]
            + ["--workers", str(WORKERS), "--no-control-socket", "--worker-tmp-dir", str(folder)]
            + ["--access-logfile", str(access), "--access-logformat", "%(p)s"]
            # A worker that is stopped before it handles signals would delay the shutdown.
            + ["--graceful-timeout", "1", "--pythonpath", f"{EXAMPLES},{TESTS}", *options, app],
            cwd=folder,
            env={**os.environ, **given, **settings},
            pass_fds=[listener.fileno()],
            start_new_session=True,
            stdout=out,
            stderr=out,
        )
        try:
            site = Site(port, log, access)
            site.wait_for_workers()
            yield site
        finally:
            served.terminate()
            try:
                served.wait(60)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(served.pid, signal.SIGKILL)
                served.wait()


def at_once(work: Callable[[int], T]) -> list[T]:
    """Runs ``work`` for every visitor at the same time, and returns the results."""
    gate = threading.Barrier(VISITORS)
    results: list[T] = []

    def one(number: int) -> None:
        gate.wait(timeout=30)
        results.append(work(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(VISITORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(results) == VISITORS
    return results


def code(folder: Path) -> str:
    latest = max((folder / "seconder.spool").glob("*.txt")).read_text()
    (digits,) = re.findall(r"^Code: (\d+)$", latest, re.MULTILINE)
    return str(digits)


@pytest.mark.parametrize("name", ["flask_app", "fastapi_app"])
def test_workers_with_separate_services_accept_a_code_once(name: str, tmp_path: Path) -> None:
    """Without ``--preload``, all workers load the application at the same time, on a database that
    does not exist yet."""
    kind = "sync" if name == "flask_app" else "asgi"
    with gunicorn(f"{name}:app", tmp_path, "--worker-class", kind) as site:
        site.send("/login")
        assert site.send("/login", {"name": "ada", "password": "correct horse"}).status == 303
        site.send("/second")
        assert site.send("/second/sms", {}).status == 303, site.log.read_text()
        typed, cookie, csrf = code(tmp_path), site.cookie, site.csrf

        def present(_: int) -> Page:
            return replace(site, cookie=cookie, csrf=csrf).send("/second/code", {"code": typed})

        statuses = sorted(page.status for page in at_once(present))
        assert statuses == [303] + [401] * (VISITORS - 1), site.log.read_text()

        with seconder.open(f"sqlite:{tmp_path}/seconder.db") as service:
            key = service.admin.api_key()
        params, url = signing.parameters(), f"http://127.0.0.1:{site.port}/seconder/callback"
        body, headers = signing.body(params), signing.headers(params, key=key, url=url)

        def call_back(_: int) -> Page:
            return site.ask("POST", "/seconder/callback", body, headers)

        statuses = sorted(page.status for page in at_once(call_back))
        assert statuses == [200] + [401] * (VISITORS - 1), site.log.read_text()
        assert site.log.read_text().count(f"approval {params['uuid']}: approved") == 1


@dataclass
class Served:
    """A running `seconder serve`, with the settings to open it."""

    url: str
    key: str
    ca_file: Path

    def settings(self) -> dict[str, str]:
        return {"SERVICE_URL": self.url, "API_KEY": self.key, "CA_FILE": str(self.ca_file)}

    def open(self) -> seconder.Service:
        return seconder.open(
            self.url, api_key=self.key, client=seconder.ClientOptions(ca_file=self.ca_file)
        )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    assert PROGRAM.exists(), f"{PROGRAM} is not built: cargo build -p seconder-server"
    command = [str(PROGRAM), "serve", "--log-format=human", "--listen", "127.0.0.1:0"]
    command.append("--self-signed")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        lines = iter(server.stderr.readline, "")
        ready = next((line for line in lines if "listening on " in line), "")
        assert ready, "the server did not start"
        key = subprocess.check_output([str(PROGRAM), "key"], cwd=tmp_path, text=True).strip()
        url = ready.split("listening on ")[1].strip()
        yield Served(url, key, tmp_path / "seconder-certificate.pem")
        server.terminate()


def enrolled(service: seconder.Service, count: int) -> list[tuple[int, str]]:
    """Users, and the URI of the authenticator app of each."""
    users = []
    for number in range(1000, 1000 + count):
        user = service.create_user("ada@example.com", f"555-010-{number}", 1).user_id
        users.append((user, service.enrol_authenticator(user).uri))
    return users


def codes(users: list[tuple[int, str]]) -> list[str]:
    """Queries that each hold the valid code of a user's app. Make them once the workers run: a busy
    machine may need the 30 s to start these for which a code is valid."""
    return [urlencode({"user": user, "code": seconder.totp.code(uri)}) for user, uri in users]


def test_a_remote_service_may_be_opened_before_the_fork(served: Served, tmp_path: Path) -> None:
    """The master has a connection that is kept alive when it forks. If two processes wrote to it,
    they would corrupt its encryption, so each worker must establish a new one."""
    with served.open() as service:
        users = enrolled(service, VISITORS)
    app = "contrib.prefork:load('before')"
    with gunicorn(app, tmp_path, "--preload", **served.settings()) as site:
        right = codes(users)
        workers: set[str | None] = set()
        # On a busy machine, one of the workers may get no request in a round.
        for status in [200] + [401] * 20:
            pages = at_once(lambda number: site.send(f"/?{right[number]}"))
            assert [page.status for page in pages] == [status] * VISITORS, pages
            workers |= {page.worker for page in pages}
            if status == 401 and len(workers) == WORKERS:
                break
        assert len(workers) == WORKERS


def test_an_engine_that_was_opened_before_the_fork_lets_nobody_in(tmp_path: Path) -> None:
    settings = {"SERVICE_URL": f"sqlite:{tmp_path}/test.db"}
    with seconder.open(settings["SERVICE_URL"]) as service:
        right = codes(enrolled(service, VISITORS))
    with gunicorn("contrib.prefork:load('before')", tmp_path, "--preload", **settings) as site:
        for page in at_once(lambda number: site.send(f"/?{right[number]}")):
            assert page.status == 500 and page.text.startswith("StorageError: "), page
            assert "open services after the fork" in page.text


def hook() -> str:
    """The gunicorn.conf.py of docs/processes.md."""
    blocks = (ROOT / "docs" / "processes.md").read_text().split("```")
    (block,) = [block for block in blocks if "def post_fork" in block]
    return block.removeprefix("python")


@pytest.mark.parametrize("way", ["lazily", "hook"])
def test_workers_open_an_engine_after_the_fork(tmp_path: Path, way: str) -> None:
    settings = {"SERVICE_URL": f"sqlite:{tmp_path}/seconder.db"}
    with seconder.open(settings["SERVICE_URL"]) as service:
        users = enrolled(service, 1)
    shop = "from contrib.prefork import open_service\nservice = open_service()"
    (tmp_path / "shop.py").write_text(shop)
    (tmp_path / "gunicorn.conf.py").write_text(hook() if way == "hook" else "preload_app = True")
    with gunicorn(f"contrib.prefork:load({way!r})", tmp_path, **settings) as site:
        (right,) = codes(users)
        pages = at_once(lambda _: site.send(f"/?{right}"))
    assert sorted(page.status for page in pages) == [200] + [401] * (VISITORS - 1), pages

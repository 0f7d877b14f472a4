"""The recipes of docs/processes.md, with the packages that they are for."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from contrib.conftest import EXAMPLES

import seconder

DOCUMENT = EXAMPLES.parents[1] / "docs" / "processes.md"
SHOWN = "+1-XXX-XXX-XX23"
PATIENCE = 180.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the document, and a database with two users."""
    found = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", DOCUMENT.read_text(), re.M | re.S)
    assert [name for name, _ in found] == [
        "pool.py",
        "celery_app.py",
        "jobs.py",
        "gunicorn.conf.py",
        "gateway.py",
        "again.py",
    ]
    for name, code in found:
        (tmp_path / name).write_text(code)
    with seconder.open(f"sqlite:{tmp_path}/seconder.db", deliver=print) as service:
        for email in ("ada@example.com", "bob@example.com"):
            number = "555-010-0123" if email[0] == "a" else "555-010-0223"
            service.create_user(email, number, 1, send_install_link_via_sms=False)
    return tmp_path


@contextmanager
def running(folder: Path, *command: str, **variables: str) -> Iterator[Path]:
    """A program that runs until the end of the block, and its log."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("w") as file:
        environment = {**os.environ, **variables}
        process = subprocess.Popen(
            command, cwd=folder, stdout=file, stderr=file, env=environment
        )
        try:
            yield log
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def awaited(what: Callable[[], bool], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


@pytest.fixture
def redis() -> Iterator[Path]:
    """The socket of a Redis of the test's own."""
    program = shutil.which("redis-server")
    assert program is not None, "redis-server is not installed: apt-get install redis-server"
    # The path of a socket has at most 107 bytes, which a test's folder may exceed.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "redis.sock"
        command = [program, "--port", "0", "--unixsocket", str(path), "--save", ""]
        with running(Path(folder), *command) as log:
            awaited(path.is_socket, log)
            yield path


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(folder: Path, method: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "pool.py", method, "1", "2"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert SHOWN in done.stdout and done.stdout.count("+1-XXX") == 2


def test_celery(folder: Path, redis: Path) -> None:
    url = f"redis+socket://{redis}"
    program = """
import celery_app
sent = [celery_app.send.delay(user) for user in (1, 2, 3)]
print(sent[0].get(timeout=120), sent[1].get(timeout=120))
try:
    sent[2].get(timeout=120)
except celery_app.seconder.UserNotFound:
    print("not found")
"""
    worker = [sys.executable, "-m", "celery", "-A", "celery_app", "worker"]
    worker += ["--pool", "prefork", "--concurrency", "2", "--without-mingle", "--without-gossip"]
    with running(folder, *worker, REDIS=url) as log:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE * 2,
            env={**os.environ, "REDIS": url},
        )
        assert done.returncode == 0, done.stderr + log.read_text()
    assert done.stdout.split()[0] == SHOWN and done.stdout.endswith("not found\n")


def test_celery_beat_sends_again(folder: Path, redis: Path) -> None:
    text = DOCUMENT.read_text()
    found = re.search(r"^```python\n(@app\.task\ndef send_again.*?)^```$", text, re.M | re.S)
    assert found is not None
    with (folder / "celery_app.py").open("a") as file:
        file.write(f"\n\n{found[1]}")
    worker = [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "--loglevel", "INFO"]
    worker += ["--pool", "prefork", "--concurrency", "1", "--without-mingle", "--without-gossip"]
    worker += ["--beat", "--schedule", str(folder / "beat")]
    with running(folder, *worker, REDIS=f"redis+socket://{redis}") as log:
        awaited(lambda: re.search(r"send_again\[.*\] succeeded", log.read_text()) is not None, log)


def test_a_thread_sends_again_and_so_does_cron(folder: Path) -> None:
    received: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        """Busy at first."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            received.append(self.headers["Idempotency-Key"])
            self.send_response(503 if len(received) == 1 else 200)
            self.send_header("Message-Id", "SM-1")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    program = (
        "import again; again.sender.start(); again.service.request_sms(1); input(); "
        "again.stopping.set(); again.sender.join()"
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            gateway = folder / "gateway.py"
            url = f"http://127.0.0.1:{server.server_port}"
            gateway.write_text(gateway.read_text().replace("https://gateway.example", url))
            command = [sys.executable, "-c", program]
            with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE) as process:
                ended = process.poll
                awaited(lambda: len(received) == 2 or ended() is not None, gateway)
                process.communicate(b"\n", timeout=PATIENCE)
        finally:
            server.shutdown()
    assert process.returncode == 0 and len(set(received)) == 1, received
    commands = re.search(r"^```sh\n(python -c .*?)^```$", DOCUMENT.read_text(), re.M | re.S)
    assert commands is not None
    once = commands[1].replace("range(11)", "range(1)").replace("sleep(5)", "sleep(0)")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", once],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_rq(folder: Path, redis: Path) -> None:
    from redis import Redis
    from rq import Queue

    with Redis(unix_socket_path=str(redis)) as connection:
        queue = Queue(connection=connection)
        jobs = [queue.enqueue("jobs.send", user) for user in (1, 2)]
        command = [str(Path(sys.executable).with_name("rq")), "worker", "--burst", "--path", "."]
        command += ["--url", f"unix://{redis}"]
        with running(folder, *command) as log:
            awaited(lambda: all(job.is_finished or job.is_failed for job in jobs), log)
        results = [job.return_value() for job in jobs]
    assert results[0] == SHOWN and results[1] == "+1-XXX-XXX-XX23", log.read_text()


SHOP = """
import seconder
service = seconder.open("sqlite:seconder.db", deliver=print)

def application(environ, start):
    sent = service.request_sms(int(environ["QUERY_STRING"]), action="order")
    start("200 OK", [("Content-Type", "text/plain")])
    return [sent.cellphone.encode()]
"""


def test_gunicorn(folder: Path) -> None:
    (folder / "shop.py").write_text(SHOP)
    command = [sys.executable, "-m", "gunicorn", "--workers", "2", "--bind", "127.0.0.1:0"]
    with running(folder, *command, "shop:application") as log:
        listening: Callable[[], Any] = lambda: re.search(  # noqa: E731
            r"Listening at: http://127.0.0.1:(\d+)", log.read_text()
        )
        awaited(lambda: listening() is not None, log)
        connection = http.client.HTTPConnection("127.0.0.1", int(listening()[1]), timeout=PATIENCE)
        connection.request("GET", "/?1")
        response = connection.getresponse()
        assert (response.status, response.read().decode()) == (200, SHOWN), log.read_text()
        connection.close()

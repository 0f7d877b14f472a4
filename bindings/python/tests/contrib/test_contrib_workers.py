"""If one callback reaches two worker processes, exactly one of them accepts it."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from contrib import signing

TESTS = Path(__file__).parents[1]


@contextmanager
def workers(framework: str, memory: str, folder: Path, count: int = 2) -> Iterator[list[int]]:
    """Starts ``count`` processes of one application, and yields their ports."""
    with ExitStack() as stack:
        ports: list[int] = []
        for _ in range(count):
            command = [sys.executable, "-u", "-m", "contrib.worker", framework, memory, str(folder)]
            worker = stack.enter_context(
                subprocess.Popen(
                    command,
                    cwd=TESTS,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            )
            stack.callback(worker.kill)
            # A worker prints its port after it has created the table, so they do not race for that.
            port = worker.stdout.readline() if worker.stdout else ""
            assert port.strip().isdecimal(), f"the worker of {framework} did not start"
            ports.append(int(port))
        yield ports


def send(port: int, body: Any, headers: dict[str, str], chunked: bool = False) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", signing.PATH, body, headers, encode_chunked=chunked)
        return connection.getresponse().status
    finally:
        connection.close()


def send_to_all(ports: list[int]) -> list[int]:
    params = signing.parameters()
    body, headers = signing.body(params), signing.headers(params)
    statuses: list[int] = []
    gate = threading.Barrier(len(ports))

    def to(port: int) -> None:
        gate.wait()
        statuses.append(send(port, body, headers))

    threads = [threading.Thread(target=to, args=(port,)) for port in ports]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(statuses)


@pytest.mark.parametrize("framework", ["flask", "django", "asgi"])
def test_one_of_two_workers_accepts_a_callback(framework: str, tmp_path: Path) -> None:
    with workers(framework, "shared", tmp_path) as ports:
        for _ in range(10):
            assert send_to_all(ports) == [200, 401]
    accepted = (tmp_path / "accepted").read_text().split()
    assert len(accepted) == len(set(accepted)) == 10


def test_workers_with_separate_memories_would_each_accept_it(tmp_path: Path) -> None:
    with workers("flask", "own", tmp_path) as ports:
        assert send_to_all(ports) == [200, 200]


@pytest.mark.parametrize("framework", ["flask", "asgi"])
def test_the_size_of_a_chunked_body_is_limited_too(framework: str, tmp_path: Path) -> None:
    params = signing.parameters()
    headers = {**signing.headers(params), "Transfer-Encoding": "chunked"}
    body = signing.body(params)
    with workers(framework, "own", tmp_path, count=1) as (port,):
        assert send(port, iter([body[:9], body[9:]]), headers, chunked=True) == 200
        try:
            assert send(port, (b" " * 2**16 for _ in range(64)), headers, chunked=True) == 413
        except ConnectionError:
            pass  # The server responded and closed the connection before everything was sent.
    assert (tmp_path / "accepted").read_text() == f"{params['uuid']}\n"

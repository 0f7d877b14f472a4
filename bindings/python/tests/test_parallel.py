"""Waiting calls do not block other threads, Ctrl-C, or the workers of a server that forks."""

from __future__ import annotations

import concurrent.futures
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import seconder
from conftest import Phone, RemoteService, open_with

SERVER = """
    import socket, sys, threading

    together = threading.Barrier(int(sys.argv[1]))
    reply = b'{"token": "is valid", "success": "true", "message": "Token is valid."}'
    head = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(reply)

    def talk(peer):
        while peer.recv(65536):
            # No request gets a response before all have arrived.
            together.wait(timeout=60)
            peer.sendall(head + reply)

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=talk, args=(peer,), daemon=True).start()
"""


def test_sixteen_threads_verify_at_the_same_time() -> None:
    """A service in another process responds once all sixteen have sent a request, twenty times."""
    program = [sys.executable, "-c", textwrap.dedent(SERVER), "16"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        settings: Any = {"api_key": "key", "allow_loopback_http": True, "timeout": 60}
        try:
            with open_with(url, **settings) as service:

                def verify(number: int) -> None:
                    for _ in range(20):
                        assert service.verify(number + 1, "1234567")

                with concurrent.futures.ThreadPoolExecutor(16) as pool:
                    list(pool.map(verify, range(16)))
        finally:
            server.kill()


@pytest.mark.parametrize("kind", ["call", "open", "close", "callback"])
def test_another_thread_runs_while_one_waits(tmp_path: Path, kind: str) -> None:
    """The first thread waits for the other one, so without concurrency it would never end."""
    waits, go = threading.Event(), threading.Event()

    def other() -> None:
        assert waits.wait(timeout=30)
        go.set()

    thread = threading.Thread(target=other)
    thread.start()

    def here(*_: object) -> bool:
        waits.set()
        assert go.wait(timeout=30)
        return True

    def deliver(_: seconder.Message) -> None:
        here()

    if kind == "callback":
        given: Any = {"api_key": "key", "url": "https://app.example/", "nonce": str(int(time.time()))}
        body = b'{"uuid":"a-1","status":"denied"}'
        signature = seconder.callback.sign(body=body, **given)

        class Memory:
            first_time = staticmethod(here)

        assert not seconder.callback.verify(
            method="POST", body=body, signature=signature, replay=Memory(), **given
        )
    else:
        with seconder.open(f"sqlite:{tmp_path}/test.db", deliver=deliver) as service:
            user = service.create_user("ada@example.com", "555-010-0123", 1)
            assert service.request_sms(user.user_id)
    thread.join()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_wait_at_once(phone: Phone) -> None:
    """Within 200 ms, in one of five attempts, because the machine may be busy."""
    uuid = phone.service.create_approval(phone.user_id, "Log in?").uuid
    here, sent = threading.get_ident(), [0.0]

    def interrupt() -> None:
        sent[0] = time.monotonic()
        signal.pthread_kill(here, signal.SIGINT)

    took = []
    for attempt in range(5):
        # The delays differ, so that the signal arrives in different pauses.
        thread = threading.Timer(0.1 + attempt * 0.4, interrupt)
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            phone.service.wait_for_approval(uuid, phone.user_id, timeout=60)
        took.append(time.monotonic() - sent[0])
        thread.join()
        if attempt > 1 and took[-1] < 0.2:
            break
    assert min(took) < 0.2 and max(took) < 10, took
    assert phone.service.check_approval(uuid).status is seconder.enums.ApprovalStatus.PENDING


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_during_a_poll_ends_the_wait_after_the_poll(remote: RemoteService) -> None:
    here = threading.get_ident()
    pending = {"uuid": "a-1", "svc_id": 7, "status": "pending"}
    remote.body = {"approval_request": pending, "success": True}
    remote.before = lambda: signal.pthread_kill(here, signal.SIGINT)
    began = time.monotonic()
    with remote.open() as service, pytest.raises(KeyboardInterrupt):
        service.wait_for_approval("a-1", 7, timeout=60)
    assert time.monotonic() - began < 10 and len(remote.seen) == 1


PREFORK = """
    import os, sys
    import seconder

    url, messages = f"sqlite:{sys.argv[1]}/test.db", []
    with seconder.open(url, deliver=messages.append) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        service.request_sms(user.user_id)

    def worker():
        try:
            with seconder.open(url) as own:
                own.verify(user.user_id, messages[-1].code)
            return 10
        except (seconder.TokenInvalid, seconder.RateLimited):
            return 20

    workers = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os._exit(worker())
        workers.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
    assert sorted(codes) == [10, 20, 20, 20], codes
"""


def test_forked_workers_share_a_database(tmp_path: Path) -> None:
    """Like a server that loads the application before it forks: each worker opens its own service,
    and only one of those that present the same code is let in. It runs in a new process, because
    another test may have a database open in this one."""
    command = [sys.executable, "-c", textwrap.dedent(PREFORK), str(tmp_path)]
    subprocess.run(command, check=True, timeout=60)

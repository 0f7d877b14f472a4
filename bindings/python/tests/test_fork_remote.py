"""A client's connections after a fork, and the signal dispositions of the process."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import threading
import time

import seconder
from conftest import in_child, listening, named

REPLY = b'{"app": {"name": "Test"}, "message": "x", "success": true}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(REPLY) + REPLY


def served(listener: socket.socket, requests: list[int]) -> None:
    """Responds to every request, and records the number of its connection."""

    def talk(peer: socket.socket, number: int) -> None:
        with peer:
            while request := peer.recv(65536):
                requests.append(number)
                peer.sendall(named(request, RESPONSE))

    number = 0
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        number += 1
        threading.Thread(target=talk, args=(peer, number), daemon=True).start()


def test_a_forked_child_establishes_its_own_connection() -> None:
    requests: list[int] = []
    with listening(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=served, args=(listener, requests), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with seconder.open(
            url, api_key="key", client=seconder.ClientOptions(allow_loopback_http=True)
        ) as service:
            began = time.monotonic()
            service.app_details()
            in_child(service.app_details)
            service.app_details()
            was_idle = time.monotonic() - began >= 1
        # The parent reuses its connection, and the child establishes another. A connection that
        # was idle for a second on a busy machine is not reused either.
        assert requests == [1, 2, 1] or (was_idle and requests == [1, 2, 3])


def test_sigpipe_keeps_its_default() -> None:
    program = textwrap.dedent(
        """
        import signal, sys
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        import seconder
        service = seconder.open(sys.argv[1], api_key="key", client=seconder.ClientOptions(allow_loopback_http=True))
        try:
            service.app_details()
        except seconder.Unavailable:
            pass
        ignored = [line for line in open("/proc/self/status") if line.startswith("SigIgn")][0]
        print(int(ignored.split()[1], 16) >> (signal.SIGPIPE - 1) & 1)
        """
    )
    with listening(socket.create_server(("127.0.0.1", 0))) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
        done = subprocess.run(
            [sys.executable, "-c", program, url], capture_output=True, text=True, timeout=60
        )
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr

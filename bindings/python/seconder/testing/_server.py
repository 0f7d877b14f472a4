"""The sandbox as a remote service: plain HTTP on the loopback interface only. It reads requests and
writes replies; the library interprets them, as in ``seconder serve``."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from seconder import _seconder

DISCARD = 8 * _seconder.BODY_LIMIT
"""The part of an unread body that is read after the reply, in bytes: a client that is still
sending would otherwise not see the reply."""


STOP = 5
"""The time to wait for a thread whose connection was closed, in seconds."""


class HttpRequest(NamedTuple):
    """A request as it was received."""

    method: str
    target: str
    """The path, and the query if there is one."""
    headers: list[tuple[str, bytes]]
    read_body: Callable[[], tuple[bytes | None, str]]
    """Reads the body. Without a body, it returns the reason, as the library calls it."""


@dataclass(frozen=True)
class HttpReply:
    """The reply to send."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


class Server(ThreadingHTTPServer):
    """Calls a function for each request, and sends the reply that it returns. If it returns None,
    the connection is closed without a reply."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, respond: Callable[[HttpRequest], HttpReply | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.url = f"http://127.0.0.1:{self.server_port}"
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._lock = threading.Lock()
        self._stopped = False
        # The interval is how long stop() may wait, in seconds.
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Closes the connections too, whose clients may keep them for their next call, and waits for
        the threads that serve them."""
        self.shutdown()
        self.server_close()
        with self._lock:
            self._stopped = True
            connections = dict(self._connections)
        for connection in connections.values():
            # Nothing more is read, and a reply that is being written still arrives.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for thread in connections:
            # It may be this one, if an application closes the sandbox from a callback.
            if thread is not threading.current_thread():
                thread.join(STOP)

    def serves_here(self) -> bool:
        """Returns whether this thread serves one of its connections."""
        with self._lock:
            return threading.current_thread() in self._connections

    @property
    def stopped(self) -> bool:
        """Returns whether the engine that responds may be closed."""
        return self._stopped

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client may close the connection at any time, and a request that outlasts stop() finds the
        # engine closed.
        if not self._stopped and not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._lock:
            # A thread that begins after stop() has counted them would call what is closed by then.
            is_late = self._stopped
            if not is_late:
                self._connections[threading.current_thread()] = request
        if is_late:
            self.shutdown_request(request)
            return
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                del self._connections[threading.current_thread()]


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # The head and the body are separate writes, and Nagle's algorithm may delay the second.
    disable_nagle_algorithm = True

    # The time to wait for a client, in seconds, as in the server.
    timeout = 15

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Every method is for the library to judge, not only those that http.server knows."""
        if name.startswith("do_"):
            return self._respond
        raise AttributeError(name)

    def _respond(self) -> None:
        self.body_was_read = False
        if self.server.stopped:
            # It was received with an earlier request of its connection.
            self.close_connection = True
            return
        # http.server decodes headers as Latin-1, so this restores the bytes that were received.
        headers = [
            (name, value.strip(" \t").encode("latin-1")) for name, value in self.headers.items()
        ]
        # Not self.path, in which http.server has replaced leading slashes.
        target = self.requestline.split()[1]
        reply = self.server.respond(HttpRequest(self.command, target, headers, self._body))
        if not self.body_was_read:
            # The unread rest would be taken for the next request.
            self.close_connection = True
        if reply is None:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
        if not self.body_was_read:
            self._discard()

    def _body(self) -> tuple[bytes | None, str]:
        lengths = self.headers.get_all("content-length", ["0"])
        length = lengths[0].strip(" \t")
        # A second length, a transfer coding or a broken header can hide where the body ends.
        broken = self.headers.defects or self.headers.get("transfer-encoding") is not None
        if broken or len(lengths) != 1 or not (length.isascii() and length.isdigit()):
            return None, "incomplete"
        # Python refuses to convert very long numbers.
        if len(length) > 12 or int(length) > _seconder.BODY_LIMIT:
            return None, "too_large"
        try:
            body = self.rfile.read(int(length))
        except TimeoutError:
            return None, "too_slow"
        if len(body) < int(length):
            return None, "incomplete"
        self.body_was_read = True
        return body, ""

    def _discard(self) -> None:
        self.wfile.flush()
        self.connection.settimeout(1)
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            left = DISCARD
            while left > 0 and (data := self.connection.recv(65536)):
                left -= len(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing, because paths include codes."""

"""The sandbox as a remote service: plain HTTP on the loopback interface only. It reads requests and
writes replies; the library interprets them, as in ``seconder serve``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

BODY_LIMIT = 1024 * 1024
"""The maximum size of a request's body in bytes, 1 MiB, as in the library."""


class HttpRequest(NamedTuple):
    """A request as it was received."""

    method: str
    target: str
    """The path, and the query if there is one."""
    headers: list[tuple[str, bytes]]
    body: bytes | None
    """``None`` if it is too large and was not read."""


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
        # The interval is how long stop() may wait, in seconds.
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # The head and the body are separate writes, the second of which Nagle's algorithm may delay.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        # http.server decodes headers as Latin-1, so this restores the bytes that were received.
        headers = [(name, value.encode("latin-1")) for name, value in self.headers.items()]
        reply = self.server.respond(HttpRequest(self.command, self.path, headers, self._body()))
        if reply is None:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = do_GET

    def _body(self) -> bytes | None:
        length = self.headers.get("content-length") or "0"
        if length.isascii() and length.isdigit() and int(length) <= BODY_LIMIT:
            return self.rfile.read(int(length))
        # The unread body would be parsed as the next request.
        self.close_connection = True
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing, because paths include codes."""

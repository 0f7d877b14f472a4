"""The sandbox as a remote service: plain HTTP on this machine alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class HttpRequest(NamedTuple):
    """A request as it was received."""

    method: str
    path: str
    query: str
    body: bytes
    api_key: str


@dataclass(frozen=True)
class HttpReply:
    """What goes back."""

    status: int
    media_type: str
    body: bytes
    retry_after: float | None = None


class Server(ThreadingHTTPServer):
    """Asks a function for each answer; without one, it closes the connection."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, answer: Callable[[HttpRequest], HttpReply | None], key_header: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.key_header = key_header
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        asked = HttpRequest(self.command, path, query, body, self._key())
        answer = self.server.answer(asked)
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.retry_after is not None:
            self.send_header("Retry-After", str(-int(-answer.retry_after // 1)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_POST = do_GET

    def _key(self) -> str:
        return self.headers.get(self.server.key_header, "")

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: what is asked holds codes."""

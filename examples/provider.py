#!/usr/bin/env python3
"""A provider of messages on this machine, for trying out gateways: it logs what it receives.

    python3 provider.py PORT LOG [STATUS]

It responds to each message with STATUS, which is 200 by default. Another one is set while it runs:

    curl -X PUT -d 503 http://127.0.0.1:PORT/status

Of several, such as '0 200', each is for one message, and the last one stays. With 0, it reads a message and
closes the connection without a response, as one that is killed does.

A line of the log has the status, the id of the message, the number and the text. Callbacks can be posted to
it too, at /callback: their lines have the id of the delivery.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock


class Provider(ThreadingHTTPServer):
    """What all connections share."""

    def __init__(self, port: int, log: Path, status: str) -> None:
        super().__init__(("127.0.0.1", port), Connection)
        self.log = log
        self.lock = Lock()
        self.statuses = status.split()
        self.messages = 0

    def record(self, line: str) -> tuple[int, str]:
        """Logs a message. Returns the status of the response, and the id that the message gets."""
        with self.lock, self.log.open("a", encoding="utf-8") as log:
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            log.write(f"{status} {line}\n")
            self.messages += 1
            return int(status), f"p-{self.messages}"


class Connection(BaseHTTPRequestHandler):
    """One connection to the provider."""

    server: Provider

    def body(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()

    def respond(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self) -> None:
        self.server.statuses = self.body().split()
        self.respond(200, "")

    def do_POST(self) -> None:
        body = self.body()
        if self.path == "/callback":
            line = f"{self.headers['Seconder-Delivery']} callback"
        else:
            message = json.loads(body)
            line = f"{message['id']} {message['to']} {message['text']}"
        status, given = self.server.record(line)
        if status == 0:
            self.close_connection = True
        else:
            self.respond(status, json.dumps({"id": given}))

    def log_message(self, format: str, *args: object) -> None:
        """Has nothing to print besides the log."""


if __name__ == "__main__":
    _, port, log, *status = sys.argv
    Provider(int(port), Path(log), *(status or ["200"])).serve_forever()

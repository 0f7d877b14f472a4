"""The service of the tests: `seconder serve` with an application that uses it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate
from processes import Program, free_port, wait

import seconder

PROGRAM = os.environ.get("SECONDER_PROGRAM", "seconder")
KEY = "the-key-of-the-tests"
NAME = "Example Bank"
"""The application's."""


class Service:
    """Runs until `close`, and can be stopped and started in between."""

    def __init__(self, folder: Path, push_host: str, *more: str) -> None:
        """Keeps its files in the folder, and may post to the push service at this host and port."""
        self._folder = folder
        self.callbacks = Callbacks()
        self._numbers = count(100)
        port = free_port()
        self.origin = f"https://localhost:{port}"
        self.base = f"{self.origin}/-/approver/"
        self._certificate = folder / "certificate.pem"
        (folder / "key").write_text(KEY)
        options = {
            "listen": f"127.0.0.1:{port}",
            "public-url": self.origin,
            "database": f"sqlite:{folder}/seconder.db",
            "api-key-file": str(folder / "key"),
            "certificate-out": str(self._certificate),
            "application-name": NAME,
            "callback-url": self.callbacks.url,
            "push-host": push_host,
            "log-format": "human",
        }
        given = [f"--{name}={value}" for name, value in options.items()]
        self._command = [PROGRAM, "serve", "--self-signed", "--limit=key_rate=0", *given, *more]
        self.start()

    def start(self) -> None:
        self._program = Program(self._command, self._folder / "serve.log", os.environ)
        try:
            self._program.printed(r"listening on (https://\S+)")
        except BaseException:
            self.close()
            raise
        # Otherwise the calls could not have everything that other applications send.
        self.application = seconder.open(
            self.origin,
            api_key=KEY,
            client=seconder.ClientOptions(ca_file=self._certificate, nested_as_json=True),
        )

    @property
    def trusted(self) -> str:
        """The SHA-256 of the key of its certificate, in Base64."""
        public = load_pem_x509_certificate(self._certificate.read_bytes()).public_key()
        encoded = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(hashlib.sha256(encoded).digest()).decode()

    def stop(self) -> None:
        self._program.stop()

    def close(self) -> None:
        self.stop()
        self.callbacks.close()

    def stored(self) -> bytes:
        """What a copy of the database has, without the keyring beside it."""
        files = (self._folder / f"seconder.db{suffix}" for suffix in ("", "-wal"))
        return b"".join(file.read_bytes() for file in files if file.exists())

    def keep_logo(self, url: str, media_type: str, content: bytes) -> None:
        """Keeps a picture as the service does that it has fetched."""
        row = (hashlib.sha256(url.encode()).digest(), media_type, content, 2**62)
        with closing(sqlite3.connect(self._folder / "seconder.db")) as database, database:
            database.execute("INSERT OR REPLACE INTO logos VALUES (?, ?, ?, ?)", row)

    def add_user(self) -> User:
        number = next(self._numbers)
        created = self.application.create_user(
            f"ada{number}@example.com", f"555-010-{number:04}", 1, send_install_link_via_sms=False
        )
        return User(self, created.user_id)


class User:
    """A user of the application, as far as the application knows them."""

    def __init__(self, service: Service, number: int) -> None:
        self.service, self._number = service, number

    def invite(self) -> Any:
        """Invites one device: an object with `link` and `code`."""
        return self.service.application.invite_device(self._number)

    def ask(
        self,
        message: str = "Log in to your account?",
        details: Mapping[str, str] | None = None,
        *,
        number_digits: int = 0,
        seconds_to_expire: int = 600,
        logo: str | None = None,
    ) -> Request:
        """Asks for the approval of a login."""
        created = self.service.application.create_approval(
            self._number,
            message,
            details=details,
            number_digits=number_digits,
            seconds_to_expire=seconds_to_expire,
            logos=[{"res": "default", "url": logo}] if logo else None,
        )
        return Request(self, created.uuid, created.number)

    def devices(self) -> list[int]:
        devices = self.service.application.devices(self._number).devices
        return [device.id for device in devices]

    def remove_devices(self, count: int | None = None) -> None:
        """Removes the first ones, by default all."""
        for device in self.devices()[:count]:
            self.service.application.remove_device(self._number, device)

    def accepts(self, code: str) -> bool:
        """Whether a code of the app lets this user in."""
        try:
            self.service.application.verify(self._number, code)
        except seconder.TokenInvalid:
            return False
        return True

    def approved(self, uuid: str) -> seconder.results.Approval:
        return self.service.application.check_approval(uuid)


class Request:
    """A request for approval."""

    def __init__(self, user: User, uuid: str, number: str | None) -> None:
        self._user, self.uuid, self.number = user, uuid, number or ""

    @property
    def status(self) -> str:
        return str(self._user.approved(self.uuid).status)

    @property
    def notified(self) -> bool:
        return bool(self._user.approved(self.uuid).notified)

    @property
    def fragment(self) -> str:
        """Where in the app a notification leads."""
        return f"#r={self.uuid}"

    def called_back(self) -> list[str]:
        """The statuses that were posted to the application, when there is one at least."""
        callbacks = self._user.service.callbacks
        return wait(lambda: callbacks.of(self.uuid), f"a callback of {self.uuid}")


class Callbacks:
    """Where the application gets the responses of its users."""

    def __init__(self) -> None:
        self._posted: list[dict[str, Any]] = []
        posted = self._posted

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *arguments: object) -> None:
                """Writes nothing."""

            def do_POST(self) -> None:
                posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def of(self, uuid: str) -> list[str]:
        return [one["status"] for one in self._posted if one["uuid"] == uuid]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

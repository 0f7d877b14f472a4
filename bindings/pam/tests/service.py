"""The service: `seconder serve`, its users and their codes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import os
import re
import signal
import sqlite3
import ssl
import struct
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

from terminal import PATIENCE

PROGRAM = os.environ.get("SECONDER_PROGRAM", "seconder")
KEY = "the-key-of-the-tests"
LIMITS = ("--limit=number_10_minutes=0", "--limit=number_day=0", "--limit=key_rate=0")
"""The tests log in more often than people do."""
numbers = itertools.count(100)


class User:
    """A user of the service with an authenticator app."""

    def __init__(self, number: int, secret: bytes) -> None:
        self.number = number
        self._secret = secret
        self._used = 0

    def code(self) -> str:
        """A code that was not used. The service accepts one step before and one after the current
        one, and none twice, so there are three at once, and then one for each 30 seconds. It is
        accepted for ten seconds at least, so that there is time to type it."""
        now = int(time.time() + 10) // 30
        step = max(self._used + 1, now - 1)
        while step > int(time.time()) // 30 + 1:
            time.sleep(0.5)
        self._used = step
        digest = hmac.digest(self._secret, struct.pack(">Q", step), hashlib.sha1)
        at = digest[-1] & 15
        number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF
        return f"{number % 1_000_000:06}"

    def wrong(self) -> str:
        """A code that is wrong at this time."""
        now = int(time.time()) // 30
        steps = range(now - 3, now + 4)
        right = set()
        for step in steps:
            digest = hmac.digest(self._secret, struct.pack(">Q", step), hashlib.sha1)
            at = digest[-1] & 15
            right.add((struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF) % 1_000_000)
        return next(f"{code:06}" for code in range(123456, 999999) if code not in right)


class Service:
    """`seconder serve` on a database of its own."""

    def __init__(self, folder: Path, database: str | None = None, *options: str) -> None:
        self.folder = folder
        self._options = options
        self.database = database or f"sqlite:{folder}/seconder.db"
        self.certificate = folder / "certificate.pem"
        self.socket = folder / "seconder.sock"
        (folder / "key").write_text(KEY)
        (folder / "key").chmod(0o600)
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def keys(self) -> dict[str, object]:
        """The keys of the module's configuration by which it finds the service."""
        return {"url": f"unix:{self.socket}"}

    @property
    def network_keys(self) -> dict[str, object]:
        """The same, over HTTPS."""
        return {
            "url": self.url,
            "ca_file": self.certificate,
            "api_key_file": self.folder / "key",
        }

    def start(self) -> None:
        options = ["--listen=127.0.0.1:0", f"--database={self.database}", "--self-signed"]
        options += [f"--api-key-file={self.folder}/key", f"--certificate-out={self.certificate}"]
        options += [f"--unix={self.socket}", *self._options]
        self._process = subprocess.Popen(
            [PROGRAM, "serve", "--log-format=human", *options, *LIMITS],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )
        assert self._process.stderr is not None
        printed = ""
        for line in self._process.stderr:
            printed += line
            found = re.search(r"listening on (https://\S+)", line)
            if found:
                self.url = found[1].replace("localhost", "127.0.0.1")
                return
        raise AssertionError(f"seconder serve did not start:\n{printed}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            self._process.communicate(timeout=60)
            self._process = None

    def suspend(self) -> None:
        """Leaves the service there, but it responds to nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def call(self, method: str, path: str, **form: object) -> dict[str, Any]:
        data = urlencode({key: str(value) for key, value in form.items()}).encode()
        request = Request(self.url + path, data=data or None, method=method)
        request.add_header("X-Svc-API-Key", KEY)
        context = ssl.create_default_context(cafile=str(self.certificate))
        with urlopen(request, context=context, timeout=60) as response:
            reply: dict[str, Any] = json.load(response)
        return reply

    def add_user(self) -> User:
        """A user with an authenticator app."""
        number = self.add_phone()
        reply = self.call("POST", f"/protected/json/users/{number}/secret", label="Ada")
        secret = parse_qs(urlsplit(reply["uri"]).query)["secret"][0]
        return User(number, base64.b32decode(secret + "=" * (-len(secret) % 8)))

    def add_phone(self) -> int:
        """A user with a mobile phone alone."""
        at = next(numbers)
        form = {
            "user[email]": f"user{at}@example.com",
            "user[cellphone]": f"555-010-{at:04}",
            "user[country_code]": "1",
        }
        return int(self.call("POST", "/protected/json/users/new", **form)["user"]["id"])

    def sent_code(self, after: float) -> str:
        """The code of the last message to a phone."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            files = sorted(self.folder.glob("*.spool/*.txt"), key=lambda file: file.stat().st_mtime)
            if files and files[-1].stat().st_mtime >= after:
                found = re.search(r"^Code: (\d+)$", files[-1].read_text(), re.MULTILINE)
                if found:
                    return found[1]
            time.sleep(0.05)
        raise AssertionError("no message was sent")

    def add_device(self, user: int) -> Device:
        printed = self.run("user", "register-device", f"--user={user}", "--type=android")
        found = re.search(r"device_id (\S+)\nsecret (\S+)", printed)
        assert found, printed
        return Device(self, found[1], found[2])

    def run(self, *arguments: str, given: str = "") -> str:
        command = [PROGRAM, *arguments, f"--database={self.database}"]
        done = subprocess.run(
            command, input=given, check=True, capture_output=True, text=True, cwd=self.folder
        )
        return done.stdout


class Device:
    """A phone that approves logins."""

    def __init__(self, service: Service, number: str, secret: str) -> None:
        self._service, self._number, self._secret = service, number, secret

    def respond(self, response: str, shown: str = "") -> None:
        """Waits for a request, and responds to it: approve, with the number that the login has shown, or deny."""
        arguments = [f"--device={self._number}", f"--uuid={self.request()}", f"--response={response}"]
        arguments += [f"--number={number}" for number in re.findall(r"type (\d+) on your phone", shown)[-1:]]
        self._service.run("approval", "respond", *arguments, given=self._secret)

    def request(self) -> str:
        path = self._service.database.removeprefix("sqlite:")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with sqlite3.connect(path, timeout=10) as database:
                rows = database.execute(
                    "SELECT uuid FROM approvals WHERE status = 'pending' ORDER BY created_at DESC LIMIT 1"
                ).fetchall()
            database.close()
            if rows:
                return str(rows[0][0])
            time.sleep(0.05)
        raise AssertionError("nobody was asked to approve")

"""The parts that the three applications share: a stub of a user table, the messages for errors, and
the demo phone. The handling of the second factor is in each application's own file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import seconder
from seconder.contrib.replay import SqlReplay

FOLDER = Path(__file__).parent
"""The folder of the templates and the stylesheet."""
PUBLIC_URL = os.environ.get("EXAMPLE_URL", "http://127.0.0.1:5000")
"""The application's URL for browsers and the service. With ``https:``, cookies are secure."""
PORT = urlsplit(PUBLIC_URL).port or 5000
CALLBACK_URL = f"{PUBLIC_URL}/seconder/callback"
SECRET = os.environ.get("EXAMPLE_SECRET") or secrets.token_hex(32)
"""The key that signs the sessions. All processes of one application need the same one."""
PENDING_LIFE = 600
"""The time limit for the second step after the password, in seconds."""
DATA = Path.cwd()
"""The folder of the databases."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every page. The secret of an authenticator app must not stay in a cache."""


def open_service() -> seconder.Service:
    """Opens the embedded service. It writes messages as text files to ``seconder.spool``."""
    url = f"sqlite:{DATA}/seconder.db"
    return seconder.open(url, application_name="Example", callback_url=CALLBACK_URL)


def open_memory() -> SqlReplay:
    """Opens the memory that all processes share, of callbacks and of approvals that were used."""
    return SqlReplay.sqlite(DATA / "seen.db")


def digits(typed: str) -> str:
    """Removes the spaces that apps show between the digits."""
    return "".join(typed.split())


def explain(error: seconder.SecondFactorError) -> str:
    """Returns the message for the user. An error that the user cannot act on is raised again."""
    match error:
        case seconder.TokenMalformed():
            return "Please type the digits of the code: it has 6 to 12."
        case seconder.TokenInvalid(reused=True):
            return "That code has been used already. Wait for the next one."
        case seconder.TokenInvalid():
            return "That code is wrong."
        case seconder.RateLimited():
            wait = "" if error.retry_after is None else f" Try again in {error.retry_after:.0f} s."
            return f"Too many attempts.{wait}"
    raise error


NOT_FROM_AN_APP = "That code came by SMS. Enter the code that the app shows."


def is_from_an_app(verification: seconder.Verification) -> bool:
    """Whether a code that was right came from an authenticator app. A code by SMS is right too, but
    does not prove that the app was set up. If the service leaves out where codes come from, no app
    is confirmed here. No service distinguishes a user's new app from an earlier one."""
    return verification.device is not None and verification.device.os_type == "authenticator"


@dataclass
class Account:
    """A user of the application, with the id that the service returned."""

    name: str
    user_id: int
    salt: bytes
    password: bytes
    authenticator: bool = False
    """Whether the user confirmed an authenticator app."""
    device: seconder.DeviceRegistered | None = None
    """The demo phone. A real phone does not reveal its secret to the application."""


class Accounts:
    """A stub: a real application has a table, and limits wrong passwords too."""

    def __init__(self, service: seconder.Service) -> None:
        self._service = service
        self._accounts: dict[str, Account] = {}
        self._nobody = Account("", 0, b"-", b"-")
        self.add("Ada", "correct horse", "ada@example.com", "555-010-0123")
        self.add("Bob", "battery staple", "bob@example.com", "555-010-0199")

    def add(self, name: str, password: str, email: str, cellphone: str) -> Account:
        """Signs up a user. The service returns the same id for the same cellphone."""
        user = self._service.create_user(email, cellphone, 1, send_install_link_via_sms=False)
        salt = os.urandom(16)
        account = Account(name, user.id, salt, _hash(password, salt))
        self._accounts[name.casefold()] = account
        return account

    def get(self, name: str | None) -> Account | None:
        """Returns the account with that name."""
        return self._accounts.get((name or "").casefold())

    def with_password(self, name: str, password: str) -> Account | None:
        """Returns the account with that name and password. An unknown name takes as long as a wrong
        password, so that the time does not reveal which names exist."""
        account = self._accounts.get(name.casefold(), self._nobody)
        matches = hmac.compare_digest(_hash(password, account.salt), account.password)
        return account if matches else None

    def with_device(self) -> list[Account]:
        """Returns the accounts that have the demo phone."""
        return [account for account in self._accounts.values() if account.device]


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)


@dataclass
class Question:
    """An approval request, as the demo phone shows it."""

    uuid: str
    message: str
    lines: list[str]


class DemoPhone:
    """Demo: simulates the users' phones. Leave it out of a real application."""

    def __init__(self, service: seconder.Service, accounts: Accounts) -> None:
        self._service = service
        self._accounts = accounts

    def page(self) -> dict[str, Any]:
        """Returns the page's contents: the pending requests, and the latest messages."""
        questions = [
            Question(each.uuid, each.message, [f"{k}: {v}" for k, v in each.details.items()])
            for device in self._devices()
            for each in self._service.open_approvals(
                device_id=device.device_id, device_secret=device.secret
            )
        ]
        files = sorted((DATA / "seconder.spool").glob("*.txt"), reverse=True)[:3]
        messages = [_message(file.read_text()) for file in files]
        nothing = not questions and not messages
        return {"questions": questions, "messages": messages, "nothing": nothing}

    def answer(self, uuid: str, yes: bool) -> None:
        """Responds to a request on the phone that received it."""
        for device in self._devices():
            pending = self._service.open_approvals(
                device_id=device.device_id, device_secret=device.secret
            )
            if uuid in [request.uuid for request in pending]:
                self._service.respond_to_approval(
                    uuid,
                    device_id=device.device_id,
                    device_secret=device.secret,
                    response="approve" if yes else "deny",
                )

    def _devices(self) -> list[seconder.DeviceRegistered]:
        return [account.device for account in self._accounts.with_device() if account.device]


def _message(file: str) -> dict[str, str]:
    head, _, text = file.partition("\n\n")
    return {"to": head.partition("\n")[0], "text": text.strip()}

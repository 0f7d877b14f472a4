"""What the three applications have in common: a stub of a user table, the words for what can go
wrong, and the demo phone. What an application does about the second factor is in its own file.
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
"""Where the templates and the stylesheet are."""
PUBLIC_URL = os.environ.get("EXAMPLE_URL", "http://127.0.0.1:5000")
"""Where browsers and the service find the application. Cookies are for HTTPS alone when it is."""
PORT = urlsplit(PUBLIC_URL).port or 5000
CALLBACK_URL = f"{PUBLIC_URL}/seconder/callback"
SECRET = os.environ.get("EXAMPLE_SECRET") or secrets.token_hex(32)
"""What the sessions are signed with. Processes that serve one application need the same."""
PENDING_LIFE = 600
"""How long the second step may take after the password, in seconds."""
DATA = Path.cwd()
"""Where the databases are."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every page: the secret of an authenticator app must not stay in a cache."""


def open_service() -> seconder.Service:
    """The embedded service. Its messages land as text files in the folder ``seconder.spool``."""
    url = f"sqlite:{DATA}/seconder.db"
    return seconder.open(url, application_name="Example", callback_url=CALLBACK_URL)


def open_memory() -> SqlReplay:
    """What all processes remember together: callbacks, and approvals that let somebody in."""
    return SqlReplay.sqlite(DATA / "seen.db")


def digits(typed: str) -> str:
    """What a user typed, without the spaces that apps show between the digits."""
    return "".join(typed.split())


def explain(error: seconder.SecondFactorError) -> str:
    """What to tell the user. What is not the user's matter goes on to the log."""
    match error:
        case seconder.TokenInvalid(reused=True):
            return "That code has been used already. Wait for the next one."
        case seconder.TokenInvalid():
            return "That code is not right."
        case seconder.InvalidArgument(parameter="token"):
            return "A code is made of 6 to 12 digits."
        case seconder.RateLimited():
            wait = "" if error.retry_after is None else f" Try again in {error.retry_after:.0f} s."
            return f"That was too often.{wait}"
    raise error


NOT_FROM_AN_APP = "That code came by SMS. Type the one that the app shows."


def is_from_an_app(right: seconder.Verification) -> bool:
    """Whether a code that is right is an authenticator app's. One by SMS is right too, and says
    nothing of the app. A service that leaves out where codes come from cannot tell, and confirms no
    app here; nor does any tell a user's new app from an earlier one."""
    return right.device is not None and right.device.os_type == "authenticator"


@dataclass
class Account:
    """A user of the application, who keeps the id that the service gave."""

    name: str
    user_id: int
    salt: bytes
    password: bytes
    authenticator: bool = False
    """Whether the user confirmed an authenticator app."""
    device: seconder.DeviceRegistered | None = None
    """The demo phone. A real phone keeps its secret to itself."""


class Accounts:
    """A stub: a real application has a table, and counts wrong passwords too."""

    def __init__(self, service: seconder.Service) -> None:
        self._service = service
        self._accounts: dict[str, Account] = {}
        self._nobody = Account("", 0, b"-", b"-")
        self.add("Ada", "correct horse", "ada@example.com", "555-010-0123")
        self.add("Bob", "battery staple", "bob@example.com", "555-010-0199")

    def add(self, name: str, password: str, email: str, cellphone: str) -> Account:
        """Signs somebody up. The same cellphone gets the same id again."""
        user = self._service.create_user(email, cellphone, 1, send_install_link_via_sms=False)
        salt = os.urandom(16)
        account = Account(name, user.id, salt, _hash(password, salt))
        self._accounts[name.casefold()] = account
        return account

    def get(self, name: str | None) -> Account | None:
        """The account of that name."""
        return self._accounts.get((name or "").casefold())

    def with_password(self, name: str, password: str) -> Account | None:
        """The account of that name and password. An unknown name takes as long as a wrong one."""
        account = self._accounts.get(name.casefold(), self._nobody)
        right = hmac.compare_digest(_hash(password, account.salt), account.password)
        return account if right else None

    def with_device(self) -> list[Account]:
        """Those who have the demo phone."""
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
    """Demo: stands in for the users' phones. Leave it out of a real application."""

    def __init__(self, service: seconder.Service, accounts: Accounts) -> None:
        self._service = service
        self._accounts = accounts

    def page(self) -> dict[str, Any]:
        """What it shows: the requests that wait for an answer, and the latest messages."""
        questions = [
            Question(asked.uuid, asked.message, [f"{k}: {v}" for k, v in asked.details.items()])
            for device in self._devices()
            for asked in self._service.open_approvals(
                device_id=device.device_id, device_secret=device.secret
            )
        ]
        files = sorted((DATA / "seconder.spool").glob("*.txt"), reverse=True)[:3]
        messages = [_message(file.read_text()) for file in files]
        nothing = not questions and not messages
        return {"questions": questions, "messages": messages, "nothing": nothing}

    def answer(self, uuid: str, yes: bool) -> None:
        """Answers a request on the phone that was asked."""
        for device in self._devices():
            asked = self._service.open_approvals(
                device_id=device.device_id, device_secret=device.secret
            )
            if uuid in [request.uuid for request in asked]:
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

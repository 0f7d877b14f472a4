"""The parts that the three applications share: the users and how they sign up, the messages for
errors, and the demo phone. The handling of the second factor is in each application's own file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
import time
from contextlib import closing
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
"""The time limit for the second step after the password, and for a sign-up, in seconds."""
COUNTRY = 1
"""The calling code of the users' numbers."""
DATA = Path.cwd()
"""The folder of the databases."""
NAME_TAKEN = "That name is taken. Choose another one."

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
    authenticator: bool
    """Whether the user confirmed an authenticator app."""
    device: seconder.DeviceRegistered | None
    """The demo phone. A real phone does not reveal its secret to the application."""


@dataclass
class SignUp:
    """Somebody who wants an account, and whose phone number is not proven yet."""

    name: str
    password: str
    email: str
    cellphone: str


class NotSignedUp(Exception):
    """There is no account. The text is for the visitor."""


TABLES = """
CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    user_id INTEGER NOT NULL UNIQUE,  -- two accounts never share a second factor
    salt BLOB NOT NULL,
    password BLOB NOT NULL,
    authenticator INTEGER NOT NULL DEFAULT 0,
    device_id INTEGER,
    device_secret TEXT
);
CREATE TABLE IF NOT EXISTS signups (
    ticket TEXT PRIMARY KEY,
    until REAL NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    cellphone TEXT NOT NULL,
    salt BLOB NOT NULL,
    password BLOB NOT NULL
);
"""


class Accounts:
    """The application's users, in a database of its own. A real application limits wrong passwords
    and the number of sign-ups too."""

    def __init__(self, service: seconder.Service) -> None:
        self._service = service
        self._nobody = Account("", 0, b"-", b"-", False, None)
        self._file = DATA / "accounts.db"
        self._file.touch(mode=0o600)
        with closing(self._open()) as database:
            database.executescript(TABLES)
        # The demo's own users. Nobody typed their numbers, so nobody has to prove them.
        self.add(SignUp("Ada", "correct horse", "ada@example.com", "555-010-0123"))
        self.add(SignUp("Bob", "battery staple", "bob@example.com", "555-010-0199"))

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=20)

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(self._open()) as database, database:
            return database.execute(statement, values).fetchall()

    def add(self, user: SignUp) -> Account:
        """Adds a user whose number is known to be right, once."""
        account = self.get(user.name)
        if account is None:
            created = self._service.create_user(
                user.email, user.cellphone, COUNTRY, send_install_link_via_sms=False
            )
            salt = os.urandom(16)
            # Another process may add the same user at the same time.
            self._run(
                "INSERT INTO accounts (name, user_id, salt, password) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO NOTHING",
                *(user.name, created.id, salt, _hash(user.password, salt)),
            )
            account = self.get(user.name)
        assert account is not None
        return account

    def begin(self, user: SignUp) -> str:
        """Sends a code to the number that the visitor typed, and returns a ticket for
        :meth:`finish`. Nobody is enrolled yet: the number may be somebody else's. Whether it belongs
        to an account does not show before it is proven."""
        if not user.name.strip() or not user.password:
            raise NotSignedUp("Please type a name and a password.")
        if self.get(user.name):
            raise NotSignedUp(NAME_TAKEN)
        try:
            self._service.start_phone_verification("sms", user.cellphone, COUNTRY)
        except (seconder.InvalidArgument, seconder.Rejected):
            raise NotSignedUp("Please type a mobile phone number.") from None
        ticket, salt = secrets.token_urlsafe(32), os.urandom(16)
        self._run("DELETE FROM signups WHERE until < ?", time.time())
        self._run(
            "INSERT INTO signups VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(ticket, time.time() + PENDING_LIFE, user.name, user.email, user.cellphone),
            *(salt, _hash(user.password, salt)),
        )
        return ticket

    def is_pending(self, ticket: str | None) -> bool:
        """Whether a code can be typed for the ticket."""
        query = "SELECT 1 FROM signups WHERE ticket = ? AND until >= ?"
        return bool(self._run(query, ticket, time.time()))

    def finish(self, ticket: str, code: str) -> None:
        """Adds the account, if the code proves that the visitor holds the number."""
        query = "SELECT name, email, cellphone, salt, password FROM signups WHERE ticket = ?"
        rows = self._run(query, ticket)
        if not rows:
            raise NotSignedUp("Please start again.")
        [(name, email, cellphone, salt, password)] = rows
        try:
            self._service.check_phone_verification(cellphone, COUNTRY, code)
        except seconder.Rejected:
            raise NotSignedUp("That code is wrong, or no longer valid.") from None
        self._run("DELETE FROM signups WHERE ticket = ?", ticket)
        try:
            # Without `new_only`, a known number would return the id of the user who has it, and with
            # it the apps and phones of that user.
            created = self._service.create_user(
                email, cellphone, COUNTRY, send_install_link_via_sms=False, new_only=True
            )
        except seconder.InvalidArgument:
            raise NotSignedUp("That is not an e-mail address. Please start again.") from None
        except seconder.Rejected as error:
            if "cellphone" not in error.fields:
                raise
            raise NotSignedUp("That phone number belongs to an account already.") from None
        try:
            self._run(
                "INSERT INTO accounts (name, user_id, salt, password) VALUES (?, ?, ?, ?)",
                *(name, created.id, salt, password),
            )
        except sqlite3.IntegrityError:
            if not self.get(name):
                raise
            # Somebody took the name meanwhile. The user is new, so it is nobody else's.
            self._service.delete_user(created.id)
            raise NotSignedUp(NAME_TAKEN) from None

    def get(self, name: str | None) -> Account | None:
        """Returns the account with that name."""
        found = self._accounts("WHERE name = ?", name or "")
        return found[0] if found else None

    def with_password(self, name: str, password: str) -> Account | None:
        """Returns the account with that name and password. An unknown name takes as long as a wrong
        password, so that the time does not reveal which names exist."""
        account = self.get(name) or self._nobody
        matches = hmac.compare_digest(_hash(password, account.salt), account.password)
        return account if matches else None

    def with_device(self) -> list[Account]:
        """Returns the accounts that have the demo phone."""
        return self._accounts("WHERE device_id IS NOT NULL")

    def confirm_authenticator(self, account: Account) -> None:
        """Records that the user has an authenticator app."""
        self._run("UPDATE accounts SET authenticator = 1 WHERE user_id = ?", account.user_id)

    def add_device(self, account: Account) -> None:
        """Gives the demo phone to the user."""
        device = self._service.register_device(account.user_id, "android")
        self._run(
            "UPDATE accounts SET device_id = ?, device_secret = ? WHERE user_id = ?",
            *(device.device_id, device.secret, account.user_id),
        )

    def _accounts(self, where: str, *values: object) -> list[Account]:
        columns = "name, user_id, salt, password, authenticator, device_id, device_secret"
        rows = self._run(f"SELECT {columns} FROM accounts {where}", *values)
        accounts = []
        for name, user_id, salt, password, authenticator, device_id, secret in rows:
            device = None if device_id is None else seconder.DeviceRegistered(device_id, secret)
            authenticated = bool(authenticator)
            accounts.append(Account(name, user_id, salt, password, authenticated, device))
        return accounts


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

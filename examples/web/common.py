"""The parts that the three applications share: the users and how they sign up, the messages for
errors, and the demo phone. The handling of the second factor is in each application's own file.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
"""The time limit for the second step after the password, for a sign-up, and for setting up an
authenticator app, in seconds."""
COUNTRY = 1
"""The calling code of the users' numbers."""
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


@dataclass
class Problem:
    """What went wrong, for a page and its response."""

    text: str
    status: int = 422
    """The HTTP status of the response."""
    wait: int | None = None
    """After how many seconds the user can try again, if it is a limit and the service says so."""
    sending: bool = False
    """Whether that limit is for sending codes, so that the code sent before can still be typed."""
    field: str = ""
    """The name of the invalid field, if it is known."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response."""
        return {} if self.wait is None else {"Retry-After": str(self.wait)}

    @property
    def again(self) -> str:
        """When to try again, for browsers without JavaScript, in which no counter runs."""
        if self.wait is None:
            return "Please try again later."
        if self.wait < 120:
            return f"Try again in {self.wait} s."
        return f"Try again in {math.ceil(self.wait / 60)} minutes."


def explain(error: seconder.SecondFactorError | NotSignedUp, *, sending: bool = False) -> Problem:
    """Returns what to show to the user after a call, which may have been to send a code. An error
    that the user cannot act on is raised again."""
    match error:
        case NotSignedUp():
            return error.problem
        case seconder.TokenMalformed():
            return Problem("Please type the digits of the code: it has 6 to 12.")
        case seconder.TokenInvalid(reused=True):
            return Problem("That code has been used already. Wait for the next one.", 401)
        case seconder.TokenInvalid():
            return Problem("That code is wrong.", 401)
        case seconder.RateLimited():
            text = "A code was sent already." if sending else "Too many attempts."
            wait = None if error.retry_after is None else math.ceil(error.retry_after)
            return Problem(text, 429, wait, sending)
        case seconder.Unavailable():
            return Problem("That is not possible at the moment. Please try again soon.", 503)
    raise error


WRONG_PASSWORD = Problem("The name or the password is wrong.", 401)
NOT_APPROVED = Problem("You did not approve the login.", 401)
NAME_TAKEN = Problem("That name is taken. Choose another one.", 409, field="name")
NOT_FROM_AN_APP = Problem("That code came by SMS. Enter the code that the app shows.", 401)


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


@dataclass
class Enrolment:
    """An authenticator app that is being set up. It is shown until a code from it was right."""

    uri: str
    qr_code: str

    @property
    def key(self) -> list[str]:
        """The key to type into an app that cannot scan, in groups of four characters."""
        [key] = parse_qs(urlsplit(self.uri).query)["secret"]
        return [key[start : start + 4] for start in range(0, len(key), 4)]


class NotSignedUp(Exception):
    """There is no account."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


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
CREATE TABLE IF NOT EXISTS enrolments (
    user_id INTEGER PRIMARY KEY,
    until REAL NOT NULL,
    uri TEXT NOT NULL,
    qr_code TEXT NOT NULL
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
        if not user.name.strip():
            raise NotSignedUp(Problem("Please type a name.", field="name"))
        if not user.password:
            raise NotSignedUp(Problem("Please type a password.", field="password"))
        if "@" not in user.email:
            raise NotSignedUp(Problem("Please type your e-mail address.", field="email"))
        if self.get(user.name):
            raise NotSignedUp(NAME_TAKEN)
        self._send(user.cellphone)
        ticket, salt = secrets.token_urlsafe(32), os.urandom(16)
        self._run("DELETE FROM signups WHERE until < ?", time.time())
        self._run(
            "INSERT INTO signups VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(ticket, time.time() + PENDING_LIFE, user.name, user.email, user.cellphone),
            *(salt, _hash(user.password, salt)),
        )
        return ticket

    def _send(self, cellphone: str) -> None:
        try:
            self._service.start_phone_verification("sms", cellphone, COUNTRY)
        except (seconder.InvalidArgument, seconder.Rejected):
            problem = Problem("Please type a mobile phone number.", field="cellphone")
            raise NotSignedUp(problem) from None

    def number(self, ticket: str | None) -> str | None:
        """Returns the number for whose code the ticket waits."""
        query = "SELECT cellphone FROM signups WHERE ticket = ? AND until >= ?"
        rows = self._run(query, ticket, time.time())
        return str(rows[0][0]) if rows else None

    def send_again(self, ticket: str | None) -> None:
        """Sends the code of a sign-up once more."""
        if (cellphone := self.number(ticket)) is not None:
            self._send(cellphone)

    def finish(self, ticket: str, code: str) -> str:
        """Adds the account, if the code proves that the visitor holds the number. Returns its
        name."""
        query = "SELECT name, email, cellphone, salt, password FROM signups WHERE ticket = ?"
        rows = self._run(query, ticket)
        if not rows:
            raise NotSignedUp(Problem("Please start again."))
        [(name, email, cellphone, salt, password)] = rows
        try:
            self._service.check_phone_verification(cellphone, COUNTRY, code)
        except seconder.Rejected:
            raise NotSignedUp(Problem("That code is wrong, or no longer valid.", 401)) from None
        self._run("DELETE FROM signups WHERE ticket = ?", ticket)
        try:
            # Without `new_only`, a known number would return the id of the user who has it, and with
            # it the apps and phones of that user.
            created = self._service.create_user(
                email, cellphone, COUNTRY, send_install_link_via_sms=False, new_only=True
            )
        except seconder.InvalidArgument:
            problem = Problem("That is not an e-mail address. Please start again.")
            raise NotSignedUp(problem) from None
        except seconder.Rejected as error:
            if "cellphone" not in error.fields:
                raise
            problem = Problem("That phone number belongs to an account already.", 409)
            raise NotSignedUp(problem) from None
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
        return str(name)

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

    def enrol_authenticator(self, account: Account) -> None:
        """Begins to set up an authenticator app. The secret is kept until the user has typed a code
        from the app, so that it is shown again after a typing error. It is not kept in the session,
        which is a cookie in some frameworks."""
        enrolled = self._service.enrol_authenticator(account.user_id, label=account.name)
        self._run(
            "INSERT OR REPLACE INTO enrolments VALUES (?, ?, ?, ?)",
            *(account.user_id, time.time() + PENDING_LIFE, enrolled.uri, enrolled.qr_code),
        )

    def enrolment(self, account: Account) -> Enrolment | None:
        """Returns the authenticator app that the user is setting up."""
        self._run("DELETE FROM enrolments WHERE until < ?", time.time())
        query = "SELECT uri, qr_code FROM enrolments WHERE user_id = ?"
        rows = self._run(query, account.user_id)
        return Enrolment(*rows[0]) if rows else None

    def confirm_authenticator(self, account: Account) -> None:
        """Records that the user has an authenticator app."""
        self._run("UPDATE accounts SET authenticator = 1 WHERE user_id = ?", account.user_id)
        self._run("DELETE FROM enrolments WHERE user_id = ?", account.user_id)

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

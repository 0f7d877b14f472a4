"""The application's users: how they sign up, and what protects their accounts."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from common import (
    COUNTRY,
    DATA,
    LAST_WAY,
    NAME_TAKEN,
    PENDING_LIFE,
    SESSION_LIFE,
    Problem,
    Refused,
    Sent,
    digits,
    resend_at,
)

import seconder


@dataclass
class Account:
    """A user of the application, with the id that the service returned."""

    name: str
    user_id: int
    salt: bytes
    password: bytes
    device: seconder.results.DeviceRegistered | None
    """The demo phone. A real phone does not reveal its secret to the application."""


@dataclass
class Way:
    """An authenticator app or a device of a user, as the pages show it."""

    id: str
    name: str
    since: str
    confirmed: bool = True


@dataclass
class Ways:
    """How a user can confirm who it is, as the pages show it."""

    number: str | None
    """The masked number, if codes can be sent to it."""
    apps: list[Way]
    devices: list[Way]
    recovery_codes: int

    @property
    def app(self) -> bool:
        """Whether the user has an authenticator app that is set up."""
        return any(app.confirmed for app in self.apps)

    def without(self, way: Way) -> Ways:
        """What is left without an app or a device."""
        apps = [each for each in self.apps if each is not way]
        devices = [each for each in self.devices if each is not way]
        return Ways(self.number, apps, devices, self.recovery_codes)

    def suffices(self) -> bool:
        """Whether the user can log in. Recovery codes are used up, so they do not count."""
        return self.number is not None or self.app or bool(self.devices)


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
        return _grouped(key).split()


DEVICES = {"android": "Android phone", "android_tablet": "Android tablet", "ios": "iPhone or iPad"}
"""The names of the types of devices."""
TABLES = """
CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    user_id INTEGER NOT NULL UNIQUE,  -- two accounts never share a second factor
    salt BLOB NOT NULL,
    password BLOB NOT NULL,
    device_id INTEGER,
    device_secret TEXT
);
CREATE TABLE IF NOT EXISTS enrolments (
    user_id INTEGER PRIMARY KEY,
    until REAL NOT NULL,
    uri TEXT NOT NULL,
    qr_code TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    until REAL NOT NULL,
    name TEXT NOT NULL COLLATE NOCASE
);
CREATE TABLE IF NOT EXISTS signups (
    ticket TEXT PRIMARY KEY,
    until REAL NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    cellphone TEXT NOT NULL,
    again REAL,  -- when the code can be sent again
    salt BLOB NOT NULL,
    password BLOB NOT NULL
);
"""


class Accounts:
    """The application's users, in a database of its own. A real application limits wrong passwords
    too."""

    def __init__(self, service: Callable[[], seconder.Service]) -> None:
        self._service = service
        self._nobody = Account("", 0, b"-", b"-", None)
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
            created = self._service().create_user(
                user.email, user.cellphone, COUNTRY, send_install_link_via_sms=False
            )
            salt = os.urandom(16)
            # Another process may add the same user at the same time.
            self._run(
                "INSERT INTO accounts (name, user_id, salt, password) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO NOTHING",
                *(user.name, created.user_id, salt, _hash(user.password, salt)),
            )
            account = self.get(user.name)
        assert account is not None
        return account

    def begin(self, user: SignUp, user_ip: str) -> str:
        """Sends a code to the number that the visitor typed, and returns a ticket for
        :meth:`finish`. Nobody is enrolled yet: the number may be somebody else's. Whether it belongs
        to an account does not show before it is proven."""
        if not user.name.strip():
            raise Refused(Problem("Please type a name.", field="name"))
        if not user.password:
            raise Refused(Problem("Please type a password.", field="password"))
        if "@" not in user.email:
            raise Refused(Problem("Please type your e-mail address.", field="email"))
        if self.get(user.name):
            raise Refused(NAME_TAKEN)
        again = self._send(user.cellphone, user_ip)
        ticket, salt = secrets.token_urlsafe(32), os.urandom(16)
        self._run("DELETE FROM signups WHERE until < ?", time.time())
        self._run(
            "INSERT INTO signups VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(ticket, time.time() + PENDING_LIFE, user.name, user.email, user.cellphone),
            *(again, salt, _hash(user.password, salt)),
        )
        return ticket

    def _send(self, cellphone: str, user_ip: str) -> float | None:
        """Sends a code to a number. Returns when it can be sent again. By the address, the service
        limits the messages that one visitor causes."""
        try:
            started = self._service().start_phone_verification(
                "sms", cellphone, COUNTRY, user_ip=user_ip
            )
        except (seconder.InvalidArgument, seconder.Rejected):
            problem = Problem("Please type a mobile phone number.", field="cellphone")
            raise Refused(problem) from None
        return resend_at(started.resend_after)

    def sent(self, ticket: str | None) -> Sent | None:
        """Returns the code for which the ticket waits."""
        query = "SELECT cellphone, again FROM signups WHERE ticket = ? AND until >= ?"
        rows = self._run(query, ticket, time.time())
        return Sent(*rows[0]) if rows else None

    def send_again(self, ticket: str, user_ip: str) -> None:
        """Sends the code of a sign-up once more."""
        sent = self.sent(ticket)
        if sent is not None and sent.number is not None:
            again = self._send(sent.number, user_ip)
            self._run("UPDATE signups SET again = ? WHERE ticket = ?", again, ticket)

    def finish(self, ticket: str, code: str) -> str:
        """Adds the account, if the code proves that the visitor holds the number. Returns its
        name."""
        query = "SELECT name, email, cellphone, salt, password FROM signups WHERE ticket = ?"
        rows = self._run(query, ticket)
        if not rows:
            raise Refused(Problem("Please start again."))
        [(name, email, cellphone, salt, password)] = rows
        try:
            self._service().check_phone_verification(cellphone, COUNTRY, code)
        except seconder.TokenMalformed:
            raise
        except (seconder.TokenInvalid, seconder.Rejected):
            raise Refused(Problem("That code is wrong, or no longer valid.", 401)) from None
        self._run("DELETE FROM signups WHERE ticket = ?", ticket)
        try:
            # Without `new_only`, a known number would return the id of the user who has it, and with
            # it the apps and phones of that user.
            created = self._service().create_user(
                email, cellphone, COUNTRY, send_install_link_via_sms=False, new_only=True
            )
        except seconder.InvalidArgument:
            problem = Problem("That is not an e-mail address. Please start again.")
            raise Refused(problem) from None
        except seconder.Rejected as error:
            if "cellphone" not in error.fields:
                raise
            problem = Problem("That phone number belongs to an account already.", 409)
            raise Refused(problem) from None
        try:
            self._run(
                "INSERT INTO accounts (name, user_id, salt, password) VALUES (?, ?, ?, ?)",
                *(name, created.user_id, salt, password),
            )
        except sqlite3.IntegrityError:
            if not self.get(name):
                raise
            # Somebody took the name meanwhile. The user is new, so it is nobody else's.
            self._service().delete_user(created.user_id)
            raise Refused(NAME_TAKEN) from None
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

    def begin_session(self, account: Account) -> str:
        """Begins the session of a user who was let in. Returns its id, for the cookie. A cookie that is
        signed, but whose session is not stored, could not be revoked: a copy would survive the logout."""
        self._run("DELETE FROM sessions WHERE until < ?", time.time())
        session = secrets.token_urlsafe(32)
        until = time.time() + SESSION_LIFE
        self._run("INSERT INTO sessions VALUES (?, ?, ?)", session, until, account.name)
        return session

    def in_session(self, session: str | None) -> Account | None:
        """Returns the user of a session, unless it has ended."""
        query = "SELECT name FROM sessions WHERE id = ? AND until >= ?"
        rows = self._run(query, session, time.time())
        return self.get(rows[0][0]) if rows else None

    def end_session(self, session: str | None) -> None:
        """Ends a session."""
        self._run("DELETE FROM sessions WHERE id = ?", session)

    def end_other_sessions(self, account: Account, session: str | None) -> None:
        """Ends all sessions of a user but one, because what protects the account has changed."""
        self._run("DELETE FROM sessions WHERE name = ? AND id <> ?", account.name, session or "")

    def may_go_on(self, account: Account, session: str | None) -> bool:
        """Returns whether the second step of a user may go on. One that a session asked for ends with that
        session, or a copy of its cookie would take the place of the password after the logout."""
        found = self.in_session(session)
        return session is None or found is not None and found.user_id == account.user_id

    def with_device(self) -> list[Account]:
        """Returns the accounts that have the demo phone."""
        return self._accounts("WHERE device_id IS NOT NULL")

    def enrol_authenticator(self, account: Account) -> None:
        """Begins to set up an authenticator app. The secret is kept until the user has typed a code
        from the app, so that it is shown again after a typing error. It is not kept in the session,
        which is a cookie in some frameworks."""
        label = account.name.replace(":", " ")
        enrolled = self._service().enrol_authenticator(account.user_id, label=label)
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

    def confirm_authenticator(self, account: Account, code: str) -> None:
        """Makes the app the user's, if the code is one of it: a code by SMS, or of the app that it
        replaces, does not show that the user has scanned the QR code."""
        try:
            self._service().confirm_authenticator(account.user_id, digits(code))
        except seconder.Rejected as error:
            # It was confirmed or removed in another window, where the user sees the result.
            if error.code != "no_pending_authenticator":
                raise
        self._forget_enrolment(account)

    def _forget_enrolment(self, account: Account) -> None:
        self._run("DELETE FROM enrolments WHERE user_id = ?", account.user_id)

    def ways(self, account: Account) -> Ways:
        """Returns how the user can confirm who it is, which the service knows."""
        status = self._service().user_status(account.user_id)
        # A remote service may leave it out.
        factors = status.factors or seconder.results.Factors(sms=True)
        apps = [
            Way(f"app {app.id}", app.label or account.name, _day(app.created_at), app.confirmed)
            for app in factors.authenticators
        ]
        devices = [
            Way(f"device {one.id}", DEVICES.get(one.type or "", "Phone"), _day(one.created_at))
            for one in factors.devices
        ]
        number = (status.phone_number or "your number") if factors.sms else None
        return Ways(number, apps, devices, factors.recovery_codes)

    def remove(self, account: Account, way_id: str) -> None:
        """Removes an authenticator app or a device of the user, unless it is the only way to log
        in. What is not listed was removed before, or is not the user's."""
        ways, service = self.ways(account), self._service()
        found = next((way for way in [*ways.apps, *ways.devices] if way.id == way_id), None)
        if found is None:
            return
        if not ways.without(found).suffices():
            raise Refused(LAST_WAY)
        number = found.id.partition(" ")[2]
        if found in ways.apps:
            service.remove_authenticator(account.user_id, number)
            if not found.confirmed:
                self._forget_enrolment(account)
        else:
            service.remove_device(account.user_id, int(number))
            self._run(
                "UPDATE accounts SET device_id = NULL, device_secret = NULL"
                " WHERE user_id = ? AND device_id = ?",
                *(account.user_id, int(number)),
            )

    def create_recovery_codes(self, account: Account) -> list[str]:
        """Creates recovery codes in place of those that the user has, and returns them in groups of
        four digits. They are shown once."""
        codes = self._service().create_recovery_codes(account.user_id).codes
        return [_grouped(code) for code in codes]

    def add_device(self, account: Account) -> seconder.results.DeviceInvited | None:
        """Invites a phone of the user's, if phones reach the service. If they do not, the user gets
        the demo phone."""
        try:
            return self._service().invite_device(account.user_id)
        except seconder.Rejected as error:
            if error.code != seconder.enums.Code.NO_PUBLIC_URL:
                raise
        device = self._service().register_device(account.user_id, "android")
        self._run(
            "UPDATE accounts SET device_id = ?, device_secret = ? WHERE user_id = ?",
            *(device.device_id, device.secret, account.user_id),
        )
        return None

    def _accounts(self, where: str, *values: object) -> list[Account]:
        columns = "name, user_id, salt, password, device_id, device_secret"
        rows = self._run(f"SELECT {columns} FROM accounts {where}", *values)
        accounts = []
        for name, user_id, salt, password, device_id, secret in rows:
            device = (
                None if device_id is None else seconder.results.DeviceRegistered(device_id, secret)
            )
            accounts.append(Account(name, user_id, salt, password, device))
        return accounts


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)


def _grouped(text: str) -> str:
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.day} {moment:%B %Y}"

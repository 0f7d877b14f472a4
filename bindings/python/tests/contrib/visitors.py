"""Browsers without JavaScript that visit the example applications, by the test client of each
framework, and a user of their own for each test."""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import pytest
from django.test import Client as DjangoClient
from flask.testing import FlaskClient
from starlette.testclient import TestClient

CHANGES = ["/authenticator", "/authenticator/confirm", "/device", "/remove", "/recovery"]
"""The forms that change what protects a user's account."""

_numbers = itertools.count(1000)


def next_number() -> int:
    """Returns a number that no other test of this process uses."""
    return next(_numbers)


@dataclass
class Page:
    status: int
    text: str
    location: str
    headers: dict[str, str]
    cookies: str


class Visitor:
    """A browser without JavaScript: it keeps cookies and sends the forms' hidden fields."""

    PENDING: ClassVar[set[str]] = {"pending", "until"}
    """The keys of a session after the password."""
    LOGGED_IN: ClassVar[set[str]] = {"session", "proven"}
    """The keys of a session after the second factor."""

    def __init__(self, app: ModuleType) -> None:
        self.app = app
        self.token: tuple[str, str] | None = None
        # Its own, as the service limits what one address can cause.
        number = next_number()
        self.address = f"10.0.{number // 256}.{number % 256}"

    def get(self, path: str) -> Page:
        return self._keep(self.send("GET", path, None))

    def post(self, path: str, **fields: str) -> Page:
        sent = {**fields, **({self.token[0]: self.token[1]} if self.token else {})}
        return self._keep(self.send("POST", path, sent))

    def _keep(self, page: Page) -> Page:
        hidden = re.search(r'<input type="hidden" name="(csrf\w*)" value="([^"]+)"', page.text)
        if hidden:
            self.token = (hidden[1], hidden[2])
        return page

    def send(self, method: str, path: str, fields: dict[str, str] | None) -> Page:
        raise NotImplementedError

    def session(self) -> dict[str, Any]:
        """The contents of the visitor's session."""
        raise NotImplementedError

    def cookie(self) -> str:
        raise NotImplementedError

    def set_cookie(self, value: str) -> None:
        raise NotImplementedError

    def is_in(self) -> bool:
        return "You are logged in." in self.get("/").text


class FlaskVisitor(Visitor):
    PENDING = {"_seconder_held"}
    LOGGED_IN = {"session", "_seconder_passed"}

    def __init__(self, app: ModuleType) -> None:
        super().__init__(app)
        self.client: FlaskClient = app.app.test_client()

    def send(self, method: str, path: str, fields: dict[str, str] | None) -> Page:
        base = {"REMOTE_ADDR": self.address}
        got = self.client.open(path, method=method, data=fields, environ_base=base)
        cookies = " ".join(got.headers.getlist("Set-Cookie"))
        where = got.headers.get("Location", "")
        return Page(got.status_code, got.text, where, dict(got.headers), cookies)

    def session(self) -> dict[str, Any]:
        with self.client.session_transaction() as session:
            return dict(session)

    def cookie(self) -> str:
        held = self.client.get_cookie("session")
        return held.value if held else ""

    def set_cookie(self, value: str) -> None:
        self.client.set_cookie("session", value)


class DjangoVisitor(Visitor):
    def __init__(self, app: ModuleType) -> None:
        super().__init__(app)
        self.client = DjangoClient(enforce_csrf_checks=True, REMOTE_ADDR=self.address)

    def send(self, method: str, path: str, fields: dict[str, str] | None) -> Page:
        got = self.client.get(path) if method == "GET" else self.client.post(path, fields)
        where, cookies = got.headers.get("Location", ""), got.cookies.output()
        return Page(got.status_code, got.content.decode(), where, dict(got.headers), cookies)

    def session(self) -> dict[str, Any]:
        return dict(self.client.session.items())

    def cookie(self) -> str:
        held = self.client.cookies.get("sessionid")
        return held.value if held else ""

    def set_cookie(self, value: str) -> None:
        self.client.cookies["sessionid"] = value


class FastapiVisitor(Visitor):
    def __init__(self, app: ModuleType) -> None:
        super().__init__(app)
        address = (self.address, 50000)
        self.client = TestClient(app.app, follow_redirects=False, client=address)

    def send(self, method: str, path: str, fields: dict[str, str] | None) -> Page:
        got = self.client.request(method, path, data=fields)
        where, cookies = got.headers.get("Location", ""), got.headers.get("Set-Cookie", "")
        return Page(got.status_code, got.text, where, dict(got.headers), cookies)

    def session(self) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(base64.b64decode(self.cookie().partition(".")[0]))
        return held

    def cookie(self) -> str:
        return self.client.cookies.get("session") or ""

    def set_cookie(self, value: str) -> None:
        self.client.cookies.clear()
        self.client.cookies.set("session", value)


@dataclass
class User:
    name: str
    user_id: int


class Site:
    """An application, and a user of it that no other test uses."""

    def __init__(self, kind: type[Visitor], app: ModuleType) -> None:
        self.kind, self.app = kind, app
        self.user = self.add_user()

    def add_user(self) -> User:
        number = next_number()
        name = f"user{number}"
        email, cellphone = f"{name}@example.com", f"555-010-{number}"
        account = self.app.accounts.add(self.app.SignUp(name, "pass word", email, cellphone))
        return User(name, account.user_id)

    def after_password(self, user: User | None = None) -> Visitor:
        visitor = self.kind(self.app)
        visitor.get("/login")
        page = visitor.post("/login", name=(user or self.user).name, password="pass word")
        assert (page.location, page.status // 100) == ("/second", 3)
        assert visitor.get("/second").status == 200
        return visitor

    def sms(self) -> str:
        number = self.user.name.removeprefix("user")
        texts = [m for m in self.app.phone.page()["messages"] if m["to"].endswith(number)]
        return str(re.findall(r"\b\d{7}\b", texts[0]["text"])[0])

    def logged_in(self) -> Visitor:
        visitor = self.after_password()
        assert visitor.post("/second/sms").location == "/second/code"
        assert visitor.post("/second/code", code=self.sms()).location == "/"
        assert visitor.is_in()
        return visitor


def sign_up(site: Site, cellphone: str, name: str = "") -> tuple[Visitor, Page, dict[str, str]]:
    """A new visitor who types that number, the next page, and what was typed."""
    visitor = site.kind(site.app)
    visitor.get("/signup")
    name = name or f"new{next_number()}"
    fields = {"name": name, "password": "pass word", "email": f"{name}@example.com"}
    return visitor, visitor.post("/signup", **fields, cellphone=cellphone), fields


def sms_to(site: Site, cellphone: str) -> str:
    number = "".join(cellphone.split("-"))
    texts = [m for m in site.app.phone.page()["messages"] if m["to"].endswith(number)]
    return str(re.findall(r"\b\d{7}\b", texts[0]["text"])[0])


def shown_number(page: str) -> str:
    """Returns the number that the page asks the user to type on the phone."""
    return str(re.findall(r'Type <b class="number">(\d\d)</b> on your phone', page)[0])


def start_approval(site: Site, visitor: Visitor) -> tuple[str, str]:
    """Starts an approval for the visitor's login. Returns its id from the phone, and its number
    from the login page."""
    assert visitor.post("/second/push").location == "/second/push"
    page = visitor.get("/second/push").text
    assert "/static/push.js" in page
    assert json.loads(visitor.get("/second/push/status").text) == {"status": "pending"}
    shown = visitor.get("/demo/phone").text
    assert "Log in to Example?" in shown and f"Name: {site.user.name}" in shown
    return re.findall(r'name="uuid" value="([^"]+)"', shown)[-1], shown_number(page)


def start_enrolment(visitor: Visitor) -> str:
    """Begins to set up an authenticator app, and returns the page."""
    assert visitor.post("/authenticator").location == "/authenticator"
    page = visitor.get("/authenticator")
    assert page.status == 200 and 'src="data:image/svg+xml' in page.text
    return page.text


def otpauth(page: str) -> str:
    """Returns the URI for authenticator apps on the page."""
    return html.unescape(re.findall(r'"(otpauth://[^"]+)"', page)[0])


def replace(site: Site, monkeypatch: pytest.MonkeyPatch, **calls: Callable[..., Any]) -> None:
    """Replaces calls of the application's service."""
    real = site.app.service()

    class Replaced:
        def __getattr__(self, name: str) -> Any:
            return calls.get(name) or getattr(real, name)

    replaced: Any = Replaced()
    if site.kind is FlaskVisitor:
        services = site.app.second_factor._of(site.app.app)
        monkeypatch.setattr(services, "_instead", replaced)
    for holder, name in [
        (site.app, "service"),
        (site.app.accounts, "_service"),
        (site.app.phone, "_service"),
    ]:
        monkeypatch.setattr(holder, name, lambda: replaced)


def failing(error: Exception) -> Callable[..., Any]:
    def call(*args: object, **options: object) -> Any:
        raise error

    return call


class HttpVisitor(Visitor):
    """A browser without JavaScript that speaks HTTP to an application in another process."""

    def __init__(self, url: str) -> None:
        self.token = None
        self.url = url
        self.open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open

    def send(self, method: str, path: str, fields: dict[str, str] | None) -> Page:
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        with self.open(self.url + path, data, timeout=20) as got:
            return Page(got.status, got.read().decode(), got.url, dict(got.headers), "")

    def to_second_step(self) -> None:
        self.get("/login")
        self.post("/login", name="ada", password="correct horse")

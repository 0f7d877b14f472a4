"""The programs in docs/flask.md and docs/fastapi.md, and the logins in docs/web.md, run as they are printed there."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[4] / "docs"

PRELUDE = """
class Account:
    is_authenticated = is_active = True
    is_anonymous = False

    def __init__(self, name, seconder_id):
        self.name, self.seconder_id, self.user_id = name, seconder_id, seconder_id

    def get_id(self):
        return self.name

accounts = {}

def remember_account(name, user_id):
    accounts[name] = Account(name, user_id)

def account_with_password(form, password=None):
    if hasattr(form, "password"):
        password = form.password
    given = form["password"] if password is None else password
    return accounts["ada"] if given == "correct horse" else None

find_account = accounts.get
"""

CHECKS = {
    "flask login": """
test_the_login()
from seconder.testing import Sandbox

with Sandbox(accept="0000000") as sandbox, second.override(sandbox.service, app):
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    client = app.test_client()
    client.post("/login", data={"password": "correct horse"})
    assert client.post("/login/code", data={"code": "1111111"}).status_code == 401
    client.post("/login/code", data={"code": "0000000"})
    assert len(client.post("/recovery-codes").json) == 10
    with client.session_transaction() as kept:
        kept["_seconder_passed"] = {**kept["_seconder_passed"], "at": 0}
    assert client.post("/recovery-codes").location == "/login/code"
    assert client.get("/login/code").status_code == 200
    client.post("/login/code", data={"code": "0000000"})
    assert client.post("/recovery-codes").status_code == 200
    copied = client.get_cookie("session").value
    client.post("/logout")
    client.set_cookie("session", copied)
    assert client.get("/").location == "/login"
with Sandbox() as sandbox, second.override(sandbox.service, app):
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    for _ in range(2):
        asked = client.post("/login", data={"password": "correct horse"})
        assert (asked.status_code, asked.location) == (303, "/login/code")
    assert client.post("/login/code", data={"code": sandbox.code(1)}).location == "/"
""",
    "flask glue": """
from seconder.testing import Sandbox

with Sandbox(accept="0000000") as sandbox:
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    with second.override(sandbox.service, app):
        client = app.test_client()
        assert client.post("/login", data={"password": "wrong"}).status_code == 401
        client.post("/flask-login/password", data={"password": "correct horse"})
        assert client.get("/flask-login").location == "/login/code"
        client.post("/flask-login/code", data={"code": "0000000"})
        assert client.get("/flask-login").text == "Welcome, ada"

from flask_security import Security
from flask_security.datastore import UserDatastore

other = Flask("other")
other.config.update(SETTINGS, SECRET_KEY="key", SECONDER_URL="sandbox:")
other.config["SECURITY_PASSWORD_SALT"] = "salt"
Seconder(other)
class Model:
    fs_uniquifier = email = None

Security(other, UserDatastore(Model, None))
assert "security.two_factor_token_validation" in other.view_functions
""",
    "fastapi": """
test_the_login()
with Sandbox(accept="0000000") as sandbox:
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    replaced = seconder.AsyncService(sandbox.service)
    app.dependency_overrides[service] = lambda: replaced
    client = TestClient(app, base_url="https://shop.example")
    client.post("/login", json={"name": "ada", "password": "correct horse"})
    assert client.post("/own/sms").status_code == 200
    assert client.post("/own/verify", json={"code": "1111111"}).status_code == 401
    assert client.post("/own/verify", json={"code": "0000000"}).status_code == 200
with TestClient(FastAPI(lifespan=whole)) as client:
    assert client.get("/").status_code == 404
app.dependency_overrides.clear()
with TestClient(app) as client:
    assert client.post("/login/second/sms").status_code == 401
""",
}


# An application either keeps its users itself or has Flask-Login, so the two are run apart.
PARTS = {"flask login": slice(0, 2), "flask glue": slice(0, 4), "fastapi": slice(0, 4)}


def run(folder: Path, *parts: str) -> None:
    (folder / "program.py").write_text("\n".join(parts))
    done = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", CHECKS)
def test_the_programs_in_the_documents_run(name: str, tmp_path: Path) -> None:
    text = (DOCUMENTS / f"{name.split()[0]}.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    blocks = blocks[PARTS[name]]
    (tmp_path / "shop_messages.py").write_text("def deliver(message): pass\n")
    run(tmp_path, PRELUDE, *map(textwrap.dedent, blocks), CHECKS[name])


MESSAGES = """
sent = []

def deliver(message):
    sent.append(message.code)
"""
# What an application has before its second factor, and what a visitor then does. The service is the embedded one.
LOGINS = {
    "Flask": (
        """
from flask import Flask, redirect, render_template, request, session
from jinja2 import DictLoader

app = Flask("shop")
app.jinja_loader = DictLoader({"code.html": "<form method=post action=/login/code><input name=code></form>"})
app.config.update(SECRET_KEY="key", SECONDER_URL="sqlite:seconder.db", SECONDER_DELIVER=shop_messages.deliver)
""",
        """
app.add_url_rule("/", view_func=lambda: session["name"])
with app.app_context():
    remember_account("ada", second.service.create_user("a@example.com", "555-010-0123", 1).user_id)
visitor = app.test_client()
assert visitor.post("/login/code", data={"code": "0000000"}).status_code == 401
page = visitor.post("/login", data={"password": "correct horse"})
assert "action=/login/code" in page.text
assert visitor.post("/login/code", data={"code": "none"}).status_code == 401
assert visitor.post("/login/code", data={"code": other(shop_messages.sent[-1])}).status_code == 401
assert "name" not in session_of(visitor)
let_in = visitor.post("/login/code", data={"code": shop_messages.sent[-1]}, follow_redirects=True)
assert let_in.text == "ada"
""",
    ),
    "FastAPI": (
        """
from secrets import token_urlsafe
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient
from pydantic import BaseModel

class Password(BaseModel):
    password: str

waiting, sessions = {}, {}
""",
        """
with TestClient(app, base_url="https://shop.example") as visitor:
    service = seconder.open("sqlite:seconder.db", deliver=shop_messages.deliver)
    remember_account("ada", service.create_user("a@example.com", "555-010-0123", 1).user_id)
    assert visitor.post("/login/second/verify", json={"code": "0000000"}).status_code == 401
    assert visitor.post("/login", json={"password": "correct horse"}).status_code == 200
    assert visitor.post("/login/second/sms").status_code == 200
    wrong = {"code": other(shop_messages.sent[-1])}
    assert visitor.post("/login/second/verify", json=wrong).status_code == 401 and not sessions
    right = {"code": shop_messages.sent[-1]}
    assert visitor.post("/login/second/verify", json=right).status_code == 200
    assert sessions[visitor.cookies["session"]].name == "ada" and not waiting
""",
    ),
    "Django": (
        """
INSTALLED_APPS = [f"django.contrib.{name}" for name in ("auth", "contenttypes", "sessions")]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
FORM = "<form method=post><input name=username><input name=password></form>"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": False,
        "OPTIONS": {
            "loaders": [
                ("django.template.loaders.locmem.Loader", {"registration/login.html": FORM}),
                "django.template.loaders.app_directories.Loader",
            ],
        },
    }
]
from django.conf import settings

def configure():
    import django
    from django.core.management import call_command

    settings.configure(
        INSTALLED_APPS=INSTALLED_APPS, MIDDLEWARE=MIDDLEWARE, SECONDER=SECONDER, TEMPLATES=TEMPLATES,
        ALLOWED_HOSTS=["testserver"], ROOT_URLCONF=__name__, SECRET_KEY="key",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.db"}},
    )
    django.setup()
    call_command("migrate", verbosity=0)
""",
        """
from django.contrib.auth.models import User
from django.test import Client
from seconder.contrib.django import accounts

ada = User.objects.create_user("ada", "a@example.com", password="correct horse")
accounts.start_enrolment("555-010-0123", 1)
accounts.enrol(ada, "555-010-0123", 1, shop_messages.sent[-1])
visitor = Client()
assert visitor.get("/orders/")["Location"] == "/accounts/login/?next=/orders/"
named = {"username": "ada", "password": "correct horse"}
assert visitor.post("/accounts/login/?next=/orders/", named)["Location"] == "/orders/"
page = visitor.get("/orders/")["Location"]
assert page == "/second-factor/?next=/orders/"
assert visitor.post(page, {"send": "1"}).status_code == 200
assert visitor.post(page, {"code": other(shop_messages.sent[-1])}).status_code == 400
assert visitor.get("/orders/").status_code == 302
assert visitor.post(page, {"code": shop_messages.sent[-1]})["Location"] == "/orders/"
assert visitor.get("/orders/").content == b"Welcome, ada"
""",
    ),
}
BEFORE_VIEWS = """
configure()
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.urls import include, path
"""
HELPERS = """
import seconder
import shop_messages

def other(code):
    return f"{(int(code) + 1) % 10 ** len(code):0{len(code)}}"

def session_of(visitor):
    with visitor.session_transaction() as kept:
        return dict(kept)
"""


@pytest.mark.parametrize("framework", LOGINS)
def test_a_login_has_12_lines(framework: str, tmp_path: Path) -> None:
    text = (DOCUMENTS / "web.md").read_text()
    section = text.partition("## A login in 12 lines\n")[2].partition("\n## ")[0]
    part = re.split(r"^(?=Flask|FastAPI|Django)", section, flags=re.MULTILINE)
    (own,) = [part for part in part if re.match(rf"{framework}\b", part)]
    blocks = re.findall(r"```python\n(.*?)```", own, re.DOTALL)
    assert sum(bool(line.strip()) for block in blocks for line in block.splitlines()) == 12
    before, after = LOGINS[framework]
    (tmp_path / "shop_messages.py").write_text(MESSAGES)
    run(tmp_path, PRELUDE, HELPERS, before, BEFORE_VIEWS.join(blocks), after)

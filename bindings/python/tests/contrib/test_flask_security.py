"""Flask-Security's own login, with its second factor decided by the service."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import flask
import pytest
from flask.testing import FlaskClient
from flask_security import (
    Security,
    SQLAlchemyUserDatastore,
    auth_required,
    current_user,
    hash_password,
    tf_code_confirmed,
)
from flask_security.models import fsqla_v3
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect  # type: ignore[import-untyped]

import seconder
from conftest import RemoteService
from seconder.contrib.flask import Seconder, second_factor_required
from seconder.testing import Sandbox

SETTINGS: dict[str, Any] = {
    "SECRET_KEY": "a secret of the tests",
    "SQLALCHEMY_DATABASE_URI": "sqlite://",
    "SECURITY_PASSWORD_SALT": "salt",
    "SECURITY_PASSWORD_HASH": "plaintext",
    "SECURITY_PASSWORD_SCHEMES": ["plaintext"],
    "SECURITY_SEND_REGISTER_EMAIL": False,
    "SECURITY_TWO_FACTOR": True,
    "SECURITY_TWO_FACTOR_IMPLEMENTATIONS": {"code": "seconder.contrib.flask.security.SecondFactor"},
    "SECURITY_TWO_FACTOR_ENABLED_METHODS": ["email"],
    "SECURITY_TOTP_SECRETS": {"1": "at least sixteen characters"},
    "SECURITY_TOTP_ISSUER": "Example",
    "SECONDER_URL": "sandbox:",
    "WTF_CSRF_ENABLED": False,
}
"""Settings of docs/flask.md, and further ones that a test needs."""


def make(**settings: Any) -> flask.Flask:
    app = flask.Flask("example")
    app.config.update({**SETTINGS, **settings})
    if app.config["WTF_CSRF_ENABLED"]:
        CSRFProtect(app)
    second = Seconder(app)
    db = SQLAlchemy(app)

    fsqla_v3.FsModels.set_db_info(db)  # type: ignore[attr-defined, no-untyped-call]

    class Role(db.Model, fsqla_v3.FsRoleMixin):  # type: ignore[name-defined, misc]
        pass

    class User(db.Model, fsqla_v3.FsUserMixin):  # type: ignore[name-defined, misc]
        seconder_id = db.Column(db.Integer, unique=True)

    users = SQLAlchemyUserDatastore(db, User, Role)
    app.extensions["example"] = users
    Security(app, users)

    @app.get("/transfer")
    @second_factor_required
    def transfer() -> str:
        return "done"

    with app.app_context():
        db.create_all()
        for name, user_id in (("ada", 1), ("new", None)):
            users.create_user(
                email=f"{name}@example.com", password=hash_password("password"), seconder_id=user_id
            )
        users.commit()  # type: ignore[no-untyped-call]
        second.close()
    return app


@pytest.fixture
def app() -> flask.Flask:
    return make()


@pytest.fixture
def client(app: flask.Flask, sandbox: Sandbox) -> Iterator[FlaskClient]:
    with app.extensions["seconder"].override(sandbox.service, app):
        yield app.test_client()


def password(client: FlaskClient, name: str = "ada", **form: Any) -> Any:
    data = {"email": f"{name}@example.com", "password": "password", **form}
    return client.post("/login", data=data)


def is_in(client: FlaskClient) -> bool:
    """Returns whether Flask-Security takes the client for a user who is logged in."""
    return client.get("/verify").status_code == 200


def test_the_calls_have_the_visitors_address(client: FlaskClient, sandbox: Sandbox) -> None:
    client.environ_base["REMOTE_ADDR"] = "9.9.9.9"
    password(client)
    sandbox.advance(31)
    client.post("/tf-rescue", data={"help_setup": "call"})
    client.post("/tf-validate", data={"code": sandbox.code(1)})
    calls = {
        each.call: each.user_ip for each in sandbox.service.admin.audit(user_ip="9.9.9.9").entries
    }
    assert set(calls) == {"request_sms", "request_call", "verify"}


def test_the_login_asks_for_a_code_of_the_service(client: FlaskClient, sandbox: Sandbox) -> None:
    confirmed = []

    def record(app: flask.Flask, **about: Any) -> None:
        confirmed.append((about["user"].email, about["method"]))

    with tf_code_confirmed.connected_to(record):
        asked = password(client, next="/transfer")
        assert asked.location == "/tf-validate?next=/transfer"
        assert not is_in(client)
        password(client, next="/transfer")
        page = client.get(asked.location)
        assert page.status_code == 200 and 'name="code"' in page.text
        wrong = client.post("/tf-validate", data={"code": "0000000"})
        assert "Invalid code" in wrong.text and not is_in(client) and not confirmed
        code = sandbox.code(1)
        assert code is not None
        typed = f"{code[:3]} - {code[3:]}"
        done = client.post("/tf-validate?next=/transfer", data={"code": typed})
        assert (done.status_code, done.location) == (302, "/transfer")
    assert confirmed == [("ada@example.com", "seconder")]
    assert is_in(client) and client.get("/transfer").text == "done"
    with client.session_transaction() as session:
        assert not [name for name in session if name.startswith("tf_")]
    client.post("/logout")
    assert not is_in(client) and client.get("/transfer").status_code == 401


def test_the_same_in_json(client: FlaskClient, sandbox: Sandbox) -> None:
    given = {"email": "ada@example.com", "password": "password"}
    asked = client.post("/login?include_auth_token", json=given).json
    assert asked is not None and asked["response"]["tf_required"] is True
    assert asked["response"]["tf_method"] == "seconder"
    assert "user" not in asked["response"]
    wrong = client.post("/tf-validate", json={"code": "0000000"})
    assert wrong.status_code == 400 and wrong.json is not None
    assert wrong.json["response"]["field_errors"] == {"code": ["Invalid code"]}
    assert "user" not in wrong.json["response"] and not is_in(client)
    done = client.post("/tf-validate?include_auth_token", json={"code": sandbox.code(1)})
    assert done.status_code == 200 and done.json is not None
    assert done.json["response"]["user"]["authentication_token"]
    assert is_in(client)


def test_codes_are_sent_where_flask_security_rescues(client: FlaskClient, sandbox: Sandbox) -> None:
    password(client)
    sandbox.advance(60)
    page = client.post("/tf-rescue", data={"help_setup": "call"})
    assert "Code has been sent" in page.text
    assert client.post("/tf-validate", data={"code": sandbox.code(1)}).status_code == 302
    assert is_in(client)


@pytest.mark.parametrize("way", ["email", "help", "recovery_code", "sms; call"])
def test_no_other_rescue_exists(client: FlaskClient, way: str) -> None:
    password(client)
    page = client.post("/tf-rescue", data={"help_setup": way})
    assert "Not a valid choice" in page.text and not is_in(client)


def test_limits_are_429(client: FlaskClient, sandbox: Sandbox) -> None:
    password(client)
    again = client.post("/tf-rescue", data={"help_setup": "sms"})
    assert again.status_code == 429 and int(again.headers["Retry-After"]) >= 1
    assert "A code cannot be sent at the moment. Try again in" in again.text
    got = [client.post("/tf-validate", json={"code": "0000000"}) for _ in range(20)]
    assert got[-1].status_code == 429 and int(got[-1].headers["Retry-After"]) >= 1
    assert "Too many attempts. Try again in" in got[-1].text
    assert not is_in(client)


@pytest.mark.parametrize("limit", ["country_day", "application_day", "key_rate"])
def test_a_limit_of_the_application_is_logged_at_the_password(
    client: FlaskClient,
    sandbox: Sandbox,
    limit: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def request_sms(*given: object, **options: object) -> None:
        raise seconder.RateLimited("wait", code="60003", limit=limit, is_operator_limit=True)

    limited = SimpleNamespace(request_sms=request_sms)
    monkeypatch.setattr(Seconder, "service", property(lambda extension: limited))
    assert password(client).status_code == 302
    assert f"the limit {limit} of the application was reached" in caplog.text


def test_the_remember_cookie_is_not_set(client: FlaskClient, sandbox: Sandbox) -> None:
    password(client, remember="y")
    assert client.post("/tf-validate", data={"code": sandbox.code(1)}).status_code == 302
    assert is_in(client)
    assert client.get_cookie("remember_token") is None and client.get_cookie("tf_validity") is None


def enrol(app: flask.Flask, name: str, user_id: int | None, **fields: Any) -> None:
    """Changes a user in the database."""
    users = app.extensions["example"]
    with app.app_context():
        user = users.find_user(email=f"{name}@example.com")
        for key, value in {"seconder_id": user_id, **fields}.items():
            setattr(user, key, value)
        users.commit()


@pytest.mark.parametrize("way", ["cookie", "session"])
def test_a_login_from_before_the_enrolment_does_not_count(
    client: FlaskClient, sandbox: Sandbox, way: str
) -> None:
    assert password(client, "new", remember="y").status_code == 302 and is_in(client)
    cookie = client.get_cookie("remember_token")
    assert cookie is not None
    enrol(client.application, "ada", None)
    enrol(client.application, "new", 1)
    if way == "cookie":
        client.delete_cookie("session")
    assert not is_in(client) and client.get("/transfer").status_code == 401
    # With the code, the user is in.
    client.delete_cookie("remember_token")
    client.delete_cookie("session")
    password(client, "new")
    assert client.post("/tf-validate", data={"code": sandbox.code(1)}).status_code == 302
    assert is_in(client)


def test_an_enrolment_of_a_user_who_is_logged_in(client: FlaskClient, sandbox: Sandbox) -> None:
    app = client.application

    @app.post("/enrol")
    @auth_required("session")
    def enrol_user() -> str:
        app.extensions["seconder"].confirm(flask.request.form["code"], current_user.get_id(), 1)
        current_user.seconder_id = 1
        app.extensions["example"].commit()
        return "done"

    enrol(app, "ada", None)
    password(client, "new")
    sandbox.service.request_sms(1)
    assert client.post("/enrol", data={"code": "0000000"}).status_code == 401 and is_in(client)
    assert client.post("/enrol", data={"code": sandbox.code(1)}).text == "done"
    assert is_in(client) and client.get("/transfer").text == "done"


def test_a_new_password_keeps_the_second_factor_of_its_session_alone(sandbox: Sandbox) -> None:
    app = make(SECURITY_CHANGEABLE=True, SECURITY_SEND_PASSWORD_CHANGE_EMAIL=False)
    client, other = app.test_client(), app.test_client()
    with app.extensions["seconder"].override(sandbox.service, app):
        for each in (client, other):
            sandbox.advance(60)
            password(each)
            each.post("/tf-validate", data={"code": sandbox.code(1)})
            assert is_in(each)
        new = {"new_password": "correct horse", "new_password_confirm": "correct horse"}
        changed = client.post("/change", data={"password": "password", **new})
        assert changed.status_code == 302
        assert is_in(client) and client.get("/transfer").text == "done"
        assert not is_in(other) and other.get("/transfer").status_code == 401


def test_a_user_who_was_deactivated_meanwhile(client: FlaskClient, sandbox: Sandbox) -> None:
    password(client)
    enrol(client.application, "ada", 1, active=False)
    got = client.post("/tf-validate?include_auth_token", json={"code": sandbox.code(1)})
    assert got.status_code == 400 and "authentication_token" not in got.text
    with client.session_transaction() as session:
        assert "_seconder_passed" not in session
    assert not is_in(client)


def test_a_login_expires(
    client: FlaskClient, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    password(client)
    code, now = sandbox.code(1), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 601)
    late = client.post("/tf-validate", data={"code": code})
    assert late.status_code == 302 and late.location == "/login" and not is_in(client)


def test_users_without_a_second_factor(client: FlaskClient) -> None:
    assert password(client, "new").location == "/"
    assert is_in(client) and client.get("/transfer").status_code == 401


def test_a_required_factor_that_a_user_does_not_have(sandbox: Sandbox) -> None:
    app = make(SECURITY_TWO_FACTOR_REQUIRED=True)
    client = app.test_client()
    assert password(client, "new").location == "/login" and not is_in(client)
    assert client.post("/tf-validate", data={"code": "0000000"}).location == "/login"
    given = {"email": "new@example.com", "password": "password"}
    assert client.post("/login", json=given).status_code == 400 and not is_in(client)


def test_flask_securitys_own_factors_let_no_one_in(client: FlaskClient) -> None:
    """A user who had one before, for example."""
    security = client.application.extensions["security"]
    with client.application.app_context():
        user = client.application.extensions["example"].find_user(email="ada@example.com")
        user.tf_primary_method = "email"
        user.tf_totp_secret = security.totp_factory.generate_totp_secret()
        secret = user.tf_totp_secret
        client.application.extensions["example"].commit()
        code = security.totp_factory.generate_totp_password(secret)
    password(client)
    for url in ("/tf-setup", "/tf-setup/a-state"):
        assert client.post(url, data={"setup": "email", "code": code}).status_code == 404
    assert "Invalid code" in client.post("/tf-validate", data={"code": code}).text
    assert not is_in(client)


@pytest.mark.filterwarnings("ignore:The passwordless feature")
@pytest.mark.parametrize(
    "setting",
    [
        {"SECURITY_MULTI_FACTOR_RECOVERY_CODES": True},
        {"SECURITY_TWO_FACTOR_ALWAYS_VALIDATE": False},
        {"SECURITY_TWO_FACTOR": False},
        {"SECURITY_PASSWORDLESS": True},
        {
            "SECURITY_TWO_FACTOR_IMPLEMENTATIONS": {
                "code": "flask_security.twofactor.CodeTfPlugin",
                "other": "seconder.contrib.flask.security.SecondFactor",
            }
        },
    ],
    ids=lambda setting: str(*setting),
)
def test_settings_that_would_skip_the_service_are_rejected(setting: dict[str, Any]) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        make(**setting)
    assert caught.value.parameter == next(iter(setting))


def test_a_service_that_is_down_lets_no_one_in(app: flask.Flask, remote: RemoteService) -> None:
    remote.status, remote.body = 503, "<html>down</html>"
    client = app.test_client()
    with app.extensions["seconder"].override(remote.open(), app) as service, service:
        assert password(client).status_code == 503
        assert client.post("/tf-validate", data={"code": "1234567"}).status_code == 503
        assert not is_in(client)


def test_the_forms_have_tokens_against_forged_requests(sandbox: Sandbox) -> None:
    app = make(WTF_CSRF_ENABLED=True)
    client = app.test_client()

    def token(page: str) -> str:
        (found, *_) = re.findall('name="csrf_token"[^>]*value="([^"]+)"', page)
        return str(found)

    with app.extensions["seconder"].override(sandbox.service, app):
        password(client, csrf_token=token(client.get("/login").text))
        code = {"code": sandbox.code(1)}
        assert client.post("/tf-validate", data=code).status_code == 400 and not is_in(client)
        page = client.get("/tf-validate").text
        assert client.post("/tf-rescue", data={"help_setup": "sms"}).status_code == 400
        right = {**code, "csrf_token": token(page)}
        assert client.post("/tf-validate", data=right).status_code == 302
        assert is_in(client)


def test_forms_without_tokens_where_flask_security_wants_none(sandbox: Sandbox) -> None:
    app = make(WTF_CSRF_CHECK_DEFAULT=False, SECURITY_CSRF_IGNORE_UNAUTH_ENDPOINTS=True)
    # Without CSRFProtect, the forms alone check tokens.
    app.config["WTF_CSRF_ENABLED"] = True
    client = app.test_client()
    with app.extensions["seconder"].override(sandbox.service, app):
        assert password(client).location.startswith("/tf-validate")
        sandbox.advance(60)
        assert "Code has been sent" in client.post("/tf-rescue", data={"help_setup": "sms"}).text
        assert client.post("/tf-validate", data={"code": sandbox.code(1)}).status_code == 302
        assert is_in(client)

"""Flask-Login with the second factor: no user is authenticated before it, in any way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flask
import flask_login  # type: ignore[import-untyped]
import pytest
from flask.testing import FlaskClient

import seconder
from seconder.contrib.flask import Seconder, second_factor_required
from seconder.contrib.flask.login import LoginManager
from seconder.testing import Sandbox

CODE = "1234567"


class User(flask_login.UserMixin):  # type: ignore[misc]
    def __init__(self, name: str, seconder_id: int | None) -> None:
        self.id = name
        self.seconder_id = seconder_id
        self.active = True

    @property
    def is_active(self) -> bool:
        return self.active


USERS = {"ada": 1, "bob": 2, "new": None}


@pytest.fixture
def app() -> Iterator[flask.Flask]:
    app = flask.Flask("example")
    app.config.update(
        SECRET_KEY="a secret of the tests",
        SECONDER_URL=f"sandbox:?accept={CODE}",
        SECONDER_CODE_VIEW="code",
    )
    second = Seconder(app)
    login = LoginManager(app)
    login.login_view = "password"
    app.extensions["users"] = users = {name: User(name, each) for name, each in USERS.items()}
    login.user_loader(users.get)

    @app.route("/password", methods=["GET", "POST"])
    def password() -> str:
        if flask.request.method == "POST":
            form = flask.request.form
            login.hold(users[form["name"]], remember="remember" in form)
        return "password"

    @app.post("/remembered")
    def remembered() -> str:
        user = login.remembered()
        if user is not None:
            login.hold(user, remember=True)
        return str(user and user.id)

    @app.route("/code", methods=["GET", "POST"])
    def code() -> tuple[str, int] | str:
        if flask.request.method == "GET":
            return "code"
        try:
            return str(login.verify(flask.request.form["code"]).id)
        except seconder.TokenInvalid:
            return "wrong", 401

    @app.post("/mistake")
    def mistake() -> str:
        """A view that forgets the second factor."""
        flask_login.login_user(users[flask.request.form["name"]], remember=True)
        return ""

    @app.post("/logout")
    def logout() -> str:
        flask_login.logout_user()
        return ""

    @app.get("/")
    @flask_login.login_required  # type: ignore[untyped-decorator]
    def home() -> str:
        return str(flask_login.current_user.id)

    @app.get("/transfer")
    @second_factor_required
    def transfer() -> str:
        return "done"

    with app.app_context():
        second.service.create_user("ada@example.com", "555-010-0123", 1)
        second.service.create_user("bob@example.com", "555-010-0199", 1)
    # Outside of the context, in which all requests would share the current user.
    yield app
    with app.app_context():
        second.close()


def who(client: FlaskClient) -> str | None:
    got = client.get("/")
    return got.text if got.status_code == 200 else None


def log_in(client: FlaskClient, name: str = "ada", **form: Any) -> None:
    client.post("/password", data={"name": name, **form})
    assert client.post("/code", data={"code": CODE}).text == name


def test_a_held_login_is_not_authenticated(app: flask.Flask) -> None:
    client = app.test_client()
    assert client.get("/").location.startswith("/password?next=")
    client.post("/password", data={"name": "ada", "remember": "1"})
    assert client.get_cookie("remember_token") is None
    assert client.get("/").location == "/code"
    assert client.post("/code", data={"code": "7654321"}).status_code == 401
    assert who(client) is None
    assert client.post("/code", data={"code": CODE}).text == "ada"
    assert who(client) == "ada" and client.get("/transfer").text == "done"


def test_login_user_alone_lets_no_one_in(app: flask.Flask) -> None:
    client = app.test_client()
    client.post("/mistake", data={"name": "ada"})
    assert who(client) is None
    # Nor in place of another user, nor after a logout.
    log_in(client, "bob")
    client.post("/mistake", data={"name": "ada"})
    assert who(client) is None
    log_in(client, "ada")
    client.post("/logout")
    client.post("/mistake", data={"name": "ada"})
    assert who(client) is None and client.get("/transfer").status_code == 401


def test_the_remember_cookie_does_not_replace_the_second_factor(app: flask.Flask) -> None:
    client = app.test_client()
    log_in(client, remember="1")
    cookie = client.get_cookie("remember_token")
    assert cookie is not None
    later = app.test_client()
    later.set_cookie("remember_token", cookie.value)
    assert who(later) is None and later.get("/transfer").status_code == 401
    # It replaces the password, where the application wants that.
    assert later.post("/remembered").text == "ada"
    assert later.get("/").location == "/code"
    assert later.post("/code", data={"code": CODE}).text == "ada" and who(later) == "ada"
    forged = app.test_client()
    forged.set_cookie("remember_token", cookie.value.replace("ada", "bob"))
    assert forged.post("/remembered").text == "None"
    assert app.test_client().post("/remembered").text == "None"


def test_without_remember_no_cookie_is_set(app: flask.Flask) -> None:
    client = app.test_client()
    log_in(client)
    assert client.get_cookie("remember_token") is None


@pytest.mark.parametrize("change", ["deactivated", "deleted"])
def test_a_user_who_goes_meanwhile_is_not_let_in(app: flask.Flask, change: str) -> None:
    client = app.test_client()
    client.post("/password", data={"name": "ada"})
    users = app.extensions["users"]
    if change == "deleted":
        del users["ada"]
    else:
        users["ada"].active = False
    assert client.post("/code", data={"code": CODE}).status_code == 401
    users["ada"] = User("ada", 1)
    assert who(client) is None and client.get("/transfer").status_code == 401


def test_users_without_a_second_factor_are_not_held(app: flask.Flask) -> None:
    client = app.test_client()
    assert client.post("/password", data={"name": "new"}).status_code == 500
    app.extensions["users"]["bob"].active = False
    assert client.post("/password", data={"name": "bob"}).status_code == 500
    assert client.post("/code", data={"code": CODE}).status_code == 401


def test_a_stolen_session_ends_with_the_second_factor(app: flask.Flask) -> None:
    app.config["SESSION_PROTECTION"] = "strong"
    client = app.test_client()
    log_in(client, remember="1")
    assert client.get("/", headers={"User-Agent": "a thief's"}).status_code == 302
    # Also with the remember cookie, which the thief keeps.
    assert client.get("/transfer", headers={"User-Agent": "a thief's"}).status_code == 401

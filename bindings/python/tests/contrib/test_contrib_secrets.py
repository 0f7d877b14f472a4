"""Error trackers get no codes and tokens, which browsers and the service send, from the adapters'
frames."""

from __future__ import annotations

from typing import Any

import flask
import flask_login  # type: ignore[import-untyped]
import pytest
from contrib import signing, test_flask_security
from contrib.shop import Shop, serving
from fastapi.testclient import TestClient
from tracker import captured, frames, own, showing

import seconder
from seconder.contrib import asgi
from seconder.contrib.flask import Seconder
from seconder.contrib.flask import callback as flask_callback
from seconder.contrib.flask.login import LoginManager
from seconder.testing import Sandbox

Events = list[dict[str, Any]]


class Ada(flask_login.UserMixin):  # type: ignore[misc]
    id = "ada"
    seconder_id = 1


@pytest.mark.parametrize("way", ["verify", "confirm", "login"])
def test_codes_in_flask(sandbox: Sandbox, sent: Events, way: str) -> None:
    app = flask.Flask("example")
    app.config.update(SECRET_KEY="a secret", SECONDER_URL="sandbox:", PROPAGATE_EXCEPTIONS=True)
    second, login = Seconder(app), LoginManager(app)
    login.user_loader(lambda account: Ada())

    @app.post("/code")
    def check() -> str:
        login.hold(Ada())
        if way == "verify":
            second.verify(flask.request.form["code"])
        elif way == "confirm":
            second.confirm(flask.request.form["code"], "ada", 1)
        else:
            login.verify(flask.request.form["code"])
        return ""

    code = texted(sandbox)
    typed = {"code": f"{code[:3]} {code[3:]}"}
    with second.override(sandbox.service, app), sandbox.failing("unauthorized"):
        error = captured(lambda: app.test_client().post("/code", data=typed))
    assert isinstance(error, seconder.Unauthorized)
    assert showing(frames(sent), code) == []


def test_codes_in_flask_security(sandbox: Sandbox, sent: Events) -> None:
    app = test_flask_security.make(PROPAGATE_EXCEPTIONS=True)
    client = app.test_client()
    with app.extensions["seconder"].override(sandbox.service, app):
        test_flask_security.password(client)
        code = sandbox.code(1)
        with sandbox.failing("unauthorized"):
            error = captured(lambda: client.post("/tf-validate", data={"code": code}))
    assert isinstance(error, seconder.Unauthorized)
    assert showing(frames(sent), code) == []


def test_codes_in_fastapi(sandbox: Sandbox, sent: Events) -> None:
    shop, code = Shop(), texted(sandbox)
    typed = {"code": f"{code[:3]} {code[3:]}"}
    with serving(shop.app(), sandbox.service, raising=True) as client:
        shop.hold(client, "ada", 1)
        with sandbox.failing("unauthorized"):
            error = captured(lambda: client.post("/verify", json=typed))
            assert isinstance(error, seconder.Unauthorized)
            assert showing(frames(sent), code) == []
            captured(lambda: client.post("/own", json=typed))
    # FastAPI's own frame of an application's endpoint holds the JSON.
    assert showing(own(sent), code) == []


@pytest.mark.parametrize("path", ["/verify", "/approval/"])
def test_codes_and_tokens_in_fastapi_if_the_application_fails(
    sandbox: Sandbox, sent: Events, path: str
) -> None:
    def failing(*args: Any) -> None:
        raise OSError("the database of the application is gone")

    shop = Shop()
    with serving(shop.app(done=failing), sandbox.service, raising=True) as client:
        shop.hold(client, "ada", 1)
        if path == "/verify":
            secret = texted(sandbox)
        else:
            sandbox.service.register_device(1, "android")
            asked = client.post("/approval").json()
            secret = asked["uuid"]
            sandbox.approve(1, number=asked["number"])
            path += secret
        error = captured(lambda: client.post(path, json={"code": secret}))
    assert isinstance(error, OSError)
    # Starlette's frames hold the request, with its path and its cookies.
    found = frames(sent) if path == "/verify" else own(sent)
    assert showing(found, secret) == []
    assert showing(own(sent), client.cookies["login"]) == []


@pytest.mark.parametrize("framework", ["flask", "starlette"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("fails", ["application", "memory", "misused memory"])
def test_signatures_of_callbacks(sent: Events, framework: str, method: str, fails: str) -> None:
    """With one, a tracker could send the callback to another process."""

    class Memory(seconder.callback.Memory):
        def first_time(self, key: str, until: float) -> bool:
            if fails == "memory":
                raise OSError("the memory is gone")
            if fails == "misused memory":
                raise seconder.InvalidArgument("until is invalid", parameter="until")
            return super().first_time(key, until)

    def failing(event: seconder.results.Event) -> None:
        raise OSError("the database of the application is gone")

    settings: dict[str, Any] = {"api_key": signing.KEY, "url": signing.URL, "replay": Memory()}
    client: Any
    if framework == "flask":
        app = flask.Flask("example")
        app.config.update(PROPAGATE_EXCEPTIONS=True)
        app.route("/callback", methods=["GET", "POST"])(flask_callback(**settings)(failing))
        client = app.test_client()
    else:
        client = TestClient(Shop().app(callback=asgi.callback(**settings)(failing)))
    params = signing.parameters()
    head = signing.headers(params, method=method)
    body = {"data": signing.body(params)} if framework == "flask" else {"content": signing.body(params)}

    def post() -> None:
        if method == "POST":
            got = client.post("/callback", headers=head, **body)
        else:
            got = client.get("/callback?" + signing.pairs(params), headers=head)
        assert got.status_code == 503
        raise OSError("the memory was gone")

    captured(post)
    assert showing(own(sent), *head.values()) == []


def texted(sandbox: Sandbox) -> str:
    """A code that stays valid."""
    sandbox.service.request_sms(1, force=True)
    code = sandbox.code(1)
    sandbox.advance(31)
    return code

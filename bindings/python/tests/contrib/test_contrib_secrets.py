"""What an error tracker gets of the codes that users type, in the frames of the adapters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import flask
import flask_login  # type: ignore[import-untyped]
import pytest
import sentry_sdk
from contrib import test_flask_security
from contrib.shop import Shop, serving

import seconder
from seconder.contrib.flask import Seconder
from seconder.contrib.flask.login import LoginManager
from seconder.testing import Sandbox


@pytest.fixture
def frames() -> Iterator[list[dict[str, Any]]]:
    """The frames of all events that the SDK of Sentry sends."""
    found: list[dict[str, Any]] = []

    # It gets an event after the scrubber, as it would be sent, and keeps it from being sent.
    def capture(event: Any, hint: Any) -> None:
        for exception in event.get("exception", {}).get("values", []):
            found.extend((exception.get("stacktrace") or {}).get("frames", []))

    sentry_sdk.init(
        dsn="https://public@sentry.example/1",
        before_send=capture,
        auto_enabling_integrations=False,
        include_local_variables=True,
        max_value_length=100_000,
    )
    yield found
    sentry_sdk.get_client().close(timeout=0)
    sentry_sdk.init()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
        yield sandbox


def shown(frames: list[dict[str, Any]], code: str) -> list[str]:
    """Which frames show the code, as the user typed it or as it is sent."""
    assert frames
    return [
        f"{each['module']}.{each['function']}"
        for each in frames
        if code in json.dumps(each.get("vars"), default=repr).replace(" ", "")
    ]


class Ada(flask_login.UserMixin):  # type: ignore[misc]
    id = "ada"
    seconder_id = 1


@pytest.mark.parametrize("way", ["verify", "confirm", "login"])
def test_codes_in_flask(sandbox: Sandbox, frames: list[dict[str, Any]], way: str) -> None:
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

    code = sent(sandbox)
    with second.override(sandbox.service, app), sandbox.failing("unauthorized"):
        with pytest.raises(seconder.Unauthorized) as caught:
            app.test_client().post("/code", data={"code": f"{code[:3]} {code[3:]}"})
    sentry_sdk.capture_exception(caught.value)
    assert shown(without_tests(frames), code) == []


def test_codes_in_flask_security(sandbox: Sandbox, frames: list[dict[str, Any]]) -> None:
    app = test_flask_security.make(PROPAGATE_EXCEPTIONS=True)
    client = app.test_client()
    with app.extensions["seconder"].override(sandbox.service, app):
        test_flask_security.password(client)
        code = sandbox.code(1)
        assert code is not None
        with sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized) as caught:
            client.post("/tf-validate", data={"code": code})
    sentry_sdk.capture_exception(caught.value)
    assert shown(without_tests(frames), code) == []


def test_codes_in_fastapi(sandbox: Sandbox, frames: list[dict[str, Any]]) -> None:
    shop, code = Shop(), sent(sandbox)
    with serving(shop.app(), sandbox.service, raising=True) as client:
        shop.hold(client, "ada", 1)
        with sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized) as caught:
            client.post("/verify", json={"code": f"{code[:3]} {code[3:]}"})
    sentry_sdk.capture_exception(caught.value)
    # The JSON that was received is a local variable of FastAPI too.
    own = [each for each in frames if each["module"].startswith("seconder")]
    assert shown(own, code) == []
    typed = [each for each in frames if "Code(" in json.dumps(each.get("vars"), default=repr)]
    assert all("code=" not in json.dumps(each["vars"], default=repr) for each in typed)


def sent(sandbox: Sandbox) -> str:
    """A code that stays valid."""
    sandbox.service.request_sms(1)
    code = sandbox.code(1)
    assert code is not None
    return code


def without_tests(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames of the adapters, Flask and what they call."""
    callers = ("contrib.test", "werkzeug.test", "flask.testing")
    return [each for each in frames if not each["module"].startswith(callers)]

"""For a run of Flask-Security's own tests with the plug-in. It is copied next to those tests as
``conftest.py``, below Flask-Security's own, whose fixtures it extends.

With ``SECONDER_ENROLLED`` in the environment, all users have a second factor, and the client types
the code of the service wherever it is asked for one. Otherwise no user has one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import flask
import flask_security
import pytest
from flask.testing import FlaskClient

from seconder.contrib.flask import Seconder
from seconder.testing import Sandbox

PATH = "seconder.contrib.flask.security.SecondFactor"
ENROLLED = "SECONDER_ENROLLED" in os.environ


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(accept="right") as sandbox:
        yield sandbox


class Client(FlaskClient):
    """Types the code wherever it is asked for one."""

    sandbox: Sandbox
    user_id: int

    def open(self, *args: Any, follow_redirects: bool = False, **given: Any) -> Any:
        got = super().open(*args, **given)
        if got.status_code == 302 and "/tf-validate" in got.location:
            got = super().open(got.location, method="POST", data={"code": self.code()})
        elif got.status_code == 200 and got.is_json and "tf_required" in got.text:
            url = "/tf-validate?include_auth_token"
            got = super().open(url, method="POST", json={"code": self.code()})
        while follow_redirects and got.status_code in (301, 302, 303, 305, 307, 308):
            got = self.resolve_redirect(got)
        return got

    def code(self) -> str | None:
        self.sandbox.advance(60)
        return self.sandbox.code(self.user_id)


@pytest.fixture
def app(
    app: flask.Flask, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> Iterator[flask.Flask]:
    created = sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
    user_id = created.user_id if ENROLLED else None
    monkeypatch.setattr(flask_security.UserMixin, "seconder_id", user_id, raising=False)
    # Their users get secrets of Flask-Security's own factors, which take a third of the time.
    monkeypatch.setattr("flask_security.totp.Totp.generate_totp_secret", lambda self: "")
    app.config.update(
        SECURITY_TWO_FACTOR=True,
        SECURITY_TWO_FACTOR_IMPLEMENTATIONS={"code": PATH},
        SECURITY_TWO_FACTOR_ENABLED_METHODS=["email"],
        SECONDER_URL="sandbox:",
    )
    if ENROLLED:
        known = {"sandbox": sandbox, "user_id": user_id}
        app.test_client_class = type("TypingClient", (Client,), known)
    with Seconder(app).override(sandbox.service, app):
        yield app


if ENROLLED:

    @pytest.fixture
    def client_nc() -> None:
        pytest.skip("without cookies there is no login in two steps")

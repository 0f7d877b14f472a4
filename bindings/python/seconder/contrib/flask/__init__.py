"""Flask: a service from the application's configuration, logins that wait for their second factor,
and callbacks.

>>> import flask
>>> from seconder.contrib.flask import Seconder
>>> app = flask.Flask("example")
>>> app.config.update(SECRET_KEY="a secret", SECONDER_URL="sandbox:")
>>> second = Seconder(app)
>>> with app.app_context():
...     ada = second.service.create_user("ada@example.com", "555-010-0123", 1).user_id

The view of the password holds the login, and the view of the code completes it:

>>> with app.test_request_context():
...     held = second.hold("ada", ada)
...     second.passed()
...     login = second.verify("1234567")
...     login.account, second.passed()
False
('ada', True)

Callbacks, by which the service reports how users responded to approval requests:

>>> import seconder
>>> from seconder.contrib.flask import callback
>>> from seconder.contrib.replay import SqlReplay
>>> @app.route("/seconder/callback", methods=["GET", "POST"])
... @callback(api_key="the-application-key", url="https://app.example/seconder/callback",
...           replay=SqlReplay.sqlite("replay.db"))
... def answered(event: seconder.results.Event) -> None:
...     print(f"approval {event.uuid}: {event.status} by user {event.user_id}")

:mod:`seconder.contrib.flask.login` is for Flask-Login, and :mod:`seconder.contrib.flask.security`
for Flask-Security.
"""

from __future__ import annotations

from seconder.contrib._receiver import Needs

with Needs(__name__, "Flask"):
    import flask as _  # noqa: F401
from seconder.contrib.flask._callback import callback
from seconder.contrib.flask._extension import (
    Seconder,
    fresh_factor_required,
    second_factor_required,
)
from seconder.contrib.flask._held import HeldLogin

__all__ = [
    "HeldLogin",
    "Seconder",
    "callback",
    "fresh_factor_required",
    "second_factor_required",
]

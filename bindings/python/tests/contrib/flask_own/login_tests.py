"""Flask-Login's own tests of logins, with the manager of Seconder. Every user has a second factor, and
each login types the code."""

from __future__ import annotations

from typing import Any

import flask_login  # type: ignore[import-untyped]
import test_login as tests
from flask import current_app, session

from seconder.contrib.flask import Seconder, _held
from seconder.contrib.flask.login import LoginManager

CODE = "1234567"


class Manager(LoginManager):
    """Adds the extension to each application of the tests."""

    def init_app(self, app: Any, add_context_processor: bool = True) -> None:
        app.config["SECONDER_URL"] = f"sandbox:?accept={CODE}"
        with app.app_context():
            Seconder(app).service.create_user("ada@example.com", "555-010-0123", 1)
        super().init_app(app, add_context_processor)


def login_user(user: Any, remember: bool = False, **options: Any) -> bool:
    """Logs in with both factors."""
    manager: Any = current_app.login_manager  # type: ignore[attr-defined]
    if user.is_active and not options:
        manager.hold(user, remember=remember, keep=list(session))
        manager.verify(CODE, keep=list(session))
        return True
    # The manager's own login has none of these options.
    _held.mark(str(user.get_id()), keep=list(session))
    done: bool = flask_login.login_user(user, remember=remember, **options)
    return done


tests.LoginManager = Manager
tests.login_user = login_user
tests.User.seconder_id = 1


class TestLogin(tests.LoginTestCase):
    # The cookie does not replace the second factor.
    test_fresh_login_required_decorator = None
    test_remember_me = None
    test_remember_me_custom_duration = None
    test_user_loaded_from_cookie_fired = None


class TestRequest(tests.LoginViaRequestTestCase):
    # Logins in an application without a user_loader.
    test_login_invalid_user_with_request_when_already_logged_in = None
    test_login_via_request_uses_cookie_when_already_logged_in = None


class TestNames(tests.UnicodeCookieUserIDTestCase):
    # The cookie does not replace the second factor.
    test_remember_me_user_id = None
    test_remember_me_username = None


class TestHosts(tests.StrictHostForRedirectsTestCase): ...


class TestViews(tests.MethodViewLoginTestCase): ...

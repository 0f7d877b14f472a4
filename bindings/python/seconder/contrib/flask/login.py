"""Flask-Login: a user is authenticated only in a session that has passed the second factor.

Use this manager in place of Flask-Login's. It treats the user of a session as anonymous unless the
same account has passed the second factor in the session. So neither ``login_user`` on its own nor
Flask-Login's ``remember`` cookie lets anyone in.

>>> import flask, flask_login
>>> from seconder.contrib.flask import Seconder
>>> from seconder.contrib.flask.login import LoginManager
>>> app = flask.Flask("example")
>>> app.config.update(SECRET_KEY="a secret", SECONDER_URL="sandbox:")
>>> second = Seconder(app)
>>> login = LoginManager(app)
>>> class User(flask_login.UserMixin):
...     id = "ada"
...     seconder_id = 1
>>> @login.user_loader
... def load(account: str) -> User | None:
...     return User() if account == "ada" else None
>>> with app.test_request_context():
...     user = User()
...     second.user_id(user)
...     held = login.hold(user, remember=True)
...     flask_login.current_user.is_authenticated
1
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from seconder._frames import guarded
from seconder.contrib._receiver import Needs
from seconder.contrib.flask import _held
from seconder.contrib.flask._extension import PREFIX, Seconder
from seconder.contrib.flask._held import HeldLogin
from seconder.errors import TokenInvalid

with Needs(__name__, "Flask-Login"):
    import flask_login  # type: ignore[import-untyped]
from flask import Flask, current_app, redirect, request, session, url_for

__all__ = ["LoginManager"]

_F = TypeVar("_F", bound=Callable[[str], Any])

REMEMBER = "_remember"
"""The key in a held login's data of whether the user wants to be remembered."""


if TYPE_CHECKING:

    class _Manager:
        """The members used here of Flask-Login's manager, which has no types."""

        login_view: str | None
        unauthorized_callback: Callable[[], Any] | None

        def __init__(self, app: Flask | None = None, add_context_processor: bool = True) -> None:
            """Calls :meth:`init_app`, if there is an application."""

        def init_app(self, app: Flask, add_context_processor: bool = True) -> None:
            """Registers the manager with an application."""

        def user_loader(self, callback: _F) -> _F:
            """Sets the function that loads users."""
            return callback

        def unauthorized(self) -> Any:
            """Returns the response to a user who has to log in."""

else:
    _Manager = flask_login.LoginManager


class LoginManager(_Manager):
    """Flask-Login's manager, for an application that has :class:`seconder.contrib.flask.Seconder`.

    The view of the password calls :meth:`hold` where it called ``login_user``; the view of the code
    calls :meth:`verify`. Until then, ``current_user`` is anonymous. Users of a ``request_loader``,
    such as API clients with tokens, are not affected.
    """

    _load: Callable[[str], Any]

    def init_app(self, app: Flask, add_context_processor: bool = True) -> None:
        """As Flask-Login's.

        Args:
            app: The application.
            add_context_processor: Whether templates get ``current_user``.
        """
        super().init_app(app, add_context_processor)
        forget_with_login(app)

    def user_loader(self, callback: _F) -> _F:
        """As Flask-Login's: the decorator of the function that returns the user of an account.

        Args:
            callback: The function. It is called only for accounts that have passed the second
                factor in this session, and for :meth:`remembered`.

        Returns:
            The function.
        """
        self._load = callback
        super().user_loader(self._load_passed)
        return callback

    def _load_passed(self, account: str) -> Any:
        """Loads the user whom a session or a remember cookie names."""
        # Flask-Login also accepts users whose get_id returns an int.
        return self._load(account) if _held.passed(str(account), None) else None

    def hold(
        self,
        user: Any,
        *,
        remember: bool = False,
        data: Mapping[str, Any] | None = None,
        keep: Iterable[str] = (),
    ) -> HeldLogin:
        """Holds the login of a user whose password was right: see
        :meth:`seconder.contrib.flask.Seconder.hold`.

        Args:
            user: The user. The attribute ``SECONDER_USER_ATTRIBUTE`` is the id with the service.
            remember: Whether :meth:`verify` sets Flask-Login's ``remember`` cookie, which then
                replaces the password (see :meth:`remembered`).
            data: What to keep with the login.
            keep: The keys of the session to keep.

        Returns:
            The login.

        Raises:
            InvalidArgument: The user has no second factor.
            ValueError: The user is not active.
        """
        if not user.is_active:
            raise ValueError("the user is not active")
        extension = _extension()
        kept = {**(data or {}), REMEMBER: remember}
        user_id: Any = extension.user_id(user)
        return extension.hold(user.get_id(), user_id, data=kept, keep=keep)

    @guarded
    def verify(self, code: str, *, keep: Iterable[str] = ()) -> Any:
        """Logs the user of the held login in if the code is right, and only then returns.

        Args:
            code: What the user typed.
            keep: The keys of the session to keep.

        Returns:
            The user.

        Raises:
            TokenInvalid: The code is wrong, or the user was deleted or deactivated meanwhile.
            SecondFactorError: As :meth:`seconder.contrib.flask.Seconder.verify`.
        """
        return self.complete(_extension().verify(code, keep=keep))

    def complete(self, login: HeldLogin) -> Any:
        """Logs the user of a login in that :meth:`seconder.contrib.flask.Seconder.check_approval`
        has completed.

        Args:
            login: The login.

        Returns:
            The user.

        Raises:
            TokenInvalid: The user was deleted or deactivated meanwhile, or the login is not
                complete.
        """
        user = self._load_passed(login.account)
        remember = bool(login.data.get(REMEMBER))
        if user is None or not flask_login.login_user(user, remember=remember):
            session.pop(_held.PASSED, None)
            raise TokenInvalid("the user cannot log in any more")
        return user

    def remembered(self) -> Any:
        """Returns the user whom Flask-Login's ``remember`` cookie names. The cookie can replace the
        password, so pass the user to :meth:`hold`; it does not replace the second factor.

        Returns:
            The user, or None.
        """
        name = current_app.config.get("REMEMBER_COOKIE_NAME", flask_login.COOKIE_NAME)
        cookie = request.cookies.get(name)
        account = flask_login.decode_cookie(cookie) if cookie else None
        return None if account is None else self._load(account)

    def unauthorized(self) -> Any:
        """As Flask-Login's. If a login is held, the redirect goes to ``SECONDER_CODE_VIEW``, unless
        the application has its own ``unauthorized_handler``.

        Returns:
            The response.
        """
        view = current_app.config[PREFIX + "CODE_VIEW"]
        if view is None or self.unauthorized_callback or _extension().held is None:
            return super().unauthorized()
        return redirect(url_for(view), 303)


def _extension() -> Seconder:
    extension: Seconder = current_app.extensions["seconder"]
    return extension


def forget_with_login(app: Flask) -> None:
    """Ends a session's mark of the second factor when Flask-Login ends its login."""
    flask_login.user_logged_out.connect(_forget, app)
    flask_login.session_protected.connect(_forget, app)


def _forget(sender: object, **details: object) -> None:
    # Flask-Login reports sessions that it keeps, too.
    if "_user_id" not in session:
        session.pop(_held.PASSED, None)

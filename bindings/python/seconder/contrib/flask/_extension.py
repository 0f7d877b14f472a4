"""The extension: the service, held logins, and the responses to errors."""

from __future__ import annotations

import difflib
import math
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from flask import (
    Flask,
    abort,
    current_app,
    has_request_context,
    redirect,
    request,
    session,
    url_for,
)
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import (
    HTTPException,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
)

import seconder
from seconder._frames import guarded
from seconder.callback import Replay
from seconder.contrib import FRESH_SECONDS, _limits, _visitor
from seconder.contrib._configured import PerProcess, function, options, resolved
from seconder.contrib._digits import digits
from seconder.contrib.flask import _held
from seconder.contrib.flask._cli import commands
from seconder.contrib.flask._held import HeldLogin
from seconder.errors import (
    InvalidArgument,
    RateLimited,
    SecondFactorError,
    TokenInvalid,
    TokenMalformed,
    Unavailable,
)
from seconder.results import Approval, ApprovalCreated, Verification
from seconder.service import Service

_P = ParamSpec("_P")
_T = TypeVar("_T")

PREFIX = "SECONDER_"
OWN = {
    "HOLD_SECONDS": 600,
    "PASSWORD_VIEW": None,
    "CODE_VIEW": None,
    "USER_ATTRIBUTE": "seconder_id",
    "USER_IP": None,
}
"""The settings that are not arguments of :func:`seconder.open`, and their defaults."""
DAY = 86400
NUMBER_DIGITS = 2
"""The digits of the number that the user types on the device. Without one, a user may approve the request of an attacker
who has the password."""
APPROVAL_SECONDS = 300
"""The time for which a request can be answered. One that is open for longer than a login takes is answered by mistake."""
LATER = 3600
"""The time for which a used approval is remembered longer than needed, in seconds: the poll that
uses it may take long."""


class Seconder:
    """The extension. The service is described by the application's configuration: each argument of
    :func:`seconder.open` is a key with the prefix ``SECONDER_``, in capitals. ``SECONDER_URL`` is
    required. A function can be given by its dotted path. A key with the prefix that is unknown is
    rejected, and a value of None is as if the key were missing.

    Five more keys are the extension's own: ``SECONDER_HOLD_SECONDS``, for how long a login waits
    for its second factor, in seconds from 1 to 86400 (600); ``SECONDER_PASSWORD_VIEW`` and
    ``SECONDER_CODE_VIEW``, the endpoints of the views where users enter their password and their
    code, for redirects (without them, the response is a 401); ``SECONDER_USER_ATTRIBUTE``, the
    attribute of a user object that is the user's id with the service (``seconder_id``), for
    Flask-Login and Flask-Security; and ``SECONDER_USER_IP``, a function of the request that returns
    the visitor's address or None, for :attr:`user_ip`.

    In the application, a wrong code that no view catches is a 401, a :class:`seconder.RateLimited`
    a 429 with ``Retry-After``, and a :class:`seconder.Unavailable` a 503; they go through the
    application's own handlers of those statuses. Every other error is a 500. ``flask seconder check`` checks the
    configuration, and ``flask seconder factors USER`` shows a user's factors.

    ``app.extensions["seconder"]`` is the extension.
    """

    def __init__(self, app: Flask | None = None) -> None:
        """Reads the configuration of an application, if one is given.

        Args:
            app: The application. Without it, call :meth:`init_app`.

        Raises:
            InvalidArgument: As :meth:`init_app`.
        """
        # Not an attribute of the application, so that one extension can serve several of them.
        self._services: weakref.WeakKeyDictionary[Flask, PerProcess] = weakref.WeakKeyDictionary()
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Reads the configuration of an application. No service is opened yet.

        Args:
            app: The application. One extension can serve several, each with a service of its own.

        Raises:
            InvalidArgument: A key is unknown or its value invalid by its form, or the URL is
                missing; ``parameter`` is the key. The first request raises it for an endpoint that
                does not exist, because views are added after this call.
        """
        given = options(app.config, PREFIX, others=OWN)
        for name, default in OWN.items():
            if app.config.get(PREFIX + name) is None:
                app.config[PREFIX + name] = default
        _check_own(app.config)
        visitor = app.config[PREFIX + "USER_IP"]
        if visitor is not None and not isinstance(visitor, str):
            function(PREFIX + "USER_IP", visitor)
        services = PerProcess(lambda: seconder.open(**resolved(given)))
        self._services[app] = services
        # Also runs at the end of the process.
        weakref.finalize(app, services.close)
        app.extensions["seconder"] = self
        app.before_request(_ViewsChecked())
        app.register_error_handler(TokenInvalid, _wrong_code)
        app.register_error_handler(TokenMalformed, _wrong_code)
        app.register_error_handler(RateLimited, _too_many_requests)
        app.register_error_handler(Unavailable, _service_unavailable)
        app.cli.add_command(commands)

    @property
    def service(self) -> Service:
        """The service of the current application. It is opened when it is first needed, once in
        each process, and closed with the application or the process."""
        return self._of(None).get()

    @property
    def user_ip(self) -> str | None:
        """The address of the visitor whose request is handled, for the argument ``user_ip`` of calls:
        what the function ``SECONDER_USER_IP`` returns. Without one, it is the address of the
        connection if that is public, and None if it is likely to be a proxy's. None outside of a
        request.

        Raises:
            InvalidArgument: The function returned neither an IP address nor None.
        """
        if not has_request_context():
            return None
        return _visitor.of_request(
            request,
            self._visitor(),
            PREFIX + "USER_IP",
            address=request.remote_addr,
            header=request.headers.get,
        )

    def _visitor(self) -> Callable[[Any], str | None] | None:
        """The function ``SECONDER_USER_IP``. A dotted path is imported when it is first needed, as the
        module may import the application that is set up with it."""
        key = PREFIX + "USER_IP"
        visitor = current_app.config[key]
        if isinstance(visitor, str):
            visitor = current_app.config[key] = function(key, visitor)
        found: Callable[[Any], str | None] | None = visitor
        return found

    def close(self, app: Flask | None = None) -> None:
        """Closes the service of an application in this process, if it is open. The next call opens
        it again.

        Args:
            app: The application. Default: the current one.
        """
        self._of(app).close()

    def override(
        self, service: Service, app: Flask | None = None
    ) -> AbstractContextManager[Service]:
        """Uses another service for an application within a ``with`` block: for tests.

        Args:
            service: The service, such as a :class:`seconder.testing.Sandbox`'s.
            app: The application. Default: the current one.

        Returns:
            The context manager.
        """
        return self._of(app).override(service)

    def _of(self, app: Flask | None) -> PerProcess:
        if app is None:
            app = current_app._get_current_object()  # type: ignore[attr-defined]
        return self._services[app]

    def user_id(self, user: object) -> int | None:
        """Returns the id with the service of a user object of the application, or None for a user
        without a second factor.

        Args:
            user: The object, whose attribute ``SECONDER_USER_ATTRIBUTE`` is the id.

        Returns:
            The id.

        Raises:
            AttributeError: The object has no such attribute.
        """
        found: int | None = getattr(user, current_app.config[PREFIX + "USER_ATTRIBUTE"])
        return found

    def hold(
        self,
        account: object,
        user_id: int,
        *,
        data: Mapping[str, Any] | None = None,
        keep: Iterable[str] = (),
    ) -> HeldLogin:
        """Holds a login after its password was right. The session is emptied and holds only the
        login, which expires after ``SECONDER_HOLD_SECONDS`` and lets no one in.

        Args:
            account: The account's id in the application, which is kept as text.
            user_id: The user's id with the service, from the application's database. Never take it
                from the request.
            data: What to keep with the login, such as the page to show next. The session must be
                able to hold it, and users can read it.
            keep: The keys of the session to keep. They are as they were before the login.

        Returns:
            The login.

        Raises:
            InvalidArgument: The id is not one, for example because the account has none.
        """
        seconds = current_app.config[PREFIX + "HOLD_SECONDS"]
        return _held.hold(account, user_id, seconds, data or {}, keep)

    @property
    def held(self) -> HeldLogin | None:
        """The login of this session that waits for its second factor, if there is one that has not
        expired."""
        return _held.read()

    def require_held(self) -> HeldLogin:
        """Returns the login of this session that waits for its second factor. Without one, the
        request ends with a redirect to ``SECONDER_PASSWORD_VIEW``, or a 401.

        Returns:
            The login.
        """
        return self.held or _abort("PASSWORD_VIEW")

    @guarded
    def verify(self, code: str, *, keep: Iterable[str] = ()) -> HeldLogin:
        """Completes the login of this session if the code is right, and only then returns. The
        session is emptied and marked; what lets the user in is for the application to add.

        Args:
            code: What the user typed; spaces and dashes are removed.
            keep: The keys of the session to keep.

        Returns:
            The login that is now complete.

        Raises:
            TokenInvalid: The code is wrong. The login still waits.
            RateLimited: There were too many wrong codes.
            SecondFactorError: As :meth:`seconder.Service.verify`.
        """
        login = self.require_held()
        self.service.verify(login.user_id, digits(code), user_ip=self.user_ip)
        _held.mark(login.account, keep)
        return login

    def request_approval(self, message: str, **options: Any) -> ApprovalCreated:
        """Asks the user of the held login for an approval, on a device. The session holds the id of
        the request, so that it need not come from the browser.

        Args:
            message: The question to the user.
            options: As for :meth:`seconder.Service.create_approval`. By default, the request expires
                after 5 minutes, or with the login if that is sooner, and has a ``number`` of 2 digits.

        Returns:
            The request. Show its ``number``, which the user types on the device to approve.

        Raises:
            SecondFactorError: As :meth:`seconder.Service.create_approval`.
        """
        login = self.require_held()
        held = int(current_app.config[PREFIX + "HOLD_SECONDS"])
        options.setdefault("seconds_to_expire", min(held, APPROVAL_SECONDS))
        options.setdefault("number_digits", NUMBER_DIGITS)
        created = self.service.create_approval(login.user_id, message, **options)
        _held.record_request(created.uuid)
        return created

    def check_approval(
        self, used: Replay, *, keep: Iterable[str] = ()
    ) -> tuple[Approval, HeldLogin | None]:
        """Completes the held login if its user has approved the request of
        :meth:`request_approval`, once.

        Args:
            used: A memory that all processes share, such as those of
                :mod:`seconder.contrib.replay`: it records which requests have let someone in,
                because browsers can send an old session again.
            keep: The keys of the session to keep.

        Returns:
            The request, and the login if it is now complete, or None.

        Raises:
            InvalidArgument: The login has no request.
            SecondFactorError: As :meth:`seconder.Service.check_approval`.
        """
        login = self.require_held()
        if login.uuid is None:
            raise InvalidArgument("the login has no approval request", parameter="uuid")
        approval = self.service.check_approval(login.uuid)
        until = login.expires_at.timestamp() + LATER
        if approval.approved_by(login.user_id) and used.first_time(f"used {login.uuid}", until):
            _held.mark(login.account, keep)
            return approval, login
        return approval, None

    @guarded
    def confirm(
        self, code: str, account: object, user_id: int, *, action: str | None = None
    ) -> Verification:
        """Checks a code of a user who is logged in, and renews the session's mark if it is right:
        for :func:`second_factor_required` with ``max_age``.

        Args:
            code: What the user typed; spaces and dashes are removed.
            account: The account's id in the application.
            user_id: The user's id with the service, from the application's database.
            action: The action that the code was sent for.

        Returns:
            The details of the verification.

        Raises:
            SecondFactorError: As :meth:`seconder.Service.verify`.
        """
        verification = self.service.verify(
            user_id, digits(code), action=action, user_ip=self.user_ip
        )
        _held.mark(str(account), keep=list(session))
        return verification

    def passed(self, account: object = None, *, max_age: float | None = None) -> bool:
        """Returns whether this session has passed the second factor.

        Args:
            account: The account which must have passed it. Default: the user of Flask-Login, if the
                application uses that, and otherwise any account.
            max_age: How long ago it may be, in seconds. Default: as long as the session lasts.

        Returns:
            Whether it has. False for an account that is not logged in with Flask-Login.
        """
        if account is None and hasattr(current_app, "login_manager"):
            from flask_login import current_user  # type: ignore[import-untyped]

            if not current_user.is_authenticated:
                return False
            account = current_user.get_id()
        return _held.passed(None if account is None else str(account), max_age)


@overload
def second_factor_required(
    view: Callable[_P, _T], *, max_age: float | None = None
) -> Callable[_P, _T]: ...


@overload
def second_factor_required(
    view: None = None, *, max_age: float | None = None
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]: ...


def second_factor_required(
    view: Callable[..., Any] | None = None, *, max_age: float | None = None
) -> Callable[..., Any]:
    """A decorator of views that only a session may use which has passed the second factor. Any
    other request is redirected to ``SECONDER_CODE_VIEW`` if a login is held or the session passed
    it longer ago, and otherwise to ``SECONDER_PASSWORD_VIEW``; without them, the response is a 401.

    It checks only the second factor: which user it is remains the application's to check. With
    Flask-Login, the user who passed it must be the current one.

    Args:
        view: The view.
        max_age: How long ago the user may have passed it, in seconds. Default: for the session.

    Returns:
        The view, or a decorator.

    Example:
        >>> app = Flask("example")
        >>> @app.get("/transfer")
        ... @second_factor_required(max_age=300)
        ... def transfer() -> str:
        ...     return "done"
    """
    if view is None:
        return lambda view: _checked(view, max_age)
    return _checked(view, max_age)


def fresh_factor_required(view: Callable[_P, _T]) -> Callable[_P, _T]:
    """A decorator of views that change what protects an account, such as those that add or remove an
    app, a phone number or recovery codes: as :func:`second_factor_required`, with a ``max_age`` of five
    minutes. Neither a stolen session nor one of last week is enough for such a change.

    Args:
        view: The view.
    """
    return second_factor_required(max_age=FRESH_SECONDS)(view)


def _checked(view: Callable[..., Any], max_age: float | None) -> Callable[..., Any]:
    @wraps(view)
    def checked(*args: Any, **given: Any) -> Any:
        extension: Seconder = current_app.extensions["seconder"]
        if not extension.passed(max_age=max_age):
            known = extension.held is not None or extension.passed()
            _abort("CODE_VIEW" if known else "PASSWORD_VIEW")
        return current_app.ensure_sync(view)(*args, **given)

    return checked


def _check_own(config: Mapping[str, Any]) -> None:
    """Checks the settings that :func:`seconder.open` does not know."""
    seconds = config[PREFIX + "HOLD_SECONDS"]
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 1 <= seconds <= DAY:
        key = PREFIX + "HOLD_SECONDS"
        raise InvalidArgument(f"{key} must be a number from 1 to {DAY}", parameter=key)
    for name in ("PASSWORD_VIEW", "CODE_VIEW"):
        key, view = PREFIX + name, config[PREFIX + name]
        if view is not None and not (isinstance(view, str) and view):
            raise InvalidArgument(f"{key} must be the name of an endpoint", parameter=key)
    key, attribute = PREFIX + "USER_ATTRIBUTE", config[PREFIX + "USER_ATTRIBUTE"]
    if not (isinstance(attribute, str) and attribute.isidentifier()):
        raise InvalidArgument(f"{key} must be the name of an attribute", parameter=key)


class _ViewsChecked:
    """Checks before a request that the endpoints of the settings exist, until they do."""

    def __init__(self) -> None:
        self._done = False

    def __call__(self) -> None:
        if not self._done:
            check_views(current_app)
            self._done = True


def check_views(app: Flask) -> None:
    """Checks that the application has the endpoints that its settings name.

    Raises:
        InvalidArgument: It has not, or a URL of one needs arguments; ``parameter`` is the key.
    """
    for name in ("PASSWORD_VIEW", "CODE_VIEW"):
        key = PREFIX + name
        endpoint = app.config[key]
        rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint == endpoint]
        if endpoint is None or any(rule.suitable_for({}) for rule in rules):
            continue
        if rules:
            message = f"{key}: the URL of the endpoint {endpoint!r} needs arguments"
        else:
            near = difflib.get_close_matches(endpoint, app.view_functions, n=1)
            message = f"{key}: there is no endpoint {endpoint!r}"
            message += f": did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument(message, parameter=key)


def _abort(setting: str) -> NoReturn:
    """Ends the request with a redirect to the view of a setting."""
    endpoint = current_app.config[PREFIX + setting]
    abort(401 if endpoint is None else redirect(url_for(endpoint), 303))


def _wrong_code(error: TokenInvalid | TokenMalformed) -> HTTPException | ResponseReturnValue:
    return current_app.handle_http_exception(Unauthorized("The code is wrong."))


def _too_many_requests(error: RateLimited) -> HTTPException | ResponseReturnValue:
    kind = ServiceUnavailable if _limits.is_undecided(error) else TooManyRequests
    return _response(kind, f"{_limits.explain(error)} Try again later.", error)


def _service_unavailable(error: Unavailable) -> HTTPException | ResponseReturnValue:
    current_app.logger.error("the second-factor service is unavailable: %s", error)
    return _response(ServiceUnavailable, "The second factor cannot be checked now.", error)


def _response(
    kind: type[TooManyRequests] | type[ServiceUnavailable], text: str, error: SecondFactorError
) -> HTTPException | ResponseReturnValue:
    wait = None if error.retry_after is None else max(1, math.ceil(error.retry_after))
    return current_app.handle_http_exception(kind(text, retry_after=wait))

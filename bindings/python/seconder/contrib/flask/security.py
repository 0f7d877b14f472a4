"""Flask-Security: codes are decided by the service instead of by Flask-Security.

The plug-in takes the place of Flask-Security's own second factor, behind the same URLs, templates
and JSON. An application with :class:`seconder.contrib.flask.Seconder` needs these settings:

>>> SETTINGS = {
...     "SECURITY_TWO_FACTOR": True,
...     "SECURITY_TWO_FACTOR_IMPLEMENTATIONS": {
...         "code": "seconder.contrib.flask.security.SecondFactor"
...     },
...     # What Flask-Security insists on. It is not used.
...     "SECURITY_TWO_FACTOR_ENABLED_METHODS": ["email"],
...     "SECURITY_TOTP_SECRETS": {"1": "at least sixteen characters"},
...     "SECURITY_TOTP_ISSUER": "Example",
... }
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from seconder._frames import guarded
from seconder.contrib import _limits
from seconder.contrib._digits import digits
from seconder.contrib._receiver import Needs
from seconder.contrib.flask import _held
from seconder.contrib.flask._extension import Seconder
from seconder.errors import InvalidArgument, RateLimited, Rejected, SecondFactorError, TokenInvalid

with Needs(__name__, "Flask-Security"):
    import flask_login  # type: ignore[import-untyped]
    from flask_security import tf_code_confirmed, unauth_csrf, url_for_security
from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    after_this_request,
    current_app,
    g,
    redirect,
    request,
    session,
)
from flask.typing import ResponseReturnValue
from flask_security import Security
from flask_security.proxies import _datastore, _security
from flask_security.tf_plugin import TfPluginBase, tf_clean_session, tf_illegal_state
from flask_security.utils import (
    _get_post_login_redirect,
    _suppress_form_csrf,
    allowed_auth_token,
    base_render_json,
    do_flash,
    get_message,
    simple_render_json,
)

from seconder.contrib.flask._forms import CodeForm, SendForm
from seconder.contrib.flask.login import forget_with_login

__all__ = ["SecondFactor"]

STATE = "seconder"
"""The state of a login in Flask-Security's session. In its own states, ``ready`` and others, its
own views would let users in: by codes that it made itself, by e-mail or with its recovery codes."""
UNTIL = "tf_seconder_until"
"""The key in the session of when such a login expires."""
METHOD = "seconder"
"""The method's name for Flask-Security."""

CLOSED = ("two_factor_setup", "two_factor_setup_validate", "mf_recovery", "mf_recovery_codes")
"""Flask-Security's views of second factors of its own."""


class SecondFactor(TfPluginBase):
    """The plug-in. It is not used directly: Flask-Security creates it from its setting
    ``SECURITY_TWO_FACTOR_IMPLEMENTATIONS``, in which its name must be ``code``.

    A user has a second factor if the attribute ``SECONDER_USER_ATTRIBUTE`` (``seconder_id``) is not
    None, and then counts as logged in only in a session that has passed it. Everyone else logs in
    with the password alone, unless ``SECURITY_TWO_FACTOR_REQUIRED``. To enrol a user who is logged
    in, call :meth:`seconder.contrib.flask.Seconder.confirm` for ``user.get_id()`` before the
    attribute is set, or the session ends with it. Authentication tokens are not affected.

    The code is checked at ``SECURITY_TWO_FACTOR_TOKEN_VALIDATION_URL`` (``/tf-validate``), and
    another one is sent by a ``help_setup`` of ``sms`` or ``call`` to
    ``SECURITY_TWO_FACTOR_RESCUE_URL`` (``/tf-rescue``). Flask-Security's own setup, rescue by
    e-mail and recovery codes would let users in without the service, and are a 404.

    Raises:
        InvalidArgument: A setting of Flask-Security would let users in without the service;
            ``parameter`` names it.
    """

    def __init__(self, app: Flask) -> None:
        super().__init__(app)
        if app.config["SECURITY_TWO_FACTOR_IMPLEMENTATIONS"].get("code") != _PATH:
            name = "SECURITY_TWO_FACTOR_IMPLEMENTATIONS"
            raise InvalidArgument(f"{name} must have {_PATH} as its code", parameter=name)
        for name, value in (
            ("SECURITY_TWO_FACTOR", True),
            ("SECURITY_TWO_FACTOR_ALWAYS_VALIDATE", True),
            ("SECURITY_MULTI_FACTOR_RECOVERY_CODES", False),
            ("SECURITY_PASSWORDLESS", False),
        ):
            if bool(app.config[name]) is not value:
                raise InvalidArgument(f"{name} must be {value}", parameter=name)
        manager = app.login_manager  # type: ignore[attr-defined]
        manager.user_loader(_only_passed(manager._user_callback))
        flask_login.user_logged_in.connect(_renamed, app)
        forget_with_login(app)

    def create_blueprint(self, app: Flask, bp: Blueprint, state: Security) -> None:
        """Takes over the views of Flask-Security."""
        bp.before_request(_instead)

    def get_setup_methods(self, user: Any) -> list[tuple[str, str]]:
        """Returns the method, if the user has a second factor."""
        return [] if _extension().user_id(user) is None else [(METHOD, "code")]

    def tf_login(
        self, user: Any, json_payload: dict[str, Any], next_loc: str | None
    ) -> Response:
        """Sends a code to a user who has no app, and asks for one."""
        user_id = _extension().user_id(user)
        if user_id is None:
            # SECURITY_TWO_FACTOR_REQUIRED, for a user who has none.
            return _response(_illegal())
        session["tf_state"] = STATE
        session[UNTIL] = time.time() + current_app.config["SECONDER_HOLD_SECONDS"]
        try:
            _extension().service.request_sms(user_id, user_ip=_extension().user_ip)
        except (RateLimited, Rejected) as error:
            # An earlier code may still be valid, and the user may have an app.
            current_app.logger.info("no code was sent", exc_info=True)
            if isinstance(error, RateLimited):
                _limits.report(error)
        if _security._want_json(request):
            method = {"tf_method": METHOD, "tf_primary_method": METHOD}
            return _response(simple_render_json({**json_payload, "tf_state": "ready", **method}))
        values = {"next": next_loc} if next_loc else {}
        return _response(redirect(url_for_security("two_factor_token_validation", **values)))


_PATH = f"{SecondFactor.__module__}.{SecondFactor.__qualname__}"


def _extension() -> Seconder:
    extension: Seconder = current_app.extensions["seconder"]
    return extension


def _only_passed(load: Callable[[str], Any]) -> Callable[[str], Any]:
    """The loader of the users of sessions and "remember me" cookies, which may be older than the
    user's second factor."""

    def loader(account: str) -> Any:
        user = load(account)
        if user is None:
            return None
        if _held.passed(user.get_id(), None):
            g._seconder_passed = user
        elif _extension().user_id(user) is not None:
            return None
        return user

    return loader


def _renamed(sender: object, user: Any, **details: object) -> None:
    """Keeps the mark of a user who is logged in again under another id. Flask-Security does so
    when the user changes the password, to end all other sessions."""
    if g.get("_seconder_passed") is user and _held.PASSED in session:
        session[_held.PASSED] = {**session[_held.PASSED], "account": user.get_id()}


def _instead() -> ResponseReturnValue | None:
    """Responds in place of Flask-Security's own views."""
    view = (request.endpoint or "").rpartition(".")[2]
    if view in CLOSED:
        abort(404)
    if view == "two_factor_token_validation":
        return _response(_validate())
    if view == "two_factor_rescue":
        return _response(_send())
    return None


def _pending() -> tuple[Any, int] | None:
    """Returns the user whose password was right, and the id with the service."""
    if session.get("tf_state") != STATE or session.get(UNTIL, 0) < time.time():
        return None
    user = _datastore.find_user(fs_uniquifier=session.get("tf_user_id"))
    # The user may have been deactivated since the password.
    user_id = _extension().user_id(user) if user is not None and user.is_active else None
    return None if user_id is None else (user, user_id)


@unauth_csrf()
def _validate() -> Any:
    pending = _pending()
    if pending is None:
        return _illegal()
    user, user_id = pending
    form = CodeForm(meta=_suppress_form_csrf())  # type: ignore[no-untyped-call]
    form.user = user
    status = 400
    if form.validate_on_submit():
        try:
            _check(form, user_id)
        except (TokenInvalid, RateLimited) as error:
            status = _explain(form.code, error)
            failed = isinstance(error, TokenInvalid) or _limits.is_users(error)
            if failed and hasattr(user, "track_failed_authn"):
                user.track_failed_authn("code", True)
        else:
            return _complete(user, form)
    if _security._want_json(request):
        return base_render_json(form, include_user=False, error_status_code=status)
    return _page(form, SendForm(formdata=None), status)


@guarded
def _check(form: CodeForm, user_id: int) -> None:
    user_ip = _extension().user_ip
    _extension().service.verify(user_id, digits(str(form.code.data)), user_ip=user_ip)


def _complete(user: Any, form: CodeForm) -> Any:
    # Flask-Security's cookie that remembers a login would replace the second factor too.
    session.pop("tf_remember_login", None)
    _held.mark(user.get_id(), keep=list(session))
    _security.two_factor_plugins.tf_complete(user, True)
    session.pop(UNTIL, None)
    tf_code_confirmed.send(
        current_app._get_current_object(),  # type: ignore[attr-defined]
        _async_wrapper=current_app.ensure_sync,
        user=user,
        method=METHOD,
    )
    after_this_request(_committed)
    if _security._want_json(request):
        return base_render_json(form, include_auth_token=allowed_auth_token(user))
    do_flash(*get_message("TWO_FACTOR_LOGIN_SUCCESSFUL"))
    return redirect(_get_post_login_redirect())


@unauth_csrf()
def _send() -> Any:
    pending = _pending()
    if pending is None:
        return _illegal()
    form = SendForm(meta=_suppress_form_csrf())  # type: ignore[no-untyped-call]
    status = 400
    if form.validate_on_submit():
        service = _extension().service
        by_call = form.help_setup.data == "call"
        request_code = service.request_call if by_call else service.request_sms
        try:
            request_code(pending[1], force=True, user_ip=_extension().user_ip)
        except (RateLimited, Rejected) as error:
            status = _explain(form.help_setup, error)
        else:
            if not _security._want_json(request):
                do_flash(*get_message("CODE_HAS_BEEN_SENT"))
    if _security._want_json(request):
        return base_render_json(form, include_user=False, error_status_code=status)
    return _page(CodeForm(formdata=None), form, status)


def _explain(field: Any, error: SecondFactorError) -> int:
    """Adds an error to a field, and returns the status of the response."""
    if isinstance(error, TokenInvalid):
        message, status = get_message("TWO_FACTOR_INVALID_TOKEN")[0], 400
    elif isinstance(error, RateLimited):
        wait = math.ceil(error.retry_after or 60)
        message = f"{_limits.explain(error)} Try again in {wait} s."
        status = 503 if _limits.is_undecided(error) else 429
        after_this_request(_retry_after(wait))
    else:
        message, status = get_message("FAILED_TO_SEND_CODE")[0], 400
    field.errors = [*field.errors, message]
    return status


def _page(code: CodeForm, send: SendForm, status: int) -> Any:
    page = _security.render_template(
        current_app.config["SECURITY_TWO_FACTOR_VERIFY_CODE_TEMPLATE"],
        two_factor_verify_code_form=code,
        two_factor_rescue_form=send,
        chosen_method="app or phone",
        problem=None,
        **_security._run_ctx_processor("tf_token_validation"),
    )
    # Flask-Security's pages with an error in a form are a 200, which templates of scripts expect.
    return page, 200 if status == 400 else status


def _illegal() -> Any:
    """Ends a login whose password has to be entered again."""
    tf_clean_session()  # type: ignore[no-untyped-call]
    view = current_app.config["SECURITY_TWO_FACTOR_ERROR_VIEW"]
    return tf_illegal_state(CodeForm(formdata=None), view)  # type: ignore[no-untyped-call]


def _response(given: Any) -> Response:
    """A value of None would have Flask run Flask-Security's own view."""
    return current_app.make_response(given)


def _committed(response: Response) -> Response:
    _datastore.commit()  # type: ignore[no-untyped-call]
    return response


def _retry_after(seconds: int) -> Callable[[Response], Response]:
    def add(response: Response) -> Response:
        response.headers["Retry-After"] = str(seconds)
        return response

    return add

"""Second-factor state of a session, and the decorator for views that require it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.apps import apps
from django.contrib.auth import REDIRECT_FIELD_NAME, SESSION_KEY
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import resolve_url

from seconder.contrib import FRESH_SECONDS, is_fresh
from seconder.contrib.django import accounts

__all__ = [
    "forget_verified",
    "fresh_factor_required",
    "is_verified",
    "mark_verified",
    "second_factor_required",
]

KEY = "seconder_verified"
"""The session's record: the account, the user's id at the service, and the time, in Unix seconds."""

_View = TypeVar("_View", bound=Callable[..., Any])


def mark_verified(request: HttpRequest) -> None:
    """Records that the user of the session has passed the second factor just now. Call it only after
    :func:`seconder.contrib.django.accounts.verify` has returned for ``request.user``.

    The session gets a new key, so that one known before is useless. The record counts for as long as
    the account has this enrolment.

    Raises:
        seconder.contrib.django.accounts.NotEnrolled: The account is not enrolled.
    """
    if not record(request, request.user):
        raise accounts.NotEnrolled("the account has no second factor")
    request.session.cycle_key()


def record(request: HttpRequest, user: accounts.User) -> bool:
    """Records that a user has passed the second factor just now, and returns whether the account is
    enrolled. The record counts once the user is logged in."""
    found = accounts.enrolment(user)
    if found is None:
        return False
    entry = {"account": str(user.pk), "user_id": found.user_id, "at": int(time.time())}
    request.session[KEY] = entry
    return True


def forget_verified(request: HttpRequest) -> None:
    """Removes what :func:`mark_verified` has recorded. A device of django-otp or an authenticator of
    django-allauth that the session has used still counts, until the user logs out."""
    request.session.pop(KEY, None)


def is_verified(request: HttpRequest, *, max_age: float | None = None) -> bool:
    """Returns whether the user of the session has passed a second factor: by :func:`mark_verified`,
    by a device of django-otp or by an authenticator of django-allauth that the account still has.

    Args:
        request: A request with a session and a user.
        max_age: How long ago at most, in seconds. Of a device of django-otp, the time is not known,
            so it does not count then. Default: no limit.
    """
    user = getattr(request, "user", None)
    session = getattr(request, "session", None)
    if user is None or session is None or not user.is_authenticated:
        return False
    # A token of an API may belong to another user than the session that was sent with it.
    if session.get(SESSION_KEY) != user._meta.pk.value_to_string(user):
        return False
    entry = session.get(KEY)
    if isinstance(entry, dict) and entry.get("account") == str(user.pk):
        found = accounts.enrolment(user)
        same = found is not None and entry.get("user_id") == found.user_id
        if same and _recent(entry.get("at"), max_age):
            return True
    if apps.is_installed("allauth.mfa") and _by_allauth(request, max_age):
        return True
    return max_age is None and apps.is_installed("django_otp") and _by_device(user)


def _by_device(user: Any) -> bool:
    from django_otp.models import Device

    # django-otp's middleware sets it. `is_verified` may be a method of the site's own.
    device = getattr(user, "otp_device", None)
    return isinstance(device, Device) and device.user_id == user.pk


def _by_allauth(request: HttpRequest, max_age: float | None) -> bool:
    from allauth.account.authentication import get_authentication_records
    from allauth.mfa.models import Authenticator

    records = get_authentication_records(request, request.user)
    mfa = [each for each in records if each.get("method") == "mfa"]
    used = {each.get("id") for each in mfa if _recent(each.get("at"), max_age)} - {None}
    # allauth keeps the record of an authenticator that was removed since.
    return bool(used) and Authenticator.objects.filter(user=request.user, pk__in=used).exists()


def _recent(at: object, max_age: float | None) -> bool:
    return isinstance(at, (int, float)) if max_age is None else is_fresh(at, max_age)


@overload
def second_factor_required(view: _View) -> _View: ...


@overload
def second_factor_required(
    *, max_age: float | None = None, login_url: str | None = None
) -> Callable[[_View], _View]: ...


def second_factor_required(
    view: _View | None = None, *, max_age: float | None = None, login_url: str | None = None
) -> Any:
    """Redirects users who have not passed the second factor, as ``login_required`` does those who
    are not logged in. The view may be ``async``.

    Args:
        view: The view.
        max_age: How long ago the user may have passed it, in seconds. Default: no limit.
        login_url: A URL or the name of one. Default: ``seconder:verify`` of
            :mod:`seconder.contrib.django.urls`; users who are not logged in go to ``LOGIN_URL``.
    """

    def decorate(decorated: _View) -> _View:
        def check(request: HttpRequest) -> HttpResponseBase | None:
            if is_verified(request, max_age=max_age):
                return None
            path = request.get_full_path()
            if not request.user.is_authenticated:
                return redirect_to_login(path)
            return redirect_to_login(
                path, resolve_url(login_url or "seconder:verify"), REDIRECT_FIELD_NAME
            )

        if iscoroutinefunction(decorated):

            @functools.wraps(decorated)
            async def guarded_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                rejected = await sync_to_async(check)(request)
                return rejected or await decorated(request, *args, **kwargs)

            return cast(_View, guarded_async)

        @functools.wraps(decorated)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return check(request) or decorated(request, *args, **kwargs)

        return cast(_View, guarded)

    return decorate if view is None else decorate(view)


def fresh_factor_required(view: _View) -> _View:
    """For views that change what protects an account, such as those that add or remove an app, a phone
    number or recovery codes: as :func:`second_factor_required`, with a ``max_age`` of
    five minutes. Neither a stolen session nor one of last week is enough for such a change.

    Args:
        view: The view.
    """
    return second_factor_required(max_age=FRESH_SECONDS)(view)

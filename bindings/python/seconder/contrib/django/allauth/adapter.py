"""The adapters for django-allauth."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models.signals import post_delete, pre_delete
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext

import seconder
from seconder.contrib import _limits
from seconder.contrib.django import accounts, verified
from seconder.contrib.django.allauth._untyped import (
    Authenticator,
    DefaultAccountAdapter,
    DefaultMFAAdapter,
    ImmediateHttpResponse,
    authenticator_used,
    context,
    decrypt,
    delete_dangling_recovery_codes,
)
from seconder.contrib.django.models import Enrolment

__all__ = ["SeconderAccountAdapter", "SeconderMFAAdapter"]

MARK = "seconder:app"
"""The secret in allauth's table of an app whose secret the service has. It is not in Base32, so
allauth's own code fails on it and accepts nothing."""

URI = "seconder_allauth_uri"
"""The session key of the URI of an app that is being activated, as allauth keeps its own."""

PASSWORD = "seconder_allauth_password"
"""The session key of the hash of the password with which a login has begun."""


class SeconderMFAAdapter(DefaultMFAAdapter):
    """For ``MFA_ADAPTER``: an account that is enrolled has a second factor, by SMS at least."""

    def is_mfa_enabled(
        self, user: AbstractBaseUser, types: Collection[str] | None = None
    ) -> bool:
        """Returns whether the user is asked for a second factor.

        Args:
            user: The user.
            types: Which of allauth's types to look for. The phone is neither an app nor a security
                key, and counts unless one of these is looked for alone. As a recovery code, it does:
                that is how allauth finds out whether a code can be asked for again.
        """
        if user.is_anonymous:
            return False
        if super().is_mfa_enabled(user, types):
            return True
        alone = types is not None and len(types) == 1
        phone = not alone or Authenticator.Type.RECOVERY_CODES in (types or ())
        return phone and accounts.enrolment(user) is not None

    def build_totp_url(self, user: AbstractBaseUser, secret: str) -> str:
        """Returns what the QR code shows: the service's, if the secret is the service's."""
        session = getattr(context.request, "session", {})
        uri = session.get(URI)
        if uri is not None and secret_of(uri) == secret:
            return str(uri)
        return super().build_totp_url(user, secret)


class SeconderAccountAdapter(DefaultAccountAdapter):
    """For ``ACCOUNT_ADAPTER``: before a change of an account that is enrolled, allauth asks for a code, as
    neither a session of last week nor the password must be enough to change a factor. A login that waits
    for its code ends when the password is changed."""

    def pre_login(
        self, request: HttpRequest, user: Any, **rest: Any
    ) -> HttpResponseBase | None:
        """Records the password that the login has passed, by Django's own hash for sessions."""
        response = super().pre_login(request, user, **rest)
        if response is None:
            request.session[PASSWORD] = user.get_session_auth_hash()
        return response

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """The ways in which the user can confirm the change: codes and security keys, for an account that
        is enrolled."""
        found: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if not user.is_authenticated or accounts.enrolment(user) is None:
            return found
        return [each for each in found if each["id"].startswith("mfa_reauthenticate")]


def require_password(user: AbstractBaseUser) -> None:
    """Ends a login that waits for its code if the password was changed since it began.

    Raises:
        ImmediateHttpResponse: It was changed.
    """
    session: Any = getattr(context.request, "session", {})
    began = session.get(PASSWORD)
    if began is None or constant_time_compare(began, user.get_session_auth_hash()):
        return
    session.flush()
    raise ImmediateHttpResponse(redirect("account_login"))


def secret_of(uri: str) -> str:
    """Returns the secret in the URI of an app."""
    return parse_qs(urlsplit(uri).query)["secret"][0]


def is_marked(authenticator: Authenticator) -> bool:
    """Returns whether the secret of this app is the service's."""
    if authenticator.type != Authenticator.Type.TOTP:
        return False
    return bool(decrypt(authenticator.data.get("secret", "")) == MARK)


def connect() -> None:
    """Has the service forget an app that is deactivated, and allauth one whose user is deleted; and
    sessions record what the service accepted."""
    authenticator_used.connect(_used, dispatch_uid="seconder.allauth")
    pre_delete.connect(_deleting, sender=Authenticator, dispatch_uid="seconder.allauth")
    post_delete.connect(_unenrolled, sender=Enrolment, dispatch_uid="seconder.allauth")


def _used(*, request: HttpRequest, user: Any, authenticator: Authenticator, **rest: Any) -> None:
    """Has the session name the enrolment. allauth's own record does not, and would outlive it."""
    # The placeholder of the phone is not stored.
    if authenticator.pk is None or is_marked(authenticator):
        verified.record(request, user)


def _deleting(*, instance: Authenticator, origin: Any = None, **rest: Any) -> None:
    """Removes the app at the service first: if that fails, the exception keeps it here too."""
    if isinstance(origin, AbstractBaseUser) or not is_marked(instance):
        # With an account that is deleted, its enrolment goes too.
        return
    found = accounts.enrolment(instance.user)
    if found is None:
        return
    try:
        accounts.remove_authenticators(found)
    except seconder.UserNotFound:
        return
    except seconder.SecondFactorError as error:
        if context.request is None:
            raise
        raise unavailable(error) from error


def _unenrolled(*, instance: Enrolment, **rest: Any) -> None:
    """Removes the app here, whose secret the service no longer has, and its recovery codes."""
    marked = [
        each.pk
        for each in Authenticator.objects.filter(user_id=instance.account_id)
        if is_marked(each)
    ]
    if marked:
        Authenticator.objects.filter(pk__in=marked).delete()
        delete_dangling_recovery_codes(instance.account)


def unavailable(error: seconder.SecondFactorError) -> Exception:
    """Returns what has allauth's middleware respond to an error, with 429 or 503."""
    text = accounts.explain(error) or gettext("That cannot be checked now. Try again later.")
    limited = isinstance(error, seconder.RateLimited) and not _limits.is_undecided(error)
    status = 429 if limited else 503
    response: HttpResponse = render(
        context.request, "mfa/unavailable.html", {"text": text}, status=status
    )
    if isinstance(error, seconder.RateLimited):
        response["Retry-After"] = str(math.ceil(error.retry_after or 60))
    failed: Exception = ImmediateHttpResponse(response)
    return failed

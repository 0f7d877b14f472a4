"""The MFA adapter for django-allauth."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models.signals import pre_delete

import seconder
from seconder.contrib.django import accounts
from seconder.contrib.django.allauth._untyped import (
    Authenticator,
    DefaultMFAAdapter,
    context,
    decrypt,
)

__all__ = ["SeconderMFAAdapter"]

MARK = "seconder:app"
"""The secret in allauth's table of an app whose secret the service has. It is not in Base32, so
allauth's own code fails on it and accepts nothing."""

URI = "seconder_allauth_uri"
"""Where the session keeps the URI of an app that is being activated, as allauth does its own."""


class SeconderMFAAdapter(DefaultMFAAdapter):
    """For ``MFA_ADAPTER``: an account that is enrolled has a second factor, by SMS at least."""

    def is_mfa_enabled(
        self, user: AbstractBaseUser, types: Collection[str] | None = None
    ) -> bool:
        """Whether the user is asked for a second factor.

        Args:
            user: The user.
            types: Which of allauth's types to look for. For one alone, the phone does not count: that
                is how allauth finds out whether there is an app, for example.
        """
        if user.is_anonymous:
            return False
        if super().is_mfa_enabled(user, types):
            return True
        alone = types is not None and len(types) < 2
        return not alone and accounts.enrolment(user) is not None

    def build_totp_url(self, user: AbstractBaseUser, secret: str) -> str:
        """Returns what the QR code shows: the service's, if the secret is the service's."""
        session = getattr(context.request, "session", {})
        uri = session.get(URI)
        if uri is not None and secret_of(uri) == secret:
            return str(uri)
        return super().build_totp_url(user, secret)


def secret_of(uri: str) -> str:
    """Returns the secret in the URI of an app."""
    return parse_qs(urlsplit(uri).query)["secret"][0]


def is_marked(authenticator: Authenticator) -> bool:
    """Whether the secret of this app is the service's."""
    if authenticator.type != Authenticator.Type.TOTP:
        return False
    return bool(decrypt(authenticator.data.get("secret", "")) == MARK)


def connect() -> None:
    """Has the service forget an app that is deactivated."""
    pre_delete.connect(_deleting, sender=Authenticator, dispatch_uid="seconder.allauth")


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
    except seconder.Rejected as error:
        # The service has no such user any more.
        if error.http_status != 404:
            raise

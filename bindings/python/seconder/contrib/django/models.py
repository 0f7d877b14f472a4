"""The tables of the app: received callbacks, enrolments and decisions."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models


class ReceivedCallback(models.Model):
    """A callback that was accepted, and must not be accepted again."""

    key: models.CharField[str, str] = models.CharField(max_length=64, primary_key=True)
    """The callback's signature, which covers all of it."""
    until: models.BigIntegerField[int | None, int | None] = models.BigIntegerField(
        null=True, db_index=True
    )
    """When it can be forgotten, in Unix seconds; null means never."""

    def __str__(self) -> str:
        return str(self.key)


class Enrolment(models.Model):
    """The link between a user of the service and an account of the site.

    Create one only for a user whom ``create_user(…, new_only=True)`` has just created, or whose
    number the account has proven: :func:`seconder.contrib.django.accounts.enrol` does both, and
    ``enrol_authenticator`` has an app in place of the number.
    """

    account: models.OneToOneField[Any, Any] = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="seconder"
    )
    """The account: a user of the site."""
    account_id: Any
    """The account's key."""
    user_id: models.BigIntegerField[int, int] = models.BigIntegerField(
        "id at the service", unique=True
    )
    """The user's id at the service. It is unique: two accounts never share a second factor."""
    created_at: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)
    """When the account was enrolled."""

    def __str__(self) -> str:
        return f"{self.account} ({self.user_id})"


class PendingEnrolment(models.Model):
    """A user of the service whose authenticator app has yet to show its first code. The account is not
    enrolled before."""

    account: models.OneToOneField[Any, Any] = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    """The account: a user of the site."""
    account_id: Any
    """The account's key."""
    user_id: models.BigIntegerField[int, int] = models.BigIntegerField(
        "id at the service", unique=True
    )
    """The user's id at the service."""

    def __str__(self) -> str:
        return f"{self.account} ({self.user_id})"


class Decision(models.Model):
    """A decision about a login, for the site's operators. It holds no code."""

    class Asked(models.TextChoices):
        """The kinds of requests to the service."""

        CODE = "code", "whether a code is right"
        SEND = "send", "to send a code"
        CONFIRM = "confirm", "whether an app shows the right code"

    class Verdict(models.TextChoices):
        """The result."""

        ACCEPTED = "accepted", "accepted"
        REJECTED = "rejected", "rejected"
        FAILED = "failed", "failed"

    at: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True, db_index=True)
    """When."""
    account: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
    )
    """The account; null once it has been deleted."""
    user_id: models.BigIntegerField[int, int] = models.BigIntegerField("id at the service")
    """The user's id at the service."""
    asked: models.CharField[str, str] = models.CharField(max_length=16, choices=Asked.choices)
    """The kind of the request."""
    verdict: models.CharField[str, str] = models.CharField(max_length=16, choices=Verdict.choices)
    """``accepted``; ``rejected``, by the user's mistake or a limit; or ``failed``: it could not be
    decided."""
    reason: models.CharField[str, str] = models.CharField(max_length=100, blank=True)
    """The class of the error and the service's code, such as ``RateLimited 60003``; or where a
    right code came from, such as ``sms``."""

    class Meta:
        """The newest first."""

        ordering: ClassVar[list[str]] = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.asked}: {self.verdict}"

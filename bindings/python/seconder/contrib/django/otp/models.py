"""The device for django-otp."""

from __future__ import annotations

import logging
import math
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, ngettext

import seconder
from seconder._frames import guarded
from seconder.contrib import _limits
from seconder.contrib.django import accounts
from seconder.contrib.django.otp._untyped import (
    CooldownMixin,
    Device,
    ThrottlingMixin,
    TimestampMixin,
    VerifyNotAllowed,
)

_log = logging.getLogger("seconder.contrib")


class ChallengeFailed(Exception):
    """The code was not sent. The text is for the user."""


class SeconderDevice(TimestampMixin, CooldownMixin, ThrottlingMixin, Device):
    """The second factor of an account at the service, as a device of django-otp.

    An account has at most one, and needs an
    :class:`seconder.contrib.django.models.Enrolment`. It stores no secret and no code.

    No error lets anyone in: :meth:`verify_token` returns False for all of them, and logs those that
    an operator has to act on.
    """

    last_generated_timestamp: Any
    """When a code was sent last, or None."""
    locked_until: models.DateTimeField[Any, Any] = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Until when the service checks no code of this user, after wrong ones.",
    )
    """Until when the service checks no code, as it said last; null if it has not said so."""

    class Meta:
        """One device for each account, as the limits at the service are for the account."""

        verbose_name = "Seconder device"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user"], name="seconder_otp_one_device")
        ]

    @classmethod
    def add(cls, account: AbstractBaseUser, name: str = "") -> SeconderDevice:
        """Returns the account's device, after adding one if it has no device.

        Args:
            account: A user of the site who is enrolled.
            name: The name in the list of the user's devices.

        Raises:
            seconder.contrib.django.accounts.NotEnrolled: The account is not enrolled.
        """
        if accounts.enrolment(account) is None:
            raise accounts.NotEnrolled("the account has no second factor")
        name = name or gettext("Phone")
        device: SeconderDevice
        device, _ = cls.objects.get_or_create(user=account, defaults={"name": name})
        return device

    def clean(self) -> None:
        """Rejects a device of an account that is not enrolled, in the admin.

        Raises:
            ValidationError: The account is not enrolled.
        """
        super().clean()
        if self.user_id is not None and accounts.enrolment(self.user) is None:
            raise ValidationError({"user": gettext("The account has no second factor.")})

    # Sending.

    def generate_challenge(self) -> str:
        """Sends a code by SMS.

        Returns:
            Where it was sent, or how long the user has to wait for the next.

        Raises:
            ChallengeFailed: The code was not sent; django-otp's forms show the text.
        """
        allowed, reason = self.generate_is_allowed()
        if not allowed and reason is not None:
            return _wait(reason["next_generation_at"])
        try:
            sent = accounts.send_code(self.user)
        except seconder.RateLimited as error:
            if not _limits.is_users(error):
                raise ChallengeFailed(gettext("The code could not be sent.")) from error
            # So that generate_is_allowed() says the same from now on.
            ends = timezone.now() + timedelta(seconds=math.ceil(error.retry_after or 60))
            self.last_generated_timestamp = ends - timedelta(seconds=self.get_cooldown_duration())
            self.save()
            return _wait(ends)
        except seconder.SecondFactorError as error:
            if isinstance(error, accounts.NotEnrolled):
                self._log_stray()
            raise ChallengeFailed(gettext("The code could not be sent.")) from error
        self.cooldown_set()
        where = {"cellphone": sent.cellphone or ""}
        return gettext("The code goes to %(cellphone)s.") % where

    def get_cooldown_duration(self) -> int:
        """Returns the setting ``OTP_SECONDER_COOLDOWN_DURATION``: how long a user waits for the next
        code, in seconds. Default: 30, as long as the service waits."""
        seconds: int = getattr(settings, "OTP_SECONDER_COOLDOWN_DURATION", 30)
        return seconds

    # Checking.

    def verify_is_allowed(self) -> tuple[bool, dict[str, Any] | None]:
        """Says whether a code may be checked now. After wrong codes, it is not until
        ``locked_until``, by the service's limit or django-otp's, whichever is later."""
        allowed, reason = super().verify_is_allowed()
        until = self.locked_until
        if until is None or until <= timezone.now():
            return allowed, reason
        if reason is not None and reason["locked_until"] > until:
            return allowed, reason
        return False, {
            "reason": VerifyNotAllowed.N_FAILED_ATTEMPTS,
            "failure_count": max(1, self.throttling_failure_count),
            "locked_until": until,
        }

    @guarded
    def verify_token(self, token: str) -> bool:
        """Checks a code: by SMS, of the user's app, or a recovery code.

        Args:
            token: What the user typed.

        Returns:
            Whether it is right. It is False also if it cannot be checked.
        """
        allowed, _ = self.verify_is_allowed()
        if not allowed:
            return False
        try:
            accounts.verify(self.user, token)
        except seconder.TokenMalformed:
            # No code was compared, so it is no try.
            return False
        except seconder.TokenInvalid:
            self.throttle_increment()
            return False
        except seconder.RateLimited as error:
            if _limits.is_users(error):
                self.locked_until = timezone.now() + timedelta(seconds=error.retry_after or 60)
                self.save()
            return False
        except accounts.NotEnrolled:
            self._log_stray()
            return False
        except seconder.SecondFactorError:
            # `accounts.verify` has logged it.
            return False
        self.throttle_reset(commit=False)
        self.cooldown_reset(commit=False)
        self.locked_until = None
        self.set_last_used_timestamp(commit=False)
        self.save()
        return True

    def _log_stray(self) -> None:
        _log.error("%s has no enrolment", self.persistent_id)

    def get_throttle_factor(self) -> float:
        """Returns the setting ``OTP_SECONDER_THROTTLE_FACTOR``, as every plug-in of django-otp has.
        Default: 1. With 0, only the service limits wrong codes."""
        factor: float = getattr(settings, "OTP_SECONDER_THROTTLE_FACTOR", 1)
        return factor


def _wait(until: datetime) -> str:
    seconds = max(1, math.ceil((until - timezone.now()).total_seconds()))
    text = ngettext(
        "The next code can be sent in %(seconds)d second.",
        "The next code can be sent in %(seconds)d seconds.",
        seconds,
    )
    return text % {"seconds": seconds}

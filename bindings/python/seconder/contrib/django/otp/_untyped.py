"""Names that the device uses from django-otp, which has no types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seconder.contrib._receiver import Needs

if TYPE_CHECKING:
    from django.db import models

    class Device(models.Model):
        user: Any
        user_id: Any
        name: Any
        confirmed: Any
        objects: Any

        @property
        def persistent_id(self) -> str: ...
        def is_interactive(self) -> bool: ...

    class CooldownMixin(models.Model):
        def generate_is_allowed(self) -> tuple[bool, dict[str, Any] | None]: ...
        def cooldown_reset(self, commit: bool = True) -> None: ...
        def cooldown_set(self, commit: bool = True) -> None: ...

    class ThrottlingMixin(models.Model):
        throttling_failure_count: Any

        def verify_is_allowed(self) -> tuple[bool, dict[str, Any] | None]: ...
        def throttle_reset(self, commit: bool = True) -> None: ...
        def throttle_increment(self, commit: bool = True) -> None: ...

    class TimestampMixin(models.Model):
        created_at: Any
        last_used_at: Any

        def set_last_used_timestamp(self, commit: bool = True) -> None: ...

    VerifyNotAllowed: Any
else:
    with Needs("seconder.contrib.django.otp", "django-otp"):
        from django_otp.models import (
            CooldownMixin,
            Device,
            ThrottlingMixin,
            TimestampMixin,
            VerifyNotAllowed,
        )

__all__ = ["CooldownMixin", "Device", "ThrottlingMixin", "TimestampMixin", "VerifyNotAllowed"]

"""The app of the django-otp device."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete


class SeconderOtpConfig(AppConfig):
    """``"seconder.contrib.django.otp"`` in ``INSTALLED_APPS``."""

    name = "seconder.contrib.django.otp"
    label = "seconder_otp"
    verbose_name: str = "Second factor (django-otp)"
    default_auto_field: str = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers that a device goes with its account's enrolment."""
        from seconder.contrib.django.models import Enrolment

        post_delete.connect(_unenrolled, sender=Enrolment, dispatch_uid="seconder.otp")


def _unenrolled(*, instance: Any, **rest: Any) -> None:
    from seconder.contrib.django.otp.models import SeconderDevice

    SeconderDevice.objects.filter(user_id=instance.account_id).delete()

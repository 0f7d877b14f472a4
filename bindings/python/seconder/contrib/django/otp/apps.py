"""The app of the django-otp device."""

from django.apps import AppConfig


class SeconderOtpConfig(AppConfig):
    """``"seconder.contrib.django.otp"`` in ``INSTALLED_APPS``."""

    name = "seconder.contrib.django.otp"
    label = "seconder_otp"
    verbose_name: str = "Second factor (django-otp)"
    default_auto_field: str = "django.db.models.BigAutoField"

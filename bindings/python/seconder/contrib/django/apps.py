"""The app."""

from django.apps import AppConfig


class SeconderConfig(AppConfig):
    """``"seconder.contrib.django"`` in ``INSTALLED_APPS``."""

    name = "seconder.contrib.django"
    label = "seconder"
    verbose_name: str = "Second factor"
    default_auto_field: str = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers the system checks."""
        from seconder.contrib.django import checks

        checks.register()

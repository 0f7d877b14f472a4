"""The app that holds the table of received callbacks."""

from django.apps import AppConfig


class SeconderConfig(AppConfig):
    """``"seconder.contrib.django"`` in ``INSTALLED_APPS``."""

    name = "seconder.contrib.django"
    label = "seconder"

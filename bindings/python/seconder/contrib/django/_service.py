"""The service of a Django site, which is opened once per process."""

from __future__ import annotations

import atexit
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

import seconder
from seconder.contrib._configured import PerProcess
from seconder.contrib.django import _settings


def service() -> seconder.Service:
    """Returns the service that the setting ``SECONDER`` describes.

    The first call in a process opens it, and threads share it. After a fork, the new process opens
    one of its own. It is closed when the process exits.
    In tests, it is opened again after ``override_settings(SECONDER=…)``, and that of pytest-django.

    Raises:
        ImproperlyConfigured: The setting is missing or invalid.
        seconder.StorageError: The database cannot be opened.
        seconder.Unauthorized: The database has no application with that API key.
    """
    return _own.get()


def _open() -> seconder.Service:
    url, options = _settings.arguments()
    try:
        # By its full name, so that tests can replace it.
        return seconder.open(url, **options)
    except seconder.InvalidArgument as error:
        key = error.parameter.upper() or "URL"
        raise ImproperlyConfigured(f'SECONDER["{key}"]: {error}') from error


_own = PerProcess(_open)


def close() -> None:
    """Closes the service. The next call of :func:`service` opens it again."""
    _own.close()


@receiver(setting_changed)
def _changed(*, setting: str, **rest: Any) -> None:
    if setting == "SECONDER":
        close()


atexit.register(close)

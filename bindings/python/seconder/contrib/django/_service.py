"""The service of a Django site, which is opened once per process."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

import seconder
from seconder.contrib.django import _settings

_lock = threading.Lock()
_opened: seconder.Service | None = None
# What this process inherited by a fork. It belongs to the parent, and must not be closed here.
_inherited: list[seconder.Service] = []


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
    found = _opened
    return found if found is not None else _open()


def _open() -> seconder.Service:
    global _opened
    with _lock:
        if _opened is None:
            url, options = _settings.arguments()
            try:
                # By its full name, so that tests can replace it.
                _opened = seconder.open(url, **options)
            except seconder.InvalidArgument as error:
                key = error.parameter.upper() or "URL"
                raise ImproperlyConfigured(f'SECONDER["{key}"]: {error}') from error
        return _opened


def close() -> None:
    """Closes the service. The next call of :func:`service` opens it again."""
    global _opened
    with _lock:
        found, _opened = _opened, None
    if found is not None:
        found.close()


@receiver(setting_changed)
def _changed(*, setting: str, **rest: Any) -> None:
    if setting == "SECONDER":
        close()


def _after_fork() -> None:
    """Another thread of the parent may have had the lock, so it is replaced."""
    global _lock, _opened
    _lock = threading.Lock()
    if _opened is not None:
        _inherited.append(_opened)
        _opened = None


os.register_at_fork(after_in_child=_after_fork)
atexit.register(close)

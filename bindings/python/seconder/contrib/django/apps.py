"""The app."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.apps import AppConfig, apps
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.signals import post_delete

import seconder

_log = logging.getLogger("seconder.contrib")


class SeconderConfig(AppConfig):
    """``"seconder.contrib.django"`` in ``INSTALLED_APPS``."""

    name = "seconder.contrib.django"
    label = "seconder"
    verbose_name: str = "Second factor"
    default_auto_field: str = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers the system checks, and has the admin ask for the second factor."""
        from seconder.contrib.django import checks
        from seconder.contrib.django.models import Enrolment, PendingEnrolment

        checks.register()
        for model in (Enrolment, PendingEnrolment):
            post_delete.connect(_deleted, sender=model, dispatch_uid="seconder.accounts")
        if apps.is_installed("django.contrib.admin"):
            from seconder.contrib.django import _admin_login

            _admin_login.secure()


def _deleted(*, instance: Any, using: str, origin: Any = None, **rest: Any) -> None:
    """Deletes the user at the service with the account, once that is certain. The enrolment alone is
    deleted by :func:`seconder.contrib.django.accounts.remove`, which has done so."""
    kind = origin.model if isinstance(origin, QuerySet) else type(origin)
    if not issubclass(kind, type(instance)):
        transaction.on_commit(partial(_delete_user, instance.user_id), using=using)


def _delete_user(user_id: int) -> None:
    from seconder.contrib.django import accounts

    try:
        accounts.delete_user(user_id)
    except (seconder.SecondFactorError, ImproperlyConfigured) as error:
        text = "user %s is still at the service: run seconder_unlink --user-id=%s (%s: %s)"
        _log.error(text, user_id, user_id, type(error).__name__, error)

"""A Django site with accounts, for the programs that measure devices of django-otp."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from measure import measure

FOLDER = Path(tempfile.mkdtemp(prefix="seconder-bench-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def set_up(*apps: str, **others: Any) -> None:
    """Sets the site up, with a database in a file of its own."""
    settings.configure(
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.humanize",
            "django_otp",
            *apps,
        ],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "site.db"}
        },
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
        USE_TZ=True,
        **others,
    )
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def accounts(count: int) -> list[Any]:
    """Adds accounts. Each is used for one turn, because a code is right once."""
    from django.contrib.auth.models import User

    names = (f"user{number}" for number in range(count))
    return User.objects.bulk_create(User(username=name, email="a@example.com") for name in names)


def measured(turns: int, pairs: Iterator[tuple[Any, Callable[[], str]]], challenge: bool) -> None:
    """Measures how long a device takes to accept a code, and to send it first if ``challenge``."""

    def once() -> None:
        device, code = next(pairs)
        # As the views of django-otp do, which get the device from the database.
        device = type(device).objects.get(pk=device.pk)
        if challenge:
            device.generate_challenge()
        if not device.verify_token(code()):
            raise SystemExit("a right code was rejected")

    # The connection of Django's database belongs to a thread, and so does this.
    measure(once, turns)

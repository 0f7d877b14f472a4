"""``manage.py seconder_check``: reaches the service."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

import seconder
from seconder.contrib.django import service


class Command(BaseCommand):
    """Reaches the service, and says what is wrong if it cannot."""

    help = "Reaches the service that SECONDER describes, and says what is wrong if it cannot."

    def handle(self, *args: Any, **options: Any) -> None:
        """Makes two calls that change nothing."""
        try:
            own = service()
            app, stats = own.app_details(), own.app_stats()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except seconder.Unauthorized as error:
            raise CommandError(f'The service does not accept SECONDER["API_KEY"]: {error}') from error
        except seconder.Unavailable as error:
            text = f"The service cannot be reached ({error.stage}): {error}"
            raise CommandError(text) from error
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error
        users = "" if stats.total_users is None else f", {stats.total_users} users"
        self.stdout.write(f"The service of {app.name} can be reached{users}.")

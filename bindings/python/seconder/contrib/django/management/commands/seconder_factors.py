"""``manage.py seconder_factors``: lists the factors of an account, and removes lost ones."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

import seconder
from seconder.contrib.django import accounts
from seconder.contrib.django.management._account import AccountCommand


class Command(AccountCommand):
    """Lists the factors of an account."""

    help = "Lists the factors of an account at the service, and removes those that were lost."

    def add_arguments(self, parser: CommandParser) -> None:
        """The account, and what to remove."""
        super().add_arguments(parser)
        parser.add_argument(
            "--remove-authenticators", action="store_true", help="remove the authenticator apps"
        )
        parser.add_argument("--remove-devices", action="store_true", help="remove the devices")

    def handle(self, *args: Any, **options: Any) -> None:
        """Removes what was asked for, and lists what is left."""
        found = self.enrolment(options["account"])
        try:
            if options["remove_authenticators"]:
                self.stdout.write(f"Apps removed: {accounts.remove_authenticators(found)}")
            if options["remove_devices"]:
                self.stdout.write(f"Devices removed: {accounts.remove_devices(found)}")
            listed = accounts.factors(found)
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error
        self.stdout.write(f"{found.account} has the id {found.user_id}.")
        if listed is None:
            self.stdout.write("The service does not list factors.")
            return
        for line in accounts.lines(listed):
            self.stdout.write(f"- {line}")

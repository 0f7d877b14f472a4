"""``manage.py seconder_unlink``: takes the second factor from an account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

import seconder
from seconder.contrib.django import accounts
from seconder.contrib.django.management._account import AccountCommand


class Command(AccountCommand):
    """Takes the second factor from an account."""

    help = (
        "Deletes the user of an account at the service, with all factors, so that the account and "
        "the phone number can be enrolled again. Until then, a password may be enough to log in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The account, and what to keep."""
        super().add_arguments(parser)
        parser.add_argument(
            "--keep-user", action="store_true", help="keep the user and the factors at the service"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Removes the user, and then the enrolment."""
        found = self.enrolment(options["account"])
        if options["keep_user"]:
            found.delete()
        else:
            try:
                accounts.remove(found.account)
            except seconder.SecondFactorError as error:
                raise CommandError(f"{type(error).__name__}: {error}") from error
        self.stdout.write(f"{found.account} has no second factor.")

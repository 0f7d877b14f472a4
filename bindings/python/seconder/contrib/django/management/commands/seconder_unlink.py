"""``manage.py seconder_unlink``: takes the second factor from an account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

import seconder
from seconder.contrib.django import accounts
from seconder.contrib.django.management._account import AccountCommand
from seconder.contrib.django.models import Enrolment


class Command(AccountCommand):
    """Takes the second factor from an account."""

    help = (
        "Deletes the user of an account at the service, with all factors, so that the account and "
        "the phone number can be enrolled again. Until then, a password may be enough to log in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The account, and what to keep."""
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "account", nargs="?", help="the name with which the user logs in to this site"
        )
        which.add_argument(
            "--user-id",
            type=int,
            help="the id at the service of a user whose account was deleted here",
        )
        parser.add_argument(
            "--keep-user", action="store_true", help="keep the user and the factors at the service"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Removes the user, and then the enrolment."""
        if options["user_id"] is not None:
            self._delete(options["user_id"])
            return
        found = self.enrolment(options["account"])
        if options["keep_user"]:
            found.delete()
        else:
            try:
                accounts.remove(found.account)
            except seconder.SecondFactorError as error:
                raise CommandError(f"{type(error).__name__}: {error}") from error
        self.stdout.write(f"{found.account} has no second factor.")

    def _delete(self, user_id: int) -> None:
        found = Enrolment.objects.filter(user_id=user_id).first()
        if found is not None:
            raise CommandError(f"The user {user_id} belongs to the account {found.account}.")
        try:
            accounts.delete_user(user_id)
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error
        self.stdout.write(f"The service has no user {user_id}.")

"""Functions that the commands share."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from seconder.contrib.django import accounts
from seconder.contrib.django.models import Enrolment


class AccountCommand(BaseCommand):
    """A command for one account of the site."""

    def add_arguments(self, parser: CommandParser) -> None:
        """The name of the account."""
        parser.add_argument("account", help="the name with which the user logs in to this site")

    def account(self, name: str) -> Any:
        """Returns the account.

        Raises:
            CommandError: It does not exist.
        """
        model: Any = get_user_model()
        try:
            return model._default_manager.get_by_natural_key(name)
        except model.DoesNotExist:
            raise CommandError(f"There is no account {name!r}.") from None

    def enrolment(self, name: str) -> Enrolment:
        """Returns the account's enrolment.

        Raises:
            CommandError: It does not exist.
        """
        found = accounts.enrolment(self.account(name))
        if found is None:
            raise CommandError(f"The account {name!r} has no second factor.")
        return found

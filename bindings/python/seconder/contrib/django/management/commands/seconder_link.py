"""``manage.py seconder_link``: enrols an account by the id of a user at the service."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction

import seconder
from seconder.contrib.django import accounts, service
from seconder.contrib.django.management._account import AccountCommand
from seconder.contrib.django.models import Enrolment


class Command(AccountCommand):
    """Enrols an account by the id of a user at the service."""

    help = (
        "Enrols an account by the id of a user at the service, such as one of an earlier "
        "application. Nothing is proven: whoever holds that user's phone becomes the second factor "
        "of the account, so make sure that they are the same person."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The account and the id."""
        super().add_arguments(parser)
        parser.add_argument("user_id", type=int, help="the id of the user at the service")

    def handle(self, *args: Any, **options: Any) -> None:
        """Links them, if neither is linked."""
        account, user_id = self.account(options["account"]), options["user_id"]
        if accounts.enrolment(account) is not None:
            raise CommandError(f"The account {options['account']!r} has a second factor already.")
        try:
            phone = service().user_status(user_id).phone_number
            with transaction.atomic():
                Enrolment.objects.create(account=account, user_id=user_id)
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error
        except IntegrityError:
            raise CommandError(f"The user {user_id} belongs to another account.") from None
        number = "no number" if phone is None else f"the number {phone}"
        self.stdout.write(f"{account} has the id {user_id} and {number}.")

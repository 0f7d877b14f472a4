"""``manage.py seconder_check``: reaches the service, and compares its users with the enrolments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

import seconder
from seconder.contrib.django import accounts, service
from seconder.contrib.django.models import Enrolment

SETTLED = 3600
"""After how many seconds an enrolment is certainly not under way any more."""


class Command(BaseCommand):
    """Reaches the service, and lists users without an account and enrolments without a user."""

    help = (
        "Reaches the service that SECONDER describes, and says what is wrong if it cannot. Lists users "
        "of the service that belong to no account here, and enrolments whose user the service does not "
        "have."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to repair."""
        parser.add_argument(
            "--repair",
            action="store_true",
            help="delete users of the service that belong to no account here, never used a code and "
            "are older than an hour, as an enrolment leaves them that did not end; their numbers can "
            "be enrolled again",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Makes calls that change nothing, unless it repairs."""
        try:
            own = service()
            app, stats = own.app_details(), own.app_stats()
            users = "" if stats.total_users is None else f", {stats.total_users} users"
            self.stdout.write(f"The service of {app.name} can be reached{users}.")
            self._compare(own, stats.total_users, options["repair"])
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except seconder.Unauthorized as error:
            raise CommandError(f'The service does not accept SECONDER["API_KEY"]: {error}') from error
        except seconder.Unavailable as error:
            text = f"The service cannot be reached ({error.stage}): {error}"
            raise CommandError(text) from error
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error

    def _compare(self, own: seconder.Service, total: int | None, repair: bool) -> None:
        try:
            users = {each["user_id"]: each for each in _users(own)}
        except seconder.InvalidArgument:
            # Only an engine in this process lists its users.
            self._compare_counts(total, repair)
            return
        # Read afterwards, so that an enrolment that ends meanwhile has its user.
        enrolments = {each.user_id: each for each in Enrolment.objects.select_related("account")}
        for user_id, user in users.items():
            if user_id not in enrolments:
                self._orphan(user, repair)
        for user_id, found in enrolments.items():
            if user_id not in users and _is_missing(own, user_id):
                name = found.account.get_username()
                self.stdout.write(
                    f"The account {name!r} has the id {user_id}, which the service does not have: it "
                    f"cannot log in. Run seconder_unlink {name} to enrol it again."
                )

    def _orphan(self, user: dict[str, Any], repair: bool) -> None:
        since = datetime.fromtimestamp(user["created"], timezone.utc).isoformat(" ", "minutes")
        text = f"The user {user['user_id']} ({user['number']}, since {since}) belongs to no account here"
        if user["confirmed"] or time.time() - user["created"] < SETTLED:
            used = "has used a code" if user["confirmed"] else "is new"
            self.stdout.write(f"{text}, but {used}: see seconder_link and seconder_unlink --user-id.")
        elif repair:
            accounts.delete_user(user["user_id"])
            self.stdout.write(f"{text}, and was deleted.")
        else:
            self.stdout.write(f"{text}: its number cannot be enrolled. --repair deletes it.")

    def _compare_counts(self, total: int | None, repair: bool) -> None:
        more = 0 if total is None else total - Enrolment.objects.count()
        if more > 0:
            self.stdout.write(
                f"{more} users of the service belong to no account here. Where the service runs, "
                "`seconder user list` lists its users, and `seconder user delete` deletes one."
            )
        if repair:
            raise CommandError("--repair works only with a service in this process.")


def _users(own: seconder.Service) -> Iterator[dict[str, Any]]:
    after = None
    while True:
        page = own.operate("user.list", after=after, most=1000)
        yield from page["users"]
        after = page["next"]
        if after is None:
            return


def _is_missing(own: seconder.Service, user_id: int) -> bool:
    """Whether the service does not have a user, who may have been added since they were listed."""
    try:
        own.user_status(user_id)
    except seconder.UserNotFound:
        return True
    return False

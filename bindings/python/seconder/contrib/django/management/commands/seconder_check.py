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
from seconder.contrib.django.models import Enrolment, PendingEnrolment

SETTLED = 3600
"""The number of seconds after which an enrolment is certainly over."""


class Command(BaseCommand):
    """Reaches the service, and lists users without an account and enrolments without a user."""

    help = (
        "Reaches the service that SECONDER describes, and says what is wrong if it cannot. Lists users "
        "of the service that belong to no account here, and enrolments whose user the service does not "
        "have. The site must not share its application at the service with others, such as PAM."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds the options to repair."""
        parser.add_argument(
            "--repair",
            action="store_true",
            help="delete users of the service, after a question, that belong to no account here, have "
            "neither a login name nor an app, a phone or recovery codes, never used a code and are "
            "older than an hour, as an enrolment leaves them that did not end; their numbers can be "
            "enrolled again. Not with an application that others use too: their users look the same",
        )
        parser.add_argument(
            "--no-input",
            "--noinput",
            action="store_false",
            dest="interactive",
            help="delete without a question",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Makes calls that change nothing, unless it repairs."""
        try:
            own = service()
            app, stats = own.app_details(), own.admin.app_stats()
            users = "" if stats.total_users is None else f", {stats.total_users} users"
            self.stdout.write(f"The service of {app.name} can be reached{users}.")
            left = self._compare(own, stats.total_users, options["repair"])
            if options["repair"] and left:
                self._repair(own, left, options["interactive"])
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except seconder.Unauthorized as error:
            raise CommandError(f'The service does not accept SECONDER["API_KEY"]: {error}') from error
        except seconder.Unavailable as error:
            text = f"The service cannot be reached ({error.stage}): {error}"
            raise CommandError(text) from error
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error

    def _compare(self, own: seconder.Service, total: int | None, repair: bool) -> list[int]:
        """Returns the users whom an enrolment left that did not end."""
        try:
            users = {each["user_id"]: each for each in _users(own)}
        except seconder.InvalidArgument:
            # Only an engine in this process lists its users.
            self._compare_counts(total, repair)
            return []
        # Read afterwards, so that an enrolment that ends meanwhile has its user.
        enrolments = {each.user_id: each for each in Enrolment.objects.select_related("account")}
        known = {*enrolments, *PendingEnrolment.objects.values_list("user_id", flat=True)}
        strangers = [user for user_id, user in users.items() if user_id not in known]
        left = [user["user_id"] for user in strangers if self._is_left(own, user)]
        for user_id, found in enrolments.items():
            if user_id not in users and _is_missing(own, user_id):
                name = found.account.get_username()
                self.stdout.write(
                    f"The account {name!r} has the id {user_id}, which the service does not have: it "
                    f"cannot log in. Run seconder_unlink {name} to enrol it again."
                )
        return left

    def _is_left(self, own: seconder.Service, user: dict[str, Any]) -> bool:
        """Lists a user without an account, and returns whether an enrolment may have left it."""
        since = datetime.fromtimestamp(user["created"], timezone.utc).isoformat(" ", "minutes")
        text = f"The user {user['user_id']} ({user['number'] or 'no number'}, since {since}) belongs to no account here"
        reason = _why_in_use(own, user)
        if reason is None:
            self.stdout.write(f"{text}: its number cannot be enrolled. --repair deletes it.")
        else:
            self.stdout.write(f"{text}, but {reason}: see seconder_link and seconder_unlink --user-id.")
        return reason is None

    def _repair(self, own: seconder.Service, left: list[int], interactive: bool) -> None:
        names = ", ".join(map(str, left))
        if interactive and input(f"Delete the users {names} at the service? [y/N] ") not in ("y", "yes"):
            raise CommandError("Nothing was deleted.")
        # Somebody may have used or linked one while the question waited.
        users = {each["user_id"]: each for each in _users(own)}
        for user_id in left:
            linked = Enrolment.objects.filter(user_id=user_id).exists()
            if linked or user_id not in users or _why_in_use(own, users[user_id]) is not None:
                self.stdout.write(f"The user {user_id} has changed meanwhile, and was not deleted.")
                continue
            accounts.delete_user(user_id)
            self.stdout.write(f"The user {user_id} was deleted.")

    def _compare_counts(self, total: int | None, repair: bool) -> None:
        more = 0 if total is None else total - Enrolment.objects.count() - PendingEnrolment.objects.count()
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
        page = own.admin.operate("user.list", after=after, most=1000)
        yield from page["users"]
        after = page["next"]
        if after is None:
            return


def _why_in_use(own: seconder.Service, user: dict[str, Any]) -> str | None:
    """Returns why a user may belong to another program with the same application, or None."""
    if user["confirmed"]:
        return "has used a code"
    if user["login"]:
        return f"has the login name {user['login']!r}"
    factors = own.user_status(user["user_id"]).factors
    if factors is None or factors.authenticators or factors.devices or factors.recovery_codes:
        return "has an app, a phone or recovery codes"
    return "is new" if time.time() - user["created"] < SETTLED else None


def _is_missing(own: seconder.Service, user_id: int) -> bool:
    """Returns whether the service lacks a user, who may have been added since they were listed."""
    try:
        own.user_status(user_id)
    except seconder.UserNotFound:
        return True
    return False

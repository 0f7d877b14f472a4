"""``manage.py seconder_run_jobs``: sends what has to be sent again."""

from __future__ import annotations

import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

import seconder
from seconder.contrib.django import service


class Command(BaseCommand):
    """Sends messages and posts callbacks that have to be sent again."""

    help = (
        "Sends messages and posts callbacks that failed before and have to be sent again. "
        "Only an engine in this process supports it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds the time budget and the interval."""
        parser.add_argument(
            "--budget", type=float, default=5.0, help="begin no attempt after so many seconds (5)"
        )
        parser.add_argument(
            "--every", type=float, help="do so again after so many seconds, until it is stopped"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs them once, or until the command is stopped."""
        every = options["every"]
        if every is not None and not 0 < every < 3600:
            raise CommandError("--every must be more than 0 and less than 3600.")
        while True:
            self._run(options["budget"], again=every is not None)
            if every is None:
                return
            time.sleep(every)

    def _run(self, budget: float, *, again: bool) -> None:
        try:
            run = service().run_jobs(budget)
        except seconder.StorageError as error:
            if not again:
                raise CommandError(f"StorageError: {error}") from error
            # The database may be back next time.
            self.stderr.write(f"StorageError: {error}")
            return
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except seconder.SecondFactorError as error:
            raise CommandError(f"{type(error).__name__}: {error}") from error
        if run.sent or run.waiting or run.failed or not again:
            self.stdout.write(
                f"Sent: {run.sent}, to be sent again: {run.waiting}, failed: {run.failed}"
            )

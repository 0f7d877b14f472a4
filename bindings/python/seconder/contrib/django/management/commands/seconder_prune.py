"""``manage.py seconder_prune``: removes old decisions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from seconder.contrib.django.models import Decision


class Command(BaseCommand):
    """Removes old decisions."""

    help = "Removes the decisions that are older than some days. Run it daily."

    def add_arguments(self, parser: CommandParser) -> None:
        """The age."""
        parser.add_argument("--days", type=int, default=90, help="how many days to keep (90)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Removes them."""
        if options["days"] < 0:
            raise CommandError("--days must not be negative.")
        try:
            until = timezone.now() - timedelta(days=options["days"])
        except OverflowError:
            raise CommandError("--days is too large.") from None
        count, _ = Decision.objects.filter(at__lt=until).delete()
        self.stdout.write(f"Decisions removed: {count}")

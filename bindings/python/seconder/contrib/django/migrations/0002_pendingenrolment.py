"""Creates the table of enrolments whose app has yet to show its first code."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """Creates the table."""

    dependencies: ClassVar[list[Any]] = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("seconder", "0001_initial"),
    ]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="PendingEnrolment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("user_id", models.BigIntegerField(unique=True, verbose_name="id at the service")),
                (
                    "account",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]

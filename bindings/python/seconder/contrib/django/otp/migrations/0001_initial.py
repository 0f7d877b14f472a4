"""Creates the table of devices."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.migrations.operations.base import Operation

# The texts are django-otp's. With others, `makemigrations` would find a difference.
CREATED = "The date and time when this device was initially created in the system."
USED = "The most recent date and time this device was used."
GENERATED = "The last time a token was generated for this device."
FAILED = "A timestamp of the last failed verification attempt. Null if last attempt succeeded."
COUNT = "Number of successive failed attempts."
LOCKED = "Until when the service checks no code of this user, after wrong ones."


def _moment(text: str, **options: Any) -> models.DateTimeField[Any, Any]:
    return models.DateTimeField(blank=True, help_text=text, null=True, **options)


class Migration(migrations.Migration):
    """Creates the table."""

    initial: ClassVar[bool] = True
    dependencies: ClassVar[list[Any]] = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="SeconderDevice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="The human-readable name of this device.", max_length=64
                    ),
                ),
                (
                    "confirmed",
                    models.BooleanField(default=True, help_text="Is this device ready for use?"),
                ),
                ("last_generated_timestamp", _moment(GENERATED)),
                ("throttling_failure_timestamp", _moment(FAILED, default=None)),
                (
                    "throttling_failure_count",
                    models.PositiveIntegerField(default=0, help_text=COUNT),
                ),
                ("created_at", _moment(CREATED, auto_now_add=True)),
                ("last_used_at", _moment(USED)),
                ("locked_until", _moment(LOCKED)),
                (
                    "user",
                    models.ForeignKey(
                        help_text="The user that this device belongs to.",
                        on_delete=models.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "Seconder device",
                "constraints": [
                    models.UniqueConstraint(fields=("user",), name="seconder_otp_one_device")
                ],
            },
        ),
    ]

"""Creates the tables of received callbacks, enrolments and decisions."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.migrations.operations.base import Operation


def _id() -> tuple[str, models.Field[Any, Any]]:
    return "id", models.BigAutoField(
        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
    )


class Migration(migrations.Migration):
    """Creates the tables."""

    initial: ClassVar[bool] = True
    dependencies: ClassVar[list[Any]] = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="ReceivedCallback",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("until", models.BigIntegerField(db_index=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Enrolment",
            fields=[
                _id(),
                ("user_id", models.BigIntegerField(unique=True, verbose_name="id at the service")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "account",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        related_name="seconder",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                _id(),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("user_id", models.BigIntegerField(verbose_name="id at the service")),
                (
                    "asked",
                    models.CharField(
                        choices=[
                            ("code", "whether a code is right"),
                            ("send", "to send a code"),
                            ("confirm", "whether an app shows the right code"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("accepted", "accepted"),
                            ("rejected", "rejected"),
                            ("failed", "failed"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=100)),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["-at", "-pk"]},
        ),
    ]

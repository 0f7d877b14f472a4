"""Creates the table of received callbacks."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """Creates the table."""

    initial: ClassVar[bool] = True
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="ReceivedCallback",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("until", models.BigIntegerField(db_index=True, null=True)),
            ],
        ),
    ]

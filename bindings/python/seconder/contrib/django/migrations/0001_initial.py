"""The first table of received callbacks."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the table."""

    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="ReceivedCallback",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("until", models.BigIntegerField(db_index=True, null=True)),
            ],
        ),
    ]

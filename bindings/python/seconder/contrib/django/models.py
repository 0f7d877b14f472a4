"""The table of received callbacks."""

from __future__ import annotations

from django.db import models


class ReceivedCallback(models.Model):
    """A callback that was believed, and must not be again."""

    key: models.CharField[str, str] = models.CharField(max_length=64, primary_key=True)
    """What names it: its signature, which covers all of it."""
    until: models.BigIntegerField[int | None, int | None] = models.BigIntegerField(
        null=True, db_index=True
    )
    """When it can be forgotten, in Unix seconds; none is never."""

    def __str__(self) -> str:
        return str(self.key)

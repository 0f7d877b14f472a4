"""The table of received callbacks."""

from __future__ import annotations

from django.db import models


class ReceivedCallback(models.Model):
    """A callback that was accepted, and must not be accepted again."""

    key: models.CharField[str, str] = models.CharField(max_length=64, primary_key=True)
    """The callback's signature, which covers all of it."""
    until: models.BigIntegerField[int | None, int | None] = models.BigIntegerField(
        null=True, db_index=True
    )
    """When it can be forgotten, in Unix seconds; null means never."""

    def __str__(self) -> str:
        return str(self.key)

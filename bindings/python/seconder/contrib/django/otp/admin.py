"""The devices in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin

from seconder.contrib.django.otp.models import SeconderDevice


if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[SeconderDevice]
else:
    _ModelAdmin = admin.ModelAdmin


@admin.register(SeconderDevice)
class SeconderDeviceAdmin(_ModelAdmin):
    """The devices. There is no secret to show."""

    list_display: tuple[str, ...] = ("user", "name", "confirmed", "last_used_at", "locked_until")
    raw_id_fields: ClassVar[tuple[str, ...]] = ("user",)
    fields: ClassVar[tuple[str, ...]] = (
        "user",
        "name",
        "confirmed",
        "created_at",
        "last_used_at",
        "throttling_failure_count",
        "locked_until",
    )
    readonly_fields: ClassVar[tuple[str, ...]] = ("created_at", "last_used_at")

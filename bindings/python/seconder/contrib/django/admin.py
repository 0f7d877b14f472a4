"""The enrolments and the decisions in the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, gettext_lazy, ngettext

import seconder
from seconder.contrib.django import accounts
from seconder.contrib.django.models import Decision, Enrolment

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class _ReadOnly(_ModelAdmin):
    """Rows that the admin shows, and does not write."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Returns False: the admin site adds none."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> list[str]:
        """All fields."""
        return [field.name for field in self.model._meta.fields]


@admin.register(Enrolment)
class EnrolmentAdmin(_ReadOnly):
    """The enrolments, with the factors that the service lists.

    One is added only by :func:`seconder.contrib.django.accounts.enrol`, or by the command
    ``seconder_link``, and its id cannot be changed. It is removed only by an action, which deletes the
    user at the service too. The actions require the permission to change or delete enrolments, and
    are recorded in the admin's log.
    """

    list_display: tuple[str, ...] = ("account", "user_id", "created_at")
    actions: tuple[str, ...] = ("remove_authenticators", "remove_devices", "remove_enrolments")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """All but Django's own, which would leave the user at the service."""
        found: dict[str, Any] = dict(super().get_actions(request))
        found.pop("delete_selected", None)
        return found

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Shows an enrolment, without a link to delete it."""
        context = {**(extra_context or {}), "show_delete": False}
        return super().change_view(request, object_id, form_url, context)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Deletes nothing: the permission is for the action, and for deleting accounts.

        Raises:
            PermissionDenied: Always.
        """
        raise PermissionDenied

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> list[str]:
        """All fields, and what the service says."""
        return [*super().get_readonly_fields(request, obj), "factors"]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """The account's name."""
        account: Any = self.model._meta.get_field("account").related_model
        return [f"account__{account.USERNAME_FIELD}"]

    @admin.display(description=gettext_lazy("Factors at the service"))
    def factors(self, found: Enrolment) -> str:
        """The account's factors, or why they are not known."""
        try:
            listed = accounts.factors(found)
        except seconder.SecondFactorError as error:
            return gettext("not known: %(error)s") % {"error": error}
        if listed is None:
            return gettext("The service does not list them.")
        items = ((line,) for line in accounts.lines(listed))
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", items))

    @admin.action(
        permissions=["change"],
        description=gettext_lazy("Remove the authenticator apps of the selected accounts"),
    )
    def remove_authenticators(self, request: HttpRequest, chosen: QuerySet[Enrolment]) -> None:
        """Removes the apps, for users who lost them."""
        self._each(request, chosen, accounts.remove_authenticators, "authenticator apps")

    @admin.action(
        permissions=["change"],
        description=gettext_lazy("Remove the devices of the selected accounts"),
    )
    def remove_devices(self, request: HttpRequest, chosen: QuerySet[Enrolment]) -> None:
        """Removes the devices that respond to approval requests, for users who lost them."""
        self._each(request, chosen, accounts.remove_devices, "devices")

    @admin.action(
        permissions=["delete"],
        description=gettext_lazy("Remove the second factor of the selected accounts"),
    )
    def remove_enrolments(self, request: HttpRequest, chosen: QuerySet[Enrolment]) -> None:
        """Deletes the users at the service, so that accounts and numbers can be enrolled again."""
        self._each(request, chosen, _remove, "second factor", DELETION)

    def _each(
        self,
        request: HttpRequest,
        chosen: QuerySet[Enrolment],
        remove: Callable[[Enrolment], int],
        what: str,
        flag: int = CHANGE,
    ) -> None:
        removed = 0
        for found in chosen:
            key, name = found.pk, str(found)
            try:
                count = remove(found)
            except seconder.SecondFactorError as error:
                text = gettext("%(account)s: %(error)s")
                places = {"account": found.account, "error": error}
                self.message_user(request, text % places, messages.ERROR)
                continue
            removed += count
            LogEntry.objects.create(
                user_id=request.user.pk,
                content_type_id=ContentType.objects.get_for_model(Enrolment).pk,
                object_id=str(key),
                object_repr=name[:200],
                action_flag=flag,
                change_message=f"Removed {count} {what} at the service.",
            )
        text = ngettext("%(count)d was removed.", "%(count)d were removed.", removed)
        self.message_user(request, text % {"count": removed})


def _remove(found: Enrolment) -> int:
    accounts.remove(found.account)
    return 1


@admin.register(Decision)
class DecisionAdmin(_ReadOnly):
    """The recent decisions. The admin site changes and removes none; the command ``seconder_prune``
    removes old ones."""

    list_display: tuple[str, ...] = ("at", "account", "user_id", "asked", "verdict", "reason")
    list_filter: ClassVar[tuple[str, ...]] = ("verdict", "asked", "at")
    list_select_related: ClassVar[tuple[str, ...]] = ("account",)
    date_hierarchy: ClassVar[str | None] = "at"

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Returns False: the admin site only shows them."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Returns False: the admin site only shows them."""
        return False

"""Keeps accounts with a second factor out of Django's admin until it was passed: the admin's own login
page asks for the password alone. With django-allauth, its login page takes that page's place."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.sites import all_sites
from django.contrib.auth import REDIRECT_FIELD_NAME, get_user_model
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import NoReverseMatch, reverse

from seconder.contrib.django import accounts
from seconder.contrib.django.verified import is_verified

ALLAUTH = "seconder.contrib.django.allauth"


class _Probe(HttpRequest):
    """A request of a superuser who has passed everything, by which :func:`open_sites` finds out whether an
    admin site asks :func:`_permitted`."""

    reached = False

    def __init__(self) -> None:
        super().__init__()
        self.user: Any = get_user_model()()
        for name in ("is_active", "is_staff", "is_superuser"):
            # A model of the site's own may compute it.
            with contextlib.suppress(AttributeError):
                setattr(self.user, name, True)


def secure() -> None:
    """Has every admin site ask for the second factor, once."""
    if getattr(AdminSite.has_permission, "seconder", False):
        return
    permission, login = AdminSite.has_permission, AdminSite.login

    @functools.wraps(permission)
    def has_permission(self: AdminSite, request: Any) -> bool:
        if isinstance(request, _Probe):
            request.reached = True
            return True
        if not permission(self, request):
            return False
        return _is_logout(request) or not _owes_code(request)

    @functools.wraps(login)
    def log_in(
        self: AdminSite, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # A login form of the site's own may ask for the code itself, as django-otp's does.
        if self.login_form is not None:
            return login(self, request, extra_context)
        index = reverse("admin:index", current_app=self.name)
        asked = request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME)
        # The pages check where they go on to.
        if permission(self, request) and _owes_code(request):
            page = code_page()
            if page is None:
                raise PermissionDenied("no page asks for the second factor")
            return redirect_to_login(asked or index, page)
        if not apps.is_installed(ALLAUTH):
            return login(self, request, extra_context)
        # allauth makes a session only after the code. Here, the password alone would make one, which
        # opens every view of the site that only requires a login.
        if self.has_permission(request):
            return redirect(index)
        if request.user.is_authenticated:
            raise PermissionDenied("the account may not enter this admin site")
        return redirect_to_login(asked or index, _login_page())

    has_permission.seconder = True  # type: ignore[attr-defined]
    AdminSite.has_permission = has_permission  # type: ignore[method-assign]
    AdminSite.login = log_in  # type: ignore[method-assign]


def code_page() -> str | None:
    """Returns the page that asks a logged-in user for a code, or None if it does not exist."""
    try:
        return reverse("mfa_reauthenticate" if apps.is_installed(ALLAUTH) else "seconder:verify")
    except NoReverseMatch:
        return None


def _login_page() -> str:
    try:
        return reverse("account_login")
    except NoReverseMatch:  # a site with login pages of its own
        return resolve_url(settings.LOGIN_URL)


def _is_logout(request: HttpRequest) -> bool:
    """Returns whether it is a request to log out, which needs no code."""
    match = request.resolver_match
    return match is not None and match.url_name == "logout" and match.app_name == "admin"


def open_sites() -> list[str]:
    """Returns the names of the admin sites that decide by themselves whom they let in."""
    return sorted(site.name for site in all_sites if not _is_secured(site))


def _is_secured(site: AdminSite) -> bool:
    probe = _Probe()
    try:
        site.has_permission(probe)
    except Exception:  # a method of the site's own may raise anything for a user who is not stored
        pass
    return probe.reached


def _owes_code(request: HttpRequest) -> bool:
    return _has_factor(request.user) and not is_verified(request)


def _has_factor(user: accounts.User) -> bool:
    if accounts.enrolment(user) is not None:
        return True
    if not apps.is_installed(ALLAUTH):
        return False
    from allauth.mfa.utils import is_mfa_enabled

    # An app or a key that is allauth's alone.
    return bool(is_mfa_enabled(user))

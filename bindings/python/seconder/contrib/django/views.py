"""The page that asks a user who is logged in for a code."""

from __future__ import annotations

import math
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters

import seconder
from seconder.contrib import _limits
from seconder.contrib.django import accounts
from seconder.contrib.django.verified import mark_verified

__all__ = ["CodeForm", "VerifyView"]


class CodeForm(forms.Form):
    """The field for a code. Phones offer the code of an SMS for it."""

    code: forms.CharField = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=32,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "autofocus": True,
            }
        ),
    )


@method_decorator(
    [sensitive_post_parameters("code"), never_cache, csrf_protect, login_required], name="dispatch"
)
class VerifyView(View):
    """Asks for a code, sends one on request, and records in the session that it was right.

    The response is 400 for a wrong code, 429 with ``Retry-After`` for a limit, and 503 if the
    service cannot be reached. Override :attr:`template_name` to change the page.
    """

    template_name: str = "seconder/verify.html"
    """The template, with ``form``, ``sent`` (the masked number), ``error`` and ``next``."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Shows the page."""
        return self._page(request, form=CodeForm())

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Sends a code if the button ``send`` was pressed, and otherwise checks the one typed."""
        sending = "send" in request.POST
        form = CodeForm() if sending else CodeForm(request.POST)
        if not sending and not form.is_valid():
            return self._page(request, 400, form=form)
        try:
            if sending:
                sent = accounts.send_code(request.user)
                return self._page(request, form=form, sent=sent.cellphone)
            accounts.verify(request.user, form.cleaned_data["code"])
        except seconder.SecondFactorError as error:
            return self._rejected(request, form, error)
        mark_verified(request)
        return HttpResponseRedirect(self._next(request) or resolve_url(settings.LOGIN_REDIRECT_URL))

    def _rejected(
        self, request: HttpRequest, form: CodeForm, error: seconder.SecondFactorError
    ) -> HttpResponse:
        text, headers = accounts.explain(error), {}
        if isinstance(error, accounts.NotEnrolled):
            status, text = 403, gettext("Your account has no second factor.")
        elif isinstance(error, seconder.RateLimited):
            status = 503 if _limits.is_undecided(error) else 429
            headers["Retry-After"] = str(math.ceil(error.retry_after or 60))
        elif text is not None:
            status = 400
        else:
            status, text = 503, gettext("That cannot be checked now. Try again later.")
        response = self._page(request, status, form=CodeForm(), error=text)
        for name, value in headers.items():
            response[name] = value
        return response

    def _page(self, request: HttpRequest, status: int = 200, **context: Any) -> HttpResponse:
        context["next"] = self._next(request)
        return render(request, self.template_name, context, status=status)

    def _next(self, request: HttpRequest) -> str:
        """Returns the URL to go on to if it is a page of this site, or an empty text."""
        url = request.POST.get("next") or request.GET.get("next") or ""
        safe = url_has_allowed_host_and_scheme(
            url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        return url if safe else ""

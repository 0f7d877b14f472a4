"""Names that the adapter uses from django-allauth, which has no types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seconder.contrib._receiver import Needs

if TYPE_CHECKING:
    from collections.abc import Collection

    from django import forms
    from django.db import models
    from django.http import HttpRequest, HttpResponseBase

    class Authenticator(models.Model):
        Type: Any
        user: Any
        type: Any
        data: Any
        objects: Any
        record_usage: Any

        def wrap(self) -> Any: ...

    class BaseAuthenticateForm(forms.Form):
        user: Any
        authenticator: Authenticator

        def clean_code(self) -> str: ...
        def _emit_authentication_failed(self, authenticator: Authenticator) -> None: ...

    class BaseLoginForm(BaseAuthenticateForm): ...

    class BaseReauthenticateForm(BaseAuthenticateForm): ...

    class BaseActivateForm(forms.Form):
        user: Any
        secret: str

        def clean_code(self) -> str: ...

    class DefaultAccountAdapter:
        def pre_login(
            self, request: HttpRequest, user: Any, **rest: Any
        ) -> HttpResponseBase | None: ...
        def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]: ...

    class DefaultMFAAdapter:
        def is_mfa_enabled(self, user: Any, types: Collection[str] | None = None) -> bool: ...
        def build_totp_url(self, user: Any, secret: str) -> str: ...

    class ImmediateHttpResponse(Exception):
        def __init__(self, response: HttpResponseBase) -> None: ...

    authenticator_used: Any
    check_rate_limit: Any
    context: Any
    decrypt: Any
    delete_dangling_recovery_codes: Any
    get_account_adapter: Any
    get_adapter: Any
    validate_can_add_authenticator: Any
else:
    with Needs("seconder.contrib.django.allauth", "django-allauth"):
        from allauth.account.adapter import DefaultAccountAdapter
        from allauth.account.adapter import get_adapter as get_account_adapter
    from allauth.core import context
    from allauth.core.exceptions import ImmediateHttpResponse
    from allauth.mfa.adapter import DefaultMFAAdapter, get_adapter
    from allauth.mfa.base.forms import AuthenticateForm as BaseLoginForm
    from allauth.mfa.base.forms import BaseAuthenticateForm, check_rate_limit
    from allauth.mfa.base.forms import ReauthenticateForm as BaseReauthenticateForm
    from allauth.mfa.base.internal.flows import delete_dangling_recovery_codes
    from allauth.mfa.models import Authenticator
    from allauth.mfa.signals import authenticator_used
    from allauth.mfa.totp.forms import ActivateTOTPForm as BaseActivateForm
    from allauth.mfa.totp.forms import validate_can_add_authenticator
    from allauth.mfa.utils import decrypt

__all__ = [
    "Authenticator",
    "BaseActivateForm",
    "BaseAuthenticateForm",
    "BaseLoginForm",
    "BaseReauthenticateForm",
    "DefaultAccountAdapter",
    "DefaultMFAAdapter",
    "ImmediateHttpResponse",
    "authenticator_used",
    "check_rate_limit",
    "context",
    "decrypt",
    "delete_dangling_recovery_codes",
    "get_account_adapter",
    "get_adapter",
    "validate_can_add_authenticator",
]

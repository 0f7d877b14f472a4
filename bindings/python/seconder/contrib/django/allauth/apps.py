"""The app of the allauth adapter."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Warning


class SeconderAllauthConfig(AppConfig):
    """``"seconder.contrib.django.allauth"`` in ``INSTALLED_APPS``."""

    name = "seconder.contrib.django.allauth"
    label = "seconder_allauth"
    verbose_name: str = "Second factor (allauth)"

    def ready(self) -> None:
        """Registers the system checks, and what happens when an app is deactivated."""
        from seconder.contrib.django.allauth import adapter

        adapter.connect()
        checks.register(check_settings, "seconder")


def check_settings(**rest: Any) -> list[CheckMessage]:
    """E012 to E015 and W018: allauth's settings lead to the adapters."""
    from django.utils.module_loading import import_string

    from seconder.contrib.django.allauth import ACCOUNT, ADAPTER, FORMS

    found: list[CheckMessage] = []
    adapter, forms = getattr(settings, "MFA_ADAPTER", ""), getattr(settings, "MFA_FORMS", {})
    pairs = [("MFA_ADAPTER", adapter, ADAPTER)]
    pairs += [(f"MFA_FORMS[{name!r}]", forms.get(name, ""), ours) for name, ours in FORMS.items()]
    for setting, path, ours in pairs:
        if not path or not issubclass(import_string(path), import_string(ours)):
            text = f"{setting} is not {ours}: its users' codes could not be checked."
            hint = "MFA_ADAPTER and MFA_FORMS are ADAPTER and FORMS of that package."
            found.append(Error(text, hint=hint, id="seconder.E012"))
    account = getattr(settings, "ACCOUNT_ADAPTER", "")
    if not account or not issubclass(import_string(account), import_string(ACCOUNT)):
        text = "A user of an enrolled account can change its factors with the password alone."
        hint = f"Let ACCOUNT_ADAPTER be {ACCOUNT}, or a class that inherits from it."
        found.append(Warning(text, hint=hint, id="seconder.W018"))
    installed = list(getattr(settings, "INSTALLED_APPS", []))
    own, mfa = (_place(installed, name) for name in (SeconderAllauthConfig.name, "allauth.mfa"))
    if own > mfa:
        text = "allauth's pages do not offer to send a code."
        hint = f'Put "{SeconderAllauthConfig.name}" before "allauth.mfa" in INSTALLED_APPS.'
        found.append(Warning(text, hint=hint, id="seconder.W013"))
    if apps.is_installed("allauth.headless"):
        text = "allauth.headless has forms of its own: it rejects the codes of enrolled accounts."
        found.append(Warning(text, id="seconder.W014"))
    for setting in ("MFA_TRUST_ENABLED", "ACCOUNT_LOGIN_BY_CODE_TRUST_ENABLED"):
        if getattr(settings, setting, False):
            text = f"{setting}: a browser would stay trusted after the phone was changed."
            hint = f"Remove {setting}, and use service().remember() and recognise() instead."
            found.append(Error(text, hint=hint, id="seconder.E015"))
    return found


def _place(installed: list[str], name: str) -> int:
    # An app can also be named by its configuration.
    places = [at for at, each in enumerate(installed) if each == name or each.startswith(f"{name}.apps.")]
    return places[0] if places else -1

"""The system checks: what ``manage.py check`` reports of the setting ``SECONDER``."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

import seconder
from seconder import callback
from seconder.contrib.django import _settings

RECEIVERS: list[callback.Replay] = []
"""The replay memories of the views that receive callbacks."""

USERS = ("seconder.contrib.django.otp", "seconder.contrib.django.allauth")
"""The apps that cannot work without the setting."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SERVER = ("postgres", "postgresql")


def register() -> None:
    """Registers the checks."""
    checks.register(check_setting, "seconder")
    checks.register(check_url, "seconder")
    checks.register(check_database, "seconder")
    checks.register(check_callbacks, "seconder")
    checks.register(check_admin, "seconder")
    checks.register(check_visitors, "seconder")
    checks.register(check_deployment, "seconder", deploy=True)


def check_setting(**rest: Any) -> list[CheckMessage]:
    """E001 to E004: the setting is there, and each key in it is known and valid."""
    if _settings.given() is None and not any(map(apps.is_installed, USERS)):
        # A site that only receives callbacks needs no service.
        return []
    found = _settings.problems()
    if not found:
        problem = _opened_problem()
        found = [problem] if problem else []
    return [Error(each.text, hint=each.hint, id=each.id) for each in found]


def _opened_problem() -> _settings.Problem | None:
    """Has the settings validated by ``seconder.open``. Nothing is sent, and no database is created:
    an engine in memory takes the same options."""
    try:
        url, options = _settings.arguments()
        if _scheme(url) in _SERVER:
            # Its settings are checked before it would connect, to where no server can be.
            from seconder.testing._settings import check

            check(url, options)
            return None
        if _scheme(url) == "sqlite":
            url = "sandbox:"
            if "engine" in options:
                options["engine"] = options["engine"].__replace__(must_exist=False, keyring=None)
        seconder.open(url, **options).close()
    except seconder.InvalidArgument as error:
        key = error.parameter.upper() or "URL"
        return _settings.Problem("seconder.E003", f'SECONDER["{key}"]: {error}')
    except (seconder.SecondFactorError, ImproperlyConfigured) as error:
        return _settings.Problem("seconder.E003", f"SECONDER: {error}")
    return None


def check_url(**rest: Any) -> list[CheckMessage]:
    """E005 and W006: no traffic in the clear, and messages that reach somebody."""
    url, setting = _url(), _setting()
    found: list[CheckMessage] = []
    if _scheme(url) == "http" and urlsplit(url).hostname not in _LOOPBACK:
        text = 'SECONDER["URL"] is plain HTTP: codes and the API key would travel in the clear.'
        found.append(Error(text, hint="Use https:.", id="seconder.E005"))
    if _scheme(url) in ("sqlite", *_SERVER) and not setting.get("DELIVER"):
        text = "Codes are written to text files beside the database and reach no phone."
        if _scheme(url) in _SERVER:
            text = "No code can be sent: every request of one would fail."
        hint = 'Set SECONDER["DELIVER"] to a function that sends an SMS.'
        found.append(Warning(text, hint=hint, id="seconder.W006"))
    return found


def check_database(**rest: Any) -> list[CheckMessage]:
    """E007 and W008: other users of the machine cannot read or replace the database."""
    url = _url()
    if _scheme(url) != "sqlite":
        return []
    path = Path(unquote(url.partition(":")[2].partition("?")[0]))
    found: list[CheckMessage] = []
    folder = _mode(path.parent)
    if folder is not None and folder & (stat.S_IWGRP | stat.S_IWOTH):
        text = f"Other users of the machine can write to {path.parent}, and replace the database."
        found.append(Error(text, hint=f"chmod 700 {path.parent}", id="seconder.E007"))
    elif folder is not None and folder & (stat.S_IROTH | stat.S_IXOTH):
        text = f"Other users of the machine can look into {path.parent}, where the database is."
        found.append(Warning(text, hint=f"chmod 700 {path.parent}", id="seconder.W008"))
    for end in ("", "-wal", "-shm"):
        file = path.with_name(path.name + end)
        mode = _mode(file)
        if mode is not None and mode & (stat.S_IRWXG | stat.S_IRWXO):
            text = f"Other users of the machine have access to {file}, which holds secrets."
            found.append(Error(text, hint=f"chmod 600 {file}", id="seconder.E007"))
    return found


def _mode(path: Path) -> int | None:
    # The file is not opened: closing it would drop the locks of this process on it.
    try:
        return path.stat().st_mode
    except OSError:
        return None


def check_callbacks(**rest: Any) -> list[CheckMessage]:
    """W009 and W010: callbacks are received where they are sent, and accepted only once."""
    setting = _setting()
    found: list[CheckMessage] = []
    url = setting.get("CALLBACK_URL")
    if isinstance(url, str) and url and not _resolves(urlsplit(url).path):
        text = f"No view receives the callbacks at {url}."
        hint = "Add one made by seconder.contrib.django.callback to the URLconf."
        found.append(Warning(text, hint=hint, id="seconder.W009"))
    if any(isinstance(each, callback.Memory) for each in RECEIVERS):
        text = "A callback could be accepted once by each process: its memory is not shared."
        hint = "Leave out replay, so that the table of seconder.contrib.django is used."
        found.append(Warning(text, hint=hint, id="seconder.W010"))
    return found


def _resolves(path: str) -> bool:
    if not getattr(settings, "ROOT_URLCONF", None):
        return False
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def check_admin(**rest: Any) -> list[CheckMessage]:
    """W016: no admin site lets enrolled accounts in with the password alone, and they can enter it."""
    if not apps.is_installed("django.contrib.admin"):
        return []
    from seconder.contrib.django import _admin_login

    found: list[CheckMessage] = []
    for name in _admin_login.open_sites():
        text = f"The admin site {name!r} lets enrolled accounts in with the password alone."
        hint = "Call super().has_permission(request) in its has_permission."
        found.append(Warning(text, hint=hint, id="seconder.W016"))
    try:
        reverse("admin:index")
    except NoReverseMatch:
        return found
    if _admin_login.code_page() is None:
        text = "Enrolled accounts cannot enter the admin: no page asks for their code."
        hint = "Include seconder.contrib.django.urls in the URLconf."
        found.append(Warning(text, hint=hint, id="seconder.W016"))
    return found


def check_visitors(**rest: Any) -> list[CheckMessage]:
    """W017: the service learns the visitors' addresses."""
    path = "seconder.contrib.django.middleware.VisitorMiddleware"
    if _settings.given() is None or path in (getattr(settings, "MIDDLEWARE", None) or []):
        return []
    text = "The service does not learn the visitors' addresses: its limits for each do not apply."
    return [Warning(text, hint=f'Put "{path}" first in MIDDLEWARE.', id="seconder.W017")]


def check_deployment(**rest: Any) -> list[CheckMessage]:
    """E011 and W019: a sandbox, which accepts every code, is not used in production, and somebody has
    thought of the visitors' addresses."""
    found: list[CheckMessage] = []
    if not settings.DEBUG and _scheme(_url()) == "sandbox":
        text = 'SECONDER["URL"] is a sandbox, which accepts wrong codes and forgets its users.'
        found.append(
            Error(text, hint="Use https:, unix:, sqlite: or postgres:.", id="seconder.E011")
        )
    if _setting() and _setting().get("USER_IP") is None:
        text = (
            'SECONDER has no "USER_IP", so the address of the connection counts as the visitor\'s: '
            "behind a proxy or a CDN, all visitors share one limit, or none."
        )
        hint = 'Without a proxy, it is lambda request: request.META["REMOTE_ADDR"].'
        found.append(Warning(text, hint=hint, id="seconder.W019"))
    return found


def _setting() -> Mapping[str, Any]:
    """The setting, as far as it can be used: E001 reports the rest."""
    setting = _settings.given()
    return setting if isinstance(setting, Mapping) else {}


def _url() -> str:
    url = _setting().get("URL")
    return url if isinstance(url, str) else ""


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()

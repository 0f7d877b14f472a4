"""The setting ``SECONDER`` of a Django site."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

import seconder
from seconder.contrib import _configured

OWN = ("DECISIONS", "USER_IP")
"""The keys that are not options of ``seconder.open``."""


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with the setting."""

    id: str
    """The id of the system check."""
    text: str
    """The problem."""
    hint: str | None = None
    """The remedy."""


def given() -> Mapping[str, Any] | None:
    """Returns the setting as it is, or None if the site has none."""
    found: Mapping[str, Any] | None = getattr(settings, "SECONDER", None)
    return found


def keeps_decisions() -> bool:
    """Returns whether decisions are recorded in the site's database: the key ``DECISIONS``."""
    found = given()
    return not isinstance(found, Mapping) or found.get("DECISIONS", True) is True


def visitor() -> Callable[[Any], str | None] | None:
    """Returns the function that returns the address of a request's visitor: the key ``USER_IP``.

    Raises:
        InvalidArgument: There is no such function.
    """
    found = given()
    named = found.get("USER_IP") if isinstance(found, Mapping) else None
    if named is None:
        return None
    by: Callable[[Any], str | None] = _configured.function('SECONDER["USER_IP"]', named)
    return by


def problems() -> list[Problem]:
    """Returns what is wrong with the setting by itself, without opening anything."""
    setting = given()
    if setting is None:
        return [Problem("seconder.E001", "The setting SECONDER is missing.", _EXAMPLE)]
    if not isinstance(setting, Mapping):
        return [Problem("seconder.E001", "The setting SECONDER is not a dict.", _EXAMPLE)]
    found = []
    url = setting.get("URL")
    if not isinstance(url, str) or not url:
        found.append(Problem("seconder.E001", 'SECONDER has no "URL".', _EXAMPLE))
    known = _configured.option_names()
    for key, value in setting.items():
        if key in OWN:
            continue
        if key not in known:
            found.append(_unknown(key, [*known, *OWN]))
            continue
        try:
            _configured.resolved(_configured.options({"URL": "sandbox:", key: value}))
        except seconder.InvalidArgument as error:
            if key != "URL":
                found.append(Problem("seconder.E003", f"SECONDER: {error}"))
    if not isinstance(setting.get("DECISIONS", True), bool):
        found.append(Problem("seconder.E003", 'SECONDER["DECISIONS"] is neither True nor False.'))
    try:
        visitor()
    except seconder.InvalidArgument as error:
        found.append(Problem("seconder.E003", str(error)))
    if setting.get("API_KEY") == "":
        found.append(
            Problem(
                "seconder.E004",
                'SECONDER["API_KEY"] is empty.',
                "Was the environment variable set from which it was read?",
            )
        )
    return found


_EXAMPLE = 'For example: SECONDER = {"URL": "https://2fa.example.com", "API_KEY": …}'


def _unknown(key: object, known: list[str]) -> Problem:
    near = difflib.get_close_matches(str(key).upper(), known, n=1, cutoff=0)
    hint = f"The nearest name is {near[0]!r}." if near else None
    return Problem("seconder.E002", f"SECONDER has the unknown key {key!r}.", hint)


def arguments() -> tuple[str, dict[str, Any]]:
    """Returns the URL and the options for ``seconder.open``.

    Raises:
        ImproperlyConfigured: The setting is missing or invalid.
    """
    found = problems()
    if found:
        raise ImproperlyConfigured(" ".join(_sentences(found)))
    chosen = _configured.resolved(_configured.options(given() or {}, others=OWN))
    return chosen.pop("url"), chosen


def _sentences(found: list[Problem]) -> list[str]:
    return [f"{each.text} {each.hint or ''}".strip() for each in found]

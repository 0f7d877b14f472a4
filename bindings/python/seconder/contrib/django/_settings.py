"""The setting ``SECONDER`` of a Django site."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

import seconder
from seconder import opening

FUNCTIONS = ("deliver", "post", "on_call")
"""The options that are functions, and may be given by their dotted path."""

OWN = ("DECISIONS",)
"""The keys that are not options of ``seconder.open``."""


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with the setting."""

    id: str
    """The id of the system check."""
    text: str
    """What is wrong."""
    hint: str | None = None
    """What to do."""


def options() -> list[str]:
    """Returns the names of the options of ``seconder.open``, which tests may have replaced."""
    parameters = inspect.signature(opening.open).parameters.values()
    return [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]


def given() -> Mapping[str, Any] | None:
    """Returns the setting as it is, or None if the site has none."""
    found: Mapping[str, Any] | None = getattr(settings, "SECONDER", None)
    return found


def keeps_decisions() -> bool:
    """Whether decisions are recorded in the site's database: the key ``DECISIONS``."""
    found = given()
    return not isinstance(found, Mapping) or found.get("DECISIONS", True) is True


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
    known = ["URL", *OWN, *(name.upper() for name in options())]
    for key in setting:
        if key not in known:
            found.append(_unknown(key, known))
    for name in FUNCTIONS:
        value = setting.get(name.upper())
        if value is not None:
            found += _function_problems(name.upper(), value)
    try:
        _value("names", setting.get("NAMES"))
    except (TypeError, seconder.InvalidArgument) as error:
        found.append(Problem("seconder.E003", f'SECONDER["NAMES"]: {error}'))
    if not isinstance(setting.get("DECISIONS", True), bool):
        found.append(Problem("seconder.E003", 'SECONDER["DECISIONS"] is neither True nor False.'))
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


def _function_problems(key: str, value: object) -> list[Problem]:
    if callable(value):
        return []
    if not isinstance(value, str):
        text = f'SECONDER["{key}"] is neither a function nor its dotted path.'
        return [Problem("seconder.E003", text)]
    try:
        found = import_string(value)
    except Exception as error:
        # A module may raise anything when it is imported.
        text = f'SECONDER["{key}"] cannot be imported: {error}'
        return [Problem("seconder.E003", text)]
    if not callable(found):
        return [Problem("seconder.E003", f'SECONDER["{key}"] is not a function: {value}.')]
    return []


def arguments() -> tuple[str, dict[str, Any]]:
    """Returns the URL and the options for ``seconder.open``.

    Raises:
        ImproperlyConfigured: The setting is missing or invalid.
    """
    found = problems()
    if found:
        raise ImproperlyConfigured(" ".join(_sentences(found)))
    setting = given() or {}
    chosen: dict[str, Any] = {}
    for key, value in setting.items():
        if key == "URL" or key in OWN or value is None:
            continue
        chosen[key.lower()] = _value(key.lower(), value)
    return setting["URL"], chosen


def _sentences(found: list[Problem]) -> list[str]:
    return [f"{each.text} {each.hint or ''}".strip() for each in found]


def _value(name: str, value: Any) -> Any:
    if name in FUNCTIONS and isinstance(value, str):
        function: Callable[..., object] = import_string(value)
        return function
    if name == "names" and isinstance(value, str):
        return seconder.Names(value)
    if name == "names" and isinstance(value, Mapping):
        return seconder.Names(**value)
    return value

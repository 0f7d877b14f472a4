"""The limits of the service, as the adapters explain them to users and report them to operators."""

from __future__ import annotations

import logging

from seconder.enums import Code
from seconder.errors import RateLimited

_log = logging.getLogger("seconder.contrib")

_SENDING = frozenset(
    {
        "cool_down",
        "sends",
        "number_10_minutes",
        "number_day",
        "address_hour",
        "country_day",
        "application_day",
    }
)
"""The limits on messages. The user may have sent none of them, so no text says so."""

_WRONG = frozenset({"wrong_codes", "address_wrong_hour"})
"""The limits on wrong codes."""

NOT_SENT = "A code cannot be sent at the moment."
NOT_POSSIBLE = "That is not possible at the moment."
NOT_CHECKED = "That cannot be checked at the moment."
TOO_MANY = "Too many attempts."


def is_undecided(error: RateLimited) -> bool:
    """Returns whether the service has decided nothing: it is busy, or the application's own API key is
    wrong where many wrong ones came from. Other services report a limit by the code alone."""
    return error.limit is None and error.code not in (Code.TOO_MANY_REQUESTS, Code.FACTOR_LOCKED)


def is_users(error: RateLimited) -> bool:
    """Returns whether the limit is one of the user or the visitor, and nothing for an operator."""
    return not error.is_operator_limit and not is_undecided(error)


def explain(error: RateLimited) -> str:
    """Returns the sentence for the user, who may have to wait, after :func:`report`."""
    report(error)
    if is_undecided(error):
        return NOT_CHECKED
    if error.limit in _SENDING:
        return NOT_SENT
    return TOO_MANY if error.limit is None or error.limit in _WRONG else NOT_POSSIBLE


def report(error: RateLimited) -> None:
    """Logs, once for each error, what an operator has to act on."""
    if is_users(error) or getattr(error, "reported", False):
        return
    error.reported = True  # type: ignore[attr-defined]
    if error.is_operator_limit:
        _log.error("the limit %s of the application was reached: %s", error.limit, error)
    elif error.code == Code.TOO_MANY_WRONG_KEYS:
        _log.error("the API key of the application is wrong or too new: %s", error)
    else:
        _log.warning("the service is busy: %s", error)

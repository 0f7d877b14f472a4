"""The limits of the service, as the adapters explain them to users."""

from __future__ import annotations

import logging

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

NOT_SENT = "A code cannot be sent at the moment."
NOT_POSSIBLE = "That is not possible at the moment."
TOO_MANY = "Too many attempts."


def explain(error: RateLimited) -> str:
    """Returns the sentence for the user, who may have to wait. A limit of the whole application is logged,
    because only an operator can do something about it."""
    if error.is_operator_limit:
        _log.error("the limit %s of the application was reached: %s", error.limit, error)
    if error.limit in _SENDING:
        return NOT_SENT
    return NOT_POSSIBLE if error.is_operator_limit else TOO_MANY

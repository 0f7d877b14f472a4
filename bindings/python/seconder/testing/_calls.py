"""The record of the calls that an application made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seconder import errors
from seconder.calls import SECRETS as SECRETS_OF_CALLS

MASKED = "***"
"""The text that stands for an argument that is a secret."""
SECRETS = SECRETS_OF_CALLS | {"device_secret"}
"""The arguments that are secrets."""

OUTCOMES = (
    (errors.TokenMalformed, "token_malformed"),
    (errors.NotChecked, "token_not_checked"),
    (errors.TokenInvalid, "token_wrong"),
    (errors.InvalidArgument, "invalid_argument"),
    (errors.Unauthorized, "unauthorized"),
    (errors.Rejected, "rejected"),
    (errors.RateLimited, "rate_limited"),
    (errors.Unavailable, "unavailable"),
    (errors.Cancelled, "cancelled"),
    (errors.InvalidResponse, "invalid_response"),
    (errors.StorageError, "storage"),
    (errors.InternalError, "internal"),
)
"""The outcomes of the log, by exception; a class precedes those that it derives from."""

TOKEN_CODES = {"60019": "token_reused", "60020": "token_wrong", "60022": "token_wrong"}
"""The outcomes of a check of a code with status 401, by error code."""


@dataclass(frozen=True)
class Call:
    """A call that the application made, in :attr:`seconder.testing.Sandbox.calls`."""

    name: str
    """The name of the method, such as ``verify``."""
    arguments: Mapping[str, Any]
    """The arguments by name, without the ones that are None. Codes and secrets are ``"***"``. Over
    HTTP, a number or flag may have been sent as text."""
    outcome: str
    """The outcome of the call, in the words of the log: ``ok``, ``token_wrong``,
    ``rate_limited``…"""
    error: errors.SecondFactorError | None = None
    """The call's exception; None over HTTP, where the client in the application raises."""
    remote: bool = False
    """True if it was made over HTTP, to :attr:`seconder.testing.Sandbox.url`."""


def shown_arguments(params: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call for its record."""
    given = dict(params)
    # The interface nests the fields of a new user.
    user = given.pop("user", None)
    given = {**(user if isinstance(user, Mapping) else {}), **given}
    named = {name: value for name, value in given.items() if value is not None}
    return {name: MASKED if name in SECRETS else value for name, value in named.items()}


def outcome_of(error: BaseException | None) -> str:
    """The outcome of a call in this process."""
    if error is None:
        return "ok"
    if isinstance(error, errors.TokenInvalid) and error.reused:
        return "token_reused"
    # Anything else ended the call from outside, such as Ctrl-C.
    return next((name for kind, name in OUTCOMES if isinstance(error, kind)), "cancelled")


def outcome_of_reply(name: str, status: int | None, fields: Mapping[str, Any]) -> str:
    """The outcome of a call over HTTP, as the client reads the reply. None means that it gets
    none."""
    if status is None:
        return "unavailable"
    code = fields.get("error_code")
    if status == 200 and "success" not in fields:
        return "invalid_response"
    if status == 200:
        checked = name != "verify" or str(fields["success"]).lower() == "true"
        return "ok" if checked else "token_not_checked"
    if status == 401 and code in TOKEN_CODES:
        return TOKEN_CODES[code]
    if status == 401 and code == "60001":
        return "unauthorized"
    return "rate_limited" if status in (429, 503) else "rejected"

"""The record of the calls that an application made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seconder import _seconder, errors

SECRETS = frozenset(_seconder.SANDBOX_SECRETS)
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


def outcome_of(error: BaseException | None) -> str:
    """The outcome of a call in this process."""
    if error is None:
        return "ok"
    if isinstance(error, errors.TokenInvalid) and error.reused:
        return "token_reused"
    # Anything else ended the call from outside, such as Ctrl-C.
    return next((name for kind, name in OUTCOMES if isinstance(error, kind)), "cancelled")

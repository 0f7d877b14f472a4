"""Codes of authenticator apps (RFC 6238)."""

from __future__ import annotations

import math
import time

from seconder import _seconder
from seconder.errors import InvalidArgument


def code(uri: str, at: float | None = None) -> str:
    """The code that an authenticator app shows, for tests and for devices without an app.

    Args:
        uri: The ``otpauth://totp/…`` URI that :meth:`seconder.Service.enrol_authenticator` gave.
        at: The time in Unix seconds. Default: now.

    Raises:
        InvalidArgument: The URI or the time cannot be right.
    """
    seconds = time.time() if at is None else at
    if not math.isfinite(seconds) or not 0 <= seconds < 2**63:
        raise InvalidArgument("at must be a time in Unix seconds", parameter="at")
    return _seconder.totp_code(uri, int(seconds))

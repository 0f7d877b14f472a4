"""The responses of FastAPI's endpoints to errors."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

from fastapi import HTTPException

from seconder.contrib import _limits
from seconder.errors import (
    AlreadyUsed,
    RateLimited,
    Rejected,
    SecondFactorError,
    TokenInvalid,
    TokenMalformed,
    Unavailable,
)


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Turns the errors that concern the user or the time into responses. The others are the
    operator's, and a 500."""
    try:
        yield
    except SecondFactorError as error:
        refused = refused_by(error)
        if refused is None:
            raise
        raise refused from error


def refused_by(error: Exception) -> HTTPException | None:
    """Returns the response to an error, or None if it is a 500."""
    match error:
        case TokenMalformed():
            return problem(401, "code_malformed", "A code has 6 to 12 digits.")
        case AlreadyUsed():
            return problem(401, "code_used", "The code has been used already.")
        case TokenInvalid():
            return problem(401, "code_wrong", "The code is wrong.")
        case RateLimited():
            wait = None if error.retry_after is None else max(1, math.ceil(error.retry_after))
            headers = {} if wait is None else {"Retry-After": str(wait)}
            text = _limits.explain(error)
            if _limits.is_undecided(error):
                return problem(503, "unavailable", text, headers)
            return problem(429, "rate_limited", text, headers)
        case Rejected():
            return problem(400, "not_possible", "It is not possible for this user.")
        case Unavailable():
            return problem(503, "unavailable", "The second factor cannot be checked now.")
    return None


def problem(
    status: int, reason: str, message: str, headers: dict[str, str] | None = None
) -> HTTPException:
    """Returns a response, as ``Problem`` describes it."""
    return HTTPException(status, {"reason": reason, "message": message}, headers)

"""Callbacks in web frameworks, in one module per framework, so that an application imports only
what it uses.

:mod:`seconder.contrib.flask`, :mod:`seconder.contrib.django` and :mod:`seconder.contrib.asgi`
(Starlette and FastAPI); and :mod:`seconder.contrib.replay`, the replay memories that several
processes share. Importing :mod:`seconder` imports none of them.
"""

from __future__ import annotations

import time

FRESH_SECONDS = 300
"""The maximum age of a second factor with which a user may change the protection of the account, in
seconds."""


def is_fresh(at: object, max_age: float = FRESH_SECONDS) -> bool:
    """Returns whether a user has passed the second factor recently enough. A time in the future is not
    recent: the clock was set back since. A second more is allowed, as the time may have been rounded.

    Args:
        at: When the user has passed it, in Unix seconds. Anything but a number is never recent.
        max_age: How long ago that may be, in seconds.
    """
    if isinstance(at, bool) or not isinstance(at, (int, float)):
        return False
    return -1 <= time.time() - at <= max_age + 1

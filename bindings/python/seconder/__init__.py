"""The second factor of a login: one API, and a URL that selects the backend.

>>> import seconder
>>> with seconder.open("sandbox:") as service:
...     user = service.create_user("ada@example.com", "555-010-0123", 1)
...     sent = service.request_sms(user.user_id)
...     typed = "1234567"
...     verification = service.verify(user.user_id, typed)  # raises unless it is right

``help(seconder.open)`` describes the URLs and the settings, ``help(seconder.Service)`` the calls.
Their results are in ``seconder.results``, and the enums in ``seconder.enums``. The calls of an
operator are in ``seconder.admin``, those of login machines in ``seconder.machines``; callbacks are in
``seconder.callback``, one-time passwords in ``seconder.totp``, and the support for the tests of
applications in ``seconder.testing``. Section numbers such as 4.4 are those of the interface document,
``docs/interface.md`` of the project, which the C library installs as the man page
``seconder-interface(7)``.
"""

from __future__ import annotations

if hasattr(globals()["__loader__"], "archive"):
    # Otherwise, Python guesses that there is a circular import.
    raise ImportError(
        "seconder cannot be imported from a zip file, because it has a native module, which no system "
        "loads from one: leave it out of the zip file, and install it with pip"
    )

from seconder import _forks, callback, enums, errors, outcomes, results, totp
from seconder._seconder import __version__
from seconder.errors import (
    AlreadyEnrolled,
    AlreadyUsed,
    ApprovalNotFound,
    ApprovalNotPending,
    Cancelled,
    InternalError,
    InvalidArgument,
    InvalidCallback,
    InvalidResponse,
    NotChecked,
    RateLimited,
    Rejected,
    SecondFactorError,
    SpoolWarning,
    StorageError,
    Timeout,
    TokenInvalid,
    TokenMalformed,
    Unauthorized,
    Unavailable,
    UserNotFound,
    VerificationNotFound,
)
from seconder.names import Names
from seconder.opening import open as open
from seconder.outcomes import Ambiguous, NotAttempted, NumberRefused, Permanent, Retry, Sent
from seconder.records import Message
from seconder.service import Service

# Type checkers take this name for true, wherever it is defined. It is not imported, in all modules
# of the package, because importing typing takes long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from seconder import admin, machines
    from seconder.aio import AsyncService
    from seconder.opening_async import open_async
    from seconder.options import ClientOptions, EngineOptions
else:
    # These are imported on first use: they need asyncio, which takes longer to import than the rest of
    # the package, or few programs use them.
    _LATER = {
        "AsyncService": "aio",
        "ClientOptions": "options",
        "EngineOptions": "options",
        "admin": None,
        "machines": None,
        "open_async": "opening_async",
    }

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = _LATER[name]
        if module is None:
            return import_module(f"{__name__}.{name}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        # __getattr__ is not called again for a name that the module holds.
        globals()[name] = value
        return value

    def __dir__():
        return sorted([*__all__, "open", *(name for name in globals() if name.startswith("__"))])


# Without open, because "from seconder import *" would hide Python's own.
__all__ = [
    "AlreadyEnrolled",
    "AlreadyUsed",
    "Ambiguous",
    "ApprovalNotFound",
    "ApprovalNotPending",
    "AsyncService",
    "Cancelled",
    "ClientOptions",
    "EngineOptions",
    "InternalError",
    "InvalidArgument",
    "InvalidCallback",
    "InvalidResponse",
    "Message",
    "Names",
    "NotAttempted",
    "NumberRefused",
    "NotChecked",
    "Permanent",
    "RateLimited",
    "Rejected",
    "Retry",
    "SecondFactorError",
    "Sent",
    "Service",
    "SpoolWarning",
    "StorageError",
    "Timeout",
    "TokenInvalid",
    "TokenMalformed",
    "Unauthorized",
    "Unavailable",
    "UserNotFound",
    "VerificationNotFound",
    "__version__",
    "admin",
    "callback",
    "enums",
    "errors",
    "machines",
    "open_async",
    "outcomes",
    "results",
    "totp",
]

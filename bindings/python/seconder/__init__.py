"""The second factor of a login: one set of calls, and a URL that says who answers them.

>>> import seconder
>>> with seconder.open("sandbox:") as service:
...     user = service.create_user("ada@example.com", "555-010-0123", 1)
...     sent = service.request_sms(user.id)
...     typed = "1234567"
...     verification = service.verify(typed, user.id, force=True)  # raises unless it is right

``help(seconder.open)`` has the URLs and the settings, ``help(seconder.Service)`` the calls,
``help(seconder.errors)`` what they raise, ``help(seconder.callback)`` the callbacks, and
``help("seconder.testing")`` what tests of applications hold. Section numbers such as 4.4 are those
of the interface document.
"""

from __future__ import annotations

from seconder import callback, enums, errors, results, totp
from seconder._seconder import __version__
from seconder.enums import (
    ActivityType,
    Algorithm,
    ApprovalStatus,
    Channel,
    DeviceType,
    Format,
    Generation,
    PhoneType,
    Repeats,
    Stage,
    ApprovalResponse,
)
from seconder.errors import (
    InvalidCallback,
    InvalidResponse,
    InternalError,
    InvalidArgument,
    RateLimited,
    NotChecked,
    Rejected,
    SecondFactorError,
    StorageError,
    Timeout,
    TokenInvalid,
    Unauthorized,
    Unavailable,
)
from seconder.names import Names
from seconder.opening import open
from seconder.results import (
    Application,
    Approval,
    ApprovalCreated,
    ApprovalRequest,
    AuthenticatorEnrolled,
    CodeRequested,
    Device,
    DeviceRegistered,
    Done,
    Event,
    Message,
    MonthlyStatistic,
    PhoneInformation,
    PhoneVerificationStarted,
    SignedCallback,
    Statistics,
    UserCreated,
    UserStatus,
    Verification,
)
from seconder.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seconder._awaited import Opening
    from seconder.aio import AsyncService, open_async
    from seconder.typed import Logo
else:
    # What these need takes longer to load than all the rest.
    _LATER = {
        "AsyncService": "aio",
        "Logo": "typed",
        "Opening": "_awaited",
        "open_async": "aio",
    }

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found

    def __dir__():
        return sorted({*globals(), *_LATER})


__all__ = [
    "ActivityType",
    "Algorithm",
    "Application",
    "Approval",
    "ApprovalCreated",
    "ApprovalRequest",
    "ApprovalStatus",
    "AsyncService",
    "AuthenticatorEnrolled",
    "Channel",
    "CodeRequested",
    "Device",
    "DeviceRegistered",
    "DeviceType",
    "Done",
    "Event",
    "InvalidCallback",
    "Format",
    "InvalidResponse",
    "Generation",
    "InternalError",
    "InvalidArgument",
    "RateLimited",
    "Logo",
    "Message",
    "MonthlyStatistic",
    "Names",
    "NotChecked",
    "Opening",
    "PhoneInformation",
    "PhoneType",
    "PhoneVerificationStarted",
    "Rejected",
    "Repeats",
    "SecondFactorError",
    "Service",
    "SignedCallback",
    "Stage",
    "Statistics",
    "StorageError",
    "Timeout",
    "TokenInvalid",
    "Unauthorized",
    "Unavailable",
    "ApprovalResponse",
    "UserCreated",
    "UserStatus",
    "Verification",
    "__version__",
    "callback",
    "enums",
    "errors",
    "open",
    "open_async",
    "results",
    "totp",
]

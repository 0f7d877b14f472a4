"""The second factor of a login: one API, and a URL that selects the backend.

>>> import seconder
>>> with seconder.open("sandbox:") as service:
...     user = service.create_user("ada@example.com", "555-010-0123", 1)
...     sent = service.request_sms(user.user_id)
...     typed = "1234567"
...     verification = service.verify(user.user_id, typed, force=True)  # raises unless it is right

``help(seconder.open)`` describes the URLs and the settings, ``help(seconder.Service)`` the calls,
``help(seconder.errors)`` the exceptions, ``help(seconder.callback)`` the callbacks, and
``help("seconder.testing")`` the support for the tests of applications. Section numbers such as 4.4
are those of the interface document, ``docs/interface.md`` of the project, which the C library
installs as the man page ``seconder-interface(7)``.
"""

from __future__ import annotations

from seconder import _forks, callback, enums, errors, outcomes, records, results, totp
from seconder._seconder import __version__
from seconder.enums import (
    ActivityType,
    Algorithm,
    ApprovalResponse,
    ApprovalStatus,
    CallbackMethod,
    Channel,
    Code,
    DeviceType,
    Format,
    Generation,
    InstallMessage,
    LineType,
    PhoneType,
    Repeats,
    Stage,
    VerificationStatus,
)
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
from seconder.opening import open
from seconder.outcomes import Ambiguous, NotAttempted, Outcome, Permanent, Retry, Sent
from seconder.records import (
    ApprovalRequest,
    AuditEntry,
    AuditPage,
    CallRecord,
    DeviceRegistered,
    Event,
    JobsRun,
    Message,
    PhoneLine,
    SignedCallback,
)
from seconder.results import (
    Application,
    Approval,
    ApprovalCreated,
    Authenticator,
    AuthenticatorEnrolled,
    CodeRequested,
    Device,
    DeviceInvited,
    Done,
    Factors,
    FoundUser,
    MonthlyStatistic,
    OfflinePrepared,
    PhoneInformation,
    PhoneVerificationRecord,
    PhoneVerificationStarted,
    RecoveryCodes,
    RegisteredDevice,
    RegisteredDevices,
    Remembered,
    Statistics,
    UserCreated,
    UserStatus,
    Verification,
)
from seconder.service import Service

# Type checkers take this name for true, wherever it is defined. It is not imported, in all modules
# of the package, because importing typing takes long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from seconder._awaited import Opening
    from seconder.aio import AsyncService
    from seconder.opening_async import open_async
    from seconder.typed import Logo, OfflineLogin
else:
    # These need asyncio or typing, which take longer to import than the rest of the package, so
    # they are imported on first use.
    _LATER = {
        "AsyncService": "aio",
        "Logo": "typed",
        "OfflineLogin": "typed",
        "Opening": "_awaited",
        "open_async": "opening_async",
    }

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        # __getattr__ is not called again for a name that the module holds.
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_LATER})


__all__ = [
    "ActivityType",
    "Algorithm",
    "AlreadyEnrolled",
    "AlreadyUsed",
    "Ambiguous",
    "Application",
    "Approval",
    "ApprovalCreated",
    "ApprovalNotFound",
    "ApprovalNotPending",
    "ApprovalRequest",
    "ApprovalResponse",
    "ApprovalStatus",
    "AsyncService",
    "AuditEntry",
    "AuditPage",
    "Authenticator",
    "AuthenticatorEnrolled",
    "CallRecord",
    "CallbackMethod",
    "Cancelled",
    "Channel",
    "Code",
    "CodeRequested",
    "Device",
    "DeviceInvited",
    "DeviceRegistered",
    "DeviceType",
    "Done",
    "Event",
    "Factors",
    "Format",
    "FoundUser",
    "Generation",
    "InternalError",
    "InstallMessage",
    "InvalidArgument",
    "InvalidCallback",
    "InvalidResponse",
    "JobsRun",
    "LineType",
    "Logo",
    "Message",
    "MonthlyStatistic",
    "Names",
    "NotAttempted",
    "NotChecked",
    "OfflineLogin",
    "OfflinePrepared",
    "Opening",
    "Outcome",
    "Permanent",
    "PhoneInformation",
    "PhoneLine",
    "PhoneType",
    "PhoneVerificationRecord",
    "PhoneVerificationStarted",
    "RateLimited",
    "RecoveryCodes",
    "RegisteredDevice",
    "RegisteredDevices",
    "Rejected",
    "Remembered",
    "Repeats",
    "Retry",
    "SecondFactorError",
    "Sent",
    "Service",
    "SignedCallback",
    "SpoolWarning",
    "Stage",
    "Statistics",
    "StorageError",
    "Timeout",
    "TokenInvalid",
    "TokenMalformed",
    "Unauthorized",
    "Unavailable",
    "UserCreated",
    "UserNotFound",
    "UserStatus",
    "Verification",
    "VerificationNotFound",
    "VerificationStatus",
    "__version__",
    "callback",
    "enums",
    "errors",
    "open",
    "open_async",
    "outcomes",
    "records",
    "results",
    "totp",
]

"""The second factor of a login: one set of calls, and a URL that says who answers them.

>>> import seconder
>>> with seconder.open("sqlite:seconder.db") as service:
...     user = service.create_user("ada@example.com", "555-010-0123", "1")
...     service.request_sms(user.id)
...     service.verify(typed, user.id)  # raises unless the code is right

Section numbers such as 4.4 are those of the interface document.
"""

from seconder import callback, errors, results, totp
from seconder._seconder import __version__
from seconder.errors import (
    Forged,
    Garbled,
    InternalError,
    InvalidArgument,
    Limited,
    NotChecked,
    Refused,
    SecondFactorError,
    StorageError,
    TokenInvalid,
    Unauthorized,
    Unavailable,
)
from seconder.results import (
    Application,
    Approval,
    ApprovalCreated,
    ApprovalRequest,
    ApprovalStatus,
    AuthenticatorEnrolled,
    CodeRequested,
    Device,
    DeviceRegistered,
    Done,
    Event,
    Message,
    MonthlyStatistic,
    PhoneInformation,
    PhoneType,
    PhoneVerificationStarted,
    Statistics,
    UserCreated,
    UserStatus,
    Verification,
)
from seconder.service import Logo, Service, open

__all__ = [
    "Application",
    "Approval",
    "ApprovalCreated",
    "ApprovalRequest",
    "ApprovalStatus",
    "AuthenticatorEnrolled",
    "CodeRequested",
    "Device",
    "DeviceRegistered",
    "Done",
    "Event",
    "Forged",
    "Garbled",
    "InternalError",
    "InvalidArgument",
    "Limited",
    "Logo",
    "Message",
    "MonthlyStatistic",
    "NotChecked",
    "PhoneInformation",
    "PhoneType",
    "PhoneVerificationStarted",
    "Refused",
    "SecondFactorError",
    "Service",
    "Statistics",
    "StorageError",
    "TokenInvalid",
    "Unauthorized",
    "Unavailable",
    "UserCreated",
    "UserStatus",
    "Verification",
    "__version__",
    "callback",
    "errors",
    "open",
    "results",
    "totp",
]

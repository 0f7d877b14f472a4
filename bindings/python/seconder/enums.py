"""The words of the interface, as enums that are also strings and equal their word."""

from __future__ import annotations

from seconder._value import Word as Word


class ApprovalStatus(Word):
    """The status of an approval request (section 3.2). Only ``APPROVED`` is truthy.

    >>> [status.name for status in seconder.ApprovalStatus if status]
    ['APPROVED']
    """

    UNKNOWN = "unknown"
    """A status that this library does not know. It lets no user in."""
    PENDING = "pending"
    """Not answered yet."""
    APPROVED = "approved"
    """The user approved the request."""
    DENIED = "denied"
    """The user denied the request."""
    EXPIRED = "expired"
    """The request expired without an answer."""

    def __bool__(self) -> bool:
        return self is ApprovalStatus.APPROVED


class InstallMessage(Word):
    """The result of the message with a link to the app, which new users get (section 4.1)."""

    SENT = "sent"
    """It was sent."""
    QUEUED = "queued"
    """It could not be sent yet, and is attempted again."""
    NOT_CONFIGURED = "not_configured"
    """No message is sent: the application has no link to an app, or SMS is not enabled for it."""
    NOT_REQUESTED = "not_requested"
    """No message is sent: the call asks for none, or the user was there before."""
    FAILED = "failed"
    """It could not be sent."""


class PhoneType(Word):
    """The kinds of phone number in the interface (section 4.11)."""

    VOIP = "voip"
    """A number reached over the Internet."""
    LANDLINE = "landline"
    """A landline number, which receives no SMS."""
    CELLPHONE = "cellphone"
    """A mobile number."""
    UNKNOWN = "unknown"
    """The kind could not be determined. North American numbers do not reveal it."""


class LineType(Word):
    """The kind of line behind a number, as a provider of look-ups reports it."""

    MOBILE = "mobile"
    """A mobile phone."""
    LANDLINE = "landline"
    """A landline, which receives calls and no SMS."""
    VOIP = "voip"
    """A number of a telephone service over the Internet."""
    DISPOSABLE = "disposable"
    """A number that anybody can use for a while."""


class VerificationStatus(Word):
    """The states of a phone number's verification."""

    PENDING = "pending"
    """The code was sent and can still be checked."""
    VERIFIED = "verified"
    """The code was right."""
    EXPIRED = "expired"
    """The code was not entered in time, or wrong codes were entered too often."""
    UNKNOWN = "unknown"
    """A status that this library does not know."""


class Channel(Word):
    """The delivery channel of a code (section 4.10)."""

    SMS = "sms"
    """By text message."""
    CALL = "call"
    """By voice call."""


class ActivityType(Word):
    """The activities in the interface (section 4.6)."""

    PASSWORD_RESET = "password_reset"
    """The user's password was reset."""
    BANNED = "banned"
    """The application locked the user out."""
    UNBANNED = "unbanned"
    """The application unlocked the user."""
    COOKIE_LOGIN = "cookie_login"
    """A cookie replaced the second factor."""


class DeviceType(Word):
    """The kinds of device that answer approval requests (section 2.2)."""

    ANDROID = "android"
    """A phone with Android."""
    ANDROID_TABLET = "android_tablet"
    """A tablet with Android."""
    IOS = "ios"
    """A phone or tablet with iOS."""
    SVC_CHROME = "svc_chrome"
    """A browser."""


class ApprovalResponse(Word):
    """A user's response to an approval request."""

    APPROVE = "approve"
    """Approve the request."""
    DENY = "deny"
    """Deny the request."""
    REPORT = "report"
    """Deny the request and report it as fraudulent: the user is snoozed for 5 minutes."""


class Format(Word):
    """The formats of the interface (section 4)."""

    JSON = "json"
    """JSON, the default."""
    XML = "xml"
    """XML."""


class Generation(Word):
    """The generations of the interface (section 9)."""

    CURRENT = "current"
    """The key in a header, the default."""
    OLDER = "older"
    """The key as a parameter, and other words in some replies."""


class CallbackMethod(Word):
    """The method by which an engine sends callbacks (section 6)."""

    POST = "post"
    """By POST, with a JSON body, the default."""
    GET = "get"
    """By GET, with the parameters as the query of the URL."""


class Repeats(Word):
    """The calls that a client retries when the service is rate limiting and the wait fits within
    the call's timeout. Nothing else is ever retried."""

    NONE = "none"
    """None: the caller handles every wait, as :class:`seconder.RateLimited`."""
    QUESTIONS = "questions"
    """The calls that only read and change nothing, the default."""
    ALL = "all"
    """All. If the service reported a rate limit after it had begun the work, it does it twice."""


class Algorithm(Word):
    """The hash function of an authenticator app's codes. Most apps support SHA-1 alone."""

    SHA1 = "SHA1"
    """HMAC-SHA-1, the default of RFC 6238."""
    SHA256 = "SHA256"
    """HMAC-SHA-256."""
    SHA512 = "SHA512"
    """HMAC-SHA-512."""


class Stage(Word):
    """The stage in which a call failed."""

    DNS = "dns"
    """The host name was being resolved."""
    CONNECT = "connect"
    """The connection was being established."""
    TLS = "tls"
    """The service's certificate was being verified."""
    RESPONSE = "response"
    """The request may have been sent, in whole or in part."""
    DELIVERY = "delivery"
    """A code was being handed over for delivery."""
    ACCESS = "access"
    """The socket may not be used by this process, or its service is not trusted."""


class Code(Word):
    """The error codes of services (section 7), as ``error.code`` has them. Services send others too,
    which stay text and are no error in themselves.

    >>> try:
    ...     service.user_status(12345)
    ... except seconder.Rejected as error:
    ...     error.code == seconder.Code.USER_NOT_FOUND, error.code
    (True, '60026')
    """

    UNSPECIFIC = "60000"
    """Of no particular kind."""
    INVALID_API_KEY = "60001"
    """Invalid API key."""
    INVALID_REQUEST = "60002"
    """Invalid request."""
    TOO_MANY_REQUESTS = "60003"
    """Too many requests."""
    INVALID_PARAMETER = "60004"
    """A parameter is missing or invalid."""
    SMS_NOT_ENABLED = "60007"
    """SMS is not enabled."""
    TOKEN_REUSED = "60019"
    """The code was used before."""
    TOKEN_WRONG = "60020"
    """The code is wrong."""
    VERIFICATION_CODE_WRONG = "60022"
    """The code of a phone verification is wrong."""
    VERIFICATION_NOT_FOUND = "60023"
    """No phone verification is pending."""
    PHONE_UNKNOWN = "60025"
    """No information about the number."""
    USER_NOT_FOUND = "60026"
    """No such user."""
    INVALID_USER = "60027"
    """A field of a user is not valid."""
    INVALID_PHONE_NUMBER = "60033"
    """The phone number is not valid."""
    APPROVAL_NOT_FOUND = "60049"
    """No such approval request."""
    APPROVAL_NOT_PENDING = "60079"
    """The approval request was answered or has expired."""
    LANDLINE = "60082"
    """The number is a landline's."""
    OFFLINE_NOT_ALLOWED = "offline_not_allowed"
    """Logins without the service are not allowed."""
    NO_CODE_ACCEPTED = "no_code_accepted"
    """The code is not the one that was accepted just now."""
    OFFLINE_NOT_PREPARED = "offline_not_prepared"
    """No machine was given the codes of these logins."""
    NO_PENDING_AUTHENTICATOR = "no_pending_authenticator"
    """No authenticator app is pending."""
    AUTHENTICATOR_NOT_FOUND = "authenticator_not_found"
    """No such authenticator app."""
    DEVICE_NOT_FOUND = "device_not_found"
    """No such device."""
    NO_PUBLIC_URL = "no_public_url"
    """The service has no public URL for devices."""
    COUNTRY_NOT_ALLOWED = "country_not_allowed"
    """No messages are sent to the country of the number."""
    FACTOR_LOCKED = "factor_locked"
    """Too many wrong codes: locked until the user is unlocked."""
    TOO_MANY_WRONG_KEYS = "too_many_wrong_keys"
    """Too many wrong API keys from the address of the request."""
    NOT_RECOGNISED = "not_recognised"
    """The browser is not remembered."""

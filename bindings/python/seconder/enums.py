# Written by tools/generate from src/calls/*.rs, src/codes.rs and the files that model/words.rs lists.
"""The words of the interface, as enums that are also strings and equal their word."""

from __future__ import annotations

from seconder._value import Word as Word


class InstallMessage(Word):
    """The outcome of the text message with a link to the app (section 4.1)."""

    SENT = "sent"
    """It was sent."""
    QUEUED = "queued"
    """It could not be sent yet, and is attempted again."""
    NOT_CONFIGURED = "not_configured"
    """It is not sent, because the application has no link to an app, or SMS is not enabled for
    it."""
    NOT_REQUESTED = "not_requested"
    """It is not sent, because the call does not request it, or the user was there before."""
    FAILED = "failed"
    """It could not be sent."""


class ActivityType(Word):
    """The activities that the interface defines."""

    PASSWORD_RESET = "password_reset"
    """The user's password was reset."""
    BANNED = "banned"
    """The application banned the user."""
    UNBANNED = "unbanned"
    """The application lifted the ban."""
    COOKIE_LOGIN = "cookie_login"
    """A cookie was accepted in place of the second factor."""


class Channel(Word):
    """The channel that delivers a code."""

    SMS = "sms"
    """In a text message."""
    CALL = "call"
    """In a voice call."""


class PhoneType(Word):
    """The types of phone numbers that the interface defines."""

    VOIP = "voip"
    """A number reached over the Internet."""
    LANDLINE = "landline"
    """A number that receives no SMS."""
    CELLPHONE = "cellphone"
    """A mobile number."""
    UNKNOWN = "unknown"
    """None of these for certain. North American numbers do not distinguish mobile phones from
    landlines."""


class ApprovalStatus(Word):
    """A user's response. Only ``APPROVED`` lets a user in, and is truthy.

    >>> [status.name for status in seconder.enums.ApprovalStatus if status]
    ['APPROVED']
    """

    PENDING = "pending"
    """No response yet."""
    APPROVED = "approved"
    """The user approved the request."""
    DENIED = "denied"
    """The user denied the request."""
    EXPIRED = "expired"
    """The user did not respond in time."""
    UNKNOWN = "unknown"
    """A status that this library does not know. It lets no user in."""

    def __bool__(self) -> bool:
        return self is ApprovalStatus.APPROVED


class VerificationStatus(Word):
    """The states of a number's verification."""

    PENDING = "pending"
    """The code was sent and can still be checked."""
    VERIFIED = "verified"
    """The code was right."""
    EXPIRED = "expired"
    """The code was not entered in time, or wrong codes were entered too often."""
    UNKNOWN = "unknown"
    """A status that this library does not know."""


class LineType(Word):
    """The type of line behind a number."""

    MOBILE = "mobile"
    """A mobile phone."""
    LANDLINE = "landline"
    """A landline, which receives calls and no SMS."""
    VOIP = "voip"
    """A number of a telephone service over the Internet."""
    DISPOSABLE = "disposable"
    """A number that anyone can use for a while, such as one on a website that shows its
    messages."""


class DeviceType(Word):
    """The types of devices that users register (section 2.2)."""

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
    """The user approves."""
    DENY = "deny"
    """The user denies."""
    REPORT = "report"
    """The user denies, and reports that the request was not theirs. Further requests to the user
    are snoozed for 5 minutes."""


class Format(Word):
    """A format of requests and replies: the ``{FORMAT}`` of a path (section 4)."""

    JSON = "json"
    """JSON."""
    XML = "xml"
    """XML."""


class Generation(Word):
    """The two generations of the interface (section 9). A service accepts the requests of both.
    Which bodies it replies with is a setting of the application and not a matter of the request,
    because clients in use send the key as a parameter and expect the current bodies."""

    CURRENT = "current"
    """The key in a header, and ``success`` as a flag in most replies."""
    OLDER = "older"
    """The key as the query parameter ``api_key``, and the replies of 2012, in which ``success`` is
    text."""


class CallbackMethod(Word):
    """The HTTP method by which an application receives callbacks (section 6)."""

    POST = "post"
    """By POST, with a JSON body."""
    GET = "get"
    """By GET, with the parameters as the query of the URL. It is for applications whose server or
    proxy accepts nothing else: the content of a URL tends to appear in logs, and many servers limit
    its length, often to 8 KiB."""


class Repeats(Word):
    """The calls that a client retries when it is rate limited (status 429 or 503, with
    ``Retry-After``) and the wait ends before the call's deadline.

    Nothing else is ever retried: a call that failed after its first byte was sent may have taken
    effect.
    """

    NONE = "none"
    """No calls: the caller gets :class:`seconder.RateLimited` and decides."""
    QUESTIONS = "questions"
    """Calls that change nothing: ``app_details``, ``user_status``, ``app_stats``, ``phone_info``,
    ``phone_verification_status``, ``check_approval``, ``find_user``, ``devices`` and
    ``recognise``."""
    ALL = "all"
    """All calls, including the ones that check a code, send a message or change something. These
    take effect twice if the service had already begun to carry them out when it asked to wait."""


class Algorithm(Word):
    """The hash function of the codes. Most apps support only SHA-1."""

    SHA1 = "SHA1"
    """HMAC-SHA-1, the default of RFC 6238."""
    SHA256 = "SHA256"
    """HMAC-SHA-256."""
    SHA512 = "SHA512"
    """HMAC-SHA-512."""


class Stage(Word):
    """The stage that a call had reached when it failed."""

    DNS = "dns"
    """The host name was being resolved."""
    CONNECT = "connect"
    """The connection was being established."""
    TLS = "tls"
    """The TLS handshake was under way and the certificate was being verified."""
    RESPONSE = "response"
    """The request may have been sent, in whole or in part."""
    DELIVERY = "delivery"
    """A code was being handed to the gateway or function that delivers it."""
    ACCESS = "access"
    """The socket of a ``unix:`` URL may not be used by this process, or does not belong to a
    trusted service. Nothing was sent. Waiting does not help: an operator has to act."""


class Code(Word):
    """The error codes of services (section 7). Services send others too: a code is text, and one
    that is not listed here is no error in itself.

    >>> try:
    ...     service.user_status(12345)
    ... except seconder.Rejected as error:
    ...     error.code == seconder.enums.Code.USER_NOT_FOUND, error.code
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
    NUMBER_REFUSED = "number_refused"
    """The provider refuses the phone number, as one that does not exist or cannot be reached."""
    FACTOR_LOCKED = "factor_locked"
    """Locked after too many wrong codes, or by an operator, until the user is unlocked."""
    TOO_MANY_WRONG_KEYS = "too_many_wrong_keys"
    """Too many wrong API keys from the address of the request."""
    NOT_RECOGNISED = "not_recognised"
    """The browser is not remembered."""

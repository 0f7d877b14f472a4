"""The words of the interface, as enums that are text: comparing with the word holds."""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """A word that is text as well: ``Channel.SMS == "sms"``. Where one is asked for, the text does.

    >>> seconder.Channel("sms") is seconder.Channel.SMS, seconder.Channel.SMS == "sms"
    (True, True)
    """

    __str__ = str.__str__


class ApprovalStatus(Word):
    """How a user answered (section 3.2). It is true when, and only when, it is ``APPROVED``.

    >>> [status.name for status in seconder.ApprovalStatus if status]
    ['APPROVED']
    """

    UNKNOWN = "unknown"
    """A status that this library does not know, which lets nobody in."""
    PENDING = "pending"
    """Not answered yet."""
    APPROVED = "approved"
    """The user said yes."""
    DENIED = "denied"
    """The user said no."""
    EXPIRED = "expired"
    """Nobody answered in time."""

    def __bool__(self) -> bool:
        return self is ApprovalStatus.APPROVED


class PhoneType(Word):
    """The kinds of phone number that the interface knows (section 4.11)."""

    VOIP = "voip"
    """A number reached over the Internet."""
    LANDLINE = "landline"
    """A number that receives no SMS."""
    CELLPHONE = "cellphone"
    """A mobile number."""
    UNKNOWN = "unknown"
    """None of them for sure. In North America the number itself does not tell."""


class Channel(Word):
    """How a code travels (section 4.10)."""

    SMS = "sms"
    """In a text message."""
    CALL = "call"
    """In a voice call."""


class ActivityType(Word):
    """The activities that the interface knows (section 4.6)."""

    PASSWORD_RESET = "password_reset"
    """The user's password was set anew."""
    BANNED = "banned"
    """The application locked the user out."""
    UNBANNED = "unbanned"
    """The application let the user in again."""
    COOKIE_LOGIN = "cookie_login"
    """A cookie stood in for the second factor."""


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
    """What a user says to an approval request."""

    APPROVE = "approve"
    """Yes."""
    DENY = "deny"
    """No."""
    REPORT = "report"
    """No, and it was not me who asked: the user is snoozed for 5 minutes."""


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


class Repeats(Word):
    """Which calls a client repeats when the service said "wait" and the wait fits into the call's
    time. Nothing else is ever repeated."""

    NONE = "none"
    """None: every wait is the caller's, as :class:`seconder.RateLimited`."""
    QUESTIONS = "questions"
    """Those that only ask and change nothing, the default."""
    ALL = "all"
    """All. A service that said "wait" after it had begun then does it twice."""


class Algorithm(Word):
    """The hash that an authenticator app makes codes with. Most apps know SHA-1 alone."""

    SHA1 = "SHA1"
    """HMAC-SHA-1, the default of RFC 6238."""
    SHA256 = "SHA256"
    """HMAC-SHA-256."""
    SHA512 = "SHA512"
    """HMAC-SHA-512."""


class Stage(Word):
    """How far a call came before it failed."""

    DNS = "dns"
    """The host name was being looked up."""
    CONNECT = "connect"
    """The connection was being made."""
    TLS = "tls"
    """The service's certificate was being checked."""
    RESPONSE = "response"
    """The request may have been sent, whole or in part."""
    DELIVERY = "delivery"
    """A code was being handed to what delivers it."""

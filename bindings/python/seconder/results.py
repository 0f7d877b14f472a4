"""What calls give back: values that do not change, can be compared, and can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar

R = TypeVar("R", bound="Result")


class ApprovalStatus(str, Enum):
    """How a user answered (section 3.2). It is true when, and only when, it is ``APPROVED``."""

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

    __str__ = str.__str__

    def __bool__(self) -> bool:
        return self is ApprovalStatus.APPROVED


class PhoneType(str, Enum):
    """The kinds of phone number that the interface knows (section 4.11)."""

    VOIP = "voip"
    """A number reached over the Internet."""
    LANDLINE = "landline"
    """A number that receives no SMS."""
    CELLPHONE = "cellphone"
    """A mobile number."""
    UNKNOWN = "unknown"
    """None of them for sure. In North America the number itself does not tell."""

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Result:
    """What all results have in common."""

    @classmethod
    def _read(cls: type[R], reply: Mapping[str, Any]) -> R:
        return cls(**reply)

    def to_dict(self) -> dict[str, Any]:
        """The fields as dicts, lists, text and numbers, ready for JSON. Secrets are shown."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Done(Result):
    """What was asked for is done."""

    message: str | None = None
    """What happened, in the service's words."""


@dataclass(frozen=True, slots=True)
class UserCreated(Result):
    """The user is enrolled (section 4.1)."""

    id: int
    """The id to keep and to give to the other calls as ``svc_id`` or ``user_id``."""
    message: str | None = None
    """What happened, in the service's words."""


@dataclass(frozen=True, slots=True)
class CodeRequested(Result):
    """A code is on its way, or was not needed (section 4.2)."""

    message: str | None = None
    """What happened, in the service's words."""
    cellphone: str | None = None
    """The number used, masked: ``+1-XXX-XXX-XX23``."""
    ignored: bool = False
    """Nothing was sent, because the user has an app and ``force`` was not given."""
    device: str | None = None
    """The user's latest device, when the request was ignored."""


@dataclass(frozen=True, slots=True)
class Device(Result):
    """What a code was made or received with (section 2.5). Services leave out what they do
    not know."""

    id: int | None = None
    """The device's number."""
    ip: str | None = None
    """The address it was last seen at."""
    city: str | None = None
    """The city of that address."""
    region: str | None = None
    """The region of that address."""
    country: str | None = None
    """The country of that address."""
    os_type: str | None = None
    """``android``, ``ios``, ``sms``, …"""
    registration_device_id: int | None = None
    """The number it was registered under."""
    registration_ip: str | None = None
    """The address it was registered from."""
    registration_city: str | None = None
    """The city of that address."""
    registration_region: str | None = None
    """The region of that address."""
    registration_country: str | None = None
    """The country of that address."""
    registration_method: str | None = None
    """How the user proved the number then."""
    registration_date: int | None = None
    """When it was registered, in Unix seconds."""
    last_account_recovery_at: int | None = None
    """When the account was last recovered, in Unix seconds."""


def _device(reply: Mapping[str, Any] | None) -> Device | None:
    return None if reply is None else Device._read(reply)


@dataclass(frozen=True, slots=True)
class Verification(Result):
    """The code was right, and was used for the first time (section 4.4)."""

    message: str | None = None
    """What happened, in the service's words."""
    device: Device | None = None
    """What the code was made or received with, where the service tells."""

    @classmethod
    def _read(cls, reply: Mapping[str, Any]) -> Verification:
        return cls(message=reply["message"], device=_device(reply["device"]))


@dataclass(frozen=True, slots=True)
class Application(Result):
    """One application of the service (section 2.3)."""

    app_id: int | None = None
    """The application's number."""
    name: str = ""
    """The name that users see in messages."""
    plan: str | None = None
    """What was booked with the service."""
    sms_enabled: bool = False
    """Whether codes can be sent by SMS."""
    white_label: bool = False
    """Whether the application's own app is used."""
    message: str | None = None
    """What happened, in the service's words."""


@dataclass(frozen=True, slots=True)
class UserStatus(Result):
    """A user as the service knows them (section 2.2)."""

    svc_id: int
    """The user's id."""
    confirmed: bool = False
    """Whether the user has used a valid code."""
    registered: bool = False
    """Whether the user has registered an app."""
    country_code: int | None = None
    """The calling code of the user's number."""
    phone_number: str | None = None
    """The user's number, masked: ``XXX-XXX-0123``."""
    devices: tuple[str, ...] = ()
    """What codes come from or go to: ``android``, ``android_tablet``, ``ios``, ``svc_chrome``,
    ``sms``."""
    has_hard_token: bool = False
    """Whether the user has a hardware token."""
    account_disabled: bool = False
    """Whether the user's account is switched off."""
    message: str | None = None
    """What happened, in the service's words."""

    @classmethod
    def _read(cls, reply: Mapping[str, Any]) -> UserStatus:
        return cls(**{**reply, "devices": tuple(reply["devices"])})


@dataclass(frozen=True, slots=True)
class MonthlyStatistic(Result):
    """What the application used in one month, in UTC (section 2.4)."""

    month: str
    """The English name of the month."""
    year: int
    """The year."""
    api_calls_count: int | None = None
    """How many calls the application made."""
    auths_count: int | None = None
    """How many codes and approvals let somebody in."""
    calls_count: int | None = None
    """How many voice calls were made."""
    sms_count: int = 0
    """How many SMS were sent."""
    users_count: int = 0
    """How many users were enrolled."""


@dataclass(frozen=True, slots=True)
class Statistics(Result):
    """What the application used (section 4.9)."""

    app_id: int | None = None
    """The application's number."""
    count: int | None = None
    """How many months follow."""
    message: str | None = None
    """What happened, in the service's words."""
    stats: tuple[MonthlyStatistic, ...] = ()
    """The months, the oldest first."""
    total_users: int | None = None
    """How many users the application has now."""

    @classmethod
    def _read(cls, reply: Mapping[str, Any]) -> Statistics:
        months = tuple(MonthlyStatistic._read(month) for month in reply["stats"])
        return cls(**{**reply, "stats": months})


@dataclass(frozen=True, slots=True)
class PhoneVerificationStarted(Result):
    """A code is on its way to the number (section 4.10)."""

    carrier: str | None = None
    """Who carries the number, where the service knows."""
    is_ported: bool | None = None
    """Whether the number moved from one carrier to another, where the service knows."""
    is_cellphone: bool | None = None
    """Whether the number is a mobile one, where the service knows."""
    message: str | None = None
    """What happened, in the service's words."""
    seconds_to_expire: int | None = None
    """How long the code lives, in seconds."""
    uuid: str | None = None
    """The verification's own name."""


@dataclass(frozen=True, slots=True)
class PhoneInformation(Result):
    """What the service knows of a number (section 4.11)."""

    message: str | None = None
    """What happened, in the service's words."""
    type: PhoneType = PhoneType.UNKNOWN
    """The kind of number."""
    provider: str | None = None
    """Who carries the number, where the service knows."""
    ported: bool | None = None
    """Whether the number moved from one carrier to another, where the service knows."""

    @classmethod
    def _read(cls, reply: Mapping[str, Any]) -> PhoneInformation:
        return cls(**{**reply, "type": PhoneType(reply["type"])})


@dataclass(frozen=True, slots=True)
class ApprovalCreated(Result):
    """The user is being asked (section 4.12)."""

    uuid: str
    """The request's name, to ask for its answer with."""


@dataclass(frozen=True, slots=True)
class Approval(Result):
    """An approval request as the service knows it (section 2.6).

    It is true when, and only when, it is approved. An approved request of somebody else proves
    nothing: ask :meth:`approved_by` with the user who logs in.
    """

    status: ApprovalStatus
    """How the user answered."""
    uuid: str | None = None
    """The request's name."""
    svc_id: int | None = None
    """The user who was asked, where the service tells."""
    created_at: str | None = None
    """When the request was made, in RFC 3339."""
    updated_at: str | None = None
    """When the request last changed, in RFC 3339."""
    processed_at: str | None = None
    """When the user answered, in RFC 3339; none while the request is pending."""
    seconds_to_expire: int | None = None
    """How long the request can be answered, in seconds; 0 is for ever."""
    notified: bool | None = None
    """Whether a device was told of the request."""

    @classmethod
    def _read(cls, reply: Mapping[str, Any]) -> Approval:
        return cls(**{**reply, "status": ApprovalStatus(reply["status"])})

    def __bool__(self) -> bool:
        return bool(self.status)

    def approved_by(self, svc_id: int) -> bool:
        """Whether this user said yes. False also when the service does not tell who did."""
        return bool(self.status) and self.svc_id == svc_id


@dataclass(frozen=True, slots=True)
class AuthenticatorEnrolled(Result):
    """What the user's app needs. Whoever sees it can make the user's codes, so ``repr`` does not
    show it."""

    label: str | None = None
    """What the app shows beside the code."""
    issuer: str | None = None
    """Who the code is for."""
    uri: str = field(default="", repr=False)
    """The ``otpauth:`` URI that holds the secret."""
    qr_code: str = field(default="", repr=False)
    """The same as a picture: a ``data:`` or ``https:`` URL for an ``<img>``."""


@dataclass(frozen=True, slots=True)
class DeviceRegistered(Result):
    """A device that was registered for a user: what it needs to answer approval requests."""

    device_id: int
    """The device."""
    secret: str = field(repr=False)
    """What the device proves itself with. It is told this once."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest(Result):
    """An approval request as a device shows it."""

    uuid: str
    """The request's name."""
    message: str
    """What the user is asked."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What else the user is shown."""
    expires_at: int | None = None
    """When the request can be answered no longer, in Unix seconds; none is never."""


@dataclass(frozen=True, slots=True)
class Event(Result):
    """An answer to an approval request, told by the service itself (section 6).

    It is true when, and only when, it tells of an approval. Compare the user too: ask
    :meth:`approved_by` with the user who logs in.
    """

    uuid: str
    """The approval request."""
    status: ApprovalStatus
    """How the user answered."""
    svc_id: int | None = None
    """The user who answered, where the service tells."""
    device: Device | None = None
    """The device that answered, where the service tells."""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    """Everything that was received."""

    @classmethod
    def _read(cls, reply: Mapping[str, Any]) -> Event:
        status, device = ApprovalStatus(reply["status"]), _device(reply["device"])
        return cls(**{**reply, "status": status, "device": device})

    def __bool__(self) -> bool:
        return bool(self.status)

    def approved_by(self, svc_id: int) -> bool:
        """Whether this user said yes. False also when the service does not tell who did."""
        return bool(self.status) and self.svc_id == svc_id


@dataclass(frozen=True, slots=True)
class Message(Result):
    """A message to a phone, for the function that ``deliver`` names."""

    to: str
    """The number, in E.164: ``+15550100123``."""
    via: str
    """How it travels: ``sms`` or ``call``."""
    text: str = field(repr=False)
    """What the person reads or hears. It holds the code."""
    code: str = field(repr=False)
    """The code alone."""
    expires_at: int
    """When the code dies, in Unix seconds."""

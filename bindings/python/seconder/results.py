"""What calls give back: values that do not change, can be compared, and can be pickled."""

from __future__ import annotations

from seconder._value import Value, field
from seconder.enums import ApprovalStatus, Channel, PhoneType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from typing_extensions import Self

    from seconder import _seconder


class Result(Value):
    """What all results have in common.

    >>> user = seconder.UserCreated(7)
    >>> user
    UserCreated(id=7, message=None)
    >>> user == seconder.UserCreated(7) and hash(user) == hash(seconder.UserCreated(7))
    True
    >>> match user:
    ...     case seconder.UserCreated(id):
    ...         print(id)
    7
    """

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**reply)


class Reply(Result):
    """A result that a service may say more in than the interface knows."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, kw_only=True)
    """What the service said beyond the fields above, by its own names. It decides nothing, and
    ``repr`` does not show it."""


def _moment(told: str | int) -> datetime | None:
    """A time of RFC 3339 or in Unix seconds; none for what is no time."""
    from datetime import datetime, timezone

    try:
        if isinstance(told, int):
            return datetime.fromtimestamp(told, timezone.utc)
        moment = datetime.fromisoformat(told[:-1] + "+00:00" if told.endswith("Z") else told)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _read_times(reply: dict[str, Any], *names: str) -> None:
    """Makes times of what these fields tell; what is no time is kept as it was said."""
    for name in names:
        told = reply.get(name)
        if told is not None:
            reply[name] = _moment(told)
            if reply[name] is None:
                reply.setdefault("extra", {})[name] = told


class Done(Reply):
    """What was asked for is done."""

    message: str | None = None
    """What happened, in the service's words."""


class UserCreated(Reply):
    """The user is enrolled (section 4.1)."""

    id: int
    """The id to keep and to give to the other calls as ``user_id``."""
    message: str | None = None
    """What happened, in the service's words."""


class CodeRequested(Reply):
    """A code is on its way, or was not needed (section 4.2)."""

    message: str | None = None
    """What happened, in the service's words."""
    cellphone: str | None = None
    """The number used, masked: ``+1-XXX-XXX-XX23``."""
    ignored: bool = False
    """Nothing was sent, because the user has an app and ``force`` was not given."""
    device: str | None = None
    """The user's latest device, when the request was ignored."""


class Device(Reply):
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
    """``android``, ``ios``, ``sms``, ``authenticator``, …"""
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
    registration_date: datetime | None = None
    """When it was registered, in UTC."""
    last_account_recovery_at: datetime | None = None
    """When the account was last recovered, in UTC."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        _read_times(reply, "registration_date", "last_account_recovery_at")
        return cls(**reply)


def _device(reply: dict[str, Any] | None) -> Device | None:
    return None if reply is None else Device._read(reply)


class Verification(Reply):
    """The code was right, and was used for the first time (section 4.4)."""

    message: str | None = None
    """What happened, in the service's words."""
    device: Device | None = None
    """What the code was made or received with, where the service tells."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(
            message=reply["message"], device=_device(reply["device"]), extra=reply.get("extra", {})
        )


class Application(Reply):
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


class UserStatus(Reply):
    """A user as the service knows them (section 2.2)."""

    user_id: int
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
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "devices": tuple(reply["devices"])})


class MonthlyStatistic(Reply):
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


class Statistics(Reply):
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
    def _read(cls, reply: dict[str, Any]) -> Self:
        months = tuple(MonthlyStatistic._read(month) for month in reply["stats"])
        return cls(**{**reply, "stats": months})


class PhoneVerificationStarted(Reply):
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


class PhoneInformation(Reply):
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
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "type": PhoneType(reply["type"])})


class ApprovalCreated(Reply):
    """The user is being asked (section 4.12)."""

    uuid: str
    """The request's name, to ask for its answer with."""


class Approval(Reply):
    """An approval request as the service knows it (section 2.6).

    It is true when, and only when, it is approved. An approved request of somebody else proves
    nothing: ask :meth:`approved_by` with the user who logs in.
    """

    status: ApprovalStatus
    """How the user answered."""
    uuid: str | None = None
    """The request's name."""
    user_id: int | None = None
    """The user who was asked, where the service tells."""
    created_at: datetime | None = None
    """When the request was made."""
    updated_at: datetime | None = None
    """When the request last changed."""
    processed_at: datetime | None = None
    """When the user answered; none while the request is pending."""
    seconds_to_expire: int | None = None
    """How long the request can be answered, in seconds; 0 is for ever."""
    notified: bool | None = None
    """Whether a device was told of the request."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        _read_times(reply, "created_at", "updated_at", "processed_at")
        return cls(**{**reply, "status": ApprovalStatus(reply["status"])})

    def __bool__(self) -> bool:
        return bool(self.status)

    def approved_by(self, user_id: int) -> bool:
        """Whether this user said yes. False also when the service does not tell who did.

        Args:
            user_id: The user who logs in.

        Returns:
            True for the user who approved it, and for nobody else.

        Example:
            >>> told = seconder.Approval(seconder.ApprovalStatus.APPROVED, user_id=7)
            >>> told.approved_by(7), told.approved_by(8)
            (True, False)
        """
        return bool(self.status) and self.user_id == user_id


class AuthenticatorEnrolled(Reply):
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


class DeviceRegistered(Result):
    """A device that was registered for a user: what it needs to answer approval requests."""

    device_id: int
    """The device."""
    secret: str = field(repr=False)
    """What the device proves itself with. It is told this once."""


class ApprovalRequest(Result):
    """An approval request as a device shows it."""

    uuid: str
    """The request's name."""
    message: str
    """What the user is asked."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What else the user is shown."""
    expires_at: datetime | None = None
    """When the request can be answered no longer, in UTC; none is never."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        expires_at = reply["expires_at"]
        return cls(**{**reply, "expires_at": None if expires_at is None else _moment(expires_at)})


_APPROVAL_STATUS = {status.value: status for status in ApprovalStatus}


class Event(Result):
    """An answer to an approval request, told by the service itself (section 6).

    It is true when, and only when, it tells of an approval. Compare the user too: ask
    :meth:`approved_by` with the user who logs in.
    """

    uuid: str
    """The approval request."""
    status: ApprovalStatus
    """How the user answered."""
    user_id: int | None = None
    """The user who answered, where the service tells."""
    device: Device | None = None
    """The device that answered, where the service tells."""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    """Everything that was received and signed. Empty dicts and lists are left out, because no
    signature covers them; nor does one cover whether a value is a number or its text, or None or an
    empty text: decide on none of these."""

    @classmethod
    def _told(cls, told: _seconder.Told) -> Self:
        event, put = cls.__new__(cls), object.__setattr__
        put(event, "uuid", told.uuid)
        put(event, "status", _APPROVAL_STATUS[told.status])
        put(event, "user_id", told.user_id)
        put(event, "_said", told)
        return event

    if not TYPE_CHECKING:
        __slots__ = ("_said",)

        def __getattr__(self, name):
            """What few ask for, made when it is asked for."""
            if name == "device":
                value = _device(self._said.device)
            elif name == "parameters":
                value = self._said.parameters
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            object.__setattr__(self, name, value)
            return value

    def __bool__(self) -> bool:
        return bool(self.status)

    def approved_by(self, user_id: int) -> bool:
        """Whether this user said yes. False also when the service does not tell who did.

        Args:
            user_id: The user who logs in.

        Returns:
            True for the user who approved it, and for nobody else.

        Example:
            >>> told = seconder.Event("a-1", seconder.ApprovalStatus.APPROVED, user_id=7)
            >>> told.approved_by(7), told.approved_by(8)
            (True, False)
        """
        return bool(self.status) and self.user_id == user_id


class Message(Result):
    """A message to a phone, for the function that ``deliver`` names."""

    to: str
    """The number, in E.164: ``+15550100123``."""
    via: Channel
    """How it travels."""
    text: str = field(repr=False)
    """What the person reads or hears. It holds the code."""
    code: str = field(repr=False)
    """The code alone."""
    expires_at: datetime
    """When the code dies, in UTC."""


class SignedCallback(Result):
    """A callback on its way to the application, for the function that ``post`` names
    (section 6)."""

    url: str
    """Where it goes."""
    body: bytes
    """The JSON body."""
    headers: Mapping[str, str] = field(hash=False)
    """The headers that carry the signature and its nonce, by name."""

"""The results of calls: immutable values that can be compared and pickled."""

from __future__ import annotations

from seconder._value import Value, field
from seconder.enums import ApprovalStatus, Channel, InstallMessage, PhoneType, VerificationStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, Literal

    from typing_extensions import Self

    from seconder import _seconder
    from seconder.enums import LineType
    from seconder.typed import Logo


class Result(Value):
    """The base of all results.

    >>> user = seconder.UserCreated(7)
    >>> user
    UserCreated(user_id=7, created=None, message=None, install_message=None)
    >>> user == seconder.UserCreated(7) and hash(user) == hash(seconder.UserCreated(7))
    True
    >>> match user:
    ...     case seconder.UserCreated(user_id):
    ...         print(user_id)
    7
    """

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**reply)


class Reply(Result):
    """A result to which a service may add fields that the interface does not have."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, kw_only=True)
    """The fields that the interface does not have, by the service's own names. They decide nothing,
    and ``repr`` does not show them."""


def _moment(text: str | int) -> datetime | None:
    """Parses a time in RFC 3339 or in Unix seconds; returns None if it is not a time."""
    # Imported on first use, to keep importing the package cheap.
    from datetime import datetime, timezone

    try:
        if isinstance(text, int):
            return datetime.fromtimestamp(text, timezone.utc)
        # Before Python 3.11, fromisoformat does not accept the suffix Z.
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _read_times(reply: dict[str, Any], *names: str) -> None:
    """Parses these fields as times, in place. Text that is not a time is kept in ``extra``."""
    for name in names:
        value = reply.get(name)
        if value is not None:
            reply[name] = _moment(value)
            if reply[name] is None:
                reply.setdefault("extra", {})[name] = value


class Done(Reply):
    """The call succeeded."""

    message: str | None = None
    """The service's message."""


class UserCreated(Reply):
    """The user is enrolled (section 4.1)."""

    user_id: int
    """The id to store, and to pass to the other calls."""
    created: bool | None = None
    """True if the call enrolled the user. False for a user who was there before, which may be
    somebody else than the one who typed the number. None if the service does not say, as only a
    service of Seconder does."""
    message: str | None = None
    """The service's message."""
    install_message: InstallMessage | None = None
    """The result of the SMS with a link to the app. None if the service does not say, as only a
    service of Seconder does."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        said = reply["install_message"]
        return cls(**{**reply, "install_message": None if said is None else InstallMessage(said)})


class CodeRequested(Reply):
    """A code is on its way, or was not needed (section 4.2)."""

    message: str | None = None
    """The service's message."""
    cellphone: str | None = None
    """The number used, masked: ``+1-XXX-XXX-XX23``."""
    ignored: bool = False
    """Nothing was sent, because the user has an app and ``force`` was not given."""
    device: str | None = None
    """The user's latest device, when the request was ignored."""
    resend_after: int | None = None
    """After how many seconds another request for the same action by the same channel is accepted,
    even if the code is not used. None if nothing was sent, or if the service does not say, as only
    a service of Seconder does."""


class Device(Reply):
    """The device that generated or received a code (section 2.5). Services leave out what they do
    not know, and a field of an unexpected type is None."""

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
    """``android``, ``ios``, ``sms``, ``authenticator``, ``recovery_code``, …"""
    registration_device_id: int | None = None
    """The id it was registered under."""
    registration_ip: str | None = None
    """The address it was registered from."""
    registration_city: str | None = None
    """The city of that address."""
    registration_region: str | None = None
    """The region of that address."""
    registration_country: str | None = None
    """The country of that address."""
    registration_method: str | None = None
    """The way in which the user proved to own the number at that time."""
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
    """The service's message."""
    device: Device | None = None
    """The device that generated or received the code, if the service provides it."""

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
    """The plan booked with the service."""
    sms_enabled: bool = False
    """True if codes can be sent by SMS."""
    phone_calls_enabled: bool = False
    """True if codes can be sent by voice call."""
    push_enabled: bool = False
    """True if approval requests can be sent."""
    white_label: bool = False
    """True if the application's own app is used."""
    message: str | None = None
    """The service's message."""


class Authenticator(Reply):
    """An authenticator app of a user (section 2.7)."""

    id: str
    """Its id, for :meth:`seconder.Service.remove_authenticator`."""
    confirmed: bool = False
    """True if a code of it was accepted. Until then it is pending."""
    label: str | None = None
    """The label that it was enrolled with, if one was given."""
    created_at: datetime | None = None
    """When it was enrolled, in UTC."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        _read_times(reply, "created_at")
        return cls(**reply)


class RegisteredDevice(Reply):
    """A device that a user has registered for approval requests (section 2.7)."""

    id: int
    """Its id, for :meth:`seconder.Service.remove_device`."""
    type: str | None = None
    """``android``, ``android_tablet``, ``ios`` or ``svc_chrome``."""
    created_at: datetime | None = None
    """When it was registered, in UTC."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        _read_times(reply, "created_at")
        return cls(**reply)


class RegisteredDevices(Reply):
    """The devices that a user has registered for approval requests (section 4.25)."""

    devices: tuple[RegisteredDevice, ...] = ()
    """The devices, the oldest first."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "devices": _registered(reply["devices"])})


def _registered(devices: list[dict[str, Any]]) -> tuple[RegisteredDevice, ...]:
    return tuple(RegisteredDevice._read(device) for device in devices)


class Factors(Reply):
    """The factors that protect a user's account (section 2.7). They hold no secret."""

    sms: bool = False
    """True if codes can be sent to the user's number by SMS."""
    authenticators: tuple[Authenticator, ...] = ()
    """The user's authenticator apps, the oldest first: at most one that is confirmed, and one that
    is pending."""
    devices: tuple[RegisteredDevice, ...] = ()
    """The devices that the user has registered for approval requests, the oldest first."""
    recovery_codes: int = 0
    """The number of recovery codes that the user has left."""
    codes_locked: bool = False
    """True if codes by SMS and voice are not checked, after too many wrong ones in a row, until
    :meth:`seconder.Service.unlock_user`."""
    authenticators_locked: bool = False
    """True if the codes of authenticator apps are not checked."""
    recovery_codes_locked: bool = False
    """True if recovery codes are not checked."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        apps = tuple(Authenticator._read(app) for app in reply["authenticators"])
        devices = _registered(reply["devices"])
        return cls(**{**reply, "authenticators": apps, "devices": devices})


class UserStatus(Reply):
    """A user as the service knows them (section 2.2)."""

    user_id: int
    """The user's id."""
    confirmed: bool = False
    """True if the user has used a valid code."""
    registered: bool = False
    """True if the user has registered an app."""
    country_code: int | None = None
    """The calling code of the user's number."""
    phone_number: str | None = None
    """The user's number, masked: ``XXX-XXX-0123``."""
    devices: tuple[str, ...] = ()
    """The devices that generate or receive codes: ``android``, ``android_tablet``, ``ios``,
    ``svc_chrome``, ``sms``."""
    has_hard_token: bool = False
    """True if the user has a hardware token."""
    account_disabled: bool = False
    """True if the user's account is disabled."""
    factors: Factors | None = None
    """The factors that protect the account. None if the service does not say, as only a service of
    Seconder does."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        factors = reply["factors"]
        read = None if factors is None else Factors._read(factors)
        return cls(**{**reply, "devices": tuple(reply["devices"]), "factors": read})


class MonthlyStatistic(Reply):
    """The application's usage in one month, in UTC (section 2.4)."""

    month: str
    """The English name of the month."""
    year: int
    """The year."""
    api_calls_count: int | None = None
    """The number of calls that the application made."""
    auths_count: int | None = None
    """The number of codes and approvals that let a user in."""
    calls_count: int | None = None
    """The number of voice calls that were made."""
    sms_count: int = 0
    """The number of SMS that were sent."""
    users_count: int = 0
    """The number of users who were enrolled."""


class Statistics(Reply):
    """The application's usage (section 4.9)."""

    app_id: int | None = None
    """The application's number."""
    count: int | None = None
    """The number of months that follow."""
    message: str | None = None
    """The service's message."""
    stats: tuple[MonthlyStatistic, ...] = ()
    """The months, the oldest first."""
    total_users: int | None = None
    """The number of users that the application has now."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        months = tuple(MonthlyStatistic._read(month) for month in reply["stats"])
        return cls(**{**reply, "stats": months})


class PhoneVerificationStarted(Reply):
    """A code is on its way to the number (section 4.10)."""

    carrier: str | None = None
    """The number's carrier, if the service knows it."""
    is_ported: bool | None = None
    """True if the number was ported between carriers, if the service knows."""
    is_cellphone: bool | None = None
    """True if the number is a mobile one, if the service knows."""
    message: str | None = None
    """The service's message."""
    seconds_to_expire: int | None = None
    """The time for which the code is valid, in seconds."""
    uuid: str | None = None
    """The id of the verification."""
    resend_after: int | None = None
    """As :attr:`CodeRequested.resend_after`, for this number."""


class PhoneVerificationRecord(Reply):
    """The state of a phone number's verification."""

    status: VerificationStatus = VerificationStatus.UNKNOWN
    """The state of the verification."""
    seconds_to_expire: int | None = None
    """The time for which the code is valid, in seconds; 0 unless the verification is pending."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "status": VerificationStatus(reply["status"])})


class PhoneInformation(Reply):
    """The service's information about a number (section 4.11)."""

    message: str | None = None
    """The service's message."""
    type: PhoneType = PhoneType.UNKNOWN
    """The kind of number."""
    provider: str | None = None
    """The number's carrier, if the service knows it."""
    ported: bool | None = None
    """True if the number was ported between carriers, if the service knows."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "type": PhoneType(reply["type"])})


class ApprovalCreated(Reply):
    """The approval request was created (section 4.12)."""

    uuid: str
    """The id of the request, for reading its status."""
    message: str | None = None
    """The service's message. An engine says if the user has no device that could respond yet."""
    number: str | None = field(default=None, repr=False)
    """The number to show to the user who logs in and types it on the phone. None if not needed."""


class Approval(Reply):
    """An approval request as the service knows it (section 2.6).

    It is truthy if, and only if, it is approved. A request that another user approved proves
    nothing: check :meth:`approved_by` with the user who logs in.
    """

    status: ApprovalStatus
    """The status of the request."""
    uuid: str | None = None
    """The id of the request."""
    user_id: int | None = None
    """The user the request was sent to, if the service provides it."""
    user_email: str | None = None
    """One of the user's e-mail addresses."""
    app_id: str | None = None
    """The id of the application that sent the request, a text of the service's own."""
    app_serial_id: int | None = None
    """The number of that application."""
    app_name: str | None = None
    """The name of that application."""
    message: str | None = None
    """The question to the user."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The details that are shown to the user."""
    hidden_details: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    """The details that are not shown to the user."""
    logos: tuple[Logo, ...] = field(default=(), hash=False)
    """The images that are shown with the request."""
    created_at: datetime | None = None
    """When the request was made."""
    updated_at: datetime | None = None
    """When the request last changed."""
    processed_at: datetime | None = None
    """When the user responded; None while the request is pending."""
    seconds_to_expire: int | None = None
    """The time for which the request can be answered, in seconds; 0 means that it never expires."""
    notified: bool | None = None
    """True if a device was notified of the request."""
    similar_id: int | None = None
    """The record's field ``user_id``, if it looks like a number; 0 if it is not the id of any user.
    Services use that field for ids of their own too, so it cannot confirm a user, but it can name
    another: see ``bound`` of :meth:`approved_by`."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        _read_times(reply, "created_at", "updated_at", "processed_at")
        status, logos = ApprovalStatus(reply["status"]), tuple(reply.get("logos", ()))
        return cls(**{**reply, "status": status, "logos": logos})

    def __bool__(self) -> bool:
        return bool(self.status)

    def approved_by(self, user_id: int, *, bound: bool = True) -> bool:
        """Returns whether this user approved the request. False also if the service does not
        provide the user, unless ``bound`` is false.

        Args:
            user_id: The user who logs in.
            bound: False also accepts a record that names no user, for a service that provides only
                the status. This is weaker: the record then says that somebody approved some
                request. If the uuid comes from the browser, attackers approve a request of their
                own and present its uuid in another user's login. So keep the uuid on the server,
                in the session of the login for whose user it was created; take it from there alone;
                and delete it once it was used. A user is recognised only under the ``names`` of
                :func:`seconder.open`, so these must be the service's. A record that names another
                user is never accepted.

        Returns:
            True for the user who approved it, and for no other.

        Example:
            >>> approval = seconder.Approval(seconder.ApprovalStatus.APPROVED, user_id=7)
            >>> approval.approved_by(7), approval.approved_by(8), approval.approved_by(8, bound=False)
            (True, False, False)
            >>> approval = seconder.Approval(seconder.ApprovalStatus.APPROVED)
            >>> approval.approved_by(7), approval.approved_by(7, bound=False)
            (False, True)
        """
        if bound or self.user_id is not None:
            return bool(self.status) and self.user_id == user_id
        return bool(self.status) and self.similar_id in (None, user_id)


class AuthenticatorEnrolled(Reply):
    """The secret for the user's authenticator app. It is enough to generate the user's codes, so
    ``repr`` does not show it."""

    label: str | None = None
    """The label that the app shows with the code."""
    issuer: str | None = None
    """The issuer that the app shows."""
    uri: str = field(default="", repr=False)
    """The ``otpauth:`` URI that holds the secret."""
    qr_code: str = field(default="", repr=False)
    """The URI as a QR code: a ``data:`` or ``https:`` URL for an ``<img>``."""


class DeviceInvited(Reply):
    """An invitation to register a phone (section 4.31). Anyone with the link or the code can use
    it, so ``repr`` does not show them."""

    expires_in: int
    """For how long the invitation is valid, in seconds."""
    link: str = field(default="", repr=False)
    """The link that the user opens on the phone."""
    code: str = field(default="", repr=False)
    """The code in it, which can be typed too: ten letters and digits in two groups."""
    qr_code: str = field(default="", repr=False)
    """The link as a QR code: a ``data:`` URL for an ``<img>``."""


class FoundUser(Reply):
    """The user who has a login name, and what the user can log in with (section 4.17)."""

    user_id: int
    """The user's id."""
    login: str
    """The login name."""
    confirmed: bool = False
    """True if the user has used a valid code."""
    authenticator: bool = False
    """True if a code of an authenticator app of the user was accepted."""
    devices: tuple[str, ...] = ()
    """The devices that generate or receive codes: ``android``, ``android_tablet``, ``ios``,
    ``svc_chrome``, ``sms``."""
    recovery_codes_left: int = 0
    """The number of recovery codes that the user has left."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "devices": tuple(reply["devices"])})


class RecoveryCodes(Reply):
    """The recovery codes of a user. Anyone who sees one can log in with it once, so ``repr`` does
    not show them (section 4.20)."""

    codes: tuple[str, ...] = field(default=(), repr=False)
    """The codes, of 12 digits each."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "codes": tuple(reply["codes"])})


class OfflinePrepared(Reply):
    """Data that a machine keeps to check codes while the service is unreachable. Anyone who has it
    can find the codes by trying all of them, so ``repr`` does not show it."""

    authenticator_id: int
    """The id of the authenticator app whose codes they are."""
    digits: int = field(repr=False)
    """The number of digits of a code."""
    period: int = field(repr=False)
    """The time for which the app shows a code, in seconds. A step is a time in Unix seconds divided
    by it."""
    last_step: int = field(repr=False)
    """The step that was used last. No code of it, or of an earlier step, may be accepted."""
    first_step: int = field(repr=False)
    """The step of the first hash; each further hash is of the next step."""
    expires_at: int
    """When the hashes must no longer be used, in Unix seconds."""
    hash_key: str = field(repr=False)
    """The key of the hashes: 32 bytes in Base64."""
    hashes: str = field(repr=False)
    """The hashes, 8 bytes each, in Base64."""
    message: str | None = None
    """The service's message."""


class Remembered(Reply):
    """A remembered browser (section 4.27). Anyone with the token needs no second factor, so
    ``repr`` does not show it."""

    token: str = field(repr=False)
    """The token for the browser's cookie: ASCII letters, digits, ``-``, ``.`` and ``_``."""
    expires_at: datetime
    """When the token expires, in UTC."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**{**reply, "expires_at": _moment(reply["expires_at"])})


class DeviceRegistered(Result):
    """A registered device, with what it needs to respond to approval requests."""

    device_id: int
    """The id of the device."""
    secret: str = field(repr=False)
    """The secret that authenticates the device. It is returned only once."""


class ApprovalRequest(Result):
    """An approval request as a device shows it."""

    uuid: str
    """The id of the request."""
    message: str
    """The question to the user."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further details for the user."""
    expires_at: datetime | None = None
    """When the request expires, in UTC; None if it never does."""
    number_digits: int = 0
    """The number of digits that the user has to type to approve it; 0 for none."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        expires_at = reply["expires_at"]
        return cls(**{**reply, "expires_at": None if expires_at is None else _moment(expires_at)})


class AuditEntry(Result):
    """A decision of an engine. It has no secret and no code."""

    time: datetime
    """When, in UTC, by the clock of the process that decided."""
    call: str
    """The call, such as ``verify``; ``open`` for the opening of the database."""
    verdict: str
    """The decision, such as ``right``, ``wrong`` or ``refused``: docs/limits.md lists them."""
    reason: str | None = None
    """The reason: docs/limits.md lists them. None if the verdict says it all."""
    user_id: int | None = None
    """The user. None for a number that belongs to no user, and for the application."""
    factor: str | None = None
    """``code``, ``authenticator`` or ``recovery_code``; several are joined by ``+``."""
    over_limit: str | None = None
    """The limit that was reached."""
    number: str | None = None
    """The number, masked."""
    user_ip: str | None = None
    """The address of the user, if the call has it."""
    operator_name: str | None = None
    """The name of the operator who did it, if one with a token did."""
    times: int = 1
    """The number of such decisions it stands for. Decisions that change nothing, such as guesses
    that have to wait, are recorded at most once a minute for each user and kind."""
    app_id: int | None = None
    """The application."""
    nonce: int | None = None
    """Distinguishes decisions of one user and millisecond."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        from datetime import timedelta

        at = reply["time"]
        # A float has not enough digits for all milliseconds.
        moment = _moment(at // 1000)
        time = None if moment is None else moment + timedelta(milliseconds=at % 1000)
        return cls(**{**reply, "time": time})


class AuditPage(Result):
    """A page of the decisions of an engine, the latest first."""

    entries: tuple[AuditEntry, ...] = ()
    """The decisions. There may be none although more follow."""
    next: str | None = None
    """The value to pass as ``after`` to read on; None at the end."""

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        entries = tuple(AuditEntry._read(entry) for entry in reply["entries"])
        return cls(entries=entries, next=reply["next"])


_APPROVAL_STATUS = {status.value: status for status in ApprovalStatus}


class Event(Result):
    """The response to an approval request, from a callback of the service (section 6).

    It is truthy if, and only if, the request was approved. Compare the user too: check
    :meth:`approved_by` with the user who logs in.
    """

    uuid: str
    """The id of the approval request."""
    status: ApprovalStatus
    """The status of the request."""
    user_id: int | None = None
    """The user who responded, if the service provides it."""
    device: Device | None = None
    """The device that responded, if the service provides it."""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    """All parameters that were received and signed. Empty dicts and lists are left out, because no
    signature covers them. Nor does a signature distinguish a number from its text, or None from
    an empty string: do not decide on such a difference."""

    @classmethod
    def _from_native(cls, native: _seconder.ReceivedEvent) -> Self:
        # Nearly every application needs these three fields alone, so the others are converted on
        # first use, by __getattr__, and __init__ is bypassed.
        event, put = cls.__new__(cls), object.__setattr__
        put(event, "uuid", native.uuid)
        put(event, "status", _APPROVAL_STATUS[native.status])
        put(event, "user_id", native.user_id)
        put(event, "_native", native)
        return event

    if not TYPE_CHECKING:
        __slots__ = ("_native",)

        def __getattr__(self, name):
            """Converts a field that few applications need, on first use."""
            if name == "device":
                value = _device(self._native.device)
            elif name == "parameters":
                value = self._native.parameters
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            object.__setattr__(self, name, value)
            return value

    def __bool__(self) -> bool:
        return bool(self.status)

    def approved_by(self, user_id: int) -> bool:
        """Returns whether this user approved the request. False also if the service does not
        provide the user.

        Args:
            user_id: The user who logs in.

        Returns:
            True for the user who approved it, and for no other.

        Example:
            >>> event = seconder.Event("a-1", seconder.ApprovalStatus.APPROVED, user_id=7)
            >>> event.approved_by(7), event.approved_by(8)
            (True, False)
        """
        return bool(self.status) and self.user_id == user_id


class Message(Result):
    """A message to a phone, as passed to ``deliver``."""

    to: str
    """The number, in E.164: ``+15550100123``."""
    via: Channel
    """The channel by which it is delivered."""
    text: str = field(repr=False)
    """The text to send or to speak. It includes the code, if there is one."""
    code: str = field(repr=False)
    """The code on its own. Empty for the install message to a new user."""
    expires_at: datetime | None
    """When the code expires, in UTC; None if there is no code."""
    id: str = ""
    """Identifies the message: 16 hexadecimal digits, the same in each attempt to send it, so that a
    provider can recognise one that it has accepted before."""
    language: str = ""
    """The language of the text, with its region if it is known: ``en-GB``, ``ar``."""


class PhoneLine(Result):
    """The line behind a number, as far as it is known, as ``lookup`` returns it."""

    carrier: str | None = None
    """The name of the carrier, if it is known."""
    kind: LineType | Literal["mobile", "landline", "voip", "disposable"] | None = None
    """The kind of the line, if it is known."""
    ported: bool | None = None
    """True if it was ported from another carrier, if that is known."""


class SignedCallback(Result):
    """A signed callback to the application, as passed to ``post`` (section 6)."""

    url: str
    """The URL to send it to, without the query."""
    body: bytes
    """The JSON body to send by POST. Empty for a GET."""
    headers: Mapping[str, str] = field(hash=False)
    """The headers by name: the signature and its nonce, which are new in each attempt, and
    ``Seconder-Delivery`` with an id that is the same in all attempts to post the callback."""
    method: Literal["POST", "GET"] = "POST"
    """The method to send it by: the setting ``callback_method``."""
    query: str = ""
    """The query to send by GET, without the ``?``. Empty for a POST."""


class JobsRun(Result):
    """The result of :meth:`seconder.Service.run_jobs`."""

    sent: int = 0
    """The number of messages and callbacks that were sent."""
    waiting: int = 0
    """The number that have to wait for another attempt."""
    failed: int = 0
    """The number that failed for good."""
    more: bool = False
    """True if the budget was used up, or the call was ended, so that there may be more to send at
    once."""


class CallRecord(Result):
    """A call that has ended, as passed to ``on_call``. It holds no code, key, number, e-mail address or
    message, only the ids that it names.

    >>> records: list[seconder.CallRecord] = []
    >>> with seconder.open("sandbox:", on_call=records.append) as own:
    ...     own.app_details().name
    'Seconder'
    >>> records[0].call, records[0].outcome, records[0].error, records[0].retries
    ('app_details', 'ok', None, 0)
    """

    call: str
    """The call's name, such as ``verify``. A wait for an approval is one call, and for an event loop
    each poll of it."""
    outcome: str
    """The outcome: ``ok``, or the reason why it failed, such as ``token_wrong``, ``rejected``,
    ``rate_limited`` or ``unavailable``."""
    duration: float
    """The time that it took, with all its waits, in seconds."""
    error: str | None = None
    """The name of the class of its exception; None for a success."""
    code: str | None = None
    """The service's error code, if it is one of the interface: 60000 to 60999."""
    http_status: int | None = None
    """The HTTP status of the service's last response. An engine has it for rejections."""
    stage: str | None = None
    """The stage at which it failed, if there was no response: a value of
    :class:`seconder.Stage`."""
    timed_out: bool = False
    """True if it exceeded its timeout."""
    attempts: int = 0
    """The number of requests that it sent, or began to send, to a remote service; 0 for an
    engine."""
    user_id: int | None = None
    """The user it is about."""
    factor: str | None = None
    """The accepted factor, where an operator may want to look at it: ``recovery_code``."""
    request_id: str | None = None
    """The id of the call, which its error has too."""

    @property
    def retries(self) -> int:
        """The number of requests after the first one, sent because the service asked to wait."""
        return max(0, self.attempts - 1)

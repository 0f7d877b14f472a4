"""The replies of the calls: immutable values that can be compared and pickled."""

from __future__ import annotations

from seconder._calling import (
    Reply as Reply,
    Result as Result,
    _moment,
    _read_times,
)
from seconder._value import field
from seconder.enums import ApprovalStatus, InstallMessage, PhoneType, VerificationStatus
from seconder.records import (
    ApprovalRequest as ApprovalRequest,
    AuditEntry as AuditEntry,
    AuditPage as AuditPage,
    CallRecord as CallRecord,
    DeviceRegistered as DeviceRegistered,
    Event as Event,
    JobsRun as JobsRun,
    Message as Message,
    PhoneLine as PhoneLine,
    SignedCallback as SignedCallback,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from typing_extensions import Self

    from seconder.typed import Logo


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

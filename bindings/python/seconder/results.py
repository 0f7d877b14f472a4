# Written by tools/generate from src/calls.rs and src/calls/*.rs.
"""The replies of the calls: immutable values that can be compared and pickled."""

from __future__ import annotations

from collections.abc import Mapping

from seconder._calling import (
    Decision,
    Reply as Reply,
    Result as Result,
    _leave_out,
    _read_each,
    _read_one,
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
    import datetime
    from seconder import typed
    import typing
    import typing_extensions
else:
    from seconder._later import datetime, typed, typing, typing_extensions


class UserCreated(Reply):
    """An enrolled user."""

    user_id: int
    """The id to store and to pass to the other calls."""
    created: bool | None = None
    """True if the call enrolled the user. False for a user who was there before, who may be another
    person than the one who typed the number. None if the service does not say: only a service of
    Seconder does."""
    message: str | None = None
    """The service's message."""
    install_message: InstallMessage | None = None
    """The outcome of the text message with a link to the app. None if the service does not say:
    only a service of Seconder does."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_one(reply, "install_message", InstallMessage)
        return cls(**reply)


class CodeRequested(Reply):
    """A code that was sent, or was not needed."""

    message: str | None = None
    """The service's message."""
    cellphone: str | None = None
    """The number used, masked: ``+1-XXX-XXX-XX23``."""
    ignored: bool = False
    """True if nothing was sent because the user has an app and the code was not forced."""
    device: str | None = None
    """The user's latest device, if the request was ignored."""
    resend_after: int | None = None
    """After how many seconds another request for the same action by the same channel is accepted,
    even if the code is not used. None if nothing was sent, or if the service does not say: only a
    service of Seconder does."""


class Device(Reply):
    """The device that generated or received a code, or answered an approval request (section 2.5).
    Services omit unknown fields, and a field of an unexpected type, such as a date as text, is left
    out."""

    id: int | None = None
    """The device's number."""
    ip: str | None = None
    """The IP address at which it was last seen."""
    city: str | None = None
    """The city of that address."""
    region: str | None = None
    """The region of that address."""
    country: str | None = None
    """The country of that address."""
    os_type: str | None = None
    """``android``, ``ios``, ``sms`` and similar; ``authenticator`` or ``recovery_code`` from this
    project's service."""
    registration_device_id: int | None = None
    """The number under which it was registered."""
    registration_ip: str | None = None
    """The IP address from which it was registered."""
    registration_city: str | None = None
    """The city of that address."""
    registration_region: str | None = None
    """The region of that address."""
    registration_country: str | None = None
    """The country of that address."""
    registration_method: str | None = None
    """The way in which the user's number was verified on registration."""
    registration_date: datetime.datetime | None = None
    """When it was registered, in UTC."""
    last_account_recovery_at: datetime.datetime | None = None
    """When the account was last recovered, in UTC."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_times(reply, "registration_date", "last_account_recovery_at")
        return cls(**reply)


class Verification(Reply):
    """A code that was right, and was used for the first time (section 4.4)."""

    message: str | None = None
    """The service's message."""
    device: Device | None = None
    """The device that generated or received the code, if the service provides it (section 2.5)."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _leave_out(reply, "verdict", "reused", "error_code")
        _read_one(reply, "device", Device._read)
        return cls(**reply)


class Done(Reply):
    """The reply to a call that returns only a message."""

    message: str | None = None
    """The service's message."""


class Application(Reply):
    """The service's record of an application (section 2.3)."""

    app_id: int | None = None
    """The application's number."""
    name: str = ""
    """The name shown to users in messages."""
    plan: str | None = None
    """The application's plan with the service."""
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
    """An authenticator app of a user."""

    id: str
    """Its id, for :meth:`seconder.Service.remove_authenticator`."""
    confirmed: bool = False
    """True if a code of it was accepted. Until then it is pending."""
    label: str | None = None
    """The label that it was enrolled with, if one was given."""
    created_at: datetime.datetime | None = None
    """When it was enrolled, in UTC."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_times(reply, "created_at")
        return cls(**reply)


class RegisteredDevice(Reply):
    """A device that a user has registered for approval requests."""

    id: int
    """Its id, for :meth:`seconder.Service.remove_device`."""
    type: str | None = None
    """``android``, ``android_tablet``, ``ios`` or ``svc_chrome``."""
    created_at: datetime.datetime | None = None
    """When it was registered, in UTC."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_times(reply, "created_at")
        return cls(**reply)


class Factors(Reply):
    """The factors of a user (section 2.7). None of these is a secret. A service that leaves one of
    them out says nothing: an empty list would mean that the user has none."""

    sms: bool = False
    """True if codes can be sent to the user's number by SMS."""
    authenticators: tuple[Authenticator, ...] = ()
    """The user's authenticator apps, oldest first: at most one that is confirmed, and one that is
    pending."""
    devices: tuple[RegisteredDevice, ...] = ()
    """The devices that the user has registered for approval requests, oldest first."""
    recovery_codes: int = 0
    """The number of recovery codes that the user has left."""
    codes_locked: bool = False
    """True if codes by SMS and voice are not checked, after too many wrong ones in a row, until
    :meth:`seconder.admin.Admin.unlock_user`; false if the service does not say."""
    authenticators_locked: bool = False
    """True if the codes of authenticator apps are not checked, until
    :meth:`seconder.admin.Admin.unlock_user`."""
    recovery_codes_locked: bool = False
    """True if recovery codes are not checked, until :meth:`seconder.admin.Admin.unlock_user`."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_each(reply, "authenticators", Authenticator._read)
        _read_each(reply, "devices", RegisteredDevice._read)
        return cls(**reply)


class UserStatus(Reply):
    """The service's record of a user (section 2.2)."""

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
    """The types of device that generate or receive codes: ``android``, ``android_tablet``, ``ios``,
    ``svc_chrome``, ``sms``."""
    has_hard_token: bool = False
    """True if the user has a hardware token."""
    account_disabled: bool = False
    """True if the user's account is disabled."""
    factors: Factors | None = None
    """The factors that protect the account. None if the service does not say: only a service of
    Seconder does."""
    created_at: datetime.datetime | None = None
    """When the user was created, in UTC. None if the service does not say: only a service of
    Seconder does."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_times(reply, "created_at")
        _read_each(reply, "devices")
        _read_one(reply, "factors", Factors._read)
        return cls(**reply)


class MonthlyStatistic(Reply):
    """The application's usage in one month, in UTC (section 2.4)."""

    month: str = ""
    """The English name of the month."""
    year: int = 0
    """The year."""
    api_calls_count: int | None = None
    """The number of API calls by the application."""
    auths_count: int | None = None
    """The number of codes and approvals that let a user in."""
    calls_count: int | None = None
    """The number of voice calls made."""
    sms_count: int = 0
    """The number of SMS sent."""
    users_count: int = 0
    """The number of users enrolled."""


class Statistics(Reply):
    """The application's usage."""

    app_id: int | None = None
    """The application's number."""
    count: int | None = None
    """The number of months, as the service counts them."""
    message: str | None = None
    """The service's message."""
    stats: tuple[MonthlyStatistic, ...] = ()
    """The months, oldest first."""
    total_users: int | None = None
    """The current number of the application's users."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_each(reply, "stats", MonthlyStatistic._read)
        return cls(**reply)


class PhoneVerificationStarted(Reply):
    """A verification that was started: a code was sent to the number."""

    carrier: str | None = None
    """The number's carrier."""
    is_ported: bool | None = None
    """True if the number was ported from another carrier."""
    is_cellphone: bool | None = None
    """True if the number is a mobile number."""
    message: str | None = None
    """The service's message."""
    seconds_to_expire: int | None = None
    """The time that the code remains valid, in seconds."""
    uuid: str | None = None
    """The id of the verification."""
    resend_after: int | None = None
    """After how many seconds another code can be sent to the number by the same channel, even if
    this one is not used. None if the service does not say: only a service of Seconder does."""


class PhoneInformation(Reply):
    """The service's record of a phone number."""

    message: str | None = None
    """The service's message."""
    type: PhoneType = PhoneType.UNKNOWN
    """The type of the number."""
    provider: str | None = None
    """The number's carrier."""
    ported: bool | None = None
    """True if the number was ported from another carrier."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_one(reply, "type", PhoneType)
        return cls(**reply)


class ApprovalCreated(Reply):
    """An approval request that was created."""

    uuid: str
    """The id of the request, for :meth:`seconder.Service.check_approval`."""
    message: str | None = None
    """The service's message. An engine's says if the user has no device that could respond."""
    number: str | None = field(default=None, repr=False)
    """The number that the application shows and the user types on the device. None if the request
    needs no number."""


class Approval(Decision, Reply):
    """The service's record of an approval request (section 2.6).

    It is truthy if, and only if, it is approved. A request that another user approved proves
    nothing: check :meth:`approved_by` with the user who logs in.
    """

    status: ApprovalStatus
    """The user's response."""
    uuid: str | None = None
    """The id of the request."""
    user_id: int | None = None
    """The user to whom the request was sent. Compare it with the user who logs in, or call
    :meth:`approved_by`."""
    user_email: str | None = None
    """One of the user's e-mail addresses."""
    app_id: str | None = None
    """The id of the application that sent the request, a text of the service's own."""
    app_serial_id: int | None = None
    """The number of that application."""
    app_name: str | None = None
    """The name of that application."""
    message: str | None = None
    """The question shown to the user."""
    details: Mapping[str, typing.Any] = field(default_factory=dict, hash=False)
    """The details shown to the user."""
    hidden_details: Mapping[str, typing.Any] = field(default_factory=dict, repr=False, hash=False)
    """The details not shown to the user."""
    logos: tuple[typed.Logo, ...] = field(default=(), hash=False)
    """The logos shown with the request."""
    created_at: datetime.datetime | None = None
    """When the request was created."""
    updated_at: datetime.datetime | None = None
    """When the request last changed."""
    processed_at: datetime.datetime | None = None
    """When the user responded; None while the request is pending."""
    seconds_to_expire: int | None = None
    """The time that the request remains open, in seconds; 0 means without an end."""
    notified: bool | None = None
    """True if a device was notified of the request."""
    similar_id: int | None = None
    """The record's field ``user_id``, if it looks like a number; 0 if it is not the id of any user.
    Services use that field for ids of their own too, so it cannot confirm a user, but it can name
    another: see ``bound`` of :meth:`approved_by`."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_times(reply, "created_at", "updated_at", "processed_at")
        _read_one(reply, "status", ApprovalStatus)
        _read_each(reply, "logos")
        return cls(**reply)


class PhoneVerificationRecord(Reply):
    """The service's record of a number's verification."""

    status: VerificationStatus = VerificationStatus.UNKNOWN
    """The state of the verification."""
    seconds_to_expire: int | None = None
    """The time that the code remains valid, in seconds; 0 unless the verification is pending."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_one(reply, "status", VerificationStatus)
        return cls(**reply)


class AuthenticatorEnrolled(Reply):
    """The secret for the user's app. Anyone who has it can generate the user's codes. ``repr`` does
    not show it."""

    label: str | None = None
    """The label that the app shows with the code."""
    issuer: str | None = None
    """The name of the application that the code is for."""
    uri: str = field(default="", repr=False)
    """The ``otpauth:`` URI that contains the secret."""
    qr_code: str = field(default="", repr=False)
    """The URI as a QR code: a ``data:`` or ``https:`` URL for an ``<img>``."""


class FoundUser(Reply):
    """The user who has a login name, and what the user can log in with."""

    user_id: int
    """The user's id."""
    login: str
    """The login name."""
    confirmed: bool = False
    """True if the user has used a valid code."""
    authenticator: bool = False
    """True if the user has a confirmed authenticator app."""
    devices: tuple[str, ...] = ()
    """The types of device that generate or receive codes, as in the status of a user: ``android``,
    ``android_tablet``, ``ios``, ``svc_chrome``, ``sms``."""
    recovery_codes_left: int = 0
    """The number of recovery codes that the user has left."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_each(reply, "devices")
        return cls(**reply)


class RecoveryCodes(Reply):
    """The recovery codes of a user. Anyone who has one can log in with it once."""

    codes: tuple[str, ...] = field(default=(), repr=False)
    """The codes, of 12 digits each. ``repr`` does not show them."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_each(reply, "codes")
        return cls(**reply)


class OfflinePrepared(Reply):
    """The hashes by which a machine checks codes while the service is unreachable. Anyone who has
    them can find the codes by trying all of them. ``repr`` does not show them."""

    authenticator_id: int
    """The number of the authenticator app that generates the codes, for
    :meth:`seconder.machines.Machines.report_offline`."""
    digits: int = field(repr=False)
    """The number of digits of a code."""
    period: int = field(repr=False)
    """The time that the app shows a code, in seconds. A step is a time in Unix seconds divided by
    it."""
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


class RegisteredDevices(Reply):
    """The devices that a user has registered."""

    devices: tuple[RegisteredDevice, ...] = ()
    """The devices, oldest first."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_each(reply, "devices", RegisteredDevice._read)
        return cls(**reply)


class Remembered(Reply):
    """A browser that is remembered."""

    token: str = field(repr=False)
    """The token for the browser's cookie: at most 200 letters, digits, dashes, dots and underscores
    of ASCII. It is returned only here. Anyone who has it needs no second factor. ``repr`` does not
    show it."""
    expires_at: datetime.datetime
    """When the token expires, in UTC."""
    message: str | None = None
    """The service's message."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        _read_times(reply, "expires_at")
        return cls(**reply)


class DeviceInvited(Reply):
    """An invitation. Anyone who has its link or its code can register a device. ``repr`` shows
    neither."""

    expires_in: int
    """For how long the invitation is valid, in seconds."""
    link: str = field(default="", repr=False)
    """The link that the user opens on the phone."""
    code: str = field(default="", repr=False)
    """The code in the link, which can be typed too: ten letters and digits in two groups."""
    qr_code: str = field(default="", repr=False)
    """The link as a QR code: a ``data:`` URL for an ``<img>``."""

"""Values other than replies: of an engine, of callbacks, and of calls that have ended. They are
immutable, and can be compared and pickled."""

from __future__ import annotations

from collections.abc import Mapping

from seconder._calling import Result, _moment
from seconder._value import field
from seconder.enums import ApprovalStatus, Channel, LineType

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    import typing

    import typing_extensions

    from seconder import _seconder, results
else:
    from seconder._later import datetime, results, typing, typing_extensions


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
    details: Mapping[str, typing.Any] = field(default_factory=dict, hash=False)
    """Further details for the user."""
    expires_at: datetime.datetime | None = None
    """When the request expires, in UTC; None if it never does."""
    number_digits: int = 0
    """The number of digits that the user has to type to approve it; 0 for none."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        expires_at = reply["expires_at"]
        return cls(**{**reply, "expires_at": None if expires_at is None else _moment(expires_at)})


class AuditEntry(Result):
    """A decision of an engine. It has no secret and no code."""

    time: datetime.datetime
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
    """The name of the operator with a token who did it, or of the user of the machine who ran the command."""
    request_id: str | None = None
    """The id of the request, as it is in the log of the service. None for what no request made."""
    times: int = 1
    """The number of such decisions it stands for. Decisions that change nothing, such as guesses
    that have to wait, are recorded at most once a minute for each user and kind."""
    app_id: int | None = None
    """The application."""
    nonce: int | None = None
    """Distinguishes decisions of one user and millisecond."""

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
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
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
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
    device: results.Device | None = None
    """The device that responded, if the service provides it."""
    parameters: Mapping[str, typing.Any] = field(default_factory=dict, repr=False, hash=False)
    """All parameters that were received and signed. Empty dicts and lists are left out, because no
    signature covers them. Nor does a signature distinguish a number from its text, or None from
    an empty string: do not decide on such a difference."""

    @classmethod
    def _from_native(cls, native: _seconder.ReceivedEvent) -> typing_extensions.Self:
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
                # The module of the replies imports this one.
                from seconder.results import Device

                given = self._native.device
                value = None if given is None else Device._read(given)
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
            >>> event = seconder.results.Event("a-1", seconder.enums.ApprovalStatus.APPROVED, user_id=7)
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
    expires_at: datetime.datetime | None
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
    kind: LineType | typing.Literal["mobile", "landline", "voip", "disposable"] | None = None
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
    method: typing.Literal["POST", "GET"] = "POST"
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

    >>> records: list[seconder.results.CallRecord] = []
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
    :class:`seconder.enums.Stage`."""
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

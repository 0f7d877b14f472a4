"""``open(url)``: who answers the calls; and the calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, NoReturn, TypedDict

from seconder import _seconder
from seconder.errors import InvalidArgument
from seconder.results import (
    Application,
    Approval,
    ApprovalCreated,
    ApprovalRequest,
    AuthenticatorEnrolled,
    CodeRequested,
    DeviceRegistered,
    Done,
    Message,
    PhoneInformation,
    PhoneVerificationStarted,
    Statistics,
    UserCreated,
    UserStatus,
    Verification,
)


class Logo(TypedDict):
    """A picture to show with an approval request (section 4.12)."""

    res: Literal["default", "low", "med", "high"]
    """How fine the picture is; of all that are given, one must be ``default``."""
    url: str
    """Where the picture is."""


def open(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float = 10.0,
    ca_file: str | PathLike[str] | None = None,
    allow_loopback_http: bool = False,
    application_name: str | None = None,
    callback_url: str | None = None,
    deliver: Callable[[Message], object] | None = None,
) -> Service:
    """Opens a service. Nothing is read from the environment.

    Args:
        url: Who answers: ``https://…`` is a service elsewhere; ``sqlite:/path/file.db`` an engine
            in this process; ``sandbox:`` one that forgets and accepts every token, for the tests
            of applications (``sandbox:?accept=0000000`` accepts that one alone).
        api_key: The application's API key. A service elsewhere needs it; an engine makes one for
            the first application of a new database when none is given.
        timeout: How long a call to a service elsewhere may take from its first step to its last,
            in seconds.
        ca_file: A file of certificates in PEM to trust in place of the system's.
        allow_loopback_http: Allows ``http://`` to this machine itself. For tests: the key then
            travels in the clear.
        application_name: The name in messages and authenticator apps, for an engine. Default:
            what the database holds, and ``Seconder`` in a new one.
        callback_url: Where an engine posts the answers to approval requests (section 6): an
            ``https:`` URL, or an ``http:`` one of this machine. Default: what the database holds,
            and none in a new one.
        deliver: A function that carries the SMS and voice calls of an engine. An exception in it
            means that the message was not delivered. It may run in any thread that makes calls.
            Default: a folder of text files beside the database, named as the database with
            ``.spool`` for ``.db``.

    Raises:
        InvalidArgument: The URL or a setting cannot be right.
        StorageError: The database cannot be opened; it is left as it was.
        Unauthorized: The database has no application of that API key.
    """
    native = _seconder.open(
        url,
        api_key=api_key,
        timeout=timeout,
        ca_file=ca_file,
        allow_loopback_http=allow_loopback_http,
        application_name=application_name,
        callback_url=callback_url,
        deliver=None if deliver is None else _carrier(deliver),
    )
    return Service(native, url.partition(":")[0])


def _carrier(
    deliver: Callable[[Message], object],
) -> Callable[[str, str, str, str, int], None]:
    def carry(to: str, via: str, text: str, code: str, expires_at: int) -> None:
        done = deliver(Message(to=to, via=via, text=text, code=code, expires_at=expires_at))
        if inspect.iscoroutine(done):
            # Nobody would await it, and the message would be lost without a word.
            done.close()
            raise TypeError("deliver must not be an async function")

    return carry


class Service:
    """What answers the calls; :func:`seconder.open` makes it.

    It can be shared between threads, and other threads run while a call waits. It is a context
    manager that closes itself. Ctrl-C takes effect when the call that waits has ended, so for a
    service elsewhere within the ``timeout``. Every call raises :class:`seconder.SecondFactorError`
    when it gives no result: see :mod:`seconder.errors` for the kinds.
    """

    __slots__ = ("_native", "_scheme")

    def __init__(self, native: _seconder.Service, scheme: str) -> None:
        self._native = native
        self._scheme = scheme

    def create_user(
        self,
        email: str,
        cellphone: str,
        country_code: int | str,
        *,
        send_install_link_via_sms: bool = True,
    ) -> UserCreated:
        """Enrols a user, or adds an e-mail to the one who has this cellphone (section 4.1).

        Args:
            email: One of the user's e-mail addresses.
            cellphone: The key that matches users: 4 to 15 digits without the calling code, in
                groups separated by dashes, periods, spaces or nothing.
            country_code: The calling code of the number, 1 to 999.
            send_install_link_via_sms: Whether the user gets a first message that tells where the
                app is, where the service has such a message.

        Raises:
            InvalidArgument: An argument cannot be right; ``parameter`` names it.
        """
        user = {"email": email, "cellphone": cellphone, "country_code": country_code}
        reply = self._call(
            "create_user", user=user, send_install_link_via_sms=send_install_link_via_sms
        )
        return UserCreated._read(reply)

    def request_sms(
        self,
        svc_id: int,
        *,
        action: str | None = None,
        action_message: str | None = None,
        force: bool = False,
    ) -> CodeRequested:
        """Sends a code by SMS (section 4.2).

        Args:
            svc_id: The user who gets the code.
            action: Makes the code valid for this action alone, of 1 to 128 bytes; the same must
                be given to :meth:`verify`.
            action_message: What the message says of the action.
            force: Sends the code even to a user who has an app.

        Raises:
            Limited: The user was sent a code just now.
            Refused: There is no such user, or codes cannot be sent by SMS.
        """
        reply = self._call(
            "request_sms", svc_id=svc_id, action=action, action_message=action_message, force=force
        )
        return CodeRequested._read(reply)

    def request_call(
        self,
        svc_id: int,
        *,
        action: str | None = None,
        action_message: str | None = None,
        force: bool = False,
    ) -> CodeRequested:
        """Speaks a code in a voice call (section 4.3). All is as for :meth:`request_sms`."""
        reply = self._call(
            "request_call",
            svc_id=svc_id,
            action=action,
            action_message=action_message,
            force=force,
        )
        return CodeRequested._read(reply)

    def verify(
        self, token: str, svc_id: int, *, force: bool = False, action: str | None = None
    ) -> Verification:
        """Checks the code that a user typed (section 4.4). It returns for a right code alone.

        Args:
            token: What the user typed: 6 to 12 digits and nothing else, as text.
            svc_id: The user who is said to have typed it.
            force: Checks the code even of a user who was never confirmed.
            action: The action that the code was sent for.

        Raises:
            TokenInvalid: The code is not the user's, or no longer; ``reused`` tells of a code that
                was right once.
            NotChecked: The user was never confirmed and ``force`` was not given.
            Limited: There were wrong codes; ``retry_after`` tells when the user may try again.
            InvalidArgument: The token is not made of 6 to 12 digits, or another argument cannot be
                right.
        """
        _text("token", token)
        reply = self._call("verify", token=token, svc_id=svc_id, force=force, action=action)
        return Verification._read(reply)

    def delete_user(self, user_id: int, *, user_ip: str | None = None) -> Done:
        """Removes a user from the application, with all that is known of them (section 4.5).

        Args:
            user_id: The user who goes.
            user_ip: The address that asks for it, IPv4 or IPv6.

        Raises:
            Refused: There is no such user.
        """
        return Done._read(self._call("delete_user", user_id=user_id, user_ip=user_ip))

    def register_activity(
        self,
        user_id: int,
        type: Literal["password_reset", "banned", "unbanned", "cookie_login"],
        *,
        data: Mapping[str, Any] | None = None,
        user_ip: str | None = None,
    ) -> Done:
        """Tells what a user did, so that fraud can be found (section 4.6).

        Args:
            user_id: Whose activity it was.
            type: What happened.
            data: Whatever belongs to it, as JSON can hold it.
            user_ip: The address the user acted from, IPv4 or IPv6.

        Raises:
            Refused: There is no such user.
        """
        reply = self._call(
            "register_activity", user_id=user_id, type=type, data=data, user_ip=user_ip
        )
        return Done._read(reply)

    def app_details(self, *, user_ip: str | None = None) -> Application:
        """What the service knows of the application (section 4.7).

        Args:
            user_ip: The address that asks, IPv4 or IPv6.
        """
        return Application._read(self._call("app_details", user_ip=user_ip))

    def user_status(self, user_id: int, *, user_ip: str | None = None) -> UserStatus:
        """What the service knows of a user (section 4.8).

        Args:
            user_id: The user.
            user_ip: The address that asks, IPv4 or IPv6.

        Raises:
            Refused: There is no such user.
        """
        return UserStatus._read(self._call("user_status", user_id=user_id, user_ip=user_ip))

    def app_stats(self, *, user_ip: str | None = None) -> Statistics:
        """What the application used, month by month (section 4.9).

        Args:
            user_ip: The address that asks, IPv4 or IPv6.
        """
        return Statistics._read(self._call("app_stats", user_ip=user_ip))

    def start_phone_verification(
        self,
        via: Literal["sms", "call"],
        phone_number: str,
        country_code: int | str,
        *,
        locale: str | None = None,
        code_length: int | None = None,
    ) -> PhoneVerificationStarted:
        """Sends a code to a number that belongs to no user yet (section 4.10).

        Args:
            via: How the code travels.
            phone_number: The number, without its calling code.
            country_code: The calling code of the number, 1 to 999.
            locale: The language of the message, such as ``en``. A service that lacks it uses its
                own.
            code_length: How many digits the code has, 4 to 10. Default: as the service is set up.

        Raises:
            Limited: The number was sent a code just now.
            Refused: The number cannot be reached that way.
        """
        reply = self._call(
            "start_phone_verification",
            via=via,
            phone_number=phone_number,
            country_code=country_code,
            locale=locale,
            code_length=code_length,
        )
        return PhoneVerificationStarted._read(reply)

    def phone_info(
        self, phone_number: str, country_code: int | str, *, user_ip: str | None = None
    ) -> PhoneInformation:
        """What kind of number a number is (section 4.11).

        Args:
            phone_number: The number, without its calling code.
            country_code: The calling code of the number, 1 to 999.
            user_ip: The address of the user who asks, IPv4 or IPv6.

        Raises:
            Refused: The number is none.
        """
        reply = self._call(
            "phone_info", phone_number=phone_number, country_code=country_code, user_ip=user_ip
        )
        return PhoneInformation._read(reply)

    def create_approval(
        self,
        user_id: int,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        hidden_details: Mapping[str, Any] | None = None,
        logos: Sequence[Logo] | None = None,
        seconds_to_expire: int | None = None,
    ) -> ApprovalCreated:
        """Asks a user to approve something on their device (section 4.12).

        Args:
            user_id: The user who is asked.
            message: What the user is asked.
            details: What else the user is shown.
            hidden_details: What the user is not shown, and the application gets back.
            logos: Pictures to show; when there are any, one has ``res`` = ``default``.
            seconds_to_expire: How long the request can be answered, in seconds; 0 is for ever.
                Default 86400.

        Raises:
            Refused: There is no such user.
            Limited: The user has too many open requests.
        """
        reply = self._call(
            "create_approval",
            user_id=user_id,
            message=message,
            details=details,
            hidden_details=hidden_details,
            logos=logos,
            seconds_to_expire=seconds_to_expire,
        )
        return ApprovalCreated._read(reply)

    def check_approval(self, uuid: str) -> Approval:
        """How a user answered (section 4.13). Only :meth:`Approval.approved_by` lets anyone in.

        Args:
            uuid: The request's name, from :meth:`create_approval`.

        Raises:
            Refused: There is no such request.
        """
        return Approval._read(self._call("check_approval", uuid=uuid))

    def wait_for_approval(self, uuid: str, svc_id: int, *, timeout: float) -> Approval:
        """Waits until a user has answered, until the request has expired, or for so long as
        ``timeout`` says; then the status is still pending. Ask :meth:`Approval.approved_by` of what
        comes back.

        It asks the service again and again, at first after half a second and then ever more seldom,
        down to every 5 seconds; also while the service is busy or out of reach. Ctrl-C ends it. A
        request that is pending at the end can still be approved: ask for one that expires with the
        login, in ``seconds_to_expire`` of :meth:`create_approval`.

        Args:
            uuid: The request's name, from :meth:`create_approval`.
            svc_id: The user who logs in, and must be the one who was asked.
            timeout: How long to wait, in seconds. The last question may end later than that, by
                the time that a call may take.

        Raises:
            InvalidArgument: The request is that of another user: one's own approval must not open
                somebody else's door.
            Garbled: The service does not tell whose request it is.
            Refused: There is no such request.
        """
        reply = self._call("wait_for_approval", uuid=uuid, svc_id=svc_id, timeout=timeout)
        return Approval._read(reply)

    def check_phone_verification(
        self, phone_number: str, country_code: int | str, verification_code: str
    ) -> Done:
        """Checks the code that :meth:`start_phone_verification` sent. It returns for a right code
        alone.

        Args:
            phone_number: The number, without its calling code.
            country_code: The calling code of the number, 1 to 999.
            verification_code: What the user typed: 4 to 10 digits and nothing else, as text.

        Raises:
            Refused: The code is wrong (``http_status`` 401), or none is waiting (404).
        """
        _text("verification_code", verification_code)
        reply = self._call(
            "check_phone_verification",
            phone_number=phone_number,
            country_code=country_code,
            verification_code=verification_code,
        )
        return Done._read(reply)

    def enrol_authenticator(
        self, user_id: int, *, label: str | None = None, qr_size: int | None = None
    ) -> AuthenticatorEnrolled:
        """Gives a user's authenticator app a new secret, shown as a QR code.

        A secret that the user had before stays valid until a code of the new one was right.

        Args:
            user_id: The user.
            label: What the app shows beside the code. Default: the user's e-mail.
            qr_size: The width and height of the QR code, 100 to 1000 pixels. Default 300.

        Raises:
            Refused: There is no such user.
        """
        reply = self._call("enrol_authenticator", user_id=user_id, label=label, qr_size=qr_size)
        return AuthenticatorEnrolled._read(reply)

    def register_device(
        self,
        svc_id: int,
        device_type: Literal["android", "android_tablet", "ios", "svc_chrome"],
    ) -> DeviceRegistered:
        """Registers a device that answers approval requests. Engines in this process alone do it.

        Args:
            svc_id: The user whose device it is.
            device_type: The kind of device (section 2.2).

        Raises:
            Refused: There is no such user.
        """
        reply = self._call("register_device", svc_id=svc_id, device_type=device_type)
        return DeviceRegistered._read(reply)

    def open_approvals(self, *, device_id: int, device_secret: str) -> tuple[ApprovalRequest, ...]:
        """The requests that a device's user can still answer, the oldest first. Engines in this
        process alone tell them.

        Args:
            device_id: The device that asks, from :meth:`register_device`.
            device_secret: What the device was told when it was registered.

        Raises:
            InvalidArgument: The device does not prove itself.
        """
        reply = self._call("open_approvals", device_id=device_id, device_secret=device_secret)
        return tuple(ApprovalRequest._read(request) for request in reply)

    def answer_approval(
        self,
        uuid: str,
        *,
        device_id: int,
        device_secret: str,
        answer: Literal["approve", "deny", "report"],
    ) -> Approval:
        """Answers an approval request from a device, and posts the callback. Engines in this
        process alone do it.

        Args:
            uuid: The request.
            device_id: The device that answers, from :meth:`register_device`.
            device_secret: What the device was told when it was registered.
            answer: What the user said. ``report`` says no, and that it was not them who asked: the
                user gets 5 minutes of quiet.

        Raises:
            InvalidArgument: The device does not prove itself.
            Refused: The request is not the device's to answer, or no longer.
        """
        reply = self._call(
            "answer_approval",
            uuid=uuid,
            device_id=device_id,
            device_secret=device_secret,
            answer=answer,
        )
        return Approval._read(reply)

    def api_key(self) -> str:
        """The application's API key, which callbacks are signed with. Engines in this process
        alone tell it."""
        key: str = self._call("api_key")["api_key"]
        return key

    def close(self) -> None:
        """Lets go of what the service holds. Calls after it raise :class:`InvalidArgument`."""
        self._native.close()

    def _call(self, name: str, **params: Any) -> Any:
        return self._native.call(name, params)

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._native.closed else ""
        return f"<seconder.Service on {self._scheme}:{closed}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Service cannot be pickled or copied: open one in each process")


def _text(parameter: str, value: object) -> None:
    """Refuses a code that is a number: it would have lost its leading zeros."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{parameter} must be text", parameter=parameter)

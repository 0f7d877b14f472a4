"""The asynchronous API, for programs that use :mod:`asyncio`."""

from __future__ import annotations

import asyncio

from seconder._awaited import Opening, running_loop
from seconder._frames import guarded, guarded_class
from seconder._threads import Threaded, Threads
from seconder.enums import CallbackMethod, Format, Generation, Repeats
from seconder.opening import _opened
from seconder.results import Approval

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from datetime import datetime, timedelta
    from os import PathLike
    from types import TracebackType
    from typing import Any, Literal, NoReturn

    from typing_extensions import Self

    from seconder.enums import ActivityType, ApprovalResponse, Channel, DeviceType
    from seconder.names import Names
    from seconder.outcomes import Outcome
    from seconder.records import (
        ApprovalRequest,
        AuditPage,
        CallRecord,
        DeviceRegistered,
        JobsRun,
        Message,
        PhoneLine,
        SignedCallback,
    )
    from seconder.results import (
        Application,
        ApprovalCreated,
        AuthenticatorEnrolled,
        CodeRequested,
        DeviceInvited,
        Done,
        FoundUser,
        OfflinePrepared,
        PhoneInformation,
        PhoneVerificationRecord,
        PhoneVerificationStarted,
        RecoveryCodes,
        RegisteredDevices,
        Remembered,
        Statistics,
        UserCreated,
        UserStatus,
        Verification,
    )
    from seconder.service import Service
    from seconder.typed import Logo, OfflineLogin

    _Returned = Outcome | str | Awaitable[Outcome | str | None] | None
    _LookedUp = PhoneLine | None | Awaitable[PhoneLine | None]


@guarded_class
class AsyncService(Threaded):
    """A :class:`seconder.Service` for programs that use :mod:`asyncio`, with the same calls as
    coroutines; :func:`seconder.open_async` returns one.

    The calls run in the service's own threads, of which there are at most ``threads``; a call that
    finds them all busy waits. :meth:`wait_for_approval` occupies none while it waits.

    A cancelled task continues at once, also after a timeout or Ctrl-C. Its call is not made if no
    thread has begun it. A call that waits for the network ends within 100 ms, and its thread is free
    again; one that an engine in this process has begun is completed. Either may have had its effect:
    after a cancelled :meth:`request_sms`, the code may be on its way.

    Example:
        >>> async def log_in() -> bool:
        ...     async with seconder.open_async("sandbox:") as service:
        ...         user = await service.create_user("ada@example.com", "555-010-0123", 1)
        ...         await service.verify("1234567", user.user_id, force=True)
        ...     return True
        >>> asyncio.run(log_in())
        True
    """

    __slots__ = ()

    def __init__(self, service: Service, *, threads: int = 16) -> None:
        """Wraps a service that is already open.

        Args:
            service: The service. It is closed with this one.
            threads: How many calls can be in progress at the same time, 1 to 1024.

        Raises:
            InvalidArgument: ``threads`` is out of range.
        """
        self._service = service
        self._threads = Threads(threads)

    async def create_user(
        self,
        email: str,
        cellphone: str,
        country_code: int | str,
        *,
        send_install_link_via_sms: bool = True,
        new_only: bool = False,
    ) -> UserCreated:
        """As :meth:`seconder.Service.create_user`."""
        return await self._run(
            self._service.create_user,
            email,
            cellphone,
            country_code,
            send_install_link_via_sms=send_install_link_via_sms,
            new_only=new_only,
        )

    async def request_sms(
        self,
        user_id: int,
        *,
        action: str | None = None,
        action_message: str | None = None,
        locale: str | None = None,
        force: bool | None = None,
        user_ip: str | None = None,
    ) -> CodeRequested:
        """As :meth:`seconder.Service.request_sms`."""
        return await self._run(
            self._service.request_sms,
            user_id,
            action=action,
            action_message=action_message,
            locale=locale,
            force=force,
            user_ip=user_ip,
        )

    async def request_call(
        self,
        user_id: int,
        *,
        action: str | None = None,
        action_message: str | None = None,
        locale: str | None = None,
        force: bool | None = None,
        user_ip: str | None = None,
    ) -> CodeRequested:
        """As :meth:`seconder.Service.request_call`."""
        return await self._run(
            self._service.request_call,
            user_id,
            action=action,
            action_message=action_message,
            locale=locale,
            force=force,
            user_ip=user_ip,
        )

    async def verify(
        self,
        token: str,
        user_id: int,
        *,
        force: bool = False,
        action: str | None = None,
        user_ip: str | None = None,
    ) -> Verification:
        """As :meth:`seconder.Service.verify`."""
        return await self._run(
            self._service.verify, token, user_id, force=force, action=action, user_ip=user_ip
        )

    async def delete_user(self, user_id: int, *, user_ip: str | None = None) -> Done:
        """As :meth:`seconder.Service.delete_user`."""
        return await self._run(self._service.delete_user, user_id, user_ip=user_ip)

    async def register_activity(
        self,
        user_id: int,
        type: ActivityType | Literal["password_reset", "banned", "unbanned", "cookie_login"],
        *,
        data: Mapping[str, Any] | None = None,
        user_ip: str | None = None,
    ) -> Done:
        """As :meth:`seconder.Service.register_activity`."""
        return await self._run(
            self._service.register_activity, user_id, type, data=data, user_ip=user_ip
        )

    async def app_details(self, *, user_ip: str | None = None) -> Application:
        """As :meth:`seconder.Service.app_details`."""
        return await self._run(self._service.app_details, user_ip=user_ip)

    async def user_status(self, user_id: int, *, user_ip: str | None = None) -> UserStatus:
        """As :meth:`seconder.Service.user_status`."""
        return await self._run(self._service.user_status, user_id, user_ip=user_ip)

    async def app_stats(self, *, user_ip: str | None = None) -> Statistics:
        """As :meth:`seconder.Service.app_stats`."""
        return await self._run(self._service.app_stats, user_ip=user_ip)

    async def start_phone_verification(
        self,
        via: Channel | Literal["sms", "call"],
        phone_number: str,
        country_code: int | str,
        *,
        locale: str | None = None,
        code_length: int | None = None,
        user_ip: str | None = None,
    ) -> PhoneVerificationStarted:
        """As :meth:`seconder.Service.start_phone_verification`."""
        return await self._run(
            self._service.start_phone_verification,
            via,
            phone_number,
            country_code,
            locale=locale,
            code_length=code_length,
            user_ip=user_ip,
        )

    async def phone_info(
        self, phone_number: str, country_code: int | str, *, user_ip: str | None = None
    ) -> PhoneInformation:
        """As :meth:`seconder.Service.phone_info`."""
        return await self._run(
            self._service.phone_info, phone_number, country_code, user_ip=user_ip
        )

    async def create_approval(
        self,
        user_id: int,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        hidden_details: Mapping[str, Any] | None = None,
        logos: Sequence[Logo] | None = None,
        seconds_to_expire: int | None = None,
        number_digits: int | None = None,
    ) -> ApprovalCreated:
        """As :meth:`seconder.Service.create_approval`."""
        return await self._run(
            self._service.create_approval,
            user_id,
            message,
            details=details,
            hidden_details=hidden_details,
            logos=logos,
            seconds_to_expire=seconds_to_expire,
            number_digits=number_digits,
        )

    async def check_approval(self, uuid: str) -> Approval:
        """As :meth:`seconder.Service.check_approval`."""
        return await self._run(self._service.check_approval, uuid)

    async def check_phone_verification(
        self, phone_number: str, country_code: int | str, verification_code: str
    ) -> Done:
        """As :meth:`seconder.Service.check_phone_verification`."""
        return await self._run(
            self._service.check_phone_verification, phone_number, country_code, verification_code
        )

    async def phone_verification_status(
        self,
        *,
        uuid: str | None = None,
        phone_number: str | None = None,
        country_code: int | str | None = None,
    ) -> PhoneVerificationRecord:
        """As :meth:`seconder.Service.phone_verification_status`."""
        return await self._run(
            self._service.phone_verification_status,
            uuid=uuid,
            phone_number=phone_number,
            country_code=country_code,
        )

    async def enrol_authenticator(
        self, user_id: int, *, label: str | None = None, qr_size: int | None = None
    ) -> AuthenticatorEnrolled:
        """As :meth:`seconder.Service.enrol_authenticator`."""
        return await self._run(
            self._service.enrol_authenticator, user_id, label=label, qr_size=qr_size
        )

    async def find_user(self, login: str) -> FoundUser:
        """As :meth:`seconder.Service.find_user`."""
        return await self._run(self._service.find_user, login)

    async def set_login(self, user_id: int, login: str) -> Done:
        """As :meth:`seconder.Service.set_login`."""
        return await self._run(self._service.set_login, user_id, login)

    async def remove_login(self, login: str) -> Done:
        """As :meth:`seconder.Service.remove_login`."""
        return await self._run(self._service.remove_login, login)

    async def create_recovery_codes(self, user_id: int) -> RecoveryCodes:
        """As :meth:`seconder.Service.create_recovery_codes`."""
        return await self._run(self._service.create_recovery_codes, user_id)

    async def prepare_offline(
        self, user_id: int, token: str, *, days: int | None = None, machine: str | None = None
    ) -> OfflinePrepared:
        """As :meth:`seconder.Service.prepare_offline`."""
        return await self._run(
            self._service.prepare_offline, user_id, token, days=days, machine=machine
        )

    async def report_offline(
        self,
        user_id: int,
        authenticator_id: int,
        logins: Sequence[OfflineLogin],
        *,
        machine: str | None = None,
    ) -> Done:
        """As :meth:`seconder.Service.report_offline`."""
        return await self._run(
            self._service.report_offline, user_id, authenticator_id, logins, machine=machine
        )

    async def confirm_authenticator(self, user_id: int, code: str) -> Verification:
        """As :meth:`seconder.Service.confirm_authenticator`."""
        return await self._run(self._service.confirm_authenticator, user_id, code)

    async def unlock_user(self, user_id: int) -> Done:
        """As :meth:`seconder.Service.unlock_user`."""
        return await self._run(self._service.unlock_user, user_id)

    async def remove_authenticator(self, user_id: int, authenticator_id: str) -> Done:
        """As :meth:`seconder.Service.remove_authenticator`."""
        return await self._run(self._service.remove_authenticator, user_id, authenticator_id)

    async def devices(self, user_id: int) -> RegisteredDevices:
        """As :meth:`seconder.Service.devices`."""
        return await self._run(self._service.devices, user_id)

    async def remove_device(self, user_id: int, device_id: int) -> Done:
        """As :meth:`seconder.Service.remove_device`."""
        return await self._run(self._service.remove_device, user_id, device_id)

    async def invite_device(self, user_id: int, *, qr_size: int | None = None) -> DeviceInvited:
        """As :meth:`seconder.Service.invite_device`."""
        return await self._run(self._service.invite_device, user_id, qr_size=qr_size)

    async def remember(self, user_id: int, *, days: int = 30) -> Remembered:
        """As :meth:`seconder.Service.remember`."""
        return await self._run(self._service.remember, user_id, days=days)

    async def recognise(self, user_id: int, token: str) -> bool:
        """As :meth:`seconder.Service.recognise`."""
        return await self._run(self._service.recognise, user_id, token)

    async def forget(self, user_id: int, *, token: str | None = None) -> Done:
        """As :meth:`seconder.Service.forget`."""
        return await self._run(self._service.forget, user_id, token=token)

    async def register_device(
        self,
        user_id: int,
        device_type: DeviceType | Literal["android", "android_tablet", "ios", "svc_chrome"],
    ) -> DeviceRegistered:
        """As :meth:`seconder.Service.register_device`."""
        return await self._run(self._service.register_device, user_id, device_type)

    async def open_approvals(
        self, *, device_id: int, device_secret: str
    ) -> tuple[ApprovalRequest, ...]:
        """As :meth:`seconder.Service.open_approvals`."""
        return await self._run(
            self._service.open_approvals, device_id=device_id, device_secret=device_secret
        )

    async def respond_to_approval(
        self,
        uuid: str,
        *,
        device_id: int,
        device_secret: str,
        response: ApprovalResponse | Literal["approve", "deny", "report"],
        number: str | None = None,
    ) -> Approval:
        """As :meth:`seconder.Service.respond_to_approval`."""
        return await self._run(
            self._service.respond_to_approval,
            uuid,
            device_id=device_id,
            device_secret=device_secret,
            response=response,
            number=number,
        )

    async def api_key(self) -> str:
        """As :meth:`seconder.Service.api_key`."""
        return await self._run(self._service.api_key)

    async def clear_sandbox(self) -> None:
        """As :meth:`seconder.Service.clear_sandbox`."""
        return await self._run(self._service.clear_sandbox)

    async def backup(self, path: str | PathLike[str]) -> None:
        """As :meth:`seconder.Service.backup`."""
        return await self._run(self._service.backup, path)

    async def operate(self, operation: str, /, **parameters: Any) -> dict[str, Any]:
        """As :meth:`seconder.Service.operate`."""
        return await self._run(lambda: self._service.operate(operation, **parameters))

    async def run_jobs(self, budget: float | timedelta = 5.0) -> JobsRun:
        """As :meth:`seconder.Service.run_jobs`. Where the task is cancelled, no further attempt
        begins."""
        return await self._run(self._service.run_jobs, budget)

    async def audit(
        self,
        *,
        user_id: int | None = None,
        since: datetime | float | None = None,
        until: datetime | float | None = None,
        verdict: str | None = None,
        call: str | None = None,
        user_ip: str | None = None,
        operator_name: str | None = None,
        after: str | None = None,
        most: int = 100,
    ) -> AuditPage:
        """As :meth:`seconder.Service.audit`."""
        return await self._run(
            self._service.audit,
            user_id=user_id,
            since=since,
            until=until,
            verdict=verdict,
            call=call,
            user_ip=user_ip,
            operator_name=operator_name,
            after=after,
            most=most,
        )

    async def audit_pages(
        self,
        *,
        user_id: int | None = None,
        since: datetime | float | None = None,
        until: datetime | float | None = None,
        verdict: str | None = None,
        call: str | None = None,
        user_ip: str | None = None,
        operator_name: str | None = None,
        most: int = 100,
    ) -> AsyncGenerator[AuditPage, None]:
        """As :meth:`seconder.Service.audit_pages`, for ``async for``. Where it may be left early, close it
        with :func:`contextlib.aclosing`; otherwise the event loop does so in a task of its own."""
        after: str | None = None
        while True:
            page = await self.audit(
                user_id=user_id,
                since=since,
                until=until,
                verdict=verdict,
                call=call,
                user_ip=user_ip,
                operator_name=operator_name,
                after=after,
                most=most,
            )
            yield page
            after = page.next
            if after is None:
                return

    async def wait_for_approval(
        self, uuid: str, user_id: int, *, timeout: float, bound: bool = True
    ) -> Approval:
        """As :meth:`seconder.Service.wait_for_approval`. Cancelling the task ends the wait."""
        wait = self._service._begin_wait(
            {"uuid": uuid, "user_id": user_id, "timeout": timeout, "bound": bound}
        )
        # Each poll is a short call, and the pauses between them are the event loop's, so that a
        # long wait occupies no thread.
        while True:
            reply_or_pause = await self._run(self._service._poll_approval, wait)
            if not isinstance(reply_or_pause, float):
                return Approval._read(reply_or_pause)
            await asyncio.sleep(self._service._pass(reply_or_pause))

    def with_timeout(self, timeout: float) -> Self:
        """As :meth:`seconder.Service.with_timeout`, with the same threads."""
        return self._like(self._service.with_timeout(timeout))

    def with_repeats(self, repeats: Repeats | Literal["none", "questions", "all"]) -> Self:
        """As :meth:`seconder.Service.with_repeats`, with the same threads."""
        return self._like(self._service.with_repeats(repeats))

    def cancel(self) -> None:
        """As :meth:`seconder.Service.cancel`. To end one call, cancel its task instead."""
        self._service.cancel()

    async def reopen(self) -> None:
        """As :meth:`seconder.Service.reopen`."""
        return await self._run(self._service.reopen)

    async def close(self) -> None:
        """As :meth:`seconder.Service.close`. The threads end with the calls that are in progress.
        The service is closed even if the task is cancelled meanwhile."""
        try:
            # Not in the pool, where it would wait behind the calls that are in progress.
            closing = running_loop().run_in_executor(None, self._service.close)
            await asyncio.shield(closing)
        finally:
            self._threads.stop()

    def _like(self, service: Service) -> Self:
        """Wraps another view of the service, on the same threads."""
        made = type(self)(service)
        made._threads = self._threads
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._service).replace("seconder.Service", "seconder.AsyncService")

    def __reduce__(self) -> NoReturn:
        raise TypeError("an AsyncService cannot be pickled or copied: open one in each process")


@guarded
def open_async(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float | None = None,
    repeats: Repeats | Literal["none", "questions", "all"] | None = None,
    ca_file: str | PathLike[str] | None = None,
    pins: Sequence[str] = (),
    client_certificate: tuple[str | PathLike[str], str | PathLike[str]] | None = None,
    proxy: str | None = None,
    name_servers: Sequence[str] = (),
    service_uid: int | None = None,
    allow_loopback_http: bool = False,
    format: Format | Literal["json", "xml"] | None = None,
    generation: Generation | Literal["current", "older"] | None = None,
    nested_as_json: bool = False,
    names: Names | None = None,
    must_exist: bool = False,
    keyring: str | PathLike[str] | None = None,
    application_name: str | None = None,
    callback_url: str | None = None,
    callback_method: CallbackMethod | Literal["post", "get"] | None = None,
    callback_ca_file: str | PathLike[str] | None = None,
    callback_private: bool | None = None,
    install_link: str | None = None,
    replies: Generation | Literal["current", "older"] | None = None,
    plan: str | None = None,
    white_label: bool | None = None,
    sms_enabled: bool | None = None,
    force_codes: bool | None = None,
    logo: str | None = None,
    token_length: int | None = None,
    authenticator_digits: int | None = None,
    authenticator_period: int | None = None,
    offline_days: int | None = None,
    limits: Mapping[str, int | Sequence[int] | Sequence[str]] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
    otp_domain: str | None = None,
    push_hosts: str | None = None,
    deliver: Callable[[Message], _Returned] | None = None,
    deliver_timeout: float | None = None,
    post: Callable[[SignedCallback], _Returned] | None = None,
    lookup: Callable[[str], _LookedUp] | None = None,
    on_call: Callable[[CallRecord], object] | None = None,
    threads: int = 16,
) -> Opening:
    """Opens a service for programs that use :mod:`asyncio`. The settings are those of
    :func:`seconder.open`.

    ``deliver``, ``post`` and ``lookup`` may be async functions here, which run on the event loop of the call that
    needs them. Plain functions run in the thread of the call. So does ``on_call``, which is always a
    plain function.

    Args:
        threads: How many calls can be in progress at the same time, 1 to 1024.

    Returns:
        A :class:`seconder.Opening`. ``await`` on it returns the service, and ``async with`` also
        closes it at the end of the block.

    Raises:
        InvalidArgument: The URL or a setting is invalid, or a setting has no effect with this URL;
            ``parameter`` names it.
        StorageError: The database cannot be opened; it is left unchanged.
        Unauthorized: The database has no application with that API key.

    Example:
        >>> asyncio.run(seconder.open_async("sandbox:"))
        <seconder.AsyncService on sandbox:>
    """
    given = locals()
    threads = given.pop("threads")
    return Opening(lambda: _opened_with(given, threads))


def _opened_with(given: dict[str, Any], threads: int) -> AsyncService:
    # An invalid number of threads must be rejected before a database is created.
    own = Threads(threads)
    service = AsyncService(_opened(given, may_await=True))
    service._threads = own
    return service

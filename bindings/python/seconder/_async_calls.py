# Written by tools/generate from src/calls/*.rs and bindings/python/seconder/{service,admin,machines}.py.
"""The calls as coroutines that make them in a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from seconder._frames import guarded_class
from seconder._threads import Threaded, ThreadedPart
from seconder.enums import ActivityType, ApprovalResponse, Channel, DeviceType
from seconder.records import ApprovalRequest, AuditPage, DeviceRegistered
from seconder.results import (
    Application,
    Approval,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from seconder import typed
    import typing
else:
    from seconder._later import datetime, typed, typing


@guarded_class
class AsyncCalls(Threaded):
    """The calls of :class:`seconder.aio.AsyncService`."""

    __slots__ = ()

    async def create_user(
        self,
        email: str,
        cellphone: str | None = None,
        country_code: int | str | None = None,
        *,
        send_install_link_via_sms: bool = True,
        new_only: bool = False,
    ) -> UserCreated:
        """As :meth:`seconder.Service.create_user`."""
        return await self._run(
            self._service.create_user,
            email,
            cellphone=cellphone,
            country_code=country_code,
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
        user_id: int,
        token: str,
        *,
        force: bool = True,
        action: str | None = None,
        user_ip: str | None = None,
    ) -> Verification:
        """As :meth:`seconder.Service.verify`."""
        return await self._run(
            self._service.verify, user_id, token, force=force, action=action, user_ip=user_ip
        )

    async def delete_user(self, user_id: int, *, user_ip: str | None = None) -> Done:
        """As :meth:`seconder.Service.delete_user`."""
        return await self._run(self._service.delete_user, user_id, user_ip=user_ip)

    async def register_activity(
        self,
        user_id: int,
        type: ActivityType | typing.Literal["password_reset", "banned", "unbanned", "cookie_login"],
        *,
        data: Mapping[str, typing.Any] | None = None,
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

    async def start_phone_verification(
        self,
        via: Channel | typing.Literal["sms", "call"],
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
        details: Mapping[str, typing.Any] | None = None,
        hidden_details: Mapping[str, typing.Any] | None = None,
        logos: Sequence[typed.Logo] | None = None,
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

    async def create_recovery_codes(self, user_id: int) -> RecoveryCodes:
        """As :meth:`seconder.Service.create_recovery_codes`."""
        return await self._run(self._service.create_recovery_codes, user_id)

    async def confirm_authenticator(self, user_id: int, code: str) -> Verification:
        """As :meth:`seconder.Service.confirm_authenticator`."""
        return await self._run(self._service.confirm_authenticator, user_id, code)

    async def remove_authenticator(self, user_id: int, authenticator_id: str) -> Done:
        """As :meth:`seconder.Service.remove_authenticator`."""
        return await self._run(self._service.remove_authenticator, user_id, authenticator_id)

    async def devices(self, user_id: int) -> RegisteredDevices:
        """As :meth:`seconder.Service.devices`."""
        return await self._run(self._service.devices, user_id)

    async def remove_device(self, user_id: int, device_id: int) -> Done:
        """As :meth:`seconder.Service.remove_device`."""
        return await self._run(self._service.remove_device, user_id, device_id)

    async def remember(self, user_id: int, *, days: int | None = None) -> Remembered:
        """As :meth:`seconder.Service.remember`."""
        return await self._run(self._service.remember, user_id, days=days)

    async def recognise(self, user_id: int, token: str) -> bool:
        """As :meth:`seconder.Service.recognise`."""
        return await self._run(self._service.recognise, user_id, token)

    async def forget(self, user_id: int, *, token: str | None = None) -> Done:
        """As :meth:`seconder.Service.forget`."""
        return await self._run(self._service.forget, user_id, token=token)

    async def invite_device(self, user_id: int, *, qr_size: int | None = None) -> DeviceInvited:
        """As :meth:`seconder.Service.invite_device`."""
        return await self._run(self._service.invite_device, user_id, qr_size=qr_size)

    async def set_number(
        self,
        user_id: int,
        phone_number: str,
        country_code: int | str,
        verification_code: str,
        *,
        user_ip: str | None = None,
    ) -> Done:
        """As :meth:`seconder.Service.set_number`."""
        return await self._run(
            self._service.set_number,
            user_id,
            phone_number,
            country_code,
            verification_code,
            user_ip=user_ip,
        )

    async def register_device(
        self,
        user_id: int,
        device_type: DeviceType | typing.Literal["android", "android_tablet", "ios", "svc_chrome"],
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
        response: ApprovalResponse | typing.Literal["approve", "deny", "report"],
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

    async def clear_sandbox(self) -> None:
        """As :meth:`seconder.Service.clear_sandbox`."""
        return await self._run(self._service.clear_sandbox)

    async def reopen(self) -> None:
        """As :meth:`seconder.Service.reopen`."""
        return await self._run(self._service.reopen)


@guarded_class
class AsyncAdminCalls(ThreadedPart):
    """The calls of :class:`seconder.aio.AsyncAdmin`."""

    __slots__ = ()

    async def app_stats(self, *, user_ip: str | None = None) -> Statistics:
        """As :meth:`seconder.admin.Admin.app_stats`."""
        return await self._run(self._service.app_stats, user_ip=user_ip)

    async def unlock_user(self, user_id: int) -> Done:
        """As :meth:`seconder.admin.Admin.unlock_user`."""
        return await self._run(self._service.unlock_user, user_id)

    async def operate(self, operation: str, /, **parameters: typing.Any) -> dict[str, typing.Any]:
        """As :meth:`seconder.admin.Admin.operate`."""
        return await self._run(self._service.operate, operation, **parameters)

    async def audit(
        self,
        *,
        user_id: int | None = None,
        since: datetime.datetime | float | None = None,
        until: datetime.datetime | float | None = None,
        verdict: str | None = None,
        call: str | None = None,
        user_ip: str | None = None,
        operator_name: str | None = None,
        after: str | None = None,
        most: int = 100,
    ) -> AuditPage:
        """As :meth:`seconder.admin.Admin.audit`."""
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

    async def backup(self, path: str | PathLike[str]) -> None:
        """As :meth:`seconder.admin.Admin.backup`."""
        return await self._run(self._service.backup, path)

    async def api_key(self) -> str:
        """As :meth:`seconder.admin.Admin.api_key`."""
        return await self._run(self._service.api_key)


@guarded_class
class AsyncMachineCalls(ThreadedPart):
    """The calls of :class:`seconder.aio.AsyncMachines`."""

    __slots__ = ()

    async def find_user(self, login: str) -> FoundUser:
        """As :meth:`seconder.machines.Machines.find_user`."""
        return await self._run(self._service.find_user, login)

    async def set_login(self, user_id: int, login: str) -> Done:
        """As :meth:`seconder.machines.Machines.set_login`."""
        return await self._run(self._service.set_login, user_id, login)

    async def remove_login(self, login: str) -> Done:
        """As :meth:`seconder.machines.Machines.remove_login`."""
        return await self._run(self._service.remove_login, login)

    async def prepare_offline(
        self, user_id: int, token: str, *, days: int | None = None, machine: str | None = None
    ) -> OfflinePrepared:
        """As :meth:`seconder.machines.Machines.prepare_offline`."""
        return await self._run(
            self._service.prepare_offline, user_id, token, days=days, machine=machine
        )

    async def report_offline(
        self,
        user_id: int,
        authenticator_id: int,
        logins: Sequence[typed.OfflineLogin],
        *,
        machine: str | None = None,
    ) -> Done:
        """As :meth:`seconder.machines.Machines.report_offline`."""
        return await self._run(
            self._service.report_offline, user_id, authenticator_id, logins, machine=machine
        )

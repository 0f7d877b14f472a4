# Written by tools/generate from src/calls/*.rs and bindings/python/examples.rst.
"""The calls of the interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seconder._calling import Caller, CallerPart, _typed
from seconder._frames import guarded_class
from seconder.enums import ActivityType, Channel
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
    from seconder import typed
    import typing
else:
    from seconder._later import typed, typing


SECRETS = frozenset({"code", "token", "verification_code"})
"""The parameters whose values are secrets."""


@guarded_class
class Calls(Caller):
    """The calls of the interface; :class:`seconder.Service` makes them."""

    __slots__ = ()

    def create_user(
        self,
        email: str,
        cellphone: str | None = None,
        country_code: int | str | None = None,
        *,
        send_install_link_via_sms: bool = True,
        new_only: bool = False,
    ) -> UserCreated:
        """Enrols a user, or adds an e-mail address to the user who already has this cellphone
        (section 4.1). Without a number, enrols a user by the e-mail address, or returns the user
        without a number who has it: for an application that has authenticator apps only.

        The person who typed the number or the address need not have it. Verify the number first,
        with :meth:`start_phone_verification` and :meth:`check_phone_verification`, or the address
        by an e-mail, and set ``new_only``. Otherwise the second factor of the user who has it
        becomes the one of the person who typed it.

        Args:
            email: One of the user's e-mail addresses: name@example.com, at most 254 bytes. It
                identifies a user without a phone number.
            cellphone: The phone number, which identifies the user. Two calls with the same number
                return the same user. A user without one is sent no codes. 4 to 15 digits in groups
                that dashes, periods or spaces may separate.
            country_code: The calling code of the number. 1 to 999.
            send_install_link_via_sms: Sends a new user a text message with a link to the app. Its
                outcome is :attr:`seconder.results.UserCreated.install_message`.
            new_only: Rejects a number that a user has already, or, in a call without a number, the
                address of a user without one. Nothing is changed then. If a service does not say
                whether the user is new, the call fails with :class:`seconder.InvalidResponse`,
                though the service may have enrolled the user.

        Returns:
            The user's id, to store, whether the call ``created`` the user, and what became of the
            ``install_message``.

        Raises:
            Rejected: If the service rejects a value, which ``fields`` names; with ``new_only``,
                that is ``cellphone`` if a user has the number already, and without a number
                ``email`` if a user without one has the address.

        Example:
            >>> user = service.create_user("eve@example.com", "555-010-0177", 1)
            >>> user.created
            True
            >>> again = service.create_user("eve@example.org", "555.010.0177", "1")
            >>> again.user_id == user.user_id, again.created
            (True, False)
            >>> try:
            ...     service.create_user("mal@example.com", "555-010-0177", 1, new_only=True)
            ... except seconder.Rejected as error:
            ...     print(error.fields["cellphone"])
            belongs to a user who is enrolled already
            >>> without_phone = service.create_user("eve@example.com")
            >>> service.create_user("eve@example.com").user_id == without_phone.user_id
            True
        """
        user = {"email": email, "cellphone": cellphone, "country_code": country_code}
        reply = self._call(
            "create_user",
            user=user,
            send_install_link_via_sms=send_install_link_via_sms,
            new_only=new_only,
        )
        return UserCreated._read(reply)

    def request_sms(
        self,
        user_id: int,
        *,
        action: str | None = None,
        action_message: str | None = None,
        locale: str | None = None,
        force: bool | None = None,
        user_ip: str | None = None,
    ) -> CodeRequested:
        """Sends a code by SMS (section 4.2).

        Args:
            user_id: The user to whom the code is sent.
            action: Makes the code valid only for this action, which must also be passed to
                :meth:`verify`. 1 to 128 bytes without control characters.
            action_message: The description of the action in the message. 1 to 1024 bytes.
            locale: The language of the message, such as ``de``. A service that lacks it uses its
                own. Default: as configured with the service.
            force: Sends the code even if the user has an app. Default: as configured with the
                service, no at first.
            user_ip: The IP address from which the request originates, which a service may limit.
                IPv4 or IPv6.

        Returns:
            Where the code was sent and when it can be sent again, or that it was ``ignored``
            because the user has an app.

        Raises:
            RateLimited: If the user was sent an SMS for this action a moment ago, or too many
                codes.
            Rejected: If there is no such user, or if codes cannot be sent by SMS.

        Example:
            >>> sent = service.request_sms(user.user_id, action="transfer")
            >>> sent.cellphone, sent.resend_after
            ('+1-XXX-XXX-XX23', 0)
        """
        reply = self._call(
            "request_sms",
            user_id=user_id,
            action=action,
            action_message=action_message,
            locale=locale,
            force=force,
            user_ip=user_ip,
        )
        return CodeRequested._read(reply)

    def request_call(
        self,
        user_id: int,
        *,
        action: str | None = None,
        action_message: str | None = None,
        locale: str | None = None,
        force: bool | None = None,
        user_ip: str | None = None,
    ) -> CodeRequested:
        """Sends a code by voice call (section 4.3).

        Args:
            user_id: The user to whom the code is sent.
            action: Makes the code valid only for this action, which must also be passed to
                :meth:`verify`. 1 to 128 bytes without control characters.
            action_message: The description of the action in the message. 1 to 1024 bytes.
            locale: The language of the message, such as ``de``. A service that lacks it uses its
                own. Default: as configured with the service.
            force: Sends the code even if the user has an app. Default: as configured with the
                service, no at first.
            user_ip: The IP address from which the request originates, which a service may limit.
                IPv4 or IPv6.

        Returns:
            Where the code was sent and when it can be sent again, or that it was ``ignored``
            because the user has an app.

        Raises:
            RateLimited: If the user was called for this action a moment ago, or sent too many
                codes; an SMS a moment ago does not matter, and the call says the same code.
            Rejected: If there is no such user, or if codes cannot be sent by voice call.

        Example:
            >>> service.request_call(user.user_id, force=True).ignored
            False
        """
        reply = self._call(
            "request_call",
            user_id=user_id,
            action=action,
            action_message=action_message,
            locale=locale,
            force=force,
            user_ip=user_ip,
        )
        return CodeRequested._read(reply)

    def verify(
        self,
        user_id: int,
        token: str,
        *,
        force: bool = True,
        action: str | None = None,
        user_ip: str | None = None,
    ) -> Verification:
        """Checks the code that a user typed (section 4.4). It returns only if the code is right.

        Args:
            user_id: The user to verify.
            token: The code that the user typed: 6 to 12 digits and nothing else, as text.
            force: Checks the code even if the user is not confirmed yet. If it is false, the code
                of such a user is not checked, and the call raises NotChecked (section 4.4).
            action: The action that the code was sent for. 1 to 128 bytes without control
                characters.
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The details of the verification; nothing in it needs to be checked. A wrong code raises.

        Raises:
            TokenInvalid: The code is wrong or has expired; ``reused`` is true if it was right but
                has been used before.
            NotChecked: The user is not confirmed yet, and ``force`` is false.
            RateLimited: After wrong codes, until the user may try again.
            TokenMalformed: ``token`` is not 6 to 12 digits. It costs the user no try.

        Example:
            >>> try:
            ...     service.verify(user.user_id, "1234567")
            ... except seconder.TokenMalformed:
            ...     print("Please type the digits of the code.")
            ... except seconder.TokenInvalid:
            ...     print("That is not the code.")
            That is not the code.
            >>> service.verify(user.user_id, "0000000").device.os_type
            'sms'
        """
        token = _typed("token", token)
        reply = self._call(
            "verify", user_id=user_id, token=token, force=force, action=action, user_ip=user_ip
        )
        return Verification._read(reply)

    def delete_user(self, user_id: int, *, user_ip: str | None = None) -> Done:
        """Removes a user and all data about the user from the application (section 4.5).

        Args:
            user_id: The user to remove.
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The service's message.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> gone = service.create_user("eve@example.com", "555-010-0177", 1)
            >>> service.delete_user(gone.user_id, user_ip="192.0.2.1")
            Done(message='User removed from application')
        """
        return Done._read(self._call("delete_user", user_id=user_id, user_ip=user_ip))

    def register_activity(
        self,
        user_id: int,
        type: ActivityType | typing.Literal["password_reset", "banned", "unbanned", "cookie_login"],
        *,
        data: Mapping[str, typing.Any] | None = None,
        user_ip: str | None = None,
    ) -> Done:
        """Reports a user's activity to the service, for fraud detection (section 4.6).

        Args:
            user_id: The user whom the activity is about.
            type: The kind of activity.
            data: Additional data about the activity, as anything that JSON can hold, at most 16
                KiB. A remote service receives numbers and flags in it as text, unless
                ``nested_as_json`` of :func:`seconder.open` is set, which describes the rest.
            user_ip: The user's IP address during the activity. IPv4 or IPv6.

        Returns:
            The service's message.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> service.register_activity(user.user_id, "banned", data={"reason": "chargeback"})
            Done(message='Activity was created.')
        """
        reply = self._call(
            "register_activity", user_id=user_id, type=type, data=data, user_ip=user_ip
        )
        return Done._read(reply)

    def app_details(self, *, user_ip: str | None = None) -> Application:
        """Requests the service's record of the application (section 4.7).

        Args:
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The application's name and features.

        Raises:
            Unauthorized: If the service does not accept the API key.

        Example:
            >>> service.app_details().name
            'Example'
        """
        return Application._read(self._call("app_details", user_ip=user_ip))

    def user_status(self, user_id: int, *, user_ip: str | None = None) -> UserStatus:
        """Requests the service's record of a user (section 4.8).

        Args:
            user_id: The user whose record is returned.
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The user, with a masked number, and the ``factors`` that protect the account.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> status = service.user_status(user.user_id)
            >>> status.phone_number
            'XXX-XXX-0123'
            >>> if status.factors is not None:  # A service of Seconder says what they are.
            ...     status.factors.sms, status.factors.authenticators
            (True, ())
        """
        return UserStatus._read(self._call("user_status", user_id=user_id, user_ip=user_ip))

    def start_phone_verification(
        self,
        via: Channel | typing.Literal["sms", "call"],
        phone_number: str,
        country_code: int | str,
        *,
        locale: str | None = None,
        code_length: int | None = None,
        user_ip: str | None = None,
    ) -> PhoneVerificationStarted:
        """Sends a code to a number that belongs to no user yet (section 4.10).

        Args:
            via: The channel that delivers the code.
            phone_number: The number without its calling code: 4 to 15 digits in groups that dashes,
                periods or spaces may separate.
            country_code: The calling code of the number: 1 to 999.
            locale: The language of the message, such as ``de``. A service that lacks it uses its
                own. Default: as configured with the service.
            code_length: The number of digits of the code, 4 to 10. Default: as configured with the
                service.
            user_ip: The IP address from which the request originates, which a service may limit.
                IPv4 or IPv6.

        Returns:
            The service's information about the number, the time for which the code is valid, and
            when another can be sent.

        Raises:
            RateLimited: If a code was sent to the number by the same channel a moment ago, or too
                often.
            Rejected: If the number cannot be reached by this channel.

        Example:
            >>> service.start_phone_verification("sms", "555-010-0199", 1).seconds_to_expire
            600
        """
        reply = self._call(
            "start_phone_verification",
            via=via,
            phone_number=phone_number,
            country_code=country_code,
            locale=locale,
            code_length=code_length,
            user_ip=user_ip,
        )
        return PhoneVerificationStarted._read(reply)

    def phone_info(
        self, phone_number: str, country_code: int | str, *, user_ip: str | None = None
    ) -> PhoneInformation:
        """Requests the type of a phone number (section 4.11).

        Args:
            phone_number: The number without its calling code: 4 to 15 digits in groups that dashes,
                periods or spaces may separate.
            country_code: The calling code of the number: 1 to 999.
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The kind of number, and its carrier if the service knows it.

        Raises:
            Rejected: If it is not a phone number.

        Example:
            >>> service.phone_info("30 901820", 49).type
            <PhoneType.LANDLINE: 'landline'>
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
        details: Mapping[str, typing.Any] | None = None,
        hidden_details: Mapping[str, typing.Any] | None = None,
        logos: Sequence[typed.Logo] | None = None,
        seconds_to_expire: int | None = None,
        number_digits: int | None = None,
    ) -> ApprovalCreated:
        """Asks a user to approve something on their device (section 4.12). An engine keeps the five
        latest requests of a user open: a further one makes the oldest expire.

        Args:
            user_id: The user to ask.
            message: The question shown to the user: 1 to 1024 bytes.
            details: Further details shown to the user: names and texts, without characters that XML
                cannot have. Other values reach a remote service as ``data`` of
                :meth:`register_activity` describes. At most 16 KiB in JSON.
            hidden_details: Details not shown to the user, and returned to the application. Sent as
                ``details`` are. At most 16 KiB in JSON.
            logos: Logos to show, at most 16 KiB in JSON. If there are any, one must have ``res`` =
                ``default``.
            seconds_to_expire: The time that the request remains open, in seconds; 0 means without
                an end. Default: 86400.
            number_digits: The number of digits of a number that the reply carries, the application
                shows, and the user has to type on the device to approve the request: 0 for none, 2,
                3 or 6. An engine raises a smaller number but 0 to the application's. Default: as
                the application has it, 0 at first.

        Returns:
            The id of the request, for :meth:`check_approval` or :meth:`wait_for_approval`, and the
            number to show.

        Raises:
            RateLimited: If the user reported the last request as not theirs.
            Rejected: If there is no such user.

        Example:
            >>> request = service.create_approval(user.user_id, "Log in?", details={"city": "Oslo"})
            >>> service.check_approval(request.uuid).status
            <ApprovalStatus.PENDING: 'pending'>
        """
        reply = self._call(
            "create_approval",
            user_id=user_id,
            message=message,
            details=details,
            hidden_details=hidden_details,
            logos=logos,
            seconds_to_expire=seconds_to_expire,
            number_digits=number_digits,
        )
        return ApprovalCreated._read(reply)

    def check_approval(self, uuid: str) -> Approval:
        """Requests a user's response to an approval request (section 4.13). Let a user in only on
        :meth:`seconder.results.Approval.approved_by`.

        Args:
            uuid: The id of the approval request, from :meth:`create_approval`: 1 to 64 letters,
                digits and dashes of ASCII.

        Returns:
            The request. It is approved even if another user approved it: check
            :meth:`seconder.results.Approval.approved_by` with the user who logs in.

        Raises:
            Rejected: If there is no such request.

        Example:
            >>> request = service.create_approval(user.user_id, "Log in?")
            >>> service.check_approval(request.uuid).approved_by(user.user_id)
            False
        """
        return Approval._read(self._call("check_approval", uuid=uuid))

    def check_phone_verification(
        self, phone_number: str, country_code: int | str, verification_code: str
    ) -> Done:
        """Checks the code that was sent to a number by :meth:`start_phone_verification`. It returns
        only if the code is right.

        Args:
            phone_number: The number without its calling code: 4 to 15 digits in groups that dashes,
                periods or spaces may separate.
            country_code: The calling code of the number: 1 to 999.
            verification_code: The code that the user typed: 4 to 10 digits and nothing else, as
                text.

        Returns:
            The service's message. A wrong code raises.

        Raises:
            TokenInvalid: If the code is wrong.
            Rejected: With status 404 and the service code ``60023`` if no code is pending.
            TokenMalformed: ``verification_code`` is not 4 to 10 digits. It costs the user no try.

        Example:
            >>> sent = service.start_phone_verification("sms", "555-010-0199", 1)
            >>> service.check_phone_verification("555-010-0199", 1, messages[-1].code)
            Done(message='Verification code is correct.')
        """
        verification_code = _typed("verification_code", verification_code)
        reply = self._call(
            "check_phone_verification",
            phone_number=phone_number,
            country_code=country_code,
            verification_code=verification_code,
        )
        return Done._read(reply)

    def phone_verification_status(
        self,
        *,
        uuid: str | None = None,
        phone_number: str | None = None,
        country_code: int | str | None = None,
    ) -> PhoneVerificationRecord:
        """Requests the state of a number's verification, which :meth:`start_phone_verification`
        began. It is identified either by its ``uuid`` or by the number.

        It is for display: a user proves to hold a number by :meth:`check_phone_verification` alone,
        since anyone may have verified the number before.

        Args:
            uuid: The id of the verification, from
                :attr:`seconder.results.PhoneVerificationStarted.uuid`. 1 to 64 letters, digits and
                dashes of ASCII.
            phone_number: The number without its calling code, whose latest verification is meant. 4
                to 15 digits in groups that dashes, periods or spaces may separate.
            country_code: The calling code of the number. 1 to 999.

        Returns:
            The state, and how long the code is valid.

        Raises:
            Rejected: With the service code ``60023`` if there is no such verification.

        Example:
            >>> sent = service.start_phone_verification("sms", "555-010-0199", 1)
            >>> service.phone_verification_status(uuid=sent.uuid).status
            <VerificationStatus.PENDING: 'pending'>
        """
        reply = self._call(
            "phone_verification_status",
            uuid=uuid,
            phone_number=phone_number,
            country_code=country_code,
        )
        return PhoneVerificationRecord._read(reply)

    def enrol_authenticator(
        self, user_id: int, *, label: str | None = None, qr_size: int | None = None
    ) -> AuthenticatorEnrolled:
        """Issues a new secret for a user's authenticator app, with a QR code. A previous secret
        remains valid until a code of the new one has been accepted: check one with
        :meth:`confirm_authenticator`.

        Args:
            user_id: The user whose app gets the secret.
            label: The label that the app shows with the code, without a colon. 1 to 1024 bytes.
                Default: the user's e-mail address, with a space for each colon.
            qr_size: The width and height of the QR code, 100 to 1000 pixels. Default: 300.

        Returns:
            The secret, as a URI and as an image to show.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> app = service.enrol_authenticator(user.user_id, label="ada")
            >>> app
            AuthenticatorEnrolled(label='ada', issuer='Example')
            >>> app.uri[:15], app.qr_code[:19]
            ('otpauth://totp/', 'data:image/svg+xml;')
        """
        reply = self._call("enrol_authenticator", user_id=user_id, label=label, qr_size=qr_size)
        return AuthenticatorEnrolled._read(reply)

    def create_recovery_codes(self, user_id: int) -> RecoveryCodes:
        """Creates a set of recovery codes for a user, in place of any that the user has (section
        4.20). Show them to the user, who keeps them on paper: each is right once, as the token of
        :meth:`verify`, and they are returned only here.

        Args:
            user_id: The user who gets the codes.

        Returns:
            Ten codes of 12 digits. They are returned only here.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> created = service.create_recovery_codes(user.user_id)
            >>> len(created.codes), len(created.codes[0])
            (10, 12)
        """
        return RecoveryCodes._read(self._call("create_recovery_codes", user_id=user_id))

    def confirm_authenticator(self, user_id: int, code: str) -> Verification:
        """Checks a code of the authenticator app that was enrolled last and is still pending
        (section 4.23). It returns only if the code is right, which makes the app the user's.

        :meth:`verify` accepts any code of the user, also one by SMS or of the earlier app, so it
        does not show that the user has scanned the new secret.

        Args:
            user_id: The user who scanned the secret.
            code: The code that the user typed: 6 to 12 digits and nothing else, as text.

        Returns:
            The details of the verification; nothing in it needs to be checked. A wrong code raises.

        Raises:
            TokenInvalid: The code is not one of the pending app; ``reused`` is true if it was right
                but has been used before.
            RateLimited: After wrong codes, until the user may try again.
            Rejected: With the service code ``no_pending_authenticator`` if no app of the user is
                pending.
            TokenMalformed: ``code`` is not 6 to 12 digits. It costs the user no try.

        Example:
            >>> app = service.enrol_authenticator(user.user_id)
            >>> service.confirm_authenticator(user.user_id, "0000000").device.os_type
            'authenticator'
            >>> try:
            ...     service.confirm_authenticator(user.user_id, "0000000")
            ... except seconder.Rejected as error:
            ...     print(error.code)
            no_pending_authenticator
        """
        code = _typed("code", code)
        return Verification._read(self._call("confirm_authenticator", user_id=user_id, code=code))

    def remove_authenticator(self, user_id: int, authenticator_id: str) -> Done:
        """Removes an authenticator app of a user, confirmed or pending (section 4.24). Its codes
        are wrong from then on, except on machines that have prepared logins without the service
        (section 4.21). A user who has no app and no device left is sent codes by SMS again.
        Removing a confirmed app also forgets the remembered browsers of the user.

        Args:
            user_id: The user who has the app.
            authenticator_id: The app, by its id in :class:`seconder.results.Factors`: 1 to 64
                letters, digits and dashes of ASCII.

        Returns:
            The service's message.

        Raises:
            Rejected: With the service code ``authenticator_not_found`` if the user has no such app.

        Example:
            >>> app = service.enrol_authenticator(user.user_id)
            >>> [pending] = service.user_status(user.user_id).factors.authenticators
            >>> service.remove_authenticator(user.user_id, pending.id)
            Done(message='Authenticator app was removed.')
        """
        reply = self._call(
            "remove_authenticator", user_id=user_id, authenticator_id=authenticator_id
        )
        return Done._read(reply)

    def devices(self, user_id: int) -> RegisteredDevices:
        """Lists the devices that a user has registered for approval requests (section 4.25).

        Args:
            user_id: The user whose devices are listed.

        Returns:
            The devices, the oldest first.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> device = service.register_device(user.user_id, "ios")
            >>> [shown] = service.devices(user.user_id).devices
            >>> shown.id == device.device_id, shown.type
            (True, 'ios')
        """
        return RegisteredDevices._read(self._call("devices", user_id=user_id))

    def remove_device(self, user_id: int, device_id: int) -> Done:
        """Removes a registered device of a user (section 4.26). Its secret is void from then on,
        and the remembered browsers of the user are forgotten. Approval requests stay open for the
        user's other devices; a user who has no app and no device left is sent codes by SMS again.

        Args:
            user_id: The user who has the device.
            device_id: The device, by its id in :class:`seconder.results.Factors`.

        Returns:
            The service's message.

        Raises:
            Rejected: With the service code ``device_not_found`` if the user has no such device.

        Example:
            >>> device = service.register_device(user.user_id, "ios")
            >>> service.remove_device(user.user_id, device.device_id)
            Done(message='Device was removed.')
        """
        return Done._read(self._call("remove_device", user_id=user_id, device_id=device_id))

    def remember(self, user_id: int, *, days: int | None = None) -> Remembered:
        """Remembers the browser of a user who has just proven the second factor, and returns a
        token for a cookie of it (section 4.27). :meth:`recognise` accepts the token in place of the
        second factor until it expires or :meth:`forget` revokes it.

        The service does not check that there was a proof: the application calls this only after
        one, and only for users who ask for it. The cookie should be ``Secure``, ``HttpOnly`` and
        ``SameSite=Lax``. A user has at most 20 remembered browsers: for a further one, the oldest
        is forgotten.

        Args:
            user_id: The user whose browser it is.
            days: The number of days, 1 to 400. Default: 30.

        Returns:
            The token, and when it expires. It is returned only here.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> remembered = service.remember(user.user_id, days=7)
            >>> service.recognise(user.user_id, remembered.token)
            True
        """
        return Remembered._read(self._call("remember", user_id=user_id, days=days))

    def recognise(self, user_id: int, token: str) -> bool:
        """Checks the token of a browser that :meth:`remember` returned (section 4.28).

        It counts as no code: it confirms no user, and does not extend the life of the token.

        Args:
            user_id: The user who logs in.
            token: The token of the browser's cookie, which may be any text.

        Returns:
            True if the browser was remembered for this user, by this application, and the token has
            neither expired nor been revoked. False if not: ask for the second factor then.

        Raises:
            InvalidResponse: If the service's reply does not say clearly whether the browser is
                recognised.
            Rejected: If the service has no such call.

        Example:
            >>> service.recognise(user.user_id, "what-somebody-made-up")
            False
        """
        token = _typed("token", token)
        return self._call("recognise", user_id=user_id, token=token) is True

    def forget(self, user_id: int, *, token: str | None = None) -> Done:
        """Forgets one remembered browser of a user, or all of them (section 4.29). Their tokens are
        void from then on. Without a token, it forgets all of them: for a user who changes the
        password, loses a phone or asks to be logged out everywhere.

        Args:
            user_id: The user whose browser it is.
            token: The token of the browser to forget; without one, all browsers of the user are
                forgotten. A token that is not recognised is no error, since there is nothing to
                forget.

        Returns:
            The service's message.

        Raises:
            Rejected: If no token is given and there is no such user.

        Example:
            >>> remembered = service.remember(user.user_id)
            >>> service.forget(user.user_id)
            Done(message='No browser of the user is remembered any more.')
            >>> service.recognise(user.user_id, remembered.token)
            False
        """
        token = None if token is None else _typed("token", token)
        return Done._read(self._call("forget", user_id=user_id, token=token))

    def invite_device(self, user_id: int, *, qr_size: int | None = None) -> DeviceInvited:
        """Makes an invitation, by which a user registers a phone that approves logins and shows
        codes (section 4.31). It can be used once, within ten minutes.

        Args:
            user_id: The user who registers the phone.
            qr_size: The width and height of the QR code, 100 to 1000 pixels. Default: 300.

        Returns:
            The link that the user opens on the phone, a QR code of it, and the code in it, which
            can be typed. They are secrets: anyone who has one of them can register a phone.

        Raises:
            Rejected: With the service code ``no_public_url`` if the service has no public URL, by
                which phones reach it, and if there is no such user.

        Example:
            >>> service.invite_device(user.user_id)
            Traceback (most recent call last):
            seconder.errors.Rejected: rejected by the service: The service has no public URL, at which devices reach it: set one, as `seconder serve --public-url https://login.example` does. (status 503, code no_public_url). Do not retry: the same call will be rejected again
        """
        return DeviceInvited._read(self._call("invite_device", user_id=user_id, qr_size=qr_size))

    def set_number(
        self,
        user_id: int,
        phone_number: str,
        country_code: int | str,
        verification_code: str,
        *,
        user_ip: str | None = None,
    ) -> Done:
        """Changes the phone number of a user, who proves to hold the new one by the code of
        :meth:`start_phone_verification` (section 4.32). The code is used up.

        The user keeps the id, the authenticator apps, the devices and the recovery codes. Codes
        that were sent to the former number are wrong from then on, remembered browsers are
        forgotten, and the devices of the user are notified.

        Args:
            user_id: The user who gets the number.
            phone_number: The new number without its calling code: 4 to 15 digits in groups that
                dashes, periods or spaces may separate.
            country_code: The calling code of the number: 1 to 999.
            verification_code: The code that was sent to the new number: 4 to 10 digits and nothing
                else, as text.
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The service's message. A wrong code raises, and changes nothing.

        Raises:
            TokenInvalid: If the code is wrong.
            Rejected: With status 404 and the service code ``60023`` if no code is pending, with 409
                if another user has the number, and if there is no such user.
            TokenMalformed: ``verification_code`` is not 4 to 10 digits. It costs the user no try.

        Example:
            >>> sent = service.start_phone_verification("sms", "555-010-0188", 1)
            >>> service.set_number(user.user_id, "555-010-0188", 1, messages[-1].code)
            Done(message='Phone number was changed.')
            >>> service.user_status(user.user_id).phone_number
            'XXX-XXX-0188'
        """
        verification_code = _typed("verification_code", verification_code)
        reply = self._call(
            "set_number",
            user_id=user_id,
            phone_number=phone_number,
            country_code=country_code,
            verification_code=verification_code,
            user_ip=user_ip,
        )
        return Done._read(reply)


@guarded_class
class AdminCalls(CallerPart):
    """The calls of an operator; :class:`seconder.admin.Admin` makes them."""

    __slots__ = ()

    def app_stats(self, *, user_ip: str | None = None) -> Statistics:
        """Requests the application's usage, month by month (section 4.9).

        Args:
            user_ip: The IP address from which the request originates. IPv4 or IPv6.

        Returns:
            The months, the oldest first.

        Raises:
            Unauthorized: If the service does not accept the API key.

        Example:
            >>> service.admin.app_stats().stats[-1].users_count
            1
        """
        return Statistics._read(self._call("app_stats", user_ip=user_ip))

    def unlock_user(self, user_id: int) -> Done:
        """Lets a user try codes again after too many wrong ones (section 4.30). The counts of wrong
        codes of all factors start again at 0, so it ends waits too. Codes that were sent have the
        tries that they had.

        Args:
            user_id: The user who may try again.

        Returns:
            The service's message.

        Raises:
            Rejected: If there is no such user.

        Example:
            >>> service.admin.unlock_user(user.user_id)
            Done(message='User was unlocked.')
        """
        return Done._read(self._call("unlock_user", user_id=user_id))


@guarded_class
class MachineCalls(CallerPart):
    """The calls of login machines; :class:`seconder.machines.Machines` makes them."""

    __slots__ = ()

    def find_user(self, login: str) -> FoundUser:
        """Finds the user who has a login name, and what the user can log in with (section 4.17).

        Args:
            login: The login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
                beginning with a letter, a digit or _; a $ may be at the end.

        Returns:
            The user's id, devices, and how many recovery codes are left.

        Raises:
            Rejected: With the service code ``60026`` if no user has the name, and with another one
                if the service has no such call.

        Example:
            >>> service.machines.set_login(user.user_id, "ada")
            Done(message='Login name was set.')
            >>> found = service.machines.find_user("ada")
            >>> found.user_id == user.user_id, found.authenticator, found.recovery_codes_left
            (True, False, 0)
        """
        return FoundUser._read(self._call("find_user", login=login))

    def set_login(self, user_id: int, login: str) -> Done:
        """Gives a user a login name (section 4.18). A user has one at most.

        Args:
            user_id: The user who gets the name.
            login: The login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
                beginning with a letter, a digit or _; a $ may be at the end.

        Returns:
            The service's message.

        Raises:
            Rejected: If there is no such user, if another user has the name, or if the user has
                another one: remove that first.

        Example:
            >>> service.machines.set_login(user.user_id, "ada@example.com")
            Done(message='Login name was set.')
        """
        return Done._read(self._call("set_login", user_id=user_id, login=login))

    def remove_login(self, login: str) -> Done:
        """Takes a login name from the user who has it (section 4.19).

        Args:
            login: The login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
                beginning with a letter, a digit or _; a $ may be at the end.

        Returns:
            The service's message.

        Raises:
            Rejected: If no user has the name.

        Example:
            >>> service.machines.set_login(user.user_id, "ada")
            Done(message='Login name was set.')
            >>> service.machines.remove_login("ada")
            Done(message='Login name was removed.')
        """
        return Done._read(self._call("remove_login", login=login))

    def prepare_offline(
        self, user_id: int, token: str, *, days: int | None = None, machine: str | None = None
    ) -> OfflinePrepared:
        """Prepares logins of a user while the service is unreachable: returns a hash of each code
        that the user's authenticator app will show in the next days (section 4.21). The secret
        stays with the service. A machine must accept a step once, and none before it, and report
        each login with :meth:`report_offline`.

        The call requires the code of the app that the service has accepted just now, so only
        someone who was given that code can prepare anything, and once. The service must allow it:
        ``offline_days`` of :func:`seconder.open`. A wrong code counts as a wrong code of
        :meth:`seconder.Service.verify` does.

        Args:
            user_id: The user who logs in.
            token: The code of the app that was accepted in the last five minutes: 6 to 12 digits
                and nothing else, as text.
            days: The number of days, 1 to 7, and at most as many as the service allows. Default: 3.
            machine: The machine that keeps the hashes, for the service's records. 1 to 1024 bytes.

        Returns:
            The hashes. Anyone who has them can find the codes by trying all of them.

        Raises:
            Rejected: If the service does not allow it, if the code is not the one that was accepted
                last, such as a code by SMS, if the user's app has not shown a right code yet, or if
                there is no such user.
            RateLimited: After wrong codes.
            TokenMalformed: ``token`` is not 6 to 12 digits. It costs the user no try.

        Example:
            >>> try:
            ...     service.machines.prepare_offline(user.user_id, "123456")
            ... except seconder.Rejected as rejected:
            ...     rejected.code
            'offline_not_allowed'
        """
        token = _typed("token", token)
        reply = self._call(
            "prepare_offline", user_id=user_id, token=token, days=days, machine=machine
        )
        return OfflinePrepared._read(reply)

    def report_offline(
        self,
        user_id: int,
        authenticator_id: int,
        logins: Sequence[typed.OfflineLogin],
        *,
        machine: str | None = None,
    ) -> Done:
        """Reports the logins that a machine has accepted while the service was unreachable (section
        4.22). The service marks their codes as used, and records each login as an activity of the
        user.

        A machine reports a login until a report of it was acknowledged; a login that is reported
        twice is recorded once.

        Args:
            user_id: The user who logged in.
            authenticator_id: The authenticator app, by
                :attr:`seconder.results.OfflinePrepared.authenticator_id`.
            logins: A list of 1 to 100 logins.
            machine: The machine, for the service's records. 1 to 1024 bytes.

        Returns:
            The service's message.

        Raises:
            Rejected: If there is no such user, and with the service code ``offline_not_prepared``
                if the service has not prepared these logins.

        Example:
            >>> login: seconder.typed.OfflineLogin = {"step": 59200000, "time": 1776000000}
            >>> try:
            ...     service.machines.report_offline(user.user_id, 1, [login])
            ... except seconder.Rejected as rejected:
            ...     rejected.code
            'offline_not_prepared'
        """
        reply = self._call(
            "report_offline",
            user_id=user_id,
            authenticator_id=authenticator_id,
            logins=logins,
            machine=machine,
        )
        return Done._read(reply)

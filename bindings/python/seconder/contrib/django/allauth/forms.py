"""The forms for django-allauth's pages: the service checks the codes."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

import seconder
from seconder._frames import guarded
from seconder.contrib import _limits
from seconder.contrib.django import accounts, service
from seconder.contrib.django.allauth._untyped import (
    Authenticator,
    BaseActivateForm,
    BaseAuthenticateForm,
    BaseLoginForm,
    BaseReauthenticateForm,
    check_rate_limit,
    context,
    get_account_adapter,
    get_adapter,
    validate_can_add_authenticator,
)
from seconder.contrib.django.allauth.adapter import (
    MARK,
    URI,
    is_marked,
    require_password,
    secret_of,
    unavailable,
)
from seconder.contrib.django.models import Enrolment

__all__ = ["ActivateTOTPForm", "AuthenticateForm", "ReauthenticateForm"]


class _ByService(BaseAuthenticateForm):
    """Checks a code by the service, and sends one if the button ``send`` was pressed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.can_send: bool = accounts.enrolment(self.user) is not None
        self.sending: bool = self.can_send and self.is_bound and "send" in self.data
        if self.sending:
            self.fields["code"].required = False

    def is_valid(self) -> bool:
        """Returns whether the code is right."""
        if self.sending:
            self._send()
            return False
        return super().is_valid()

    @guarded
    def clean_code(self) -> str:
        """Checks the code.

        Raises:
            ValidationError: It is wrong or cannot be checked.
        """
        if self.sending:
            return ""
        if not self.can_send and not any(map(is_marked, self._authenticators())):
            return super().clean_code()
        clear = check_rate_limit(self.user)
        code: str = self.cleaned_data["code"]
        self.authenticator: Authenticator = self._own(code) or self._by_service(code)
        clear()
        return code

    def _own(self, code: str) -> Authenticator | None:
        """Returns what allauth itself has for the account and accepts the code, such as the
        recovery codes."""
        for each in self._authenticators():
            if not is_marked(each) and each.wrap().validate_code(code):
                return each
        return None

    def _authenticators(self) -> list[Authenticator]:
        rows = Authenticator.objects.filter(user=self.user)
        found = list(rows.exclude(type=Authenticator.Type.WEBAUTHN))
        for each in found:
            each.user = self.user
        return found

    def _by_service(self, code: str) -> Authenticator:
        marked = next(filter(is_marked, self._authenticators()), None)
        shown = _phone(self.user) if marked is None else marked
        try:
            accounts.verify(self.user, code)
        except (seconder.TokenInvalid, accounts.NotEnrolled) as error:
            self._emit_authentication_failed(shown)
            raise get_adapter().validation_error("incorrect_code") from error
        except seconder.SecondFactorError as error:
            raise _failure(error, "too_many_login_attempts") from error
        return shown

    def _send(self) -> None:
        try:
            sent = accounts.send_code(self.user)
        except seconder.SecondFactorError as error:
            self.add_error(None, accounts.explain(error) or _unavailable())
            return
        text = gettext("The code goes to %(cellphone)s.") % {"cellphone": sent.cellphone}
        messages.info(context.request, text)


class AuthenticateForm(_ByService, BaseLoginForm):
    """For ``MFA_FORMS["authenticate"]``: the code after the password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require_password(self.user)


class ReauthenticateForm(_ByService, BaseReauthenticateForm):
    """For ``MFA_FORMS["reauthenticate"]``: the code before a change of the account."""


class ActivateTOTPForm(BaseActivateForm):
    """For ``MFA_FORMS["activate_totp"]``: the service creates the secret and checks the first code
    of the app."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.enrolment: Enrolment | None = accounts.enrolment(self.user)
        if self.enrolment is not None:
            self.secret = secret_of(self._uri(self.enrolment.user_id))

    def _uri(self, user_id: int) -> str:
        session = context.request.session
        # A mistyped code does not change the secret that the app has scanned.
        if not self.is_bound or URI not in session:
            # The label of a URI has no colon, which a name or an address may have.
            label = get_adapter().get_totp_label(self.user).replace(":", " ")
            try:
                session[URI] = service().enrol_authenticator(user_id, label=label).uri
            except seconder.SecondFactorError as error:
                raise unavailable(error) from error
        return str(session[URI])

    @guarded
    def clean_code(self) -> str:
        """Checks the app's first code.

        Raises:
            ValidationError: It is wrong or cannot be checked.
        """
        if self.enrolment is None:
            return super().clean_code()
        validate_can_add_authenticator(self.user)
        clear = check_rate_limit(self.user, error_key="rate_limited")
        code: str = self.cleaned_data["code"]
        try:
            accounts.confirm_authenticator(self.user, code)
        except seconder.TokenInvalid as error:
            raise get_adapter().validation_error("incorrect_code") from error
        except seconder.SecondFactorError as error:
            raise _failure(error, "rate_limited") from error
        clear()
        context.request.session.pop(URI, None)
        # allauth stores the mark as its secret. The service has the real one.
        self.secret: str = MARK
        return code


def _phone(user: Any) -> Authenticator:
    """Returns what stands for the phone of an account without an app in allauth's records. It is
    not stored, because it would count as an app."""
    phone = Authenticator(user=user, type=Authenticator.Type.TOTP, data={"secret": MARK})
    phone.record_usage = lambda: None
    return phone


def _failure(error: seconder.SecondFactorError, limited: str) -> Exception:
    """Returns allauth's own message for a limit of the user, and for all others that nothing could be
    checked."""
    if isinstance(error, seconder.RateLimited) and _limits.is_users(error):
        found: Exception = get_account_adapter().validation_error(limited)
        return found
    return _unavailable()


def _unavailable() -> ValidationError:
    return ValidationError(
        gettext("That cannot be checked now. Try again later."), code="unavailable"
    )

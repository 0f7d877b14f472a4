"""The second factor of the site's accounts: enrolling them, sending codes and checking codes.

The views, the django-otp device and the allauth adapter all call these functions, which record
each decision (:class:`seconder.contrib.django.models.Decision`).
"""

from __future__ import annotations

import contextlib
import logging
import math
from typing import Any, TypeAlias

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, router, transaction
from django.db.transaction import TransactionManagementError
from django.utils.translation import gettext, ngettext

import seconder
from seconder._frames import guarded
from seconder.contrib import _limits
from seconder.contrib._digits import digits as digits
from seconder.contrib.django import _settings
from seconder.contrib.django._service import service
from seconder.contrib.django.middleware import user_ip
from seconder.contrib.django.models import Decision, Enrolment, PendingEnrolment

__all__ = [
    "AlreadyEnrolled",
    "NotEnrolled",
    "confirm_authenticator",
    "delete_user",
    "digits",
    "enrol",
    "enrol_authenticator",
    "enrolment",
    "explain",
    "factors",
    "lines",
    "remove",
    "remove_authenticators",
    "remove_devices",
    "send_code",
    "start_authenticator",
    "start_enrolment",
    "verify",
]

User: TypeAlias = "AbstractBaseUser | AnonymousUser"
"""The type of ``request.user``. An anonymous user has no second factor."""

_log = logging.getLogger("seconder.contrib")


class NotEnrolled(seconder.SecondFactorError):
    """The account has no second factor at the service."""


class AlreadyEnrolled(seconder.SecondFactorError):
    """The account has a second factor already, or the user of the service belongs to another
    account."""


def enrolment(account: User) -> Enrolment | None:
    """Returns the account's enrolment, or None."""
    if account.pk is None:
        return None
    return Enrolment.objects.filter(account_id=account.pk).first()


@guarded
def start_enrolment(
    cellphone: str, country_code: int | str, *, via: seconder.enums.Channel | str = "sms"
) -> seconder.results.PhoneVerificationStarted:
    """Sends a code to the number that somebody typed, to prove that they have it.

    Show the same page for every number: whether it belongs to an account must not show.

    Args:
        cellphone: The number, without its calling code.
        country_code: The calling code of the number, 1 to 999.
        via: ``sms`` or ``call``.

    Raises:
        seconder.InvalidArgument: The number is invalid.
        seconder.RateLimited: The number was sent a code a moment ago, or too many codes.
        seconder.Rejected: The number cannot be reached that way.
    """
    return service().start_phone_verification(
        seconder.enums.Channel(via), cellphone, country_code, user_ip=user_ip()
    )


@guarded
def enrol(
    account: AbstractBaseUser,
    cellphone: str,
    country_code: int | str,
    code: str,
    *,
    email: str | None = None,
) -> Enrolment:
    """Enrols an account, if the code proves that it has the number.

    It refuses to run inside of a transaction: after a rollback, the service would keep the user, and the
    number could not be enrolled again. With ``ATOMIC_REQUESTS``, decorate the view with
    ``transaction.non_atomic_requests``. What a process leaves that is killed in the middle is listed and
    repaired by the command ``seconder_check``.

    Args:
        account: A user of the site who is logged in.
        cellphone: The number that :func:`start_enrolment` sent the code to.
        country_code: The calling code of the number.
        code: What the user typed.
        email: Default: the account's.

    Raises:
        AlreadyEnrolled: The account is enrolled.
        seconder.TokenInvalid: The code is wrong.
        seconder.Rejected: No code is pending; or, with ``cellphone`` in ``fields``, the number belongs
            to a user who is enrolled already.
        seconder.TokenMalformed: The code is not 4 to 10 digits.
        seconder.InvalidArgument: The number or the e-mail address is invalid.
        TransactionManagementError: It was called inside of a transaction. Nothing was sent.
    """
    _require_new(account, "enrol")
    address = _address(account, email)
    own = service()
    own.check_phone_verification(cellphone, country_code, digits(code))
    # Without `new_only`, a known number would return the id of the user who has it.
    created = own.create_user(
        address, cellphone, country_code, send_install_link_via_sms=False, new_only=True
    )
    return _link(account, created.user_id)


@guarded
def start_authenticator(
    account: AbstractBaseUser, *, email: str | None = None
) -> seconder.results.AuthenticatorEnrolled:
    """Begins to enrol an account without a phone number, which has an authenticator app alone: returns the
    secret for the app. The account is enrolled by :func:`enrol_authenticator`. Another call returns a new
    secret.

    Verify the e-mail address first: it identifies the user at the service.

    Args:
        account: A user of the site who is logged in.
        email: Default: the account's.

    Raises:
        AlreadyEnrolled: The account is enrolled.
        seconder.Rejected: The address belongs to a user without a number; it is in ``fields``.
        seconder.InvalidArgument: The address is invalid.
        TransactionManagementError: It was called inside of a transaction. Nothing was done.
    """
    _require_new(account, "start_authenticator")
    own = service()
    pending = PendingEnrolment.objects.filter(account_id=account.pk).first()
    if pending is not None:
        with contextlib.suppress(seconder.UserNotFound):
            return own.enrol_authenticator(pending.user_id)
    created = own.create_user(_address(account, email), new_only=True)
    changed = {"user_id": created.user_id}
    PendingEnrolment.objects.update_or_create(account_id=account.pk, defaults=changed)
    return own.enrol_authenticator(created.user_id)


@guarded
def enrol_authenticator(account: AbstractBaseUser, code: str) -> Enrolment:
    """Enrols an account without a phone number, if the app that has the secret of
    :func:`start_authenticator` shows this code.

    Args:
        account: A user of the site who is logged in.
        code: What the user typed.

    Raises:
        AlreadyEnrolled: The account is enrolled.
        NotEnrolled: There was no :func:`start_authenticator`.
        seconder.TokenInvalid: The code is wrong.
        seconder.RateLimited: There were wrong codes before.
        TransactionManagementError: It was called inside of a transaction. Nothing was checked.
    """
    _require_new(account, "enrol_authenticator")
    pending = PendingEnrolment.objects.filter(account_id=account.pk).first()
    if pending is None:
        raise NotEnrolled("start_authenticator was not called for the account")
    _confirm(pending, code)
    found = _link(account, pending.user_id)
    pending.delete()
    return found


def _address(account: AbstractBaseUser, email: str | None) -> str:
    return getattr(account, account.get_email_field_name(), "") if email is None else email


def _link(account: AbstractBaseUser, user_id: int) -> Enrolment:
    try:
        # The tests of an application may run inside of a transaction, which a failed insert would break.
        with transaction.atomic():
            return Enrolment.objects.create(account=account, user_id=user_id)
    except IntegrityError:
        # Another request has enrolled the account meanwhile. The user is new, so no other
        # account has it, unless an operator has just linked it.
        if not Enrolment.objects.filter(user_id=user_id).exists():
            service().delete_user(user_id)
        raise AlreadyEnrolled("the account has a second factor already") from None


def _require_new(account: AbstractBaseUser, name: str) -> None:
    _outside_of_transactions(name)
    if enrolment(account) is not None:
        raise AlreadyEnrolled("the account has a second factor already")


def _outside_of_transactions(name: str) -> None:
    using = router.db_for_write(Enrolment)
    try:
        # Tests may run inside of a transaction, which Django knows.
        with transaction.atomic(using=using, durable=True):
            pass
    except RuntimeError:
        text = (
            f"{name} must be called outside of transaction.atomic(): after a rollback, the service would "
            "keep the user. With ATOMIC_REQUESTS, decorate the view with "
            "transaction.non_atomic_requests."
        )
        raise TransactionManagementError(text) from None


def remove(account: AbstractBaseUser) -> None:
    """Deletes the account's user at the service, with all factors, and then the enrolment.

    Raises:
        NotEnrolled: The account is not enrolled.
        seconder.Unavailable: The service cannot be reached. Nothing was removed here.
    """
    found = _required(account)
    delete_user(found.user_id)
    found.delete()


def delete_user(user_id: int) -> None:
    """Deletes a user at the service, with all factors, if it has one with this id.

    Raises:
        seconder.Unavailable: The service cannot be reached.
    """
    with contextlib.suppress(seconder.UserNotFound):
        service().delete_user(user_id)


def send_code(
    account: User, *, via: seconder.enums.Channel | str = "sms"
) -> seconder.results.CodeRequested:
    """Sends a code to the account's phone, even if it has an app.

    Args:
        account: A user of the site.
        via: ``sms`` or ``call``.

    Returns:
        Where the code was sent: ``cellphone`` is the masked number. ``resend_after`` is the number
        of seconds after which another one can be sent.

    Raises:
        NotEnrolled: The account is not enrolled.
        seconder.RateLimited: The user was sent a code a moment ago, or too many codes.
        seconder.Unavailable: The service cannot be reached, or the message was not delivered.
    """
    found = _required(account)
    own = service()
    send = (
        own.request_call
        if seconder.enums.Channel(via) is seconder.enums.Channel.CALL
        else own.request_sms
    )
    try:
        sent = send(found.user_id, force=True, user_ip=user_ip())
    except seconder.SecondFactorError as error:
        _record(found, Decision.Asked.SEND, error)
        raise
    _record(found, Decision.Asked.SEND, None, str(seconder.enums.Channel(via)))
    return sent


@guarded
def verify(account: User, code: str, *, action: str | None = None) -> seconder.results.Verification:
    """Checks a code of the account: by SMS, of its app, or a recovery code. It returns only if the
    code is right, and raises as :meth:`seconder.Service.verify` does.

    Args:
        account: A user of the site.
        code: What the user typed. Spaces and dashes in it are ignored.
        action: The action that the code was sent for.

    Raises:
        NotEnrolled: The account is not enrolled.
        seconder.TokenInvalid: The code is wrong or has expired.
        seconder.RateLimited: There were wrong codes before; see ``retry_after``.
    """
    found = _required(account)
    try:
        right = service().verify(found.user_id, digits(code), action=action, user_ip=user_ip())
    except seconder.SecondFactorError as error:
        _record(found, Decision.Asked.CODE, error)
        raise
    _record(found, Decision.Asked.CODE, None, _source(right))
    return right


@guarded
def confirm_authenticator(account: User, code: str) -> None:
    """Checks that the app that was enrolled last shows this code. It returns only if it does.

    Raises:
        NotEnrolled: The account is not enrolled.
        seconder.TokenInvalid: The code is not the app's.
        seconder.RateLimited: There were wrong codes before.
    """
    _confirm(_required(account), code)


def _confirm(found: Enrolment | PendingEnrolment, code: str) -> None:
    try:
        service().confirm_authenticator(found.user_id, digits(code))
    except seconder.SecondFactorError as error:
        _record(found, Decision.Asked.CONFIRM, error)
        raise
    _record(found, Decision.Asked.CONFIRM, None)


def factors(found: Enrolment) -> seconder.results.Factors | None:
    """Returns the factors of an enrolment, or None if the service does not list them.

    Raises:
        seconder.UserNotFound: The service has no such user.
        seconder.Unavailable: The service cannot be reached.
    """
    return service().user_status(found.user_id).factors


def lines(listed: seconder.results.Factors) -> list[str]:
    """Returns a line for each factor."""
    found = [gettext("codes by SMS")] if listed.sms else []
    for app in listed.authenticators:
        state = gettext("confirmed") if app.confirmed else gettext("pending")
        text = gettext("authenticator app %(id)s, %(state)s")
        found.append(text % {"id": app.id, "state": state})
    found += [gettext("device %(id)s") % {"id": each.id} for each in listed.devices]
    codes = gettext("recovery codes left: %(count)d") % {"count": listed.recovery_codes}
    return [*found, codes]


def remove_authenticators(found: Enrolment) -> int:
    """Has the service forget the authenticator apps of an enrolment.

    Returns:
        How many there were.
    """
    listed = factors(found)
    apps = () if listed is None else listed.authenticators
    for each in apps:
        service().remove_authenticator(found.user_id, each.id)
    return len(apps)


def remove_devices(found: Enrolment) -> int:
    """Has the service forget the devices of an enrolment.

    Returns:
        How many there were.
    """
    listed = factors(found)
    devices = () if listed is None else listed.devices
    for each in devices:
        service().remove_device(found.user_id, each.id)
    return len(devices)


def explain(error: seconder.SecondFactorError) -> str | None:
    """Returns the message for the user, or None for an error that the user cannot act on."""
    if isinstance(error, seconder.TokenMalformed):
        return gettext("Please type the digits of the code.")
    if isinstance(error, seconder.TokenInvalid):
        if error.reused:
            return gettext("That code has been used already. Wait for the next one.")
        return gettext("That code is wrong.")
    if error.code == seconder.enums.Code.INVALID_PHONE_NUMBER:
        return gettext("No code can be sent: there is no valid phone number.")
    if isinstance(error, seconder.RateLimited):
        wait = math.ceil(error.retry_after or 60)
        again = ngettext(
            "Try again in %(wait)d second.", "Try again in %(wait)d seconds.", wait
        ) % {"wait": wait}
        return f"{gettext(_limits.explain(error))} {again}"
    return None


def _required(account: User) -> Enrolment:
    found = enrolment(account)
    if found is None:
        raise NotEnrolled("the account has no second factor")
    return found


def _source(verification: seconder.results.Verification) -> str:
    return (verification.device.os_type if verification.device else None) or ""


def _record(
    found: Enrolment | PendingEnrolment,
    asked: str,
    error: seconder.SecondFactorError | None,
    reason: str = "",
) -> None:
    verdict = Decision.Verdict.ACCEPTED
    if error is not None:
        # If the database fails below, this error is the context of that one, with the code in a frame.
        error.with_traceback(None)
        limit = error if isinstance(error, seconder.RateLimited) else None
        mistake = _limits.is_users(limit) if limit else isinstance(error, seconder.TokenInvalid)
        verdict = Decision.Verdict.REJECTED if mistake else Decision.Verdict.FAILED
        reason = f"{type(error).__name__} {error.code or ''}".strip()
        if limit:
            _limits.report(limit)
        elif not mistake:
            # Without the frames: the callers' hold the code, and error trackers send them.
            kind = type(error).__name__
            _log.error("%s of user %s failed: %s: %s", asked, found.user_id, kind, error)
    if not _settings.keeps_decisions():
        return
    fields: dict[str, Any] = {"user_id": found.user_id, "asked": asked, "verdict": verdict}
    Decision.objects.create(account_id=found.account_id, reason=reason[:100], **fields)

"""A permission for Django REST framework, and the responses to errors.

Set ``EXCEPTION_HANDLER`` of ``REST_FRAMEWORK`` to
``"seconder.contrib.django.rest.exception_handler"``.
"""

from __future__ import annotations

import math
from typing import Any

from django.utils.translation import gettext, gettext_lazy

import seconder
from seconder.contrib import FRESH_SECONDS, _limits
from seconder.contrib._receiver import Needs
from seconder.contrib.django.accounts import AlreadyEnrolled, NotEnrolled, explain
from seconder.contrib.django.verified import is_verified

with Needs(__name__, "djangorestframework"):
    from rest_framework import exceptions, status
    from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

__all__ = [
    "Conflict",
    "FreshFactor",
    "SecondFactorVerified",
    "ServiceUnavailable",
    "exception_handler",
]

TYPED = ("email", "cellphone", "phone_number", "country_code")
"""The arguments that users type."""

OPERATORS = (seconder.enums.Code.USER_NOT_FOUND, seconder.enums.Code.SMS_NOT_ENABLED)
"""Rejections that are no mistake of the user's."""


class SecondFactorVerified(BasePermission):
    """Allows users who have passed a second factor in this session, as
    :func:`seconder.contrib.django.verified.is_verified` says. A request without a session, such as
    one with a token of the API, has not."""

    message: Any = gettext_lazy("A second factor is required.")
    """The text of the response, which has status 403."""
    code: str = "second_factor_required"
    """The code of the response."""
    max_age: float | None = None
    """The maximum time since the user passed it, in seconds. Set it in a subclass."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Returns whether the user has passed it."""
        return is_verified(request, max_age=self.max_age)


class FreshFactor(SecondFactorVerified):
    """For views that change what protects an account: allows users who have passed a second factor in
    this session a moment ago."""

    max_age: float | None = FRESH_SECONDS


class Conflict(exceptions.APIException):
    """The account is enrolled already, or the number belongs to a user who is: status 409."""

    status_code: int = status.HTTP_409_CONFLICT
    default_detail: Any = gettext_lazy("That account or number has a second factor already.")
    default_code: Any = "already_enrolled"


class ServiceUnavailable(exceptions.APIException):
    """The service could not decide: status 503."""

    status_code: int = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail: Any = gettext_lazy("That cannot be checked now. Try again later.")
    default_code: Any = "second_factor_unavailable"


def exception_handler(error: Exception, context: Any) -> Response | None:
    """Responds to the errors of a call: a wrong code, or what else the service rejects, is 400, an
    account or number that is enrolled already 409, a limit 429 with ``Retry-After``, an account that
    is not enrolled 403, and what an operator has to act on 503. A mistake in the application stays a
    500. All other exceptions are responded to as by REST framework itself."""
    return default_handler(_converted(error), context)


def _converted(error: Exception) -> Exception:
    if not isinstance(error, seconder.SecondFactorError):
        return error
    if isinstance(error, NotEnrolled):
        return exceptions.PermissionDenied(SecondFactorVerified.message, "not_enrolled")
    if isinstance(error, seconder.RateLimited):
        if _limits.is_undecided(error):
            return ServiceUnavailable(explain(error))
        wait = math.ceil(error.retry_after or 60)
        return exceptions.Throttled(wait=wait, detail=explain(error))
    if isinstance(error, seconder.TokenInvalid):
        return exceptions.ValidationError({"code": [explain(error)]}, "code_invalid")
    if isinstance(error, seconder.InvalidArgument):
        return _invalid(error) if error.parameter in TYPED else error
    if isinstance(error, AlreadyEnrolled):
        return Conflict()
    if isinstance(error, seconder.Rejected):
        return _rejected(error)
    return ServiceUnavailable()


def _invalid(error: seconder.InvalidArgument) -> Exception:
    return exceptions.ValidationError({error.parameter: [gettext("That is not valid.")]}, "invalid")


def _rejected(error: seconder.Rejected) -> Exception:
    if error.code in OPERATORS:
        return ServiceUnavailable()
    if isinstance(error, seconder.AlreadyEnrolled) or "cellphone" in error.fields:
        return Conflict()
    if isinstance(error, seconder.VerificationNotFound):
        return exceptions.ValidationError({"code": [gettext("That code is wrong.")]}, "code_invalid")
    return exceptions.ValidationError({"detail": gettext("That was rejected.")}, "rejected")

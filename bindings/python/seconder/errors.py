"""The exceptions, by who must act on them. No error lets anyone in, and none holds a secret.

Those that say more, such as :class:`UserNotFound`, are kinds of the others, such as
:class:`Rejected`.
"""

from __future__ import annotations

from collections.abc import Mapping

from seconder.enums import Stage



class SecondFactorError(Exception):
    """The base of every error of this package.

    >>> try:
    ...     service.user_status(12345)
    ... except seconder.SecondFactorError as error:
    ...     error.http_status, error.code, error.retry_safe
    (404, '60026', False)
    """

    message: str
    """The error in one line; the same as ``str(error)``."""
    code: str | None
    """The service's error code as text, such as ``"60026"``, if it sent one: with ``Rejected``,
    ``TokenInvalid``, ``Unauthorized`` and ``RateLimited``. An engine in this process has the codes
    that a remote service sends."""
    http_status: int | None
    """The HTTP status of the service's error response (section 7), if there was one."""
    fields: dict[str, str]
    """The reason why each invalid field was rejected, by its name in the interface."""
    retry_safe: bool
    """True if the call can be retried without the risk of doing its work twice: it did not reach
    the service, or it only reads, such as ``user_status``. False where the same call would fail
    again."""
    retry_after: float | None
    """The time to wait before a retry, in whole seconds as in the message, if known."""
    limit: str | None
    """The name of the limit that was reached, such as ``"cool_down"``, ``"wrong_codes"`` or
    ``"country_day"``, with ``RateLimited`` from a service that says it (section 8 lists them)."""
    is_operator_limit: bool
    """True if that limit is one of the whole application: ``"country_day"``, ``"application_day"`` or
    ``"key_rate"``. Its users cannot do anything about it, but the operator can raise it."""
    request_id: str | None
    """The id of the call: 16 hexadecimal digits. The record of the call in the logger ``seconder``, and
    the one that ``on_call`` gets, have it too, so a page of errors can show it to the user. It is not
    sent to the service. None for an error that no call of a service has raised."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        http_status: int | None = None,
        fields: Mapping[str, str] | None = None,
        retry_safe: bool = False,
        retry_after: float | None = None,
        limit: str | None = None,
        is_operator_limit: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.http_status = http_status
        self.fields = dict(fields or {})
        self.retry_safe = retry_safe
        self.retry_after = retry_after
        self.limit = limit
        self.is_operator_limit = is_operator_limit
        self.request_id = None


class TokenInvalid(SecondFactorError):
    """The user: the code is wrong or has expired (sections 4.4 and 4.14). Keep them out."""

    reused: bool
    """True if the code was right, but has been used before."""

    def __init__(self, message: str = "", *, reused: bool = False, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.reused = reused


class AlreadyUsed(TokenInvalid):
    """The user: the code was right, but has been used before; ``reused`` is true."""


class NotChecked(SecondFactorError):
    """The user was never confirmed, so the code was not checked (section 4.4, rule 2). Only a call with
    ``force=False`` raises it.

    Keep them out, or have the code checked without ``force=False``.
    """


class InvalidArgument(SecondFactorError, ValueError):
    """The caller: an argument is invalid. Nothing was sent and nothing was changed."""

    parameter: str
    """The name of the invalid parameter."""

    def __init__(self, message: str = "", *, parameter: str = "", retry_safe: bool = False) -> None:
        super().__init__(message, retry_safe=retry_safe)
        self.parameter = parameter


class TokenMalformed(TokenInvalid, InvalidArgument):
    """The user: what they typed cannot be a code, because it has other characters than digits, or
    the wrong length. Keep them out, and ask them to type it again.

    Nothing was sent, no code was compared, and the limit on wrong codes does not count it. It is
    also a ``TokenInvalid``, so that an application that knows only that one asks its user for
    another code, and an ``InvalidArgument``.
    """

    def __init__(self, message: str = "", *, parameter: str = "", retry_safe: bool = False) -> None:
        SecondFactorError.__init__(self, message, retry_safe=retry_safe)
        self.reused = False
        self.parameter = parameter


class Unauthorized(SecondFactorError):
    """The operator: the service does not accept the API key (section 5.3).

    It says nothing about the user, so a lock-out must not count it.
    """


class Rejected(SecondFactorError):
    """The service rejected the call: see ``http_status``, ``code`` and ``fields``."""


class UserNotFound(Rejected):
    """The service has no user with that id, or no user has that login name: ``code`` is
    :attr:`seconder.enums.Code.USER_NOT_FOUND`."""


class AlreadyEnrolled(Rejected):
    """:meth:`seconder.Service.create_user` was called with ``new_only``, and a user with the
    number, or a user without a number with the e-mail address, is enrolled already."""


class ApprovalNotFound(Rejected):
    """The service has no such approval request."""


class ApprovalNotPending(Rejected):
    """The approval request was answered before, or has expired."""


class VerificationNotFound(Rejected):
    """No verification of that number is pending."""


class RateLimited(SecondFactorError):
    """The caller, later: wait for ``retry_after`` seconds, then retry (section 7). ``limit`` says which
    limit it is, and ``is_operator_limit`` whether an operator has to act."""


class Unavailable(SecondFactorError, ConnectionError):
    """The network or the service: there was no response. See ``retry_safe``."""

    stage: Stage
    """The stage in which the call failed."""

    def __init__(
        self, message: str = "", *, stage: Stage | str = Stage.RESPONSE, retry_safe: bool = False
    ) -> None:
        super().__init__(message, retry_safe=retry_safe)
        self.stage = Stage(stage)


class Timeout(Unavailable, TimeoutError):
    """The network or the service: the call timed out before there was a response."""


class Cancelled(SecondFactorError):
    """The program itself ended the call, by :meth:`seconder.Service.cancel`.

    ``retry_safe`` is false if the request may have been sent, so that the call may have been carried
    out.
    """


class InvalidResponse(SecondFactorError):
    """The service: its response could not be parsed, or contradicts itself. The URL may be
    wrong.
    """


class InvalidCallback(SecondFactorError):
    """A callback was not signed by the service with this API key (section 5.5), or is stale, or was
    received before.

    Respond with status 401 and trust nothing in it.
    """


class StorageError(SecondFactorError):
    """The operator: the database cannot be opened, read or written, or was removed or replaced while
    it was open. In the latter case, open the service again."""


class SpoolWarning(UserWarning):
    """A ``sqlite:`` service was opened without ``deliver``: its messages are not sent, but written
    to a folder. For a program that wants that, and no warning:
    ``warnings.simplefilter("ignore", seconder.SpoolWarning)``."""


class InternalError(SecondFactorError):
    """A bug in this library: please report it."""

"""What can go wrong, told by who must act. No error lets anybody in, and none holds a secret."""

from __future__ import annotations

from seconder.enums import Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class SecondFactorError(Exception):
    """The base of every error of this package.

    >>> try:
    ...     service.user_status(12345)
    ... except seconder.SecondFactorError as error:
    ...     error.http_status, error.code, error.retry_safe
    (404, '60026', False)
    """

    message: str
    """What happened, in one line; the same as ``str(error)``."""
    code: str | None
    """The service's error code as text, such as ``"60026"``, where it sent one."""
    http_status: int | None
    """The HTTP status that the service refused with (section 7), where it did."""
    fields: dict[str, str]
    """What the service says is wrong with each field, by its name in the interface."""
    retry_safe: bool
    """Whether the same call can be made again without the risk that it happens twice."""
    retry_after: float | None
    """How long to wait before the next try, in seconds, where that is known."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        http_status: int | None = None,
        fields: Mapping[str, str] | None = None,
        retry_safe: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.http_status = http_status
        self.fields = dict(fields or {})
        self.retry_safe = retry_safe
        self.retry_after = retry_after


class TokenInvalid(SecondFactorError):
    """The user: the code is not theirs, or no longer (section 4.4). Keep them out."""

    reused: bool
    """The code was right once, and has been used."""

    def __init__(self, message: str = "", *, reused: bool = False) -> None:
        super().__init__(message)
        self.reused = reused


class NotChecked(SecondFactorError):
    """The user was never confirmed, so the code was not looked at (section 4.4, rule 2).

    Keep them out, or check the code regardless with ``force=True``.
    """


class InvalidArgument(SecondFactorError, ValueError):
    """The caller: an argument cannot be right. Nothing was sent and nothing was changed."""

    parameter: str
    """The parameter, by its name in the interface."""

    def __init__(self, message: str = "", *, parameter: str = "", retry_safe: bool = False) -> None:
        super().__init__(message, retry_safe=retry_safe)
        self.parameter = parameter


class Unauthorized(SecondFactorError):
    """The operator: the service does not accept the API key (section 5.3).

    This says nothing about the user, so a lock-out must not count it.
    """


class Rejected(SecondFactorError):
    """The service looked at the call and said no: see ``http_status``, ``code``, ``fields``."""


class RateLimited(SecondFactorError):
    """Nobody yet: wait for ``retry_after`` seconds, then repeat (section 7)."""


class Unavailable(SecondFactorError, ConnectionError):
    """The network or the service: there was no answer. See ``retry_safe``."""

    stage: Stage
    """How far the call came."""

    def __init__(
        self, message: str = "", *, stage: Stage | str = Stage.RESPONSE, retry_safe: bool = False
    ) -> None:
        super().__init__(message, retry_safe=retry_safe)
        self.stage = Stage(stage)


class Timeout(Unavailable, TimeoutError):
    """The network or the service: the time for the call was over before there was an answer."""


class InvalidResponse(SecondFactorError):
    """The service: there was an answer that makes no sense. The URL may be wrong."""


class InvalidCallback(SecondFactorError):
    """Nobody: a callback was not signed by the service with this API key (section 5.5).

    Answer it with status 401 and believe nothing of it.
    """


class StorageError(SecondFactorError):
    """The operator: the database cannot be opened, read or written."""


class InternalError(SecondFactorError):
    """The makers of this library: please report it."""

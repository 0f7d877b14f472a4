"""Codes of authenticator apps (RFC 6238), generated and checked without a service. The caller
stores which codes have been used, as the step that :meth:`Totp.check` takes and returns."""

from __future__ import annotations

import os
import time

from seconder import _seconder
from seconder._frames import guarded, guarded_class
from seconder.enums import Algorithm
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing

    import typing_extensions
else:
    from seconder._later import typing, typing_extensions

__all__ = ["Totp", "code"]


@guarded_class
class Totp:
    """The secret that an authenticator app shares with a service, and the parameters of its codes.
    It is immutable, and ``repr`` does not show the secret.

    Args:
        secret: 10 to 128 random bytes. A new secret should have 20, as :meth:`generate` makes them;
            shorter ones are for apps that users have already.
        algorithm: The hash function. Most apps support SHA-1 alone.
        digits: How many digits a code has, 6 to 8.
        period: How long a code is shown, in seconds, 1 to 3600.

    Raises:
        InvalidArgument: An argument is out of range; ``parameter`` names it.

    Example:
        >>> totp = seconder.totp.Totp(b"12345678901234567890", digits=8)
        >>> totp.code(59)
        '94287082'
        >>> last_step = totp.check("94287082", 59)
        >>> try:
        ...     totp.check("94287082", 59, last_step=last_step)
        ... except seconder.TokenInvalid as error:
        ...     error.reused
        True
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        secret: bytes,
        *,
        algorithm: Algorithm | typing.Literal["SHA1", "SHA256", "SHA512"] = Algorithm.SHA1,
        digits: int = 6,
        period: int = 30,
    ) -> None:
        self._native = _seconder.Totp(
            secret, algorithm, _whole("digits", digits, 8), _whole("period", period, 2**63)
        )

    @classmethod
    def generate(cls, *, digits: int = 6, period: int = 30) -> typing_extensions.Self:
        """Generates a secret of 20 bytes from the system's source of randomness.

        Args:
            digits: How many digits a code has, 6 to 8.
            period: How long a code is shown, in seconds, 1 to 3600.

        Returns:
            A Totp with the new secret.

        Raises:
            InvalidArgument: A number is out of range.

        Example:
            >>> seconder.totp.Totp.generate()
            <seconder.totp.Totp of 6 digits and 30 s>
        """
        return cls(os.urandom(20), digits=digits, period=period)

    @classmethod
    def from_uri(cls, uri: str) -> typing_extensions.Self:
        """Parses an ``otpauth:`` URI. The secret may have lower case, padding, spaces and dashes.

        Args:
            uri: The ``otpauth://totp/…`` URI, such as
                :meth:`seconder.Service.enrol_authenticator` returns.

        Returns:
            A Totp with the secret and parameters of the URI.

        Raises:
            InvalidArgument: The URI could not be parsed, or a value in it is out of range.

        Example:
            >>> app = service.enrol_authenticator(user.user_id)
            >>> seconder.totp.Totp.from_uri(app.uri).digits
            6
        """
        made = cls.__new__(cls)
        made._native = _seconder.Totp.from_uri(uri)
        return made

    def uri(self, issuer: str, label: str) -> str:
        """Returns the URI that transfers the secret to an app, usually as a QR code.

        Args:
            issuer: The name of the service that the codes are for.
            label: The label that the app shows with the code, such as the user's e-mail.

        Returns:
            The ``otpauth://totp/…`` URI. It contains the secret.

        Raises:
            InvalidArgument: The issuer or the label has a colon, which separates the two.

        Example:
            >>> uri = seconder.totp.Totp(bytes(20)).uri("Example", "ada")
            >>> uri[:32]
            'otpauth://totp/Example:ada?secre'
        """
        return self._native.uri(issuer, label)

    @property
    def secret(self) -> bytes:
        """The secret, for storage."""
        return self._native.secret

    @property
    def algorithm(self) -> Algorithm:
        """The hash function of the codes."""
        return Algorithm(self._native.algorithm)

    @property
    def digits(self) -> int:
        """The number of digits of a code."""
        return self._native.digits

    @property
    def period(self) -> int:
        """The time for which a code is shown, in seconds."""
        return self._native.period

    def code(self, at: float | None = None) -> str:
        """Returns the code that an app shows.

        Args:
            at: The time in Unix seconds. Default: now.

        Returns:
            The code, as text with its leading zeros.

        Raises:
            InvalidArgument: The time is invalid.

        Example:
            >>> seconder.totp.Totp(b"12345678901234567890").code(59)
            '287082'
        """
        return self._native.code(_time(at))

    def check(self, token: str, at: float | None = None, *, last_step: int | None = None) -> int:
        """Checks a code. It returns only if the code is right. To allow for clock skew, a code of
        the step before or after the current one is accepted too; a code of ``last_step`` or of an
        earlier step never is.

        Args:
            token: What the user typed, as text.
            at: The time in Unix seconds. Default: now.
            last_step: The step that was returned when a code of this secret was last right.

        Returns:
            The code's step. Before letting the user in, store it, in one atomic step with the check
            that it is later than the stored one, and pass it as ``last_step`` from then on:
            otherwise a code can be used twice.

        Raises:
            TokenInvalid: The code is wrong; or, with ``reused``, is of a step that has been used,
                or of an earlier one.
            TokenMalformed: The token is not 6 to 12 digits. It is a ``TokenInvalid``.
            InvalidArgument: The time is invalid.

        Example:
            >>> seconder.totp.Totp(b"12345678901234567890").check("287082", 59)
            1
        """
        if not isinstance(token, str):
            raise InvalidArgument("token must be text", parameter="token")
        step = None if last_step is None else _whole("last_step", last_step, 2**63)
        # Input that a terminal could not decode is not text for the library.
        typed = token.encode("ascii", "replace").decode("ascii")
        return self._native.check(typed, _time(at), step)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Totp):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"<seconder.totp.Totp of {self.digits} digits and {self.period} s>"

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("a Totp cannot be pickled or copied: keep its secret")

    def _fields(self) -> tuple[bytes, str, int, int]:
        native = self._native
        return (native.secret, native.algorithm, native.digits, native.period)


@guarded
def code(uri: str, at: float | None = None) -> str:
    """Returns the code that an authenticator app shows, for tests and for devices without an app.

    Args:
        uri: The ``otpauth://totp/…`` URI that :meth:`seconder.Service.enrol_authenticator`
            returned.
        at: The time in Unix seconds. Default: now.

    Returns:
        The code, as text with its leading zeros.

    Raises:
        InvalidArgument: The URI or the time is invalid.

    Example:
        >>> app = service.enrol_authenticator(user.user_id)
        >>> len(seconder.totp.code(app.uri))
        6
    """
    return Totp.from_uri(uri).code(at)


def _time(at: float | None) -> int:
    seconds = time.time() if at is None else at
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < 2**63:
        raise InvalidArgument("at must be a time in Unix seconds", parameter="at")
    return int(seconds)


def _whole(parameter: str, number: int, most: int) -> int:
    """Rejects a number that the native module could not hold."""
    if not isinstance(number, int) or not 0 <= number <= most:
        raise InvalidArgument(f"{parameter} is out of its range", parameter=parameter)
    return number

"""Codes of authenticator apps (RFC 6238), made and checked without a service. The memory of used
codes is the program's: it is given and given back."""

from __future__ import annotations

import os
import time

from seconder import _seconder
from seconder.enums import Algorithm
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NoReturn

    from typing_extensions import Self

__all__ = ["Totp", "code"]


class Totp:
    """A secret that an authenticator app and a service share, and how codes are made of it. It does
    not change, and ``repr`` does not show the secret.

    Args:
        secret: 16 to 128 random bytes.
        algorithm: The hash. Most apps know SHA-1 alone.
        digits: How many digits a code has, 6 to 8.
        period: How long a code is shown, in seconds, 1 to 3600.

    Raises:
        InvalidArgument: One of them is out of its range; ``parameter`` names it.

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
        algorithm: Algorithm | Literal["SHA1", "SHA256", "SHA512"] = Algorithm.SHA1,
        digits: int = 6,
        period: int = 30,
    ) -> None:
        self._native = _seconder.Totp(
            secret, algorithm, _whole("digits", digits, 8), _whole("period", period, 2**63)
        )

    @classmethod
    def generate(cls, *, digits: int = 6, period: int = 30) -> Self:
        """A new secret of 20 bytes from the system's source of randomness.

        Args:
            digits: How many digits a code has, 6 to 8.
            period: How long a code is shown, in seconds, 1 to 3600.

        Returns:
            What makes codes of it.

        Raises:
            InvalidArgument: A number is out of its range.

        Example:
            >>> seconder.totp.Totp.generate()
            <seconder.totp.Totp of 6 digits and 30 s>
        """
        return cls(os.urandom(20), digits=digits, period=period)

    @classmethod
    def from_uri(cls, uri: str) -> Self:
        """What an ``otpauth:`` URI holds.

        Args:
            uri: The ``otpauth://totp/…`` URI, such as
                :meth:`seconder.Service.enrol_authenticator` gives.

        Returns:
            What makes codes of its secret.

        Raises:
            InvalidArgument: It is no such URI, or a value of it is out of its range.

        Example:
            >>> app = service.enrol_authenticator(user.id)
            >>> seconder.totp.Totp.from_uri(app.uri).digits
            6
        """
        made = cls.__new__(cls)
        made._native = _seconder.Totp.from_uri(uri)
        return made

    def uri(self, issuer: str, label: str) -> str:
        """The URI that carries the secret into an app, such as in a QR code.

        Args:
            issuer: Who the codes are for.
            label: What the app shows beside the code, such as the user's e-mail.

        Returns:
            The ``otpauth://totp/…`` URI. It holds the secret.

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
        """The hash that codes are made with."""
        return Algorithm(self._native.algorithm)

    @property
    def digits(self) -> int:
        """How many digits a code has."""
        return self._native.digits

    @property
    def period(self) -> int:
        """How long a code is shown, in seconds."""
        return self._native.period

    def code(self, at: float | None = None) -> str:
        """The code that an app shows.

        Args:
            at: The time in Unix seconds. Default: now.

        Returns:
            The code, as text with its leading zeros.

        Raises:
            InvalidArgument: The time cannot be one.

        Example:
            >>> seconder.totp.Totp(b"12345678901234567890").code(59)
            '287082'
        """
        return self._native.code(_time(at))

    def check(self, token: str, at: float | None = None, *, last_step: int | None = None) -> int:
        """Checks a code. It returns for a right one alone. The steps right before and after the
        present one count too, for clocks that go wrong; a step not after ``last_step`` never does.

        Args:
            token: What the user typed, as text.
            at: The time in Unix seconds. Default: now.
            last_step: What came back the last time a code of this secret was right.

        Returns:
            The code's step. Keep it before anyone is let in, in one step with looking at the one
            that is there, and give it as ``last_step`` from now on: else a code is right twice.

        Raises:
            TokenInvalid: The code is none of the present ones; or, with ``reused``, is of a step
                that was used, or of one before it.
            InvalidArgument: The token is not made of 6 to 12 digits, or the time cannot be one.

        Example:
            >>> seconder.totp.Totp(b"12345678901234567890").check("287082", 59)
            1
        """
        if not isinstance(token, str):
            raise InvalidArgument("token must be text", parameter="token")
        step = None if last_step is None else _whole("last_step", last_step, 2**63)
        return self._native.check(token, _time(at), step)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Totp):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"<seconder.totp.Totp of {self.digits} digits and {self.period} s>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Totp cannot be pickled or copied: keep its secret")

    def _fields(self) -> tuple[bytes, str, int, int]:
        native = self._native
        return (native.secret, native.algorithm, native.digits, native.period)


def code(uri: str, at: float | None = None) -> str:
    """The code that an authenticator app shows, for tests and for devices without an app.

    Args:
        uri: The ``otpauth://totp/…`` URI that :meth:`seconder.Service.enrol_authenticator` gave.
        at: The time in Unix seconds. Default: now.

    Returns:
        The code, as text with its leading zeros.

    Raises:
        InvalidArgument: The URI or the time cannot be right.

    Example:
        >>> app = service.enrol_authenticator(user.id)
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
    """Refuses what the native module could not hold."""
    if not isinstance(number, int) or not 0 <= number <= most:
        raise InvalidArgument(f"{parameter} is out of its range", parameter=parameter)
    return number

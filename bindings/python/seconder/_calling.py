"""Makes calls by their names, and reads their replies."""

from __future__ import annotations

from os import urandom

from seconder._value import Value, field
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from typing_extensions import Self

    from seconder import _seconder


class Caller:
    """The base of a class with a method for each call."""

    __slots__ = ("__weakref__", "_hook", "_native")

    _native: _seconder.Service
    _hook: Callable[[dict[str, Any]], None] | None

    def _call(self, name: str, **params: Any) -> Any:
        return self._native.call(name, params, urandom(8).hex(), self._hook)


def _typed(parameter: str, value: object) -> str:
    """Rejects a code that is a number, which would have lost its leading zeros. What a terminal
    could not decode is not text for the library, and becomes a character that no code has.
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{parameter} must be text", parameter=parameter)
    return value.encode("ascii", "replace").decode("ascii")


class Result(Value):
    """The base of all results.

    >>> user = seconder.UserCreated(7)
    >>> user
    UserCreated(user_id=7, created=None, message=None, install_message=None)
    >>> user == seconder.UserCreated(7) and hash(user) == hash(seconder.UserCreated(7))
    True
    >>> match user:
    ...     case seconder.UserCreated(user_id):
    ...         print(user_id)
    7
    """

    @classmethod
    def _read(cls, reply: dict[str, Any]) -> Self:
        return cls(**reply)


class Reply(Result):
    """A result to which a service may add fields that the interface does not have."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, kw_only=True)
    """The fields that the interface does not have, by the service's own names. They decide nothing,
    and ``repr`` does not show them."""


def _moment(text: str | int) -> datetime | None:
    """Parses a time in RFC 3339 or in Unix seconds; returns None if it is not a time."""
    # Imported on first use, to keep importing the package cheap.
    from datetime import datetime, timezone

    try:
        if isinstance(text, int):
            return datetime.fromtimestamp(text, timezone.utc)
        # Before Python 3.11, fromisoformat does not accept the suffix Z.
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _read_times(reply: dict[str, Any], *names: str) -> None:
    """Parses these fields as times, in place. Text that is not a time is kept in ``extra``."""
    for name in names:
        value = reply.get(name)
        if value is not None:
            reply[name] = _moment(value)
            if reply[name] is None:
                reply.setdefault("extra", {})[name] = value

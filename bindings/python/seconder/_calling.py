"""Makes calls by their names, and reads their replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import urandom

from seconder import _seconder
from seconder._value import Value, field
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    import typing

    import typing_extensions

    import seconder
else:
    from seconder._later import datetime, seconder, typing, typing_extensions


class Caller:
    """The base of a class with a method for each call."""

    __slots__ = ("__weakref__", "_hook", "_native")

    _native: _seconder.Service
    _hook: Callable[[dict[str, typing.Any]], None] | None

    def _call(self, name: str, **params: typing.Any) -> typing.Any:
        return self._native.call(name, params, urandom(8).hex(), self._hook)


class CallerPart:
    """The base of a class with a method for each call of a group, which a service makes."""

    __slots__ = ("_service",)

    def __init__(self, service: seconder.Service) -> None:
        self._service = service

    def _call(self, name: str, **params: typing.Any) -> typing.Any:
        return self._service._call(name, **params)

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} of {self._service!r}>"


def _typed(parameter: str, value: object) -> str:
    """Rejects a code that is a number, which would have lost its leading zeros. What a terminal
    could not decode is not text for the library, and becomes a character that no code has.
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{parameter} must be text", parameter=parameter)
    return value.encode("ascii", "replace").decode("ascii")


class Result(Value):
    """The base of all results.

    >>> user = seconder.results.UserCreated(7)
    >>> user
    UserCreated(user_id=7, created=None, message=None, install_message=None)
    >>> user == seconder.results.UserCreated(7) and hash(user) == hash(seconder.results.UserCreated(7))
    True
    >>> match user:
    ...     case seconder.results.UserCreated(user_id):
    ...         print(user_id)
    7
    """

    @classmethod
    def _read(cls, reply: dict[str, typing.Any]) -> typing_extensions.Self:
        return cls(**reply)


class Reply(Result):
    """A result to which a service may add fields that the interface does not have."""

    extra: Mapping[str, typing.Any] = field(default_factory=dict, repr=False, hash=False, kw_only=True)
    """The fields that the interface does not have, by the service's own names. They decide nothing,
    and ``repr`` does not show them."""


class Decision:
    """The methods of an approval request that a user has decided on."""

    __slots__ = ()

    def __bool__(self: typing.Any) -> bool:
        return bool(self.status)

    def approved_by(self: typing.Any, user_id: int, *, bound: bool = True) -> bool:
        """Returns whether this user approved the request. False also if the service does not
        provide the user, unless ``bound`` is false.

        Args:
            user_id: The user who logs in.
            bound: False also accepts a record that names no user, for a service that provides only
                the status. This is weaker: the record then says that somebody approved some
                request. If the uuid comes from the browser, attackers approve a request of their
                own and present its uuid in another user's login. So keep the uuid on the server,
                in the session of the login for whose user it was created; take it from there alone;
                and delete it once it was used. A user is recognised only under the ``names`` of
                :func:`seconder.open`, so these must be the service's. A record that names another
                user is never accepted.

        Returns:
            True for the user who approved it, and for no other.

        Raises:
            InvalidArgument: ``user_id`` is no number.

        Example:
            >>> approval = seconder.results.Approval(seconder.enums.ApprovalStatus.APPROVED, user_id=7)
            >>> approval.approved_by(7), approval.approved_by(8), approval.approved_by(8, bound=False)
            (True, False, False)
            >>> approval = seconder.results.Approval(seconder.enums.ApprovalStatus.APPROVED)
            >>> approval.approved_by(7), approval.approved_by(7, bound=False)
            (False, True)
        """
        if not isinstance(user_id, int) or isinstance(user_id, bool):
            # True equals the user 1.
            raise InvalidArgument("user_id must be a number", parameter="user_id")
        if bound or self.user_id is not None:
            return bool(self.status) and self.user_id == user_id
        return bool(self.status) and self.similar_id in (None, user_id)


def _moment(text: str | int) -> datetime.datetime | None:
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


# They replace values of a reply in place.


def _leave_out(reply: dict[str, typing.Any], *names: str) -> None:
    """Removes fields that no class has."""
    for name in names:
        del reply[name]


def _read_one(reply: dict[str, typing.Any], name: str, read: Callable[[typing.Any], object]) -> None:
    """Reads a value, unless it is not known."""
    value = reply.get(name)
    if value is not None:
        reply[name] = read(value)


def _read_each(
    reply: dict[str, typing.Any], name: str, read: Callable[[typing.Any], object] | None = None
) -> None:
    """Reads the values of a list, which becomes a tuple."""
    if name in reply:
        values = reply[name]
        reply[name] = tuple(values if read is None else map(read, values))


def _read_times(reply: dict[str, typing.Any], *names: str) -> None:
    """Parses these fields as times. Text that is not a time is kept in ``extra``."""
    for name in names:
        value = reply.get(name)
        if value is not None:
            reply[name] = _moment(value)
            if reply[name] is None:
                reply.setdefault("extra", {})[name] = value

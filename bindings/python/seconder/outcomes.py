"""Outcomes of an attempt to send something, which ``deliver`` and ``post`` may return.

A function that returns None has sent what it was given, and so has one that returns text, which is
the id that the provider gave. One that raises has not: a message has then failed for good, and a
callback is posted again. Where it is worth more to say, return one of these:

>>> def deliver(message: seconder.Message) -> seconder.outcomes.Outcome | None:
...     if message.to.startswith("+1555"):
...         return seconder.NumberRefused("the gateway does not know the number")
...     return seconder.Retry(after=30, reason="the gateway is busy")

After :class:`Retry`, :class:`NotAttempted` and :class:`Ambiguous`, the call that requested the code succeeds, and further
attempts are made by :meth:`seconder.Service.run_jobs`, which the application has to call: nothing in
its process does so by itself. :attr:`seconder.Message.id` is the same in all of them.
"""

from __future__ import annotations

from seconder._value import Value
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
else:
    from seconder._later import datetime

__all__ = ["Ambiguous", "NotAttempted", "NumberRefused", "Outcome", "Permanent", "Retry", "Sent"]


class Outcome(Value):
    """The base of what became of an attempt.

    >>> seconder.Retry(after=30) == seconder.Retry(after=30.0)
    True
    """

    def _parts(self) -> tuple[str, str | None, float | None]:
        """Returns the parts for the native module: the kind, the id or the reason, and the wait."""
        raise InvalidArgument(
            "an outcome must be Sent, Retry, NotAttempted, NumberRefused, Permanent or Ambiguous"
        )


class Sent(Outcome):
    """It was accepted.

    >>> seconder.Sent("SM-1")
    Sent(id='SM-1')
    """

    id: str | None = None
    """The id that the provider gave it. With it, the message is kept for three days, for an operator
    who asks what became of it."""

    def _check(self) -> None:
        if self.id is not None:
            _text("id", self.id)

    def _parts(self) -> tuple[str, str | None, float | None]:
        return "sent", self.id, None


class Retry(Outcome):
    """It was not accepted, and a later attempt may be.

    >>> from datetime import timedelta
    >>> seconder.Retry(timedelta(minutes=1), reason="the gateway is busy")
    Retry(after=datetime.timedelta(seconds=60), reason='the gateway is busy')
    """

    after: float | datetime.timedelta | None = None
    """The wait that the provider asks for, in seconds or as a timedelta, 0 or more. None: a message
    is attempted again after 2, 4, 8 and so on, at most 60 seconds, and a callback after 5 seconds,
    5 minutes, 30 minutes, 2 hours, 5 hours and 10 hours. A message whose code has expired by then
    has failed for good."""
    reason: str = ""
    """The error, without the code."""

    def _check(self) -> None:
        _text("reason", self.reason)
        _wait(self.after)

    def _parts(self) -> tuple[str, str | None, float | None]:
        return "retry", self.reason or "deliver or post returned Retry", _seconds(self.after)


class NotAttempted(Outcome):
    """Nothing was attempted, such as because the gateway takes no more messages in this second. It counts
    as no attempt.

    >>> seconder.NotAttempted(after=0.5, reason="10 messages were sent in this second").after
    0.5
    """

    after: float | datetime.timedelta | None = None
    """The time to wait, in seconds or as a timedelta, 0 or more. None, and less than a second:
    about a second. A message whose code has expired by then has failed for good."""
    reason: str = ""
    """The reason why nothing was attempted, without the code."""

    def _check(self) -> None:
        _text("reason", self.reason)
        _wait(self.after)

    def _parts(self) -> tuple[str, str | None, float | None]:
        reason = self.reason or "deliver or post returned NotAttempted"
        return "not_attempted", reason, _seconds(self.after)


class Permanent(Outcome):
    """It was not accepted, and no attempt will be. The call that needed the code raises
    :class:`seconder.Unavailable`; a callback is not posted again.

    >>> seconder.Permanent("the account has no credit").reason
    'the account has no credit'
    """

    reason: str
    """The error, without the code."""

    def _check(self) -> None:
        _text("reason", self.reason)

    def _parts(self) -> tuple[str, str | None, float | None]:
        return "permanent", self.reason, None


class NumberRefused(Outcome):
    """The provider refuses the number, as one that does not exist or cannot be reached. The call that needed
    the code raises :class:`seconder.Rejected` with the code ``number_refused``, because its caller has to
    correct the number; a callback is posted again.

    >>> seconder.NumberRefused("the number is not in service").reason
    'the number is not in service'
    """

    reason: str
    """The error, without the code."""

    def _check(self) -> None:
        _text("reason", self.reason)

    def _parts(self) -> tuple[str, str | None, float | None]:
        return "number_refused", self.reason, None


class Ambiguous(Outcome):
    """It may have been accepted, because the connection was lost before a response arrived. Another
    attempt has the same :attr:`seconder.Message.id`, by which a provider can recognise a message
    that it has accepted before.

    >>> seconder.Ambiguous("no response").reason
    'no response'
    """

    reason: str
    """The error, without the code."""

    def _check(self) -> None:
        _text("reason", self.reason)

    def _parts(self) -> tuple[str, str | None, float | None]:
        return "ambiguous", self.reason, None


_LONGEST = 2.0**63
"""No code lives for so many seconds."""


def _text(name: str, given: object) -> None:
    try:
        if isinstance(given, str):
            given.encode()
            return
    except UnicodeEncodeError:
        pass
    raise InvalidArgument(f"{name} must be text that UTF-8 can hold", parameter=name)


def _wait(given: object) -> None:
    seconds = _seconds(given)
    if seconds is not None and not 0 <= seconds < _LONGEST:
        raise InvalidArgument("after must be a number of seconds, 0 or more", parameter="after")


def _seconds(given: object) -> float | None:
    """The seconds of a number or a timedelta; -1 if it is neither. A bool is an int too."""
    if given is None:
        return None
    total = getattr(given, "total_seconds", None)
    seconds: object = given if total is None else total()
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return -1.0
    try:
        return float(seconds)
    except OverflowError:
        return _LONGEST


def _parts_of(name: str, returned: object) -> tuple[str, str | None, float | None]:
    """Returns the parts for the native module of a value that an application's function
    returned."""
    if returned is None:
        return "sent", None, None
    if isinstance(returned, str):
        return Sent(returned)._parts()
    if isinstance(returned, Outcome):
        return returned._parts()
    kind = type(returned).__name__
    raise TypeError(
        f"{name} must return None, the provider's id as text, or a seconder.outcomes.Outcome, not {kind}"
    )

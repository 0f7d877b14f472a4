"""Callbacks: what a service posts when a user answered an approval request (sections 5.5, 6)."""

from __future__ import annotations

import heapq
import time
from _thread import allocate_lock

from seconder import _seconder
from seconder.errors import InvalidArgument, RateLimited
from seconder.names import Names, _given
from seconder.results import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    from seconder.typed import Replay as Replay
else:

    def __getattr__(name):
        if name == "Replay":
            from seconder.typed import Replay

            return Replay
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Memory", "Replay", "query", "sign", "verify", "verify_parameters"]


class Memory:
    """A memory in this process, of a bounded size; threads can share it.

    It forgets a callback when that is no longer fresh. When it is full of fresh ones it raises
    :class:`RateLimited` and forgets none: what it forgot could be replayed. Nobody without the API key
    can fill it, so a full memory says that ``capacity`` is too small for the window.

    Args:
        capacity: How many callbacks it holds.

    Example:
        >>> memory = seconder.callback.Memory(10_000)
        >>> memory.first_time("a-signature", 4e9), memory.first_time("a-signature", 4e9)
        (True, False)
    """

    __slots__ = ("_capacity", "_keys", "_lock", "_order")

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._keys: set[str] = set()
        self._order: list[tuple[float, str]] = []
        self._lock = allocate_lock()

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`Replay.first_time`.

        Args:
            key: The callback's signature, which covers all of it.
            until: When it can be forgotten, in Unix seconds.

        Returns:
            Whether the callback is here for the first time.

        Raises:
            RateLimited: The memory is full.
            InvalidArgument: It would grow for ever, because nothing says when to forget.
        """
        if until == float("inf"):
            message = "replay needs fresh too: a memory cannot grow for ever"
            raise InvalidArgument(message, parameter="replay")
        with self._lock:
            now = int(time.time())
            while self._order and self._order[0][0] < now:
                self._keys.remove(heapq.heappop(self._order)[1])
            if key in self._keys:
                return False
            if len(self._keys) >= self._capacity:
                wait = self._order[0][0] + 1 - now if self._order else None
                message = "The memory of received callbacks is full"
                raise RateLimited(message, retry_safe=True, retry_after=wait)
            self._keys.add(key)
            heapq.heappush(self._order, (until, key))
            return True


def verify(
    *,
    api_key: str,
    url: str | Iterable[str],
    method: str,
    body: bytes = b"",
    query: str = "",
    signature: str | None,
    nonce: str | None,
    names: Names | None = None,
    fresh: float | None = None,
    replay: Replay | None = None,
) -> Event:
    """Checks a callback's signature and reads it. Believe nothing of a callback before.

    Without ``fresh`` and ``replay``, a callback that somebody recorded holds for ever: keep the
    ``uuid`` of what was acted upon.

    Args:
        api_key: The application's API key, which the service signs with.
        url: The callback URL as it is configured with the service, scheme included; or several,
            where the application has more than one. Never take it from the request's ``Host``.
        method: The request's method, ``POST`` or ``GET``.
        body: The raw body of a POST. That of a GET is not signed, and is not read.
        query: The raw query of a GET, without the ``?``. That of a POST is not signed, and is not
            read.
        signature: The header ``X-Svc-Signature``, None when it is missing.
        nonce: The header ``X-Svc-Signature-Nonce``, None when it is missing.
        names: What the service calls the fields, where it is not as the interface document does.
        fresh: Refuses callbacks whose nonce is not a time within so many seconds of now. A few
            minutes allow for clocks that differ. For a service whose nonces are no times, None.
        replay: Refuses callbacks that it remembers. A service that tries again signs anew, so two
            callbacks can still tell of one answer.

    Returns:
        What the callback says. Ask :meth:`seconder.Event.approved_by` with the user who logs in.

    Raises:
        InvalidCallback: The callback is not from the service, or is stale, or was received before; answer it
            with status 401.
        InvalidArgument: An argument cannot be right; ``parameter`` names it.

    Example:
        >>> url, body = "https://app.example/callback", b'{"uuid":"a-1","status":"approved","svc_id":7}'
        >>> signature = seconder.callback.sign(api_key="key", url=url, nonce="1700000000", body=body)
        >>> event = seconder.callback.verify(
        ...     api_key="key",
        ...     url=url,
        ...     method="POST",
        ...     body=body,
        ...     signature=signature,
        ...     nonce="1700000000",
        ... )
        >>> event.approved_by(7), event.approved_by(8)
        (True, False)
    """
    told = _seconder.verify_callback(
        api_key=api_key,
        url=url,
        method=method,
        body=body,
        query=query,
        signature=signature or "",
        nonce=nonce or "",
        names=None if names is None else _given(names),
        fresh=fresh,
        now=time.time(),
        replay=replay,
    )
    return Event._told(told)


def verify_parameters(
    *,
    api_key: str,
    url: str,
    method: str,
    body: bytes = b"",
    query: str = "",
    signature: str | None,
    nonce: str | None,
) -> Mapping[str, Any]:
    """Checks a callback's signature alone, whatever its parameters mean.

    Args:
        api_key: As for :func:`verify`.
        url: As for :func:`verify`.
        method: As for :func:`verify`.
        body: As for :func:`verify`.
        query: As for :func:`verify`.
        signature: As for :func:`verify`.
        nonce: As for :func:`verify`.

    Returns:
        The parameters that the signature covers.

    Raises:
        InvalidCallback: The signature does not hold.
        InvalidArgument: An argument cannot be right; ``parameter`` names it.

    Example:
        >>> url, given = "https://app.example/callback", {"api_key": "key", "nonce": "1"}
        >>> signature = seconder.callback.sign(url=url, method="GET", query="a=1&b=2", **given)
        >>> seconder.callback.verify_parameters(
        ...     url=url, method="GET", query="a=1&b=2", signature=signature, **given
        ... )
        {'a': '1', 'b': '2'}
    """
    told: dict[str, Any] = _seconder.signed_parameters(
        api_key, url, method, body, query, signature or "", nonce or ""
    )
    return told


def sign(
    *,
    api_key: str,
    url: str,
    nonce: str,
    method: Literal["POST", "GET"] = "POST",
    body: bytes = b"",
    query: str = "",
) -> str:
    """The signature that a service gives a callback (section 5.5), for the tests of applications.

    Args:
        api_key: The application's API key.
        url: The callback URL as it is configured with the service.
        nonce: What makes the signature differ from others, usually the time in Unix seconds.
        method: The request's method.
        body: The JSON body of a POST.
        query: The query of a GET, without the ``?``: see :func:`query`.

    Returns:
        What goes into the header ``X-Svc-Signature``.

    Raises:
        InvalidCallback: The body is no JSON object, names a field twice, or has more than any callback has;
            or the query cannot be read.
        InvalidArgument: An argument cannot be right; ``parameter`` names it.

    Example:
        >>> seconder.callback.sign(
        ...     api_key="key", url="https://app.example/callback", nonce="1", body=b'{"uuid":"a-1"}'
        ... )
        'S568L7WLJdnltBCSpV7TuFUIEFNAcFMsNTocLTOdEHg='
    """
    if method not in ("POST", "GET"):
        raise InvalidArgument("method must be POST or GET", parameter="method")
    return _seconder.sign(api_key, nonce, url, method, body, query)


def query(body: bytes) -> str:
    """The parameters of a JSON body as a query, sorted and encoded as they are signed.

    Args:
        body: A JSON object.

    Returns:
        The query, without a ``?``.

    Raises:
        InvalidCallback: The body is no JSON object, names a field twice, or has more than any callback has.

    Example:
        >>> seconder.callback.query(b'{"device":{"city":"New York"},"a":1}')
        'a=1&device%5Bcity%5D=New+York'
    """
    return _seconder.query(body)

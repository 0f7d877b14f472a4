"""Callbacks, which a service posts when a user responds to an approval request (sections 5.5 and
6)."""

from __future__ import annotations

import heapq
import time

# Not from threading, to keep importing the package cheap.
from _thread import allocate_lock
from collections.abc import Iterable, Mapping

from seconder import _seconder
from seconder._frames import guarded
from seconder.errors import InvalidArgument, RateLimited
from seconder.names import Names, _given
from seconder.records import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing

    from seconder import typed
    from seconder._replay import Replay as Replay
else:

    from seconder._later import typed, typing

    def __getattr__(name):
        if name == "Replay":
            from seconder._replay import Replay

            return Replay
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Memory", "Replay", "query", "sign", "verify", "verify_parameters"]


class Memory:
    """A replay memory in this process, of bounded size. It can be shared between threads.

    It forgets a callback once that is no longer fresh. While it is full of fresh ones it raises
    :class:`RateLimited` and forgets none, because a forgotten callback could be replayed. Only
    the holder of the API key can fill it, so a full memory means that ``capacity`` is too small for
    the window.

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
        # A heap by expiry, so that expired keys are found without a search through all of them.
        self._order: list[tuple[float, str]] = []
        self._lock = allocate_lock()

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`Replay.first_time`.

        Args:
            key: The callback's signature, which covers all of it.
            until: When it can be forgotten, in Unix seconds.

        Returns:
            Whether the callback was received for the first time.

        Raises:
            RateLimited: The memory is full.
            InvalidArgument: ``until`` is infinite, so the memory would grow without bound.
        """
        if until == float("inf"):
            message = "replay needs fresh too: a memory cannot grow for ever"
            raise InvalidArgument(message, parameter="replay")
        # Looking up and inserting must be one step, or two threads could accept one callback.
        with self._lock:
            now = int(time.time())
            while self._order and self._order[0][0] < now:
                self._keys.remove(heapq.heappop(self._order)[1])
            if key in self._keys:
                return False
            if len(self._keys) >= self._capacity:
                # There is room again once the oldest callback expires.
                wait = self._order[0][0] + 1 - now if self._order else None
                message = "The memory of received callbacks is full"
                raise RateLimited(message, retry_safe=True, retry_after=wait)
            self._keys.add(key)
            heapq.heappush(self._order, (until, key))
            return True


@guarded
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
    fresh: float | None = 300,
    replay: typed.Replay | None = None,
) -> Event:
    """Verifies a callback's signature and parses it. Trust nothing in a callback before that.

    Without ``replay``, a recorded callback stays valid for as long as it is ``fresh``: store the
    ``uuid`` of every request that was acted upon.

    Args:
        api_key: The application's API key, which the service signs with.
        url: The callback URL as it is configured with the service, scheme included; or several,
            if the application has more than one. Never take it from the request's ``Host``.
        method: The request's method, ``POST`` or ``GET``.
        body: The raw body of a POST. The body of a GET is not signed, and is ignored.
        query: The raw query of a GET, without the ``?``. The query of a POST is not signed, and is
            ignored.
        signature: The header ``X-Svc-Signature``; None if it is missing.
        nonce: The header ``X-Svc-Signature-Nonce``; None if it is missing.
        names: The service's names, if they differ from the interface document's.
        fresh: Rejects callbacks whose nonce is not a time within this many seconds of now. The 5
            minutes of the default allow for clock skew. None for a service whose nonces are not
            times: a recorded callback then never becomes invalid.
        replay: Rejects callbacks that it remembers. A service signs a retry with a new nonce, so
            two callbacks can still report one response.

    Returns:
        The event. Check :meth:`seconder.results.Event.approved_by` with the user who logs in.

    Raises:
        InvalidCallback: The callback is not from the service, is stale, or was received before;
            respond with status 401.
        InvalidArgument: An argument is invalid; ``parameter`` names it.

    Example:
        >>> url = "https://app.example/callback"
        >>> body = b'{"uuid":"a-1","status":"approved","svc_id":7}'
        >>> nonce = "1700000000"
        >>> signature = seconder.callback.sign(api_key="key", url=url, nonce=nonce, body=body)
        >>> event = seconder.callback.verify(
        ...     api_key="key",
        ...     url=url,
        ...     method="POST",
        ...     body=body,
        ...     signature=signature,
        ...     nonce=nonce,
        ...     fresh=None,  # the nonce of this example is an old time
        ... )
        >>> event.approved_by(7), event.approved_by(8)
        (True, False)
    """
    native = _seconder.verify_callback(
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
    return Event._from_native(native)


@guarded
def verify_parameters(
    *,
    api_key: str,
    url: str,
    method: str,
    body: bytes = b"",
    query: str = "",
    signature: str | None,
    nonce: str | None,
) -> Mapping[str, typing.Any]:
    """Verifies a callback's signature and does not interpret its parameters.

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
        InvalidCallback: The signature is invalid.
        InvalidArgument: An argument is invalid; ``parameter`` names it.

    Example:
        >>> url, given = "https://app.example/callback", {"api_key": "key", "nonce": "1"}
        >>> signature = seconder.callback.sign(url=url, method="GET", query="a=1&b=2", **given)
        >>> seconder.callback.verify_parameters(
        ...     url=url, method="GET", query="a=1&b=2", signature=signature, **given
        ... )
        {'a': '1', 'b': '2'}
    """
    parameters: dict[str, typing.Any] = _seconder.signed_parameters(
        api_key, url, method, body, query, signature or "", nonce or ""
    )
    return parameters


@guarded
def sign(
    *,
    api_key: str,
    url: str,
    nonce: str,
    method: typing.Literal["POST", "GET"] = "POST",
    body: bytes = b"",
    query: str = "",
) -> str:
    """Signs a callback as a service does (section 5.5), for the tests of applications.

    Args:
        api_key: The application's API key.
        url: The callback URL as it is configured with the service.
        nonce: A value that makes the signature unique, usually the time in Unix seconds.
        method: The request's method.
        body: The JSON body of a POST.
        query: The query of a GET, without the ``?``: see :func:`query`.

    Returns:
        The value of the header ``X-Svc-Signature``.

    Raises:
        InvalidArgument: An argument is invalid; ``parameter`` names it. The body must be a JSON object
            that repeats no field and is within the limits of a callback.

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
    """Converts a JSON body to a query, with the parameters sorted and encoded as they are signed.

    Args:
        body: A JSON object.

    Returns:
        The query, without a ``?``.

    Raises:
        InvalidArgument: The body is not a JSON object, repeats a field, or exceeds the limits of a
            callback.

    Example:
        >>> seconder.callback.query(b'{"device":{"city":"New York"},"a":1}')
        'a=1&device%5Bcity%5D=New+York'
    """
    return _seconder.query(body)

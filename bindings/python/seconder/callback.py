"""Callbacks: what a service posts when a user answered an approval request (sections 5.5, 6)."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterable
from typing import Protocol

from seconder import _seconder
from seconder.errors import InvalidArgument, Limited
from seconder.results import Event


class Replay(Protocol):
    """Remembers callbacks, so that each is believed once. An application of several processes gives
    one that they share, such as a table with a unique key; :class:`Memory` serves one process."""

    def first_time(self, key: str, until: float) -> bool:
        """Whether the callback is here for the first time; it is remembered then. Looking and
        remembering must be one step.

        Args:
            key: The callback's signature, which covers all of it.
            until: When it can be forgotten, in Unix seconds; infinite without ``fresh``.
        """


class Memory:
    """A memory in this process, of a bounded size; threads can share it.

    It forgets a callback when that is no longer fresh. When it is full of fresh ones it raises
    :class:`Limited` and forgets none: what it forgot could be replayed. Nobody without the API key
    can fill it, so a full memory says that ``capacity`` is too small for the window.
    """

    __slots__ = ("_capacity", "_keys", "_lock", "_order")

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._keys: set[str] = set()
        self._order: list[tuple[float, str]] = []
        self._lock = threading.Lock()

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`Replay.first_time`."""
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
                raise Limited(message, retry_safe=True, retry_after=wait)
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
        fresh: Refuses callbacks whose nonce is not a time within so many seconds of now. A few
            minutes allow for clocks that differ. For a service whose nonces are no times, None.
        replay: Refuses callbacks that it remembers. A service that tries again signs anew, so two
            callbacks can still tell of one answer.

    Raises:
        Forged: The callback is not from the service, or is stale, or was received before; answer it
            with status 401.
    """
    event = _seconder.verify_callback(
        api_key=api_key,
        urls=[url] if isinstance(url, str) else list(url),
        method=method,
        body=body,
        query=query,
        signature=signature or "",
        nonce=nonce or "",
        fresh=fresh,
        now=time.time(),
        replay=replay,
    )
    return Event._read(event)

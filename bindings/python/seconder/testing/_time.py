"""The time of a sandbox."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

from seconder import _seconder


class Time:
    """A clock that stands still until time is passed, and what happens at later times."""

    def __init__(self, now: float) -> None:
        self.clock = _seconder.Clock(now)
        self._planned: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def now(self) -> float:
        """The time, in Unix seconds."""
        return self.clock.now()

    def _set(self, moment: float) -> None:
        self.clock.set(moment)

    def plan(self, moment: float, action: Callable[[], object]) -> None:
        """Has a function called once that time has come."""
        with self._lock:
            # The number keeps functions of the same time in order, and from being compared.
            heapq.heappush(self._planned, (moment, next(self._numbers), action))

    def pass_until(self, end: float) -> None:
        """Passes the time until then, unless it has come already, with all that happens meanwhile.
        Waits of several threads thus overlap."""
        while True:
            with self._lock:
                moment, action = end, None
                if self._planned and self._planned[0][0] <= end:
                    moment, _, action = heapq.heappop(self._planned)
                if moment > self.now():
                    self._set(moment)
            if action is None:
                return
            # Without the lock, because it may pass time itself.
            action()

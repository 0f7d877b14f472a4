"""What goes wrong on purpose."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum

class Fault(str, Enum):
    """What goes wrong: see :meth:`seconder.testing.Sandbox.failing`, which takes the text as well."""

    TIMEOUT = "timeout"
    """Nothing is done, and no answer comes."""
    LOST = "lost"
    """The call is done, but its answer is lost."""
    RATE_LIMITED = "rate_limited"
    """The service is busy: status 503."""
    UNAUTHORIZED = "unauthorized"
    """The service does not know the API key."""
    INVALID_RESPONSE = "invalid_response"
    """A web page comes in place of an answer."""
    UNDELIVERED = "undelivered"
    """The SMS or the voice call cannot be sent."""

    __str__ = str.__str__


@dataclass(eq=False)
class Planned:
    """A fault that calls meet."""

    kind: Fault
    calls: Collection[str]
    """The calls that meet it; none is all."""
    left: float
    """How many calls still meet it."""
    retry_after: float
    ended: threading.Event = field(default_factory=threading.Event)
    """Nobody needs to wait any longer."""

    def meets(self, call: str, *, delivering: bool) -> bool:
        concerned = not self.calls or call in self.calls
        return concerned and self.left > 0 and (self.kind is Fault.UNDELIVERED) is delivering


class Faults:
    """The faults that are planned; the latest goes first."""

    def __init__(self) -> None:
        self._planned: list[Planned] = []
        self._lock = threading.Lock()

    def plan(self, fault: Planned) -> None:
        with self._lock:
            self._planned.insert(0, fault)

    def end(self, fault: Planned) -> None:
        fault.ended.set()
        with self._lock:
            if fault in self._planned:
                self._planned.remove(fault)

    def end_all(self) -> None:
        for fault in list(self._planned):
            self.end(fault)

    def find(self, call: str) -> Planned | None:
        """The fault that the next exchange of that call meets."""
        with self._lock:
            return self._find(call, delivering=False)

    def take(self, call: str, *, delivering: bool = False) -> Planned | None:
        """The same, which counts as met."""
        with self._lock:
            fault = self._find(call, delivering=delivering)
            if fault is not None:
                fault.left -= 1
            return fault

    def _find(self, call: str, *, delivering: bool) -> Planned | None:
        planned = (each for each in self._planned if each.meets(call, delivering=delivering))
        return next(planned, None)

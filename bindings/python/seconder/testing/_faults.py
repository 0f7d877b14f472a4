"""Faults that a test injects."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

FaultName = Literal[
    "timeout",
    "lost",
    "rate_limited",
    "unauthorized",
    "invalid_response",
    "undelivered",
    "storage",
    "status",
    "latency",
]
"""The text of a :class:`Fault`."""


class Fault(str, Enum):
    """A fault, for :meth:`seconder.testing.Sandbox.failing`, which also accepts its text."""

    TIMEOUT = "timeout"
    """The call is not carried out, and there is no response."""
    LOST = "lost"
    """The call is carried out, but its response is lost."""
    RATE_LIMITED = "rate_limited"
    """The service is rate limiting: status 503."""
    UNAUTHORIZED = "unauthorized"
    """The service rejects the API key."""
    INVALID_RESPONSE = "invalid_response"
    """The response is a web page."""
    UNDELIVERED = "undelivered"
    """The SMS or the voice call cannot be sent."""
    STORAGE = "storage"
    """The database of the service fails."""
    STATUS = "status"
    """The response has the status that was asked for."""
    LATENCY = "latency"
    """The call is carried out late."""

    # Enum's own method would return "Fault.TIMEOUT".
    __str__ = str.__str__


@dataclass(frozen=True)
class UnusedFault:
    """A fault that was injected and met fewer calls than it was to, in
    :attr:`seconder.testing.Sandbox.unused_faults`."""

    fault: Fault
    """The fault."""
    calls: tuple[str, ...]
    """The calls that it was limited to; none means all."""
    times: int | None
    """The number of calls that it was to meet; None means one or more."""
    met: int
    """The number of calls that it met."""

    def __str__(self) -> str:
        calls = f" of {', '.join(self.calls)}" if self.calls else ""
        return f"{self.fault}{calls}: met {self.met} of {self.times or 'any number of'} calls"


@dataclass(eq=False)
class Planned:
    """A fault that has been injected."""

    kind: Fault
    calls: tuple[str, ...]
    """The calls affected; empty means all."""
    times: int | None
    """The number of calls that are affected; None means no limit."""
    retry_after: float
    seconds: float = 1
    """The duration of a call that is carried out late, in seconds."""
    status: int = 500
    """The status of the response, if that is the fault."""
    id: int = 0
    """Its id, if the sandbox is in another process."""
    met: int = 0
    """The number of calls that it has affected."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when the fault is removed, so that a call held by ``timeout`` stops waiting."""

    @property
    def left(self) -> float:
        return math.inf if self.times is None else self.times - self.met

    @property
    def is_unused(self) -> bool:
        return self.met < (self.times if self.times is not None else 1)

    def meets(self, call: str, *, delivering: bool) -> bool:
        # UNDELIVERED affects the delivery within a call, and all other faults the call itself.
        affected = not self.calls or call in self.calls
        return affected and self.left > 0 and (self.kind is Fault.UNDELIVERED) is delivering


class Faults:
    """The injected faults. The latest takes precedence, so that a nested block overrides an outer
    one."""

    def __init__(self) -> None:
        self._planned: list[Planned] = []
        self._all: list[Planned] = []
        self._lock = threading.Lock()

    def plan(self, fault: Planned) -> None:
        with self._lock:
            self._planned.insert(0, fault)
            self._all.append(fault)

    def unused(self) -> tuple[UnusedFault, ...]:
        """Returns the faults that met fewer calls than they were to, so far, in the order in which
        they were injected."""
        with self._lock:
            return tuple(
                UnusedFault(fault.kind, fault.calls, fault.times, fault.met)
                for fault in self._all
                if fault.is_unused
            )

    def end(self, fault: Planned) -> None:
        fault.ended.set()
        with self._lock:
            if fault in self._planned:
                self._planned.remove(fault)

    def end_all(self) -> None:
        for fault in list(self._planned):
            self.end(fault)

    def find(self, call: str) -> Planned | None:
        """Returns the fault that affects the next exchange of that call, without counting it."""
        with self._lock:
            return self._find(call, delivering=False)

    def take(self, call: str, *, delivering: bool = False) -> Planned | None:
        """Returns the same fault, and counts it as used."""
        with self._lock:
            fault = self._find(call, delivering=delivering)
            if fault is not None:
                fault.met += 1
            return fault

    def use(self, fault: Planned) -> None:
        """Counts a fault that was found as used."""
        with self._lock:
            fault.met += 1

    def _find(self, call: str, *, delivering: bool) -> Planned | None:
        planned = (each for each in self._planned if each.meets(call, delivering=delivering))
        return next(planned, None)

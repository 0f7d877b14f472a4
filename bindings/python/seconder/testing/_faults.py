"""Faults that a test injects."""

from __future__ import annotations

from dataclasses import dataclass
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

"""The services of a sandbox, for the application and for the sandbox itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from seconder import _seconder
from seconder.enums import Repeats
from seconder.service import Service

if TYPE_CHECKING:
    from seconder.testing._inside import Inside
    from seconder.testing._remote import Remote, RemoteTime


STEP = 1e-6
"""The step from one time to the next of a sandbox of another process, in seconds."""


@dataclass(frozen=True)
class View:
    """The way in which a service of a sandbox makes calls."""

    timeout: float = 10.0
    """As the setting, in seconds: a remote service that does not respond takes this long."""
    repeats: str = "questions"
    """As the setting."""
    deliver: Callable[..., Any] | None = None
    """The application's own function, as the native module calls it."""
    post: Callable[..., Any] | None = None
    """The application's own function, as the native module calls it."""
    hook: Callable[[dict[str, Any]], None] | None = None
    """The application's ``on_call``, as the native module calls it."""


@dataclass(frozen=True)
class Wait:
    """A wait for an approval, and its parameters, for the record."""

    native: _seconder.ApprovalWait
    params: dict[str, Any]


class Waits:
    """Waits between two polls: in the sandbox's time, unless a program waits in real time."""

    time: _seconder.Clock | RemoteTime
    clock: _seconder.Clock
    _real_waits: bool

    def begin_wait(self, params: dict[str, Any]) -> Wait:
        clock = None if self._real_waits else self.clock
        return Wait(_seconder.ApprovalWait(params, clock), params)

    def pass_pause(self, pause: float) -> float:
        """Passes the pause between two polls. Returns how long to sleep, in seconds."""
        if self._real_waits:
            return pause
        now = self.time.now()
        # The rest of a wait may be less than the step from one time to the next, and would never pass.
        self.time.pass_until(now + max(pause, STEP))
        return 0.0


class Shared(Service):
    """A service of a sandbox. Closing it does not close the sandbox."""

    __slots__ = ("_inside", "_view")

    def __init__(self, inside: Inside | Remote, native: _seconder.Service, view: View) -> None:
        super().__init__(native, "sandbox")
        self._inside = inside
        self._view = view
        self._hook = view.hook

    def with_timeout(self, timeout: float) -> Shared:
        native = self._native.with_timeout(timeout)
        return Shared(self._inside, native, replace(self._view, timeout=float(timeout)))

    def with_repeats(self, repeats: Repeats | Literal["none", "questions", "all"]) -> Shared:
        native = self._native.with_repeats(repeats)
        return Shared(self._inside, native, replace(self._view, repeats=str(repeats)))

    def _call(self, name: str, **params: Any) -> Any:
        return self._inside.call(self, name, params)

    # A wait poll by poll, for AsyncService.

    def _begin_wait(self, params: dict[str, Any]) -> Wait:
        return self._inside.begin_wait(params)

    def _poll_approval(self, wait: Any) -> Any:
        return self._inside.poll_of_event_loop(self, wait)

    def _pass(self, pause: float) -> float:
        return self._inside.pass_pause(pause)

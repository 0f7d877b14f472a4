"""A sandbox of another process, such as ``seconder serve --sandbox``, by its operations over HTTPS."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from os import PathLike, fspath, urandom
from time import sleep
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from seconder import _seconder, errors
from seconder.names import Names
from seconder.opening import open as open_remote
from seconder.options import ClientOptions
from seconder.testing._callbacks import Callback
from seconder.testing._calls import Call
from seconder.testing._faults import Fault
from seconder.testing._operations import Operations
from seconder.testing._shared import Shared, View, Wait

METHODS = {name: method for name, method, _ in _seconder.SANDBOX_OPERATIONS}
"""The methods of HTTP by which what a test does is asked for."""
TIMEOUT_OF_FAULT = 0.2
"""The real duration of a call that gets no response because of a fault, in seconds."""
PATIENCE = 60.0
"""The time limit of an operation, in seconds: a callback takes as long as its receiver."""


class RemoteTime:
    """The time of a sandbox of another process. The native clock follows it, and calls the functions
    that are planned."""

    def __init__(self, ask: Callable[..., Any], now: float) -> None:
        self.clock = _seconder.Clock(now)
        self._ask = ask

    def now(self) -> float:
        """The time, in Unix seconds."""
        now = float(self._ask("clock")["now"])
        self.clock.pass_until(now)
        return now

    def plan(self, moment: float, action: Callable[[], object]) -> None:
        """Has a function called once that time has come."""
        self.clock.plan(moment, action)

    def pass_until(self, end: float) -> None:
        """Passes the time until then, unless it has come already, with all that happens meanwhile."""
        while (moment := self.clock.planned(end)) is not None:
            self._set(moment)
        self._set(end)

    def _set(self, moment: float) -> None:
        now = float(self._ask("advance", until=moment)["now"])
        # The other process has the time in microseconds, so it may be a moment behind.
        self.clock.pass_until(max(now, moment))


class Remote(Operations):
    """A sandbox of another process."""

    def __init__(
        self,
        url: str,
        ca_file: str | PathLike[str] | None,
        names: Names,
        settings: dict[str, Any],
        *,
        real_waits: bool,
    ) -> None:
        super().__init__(names, settings, real_waits=real_waits)
        self.url = url
        self._ca_file = ca_file
        # The calls that each fault is limited to.
        self._timeouts: dict[int, frozenset[str]] = {}
        # First, because it checks the URL, the key and the file as seconder.open does.
        self._native(View()).close()
        self._trust = ssl.create_default_context(cafile=None if ca_file is None else fspath(ca_file))
        # Time stands still, and callbacks go to this object alone, as they do in this process.
        # The API key is not sent as a setting, because it is the key of the service.
        given = {name: value for name, value in settings.items() if name != "api_key"}
        reply = self.ask("reset", **given, still=True, post=False)
        self.time = RemoteTime(self.ask, float(reply["now"]))
        self.clock = self.time.clock

    # The operations.

    def ask(self, operation: str, **params: Any) -> dict[str, Any]:
        given = {name: value for name, value in params.items() if value is not None}
        path, body = _seconder.SANDBOX_PATH + operation, None
        if METHODS[operation] == "POST":
            body = json.dumps(given)
        elif given:
            path += "?" + urlencode(given)
        status, reply = self._exchange(METHODS[operation], path, body)
        message, code = str(reply.get("message", "")), reply.get("error_code")
        if status == 200:
            return reply
        parameter = next((name for name in reply.get("errors", {}) if name != "message"), None)
        if status == 400 and parameter is not None:
            raise errors.InvalidArgument(message, parameter=parameter)
        if status == 401:
            raise errors.Unauthorized(message, http_status=status)
        if status == 404 and code is None:
            raise LookupError(message)
        raise errors.Rejected(message, code=code, http_status=status)

    def _exchange(self, method: str, path: str, body: str | None) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(self.url)
        connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=PATIENCE, context=self._trust
        )
        headers = {self.names.api_key_header: self.api_key}
        try:
            connection.request(method, quote(parts.path.rstrip("/")) + path, body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException) as error:
            raise errors.Unavailable(f"the sandbox at {self.url} was not reached: {error}") from error
        except ValueError as error:
            raise errors.InvalidResponse(f"there is no sandbox at {self.url}") from error
        finally:
            connection.close()

    # Services that the application opens.

    def share(self, view: View) -> Shared:
        """Opens a service, which is closed with the sandbox."""
        self._require_open()
        native = self._native(view)
        with self.lock:
            self._opened = [each for each in self._opened if not each.closed] + [native]
        return Shared(self, native, view)

    def _native(self, view: View) -> _seconder.Service:
        repeats: Any = view.repeats
        service = open_remote(
            self.url,
            api_key=self.api_key,
            names=self.names,
            timeout=view.timeout,
            client=ClientOptions(ca_file=self._ca_file, repeats=repeats),
        )
        return service._native

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self.lock:
            opened, self._opened = self._opened, []
            opened_async, self._opened_async = self._opened_async, []
        try:
            # Calls that they hold end, also those of other processes. A sandbox that has ended
            # must not hide the error of a test.
            with suppress(errors.Unavailable):
                self.ask("end_fault")
        finally:
            for service in opened_async:
                service._threads.stop()
            for native in opened:
                native.close()

    # Calls.

    def call(self, service: Shared, name: str, params: dict[str, Any]) -> Any:
        """Makes a call over HTTPS."""
        self._require_open()
        if name == "wait_for_approval" and not self._real_waits:
            return self._wait(service, params)
        native = service._native
        if not self._holds(name):
            return native.call(name, params, urandom(8).hex(), service._hook)
        # As in this process, it takes the time of the sandbox.
        end = self.time.now() + service._view.timeout
        try:
            native = native.with_timeout(TIMEOUT_OF_FAULT)
            return native.call(name, params, urandom(8).hex(), service._hook)
        finally:
            if not self._real_waits:
                self.time.pass_until(end)

    def _holds(self, name: str) -> bool:
        """Returns whether a fault of this process lets the call time out."""
        with self.lock:
            own = {id for id, calls in self._timeouts.items() if not calls or name in calls}
        return bool(own) and any(
            fault["id"] in own and (fault["times"] is None or fault["met"] < fault["times"])
            for fault in self.ask("faults")["faults"]
        )

    # Waits.

    def _wait(self, service: Shared, params: dict[str, Any]) -> Any:
        wait = self.begin_wait(params)
        while True:
            reply_or_pause = self.poll_of_event_loop(service, wait)
            if not isinstance(reply_or_pause, float):
                return reply_or_pause
            sleep(self.pass_pause(reply_or_pause))

    def poll_of_event_loop(self, service: Shared, wait: Wait) -> Any:
        """Polls once."""
        self._require_open()
        return service._native.poll_approval(wait.native, urandom(8).hex(), service._hook)

    # Actions of a test.

    def recorded_calls(self) -> tuple[Call, ...]:
        return tuple(Call(**each, remote=True) for each in self.ask("calls")["calls"])

    def respond(
        self,
        response: Literal["approve", "deny", "report"],
        user_id: int | None,
        uuid: str | None,
        number: str | None,
    ) -> Callback | None:
        callback = super().respond(response, user_id, uuid, number)
        if callback is not None and self.post is not None:
            self.post(callback)
        return callback

    def inject(self, fault: Fault, **limits: Any) -> int:
        id = super().inject(fault, **limits)
        if fault is Fault.TIMEOUT:
            with self.lock:
                self._timeouts[id] = frozenset(limits["calls"])
        return id

    def end(self, fault: int) -> None:
        with self.lock:
            self._timeouts.pop(fault, None)
        if not self._closed:
            super().end(fault)

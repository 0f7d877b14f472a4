"""A sandbox of another process, such as ``seconder serve --sandbox``, by its operations over HTTPS."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from os import PathLike, fspath, urandom
from time import sleep
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from seconder import _seconder, errors
from seconder._calling import _moment
from seconder.enums import Channel, DeviceType
from seconder.names import Names
from seconder.opening import open as open_remote
from seconder.options import ClientOptions
from seconder.records import ApprovalRequest, DeviceRegistered, JobsRun, Message
from seconder.service import Service
from seconder.testing._callbacks import Callback, made
from seconder.testing._calls import Call
from seconder.testing._faults import Fault, Planned, UnusedFault
from seconder.testing._inside import CLOSED, TIMEOUT_OF_FAULT
from seconder.testing._shared import Shared, View, Wait, Waits
from seconder.testing._time import Time

if TYPE_CHECKING:
    from seconder.aio import AsyncService

METHODS = {name: method for name, method, _ in _seconder.SANDBOX_OPERATIONS}
"""The methods of HTTP by which what a test does is asked for."""
PATIENCE = 60.0
"""The time limit of an operation, in seconds: a callback takes as long as its receiver."""


class RemoteTime(Time):
    """The time of a sandbox of another process. The native clock follows it."""

    def __init__(self, ask: Callable[..., Any], now: float) -> None:
        super().__init__(now)
        self._ask = ask

    def now(self) -> float:
        return self._follow(self._ask("clock"))

    def _set(self, moment: float) -> None:
        self._follow(self._ask("advance", until=moment))

    def _follow(self, reply: dict[str, Any]) -> float:
        now = float(reply["now"])
        self.clock.set(now)
        return now


class Remote(Waits):
    """A sandbox of another process, with the methods of :class:`seconder.testing._inside.Inside`."""

    def __init__(
        self,
        url: str,
        ca_file: str | PathLike[str] | None,
        names: Names,
        settings: dict[str, Any],
        *,
        real_waits: bool,
    ) -> None:
        # The setting is not sent: it is the key of the service.
        self.api_key: str = settings["api_key"]
        self.url = url
        self.names = names
        self.post: Callable[[Callback], object] | None = None
        self.lock = threading.RLock()
        self._ca_file = ca_file
        self._real_waits = real_waits
        self._closed = False
        self._opened: list[_seconder.Service] = []
        self._opened_async: list[AsyncService] = []
        self._timeouts: list[Planned] = []
        # First, because it checks the URL, the key and the file as seconder.open does.
        self._native(View()).close()
        self._trust = ssl.create_default_context(cafile=None if ca_file is None else fspath(ca_file))
        # Time stands still, and callbacks go to this object alone, as they do in this process.
        given = {name: value for name, value in settings.items() if name != "api_key"}
        reply = self.ask("reset", **given, still=True, post=False)
        self.time = RemoteTime(self.ask, float(reply["now"]))

    # The operations.

    def ask(self, operation: str, **params: Any) -> dict[str, Any]:
        """Does one of the operations of a sandbox, and returns its reply.

        Raises:
            LookupError: There is nothing of what was asked for.
        """
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
        if status == 400 and code is None:
            raise errors.InvalidArgument(message, parameter=str(reply.get("parameter", "")))
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

    def keep(self, service: AsyncService) -> AsyncService:
        """Has the threads of a service end with the sandbox."""
        with self.lock:
            self._opened_async.append(service)
        return service

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

    def _require_open(self) -> None:
        if self._closed:
            raise errors.InvalidArgument(CLOSED, parameter="service", retry_safe=True)

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
            own = {fault.id for fault in self._timeouts if not fault.calls or name in fault.calls}
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

    def messages(self) -> tuple[tuple[Message, int | None], ...]:
        sent = self.ask("messages")["messages"]
        return tuple((_message(each), each["user_id"]) for each in reversed(sent))

    def recorded_callbacks(self) -> tuple[Callback, ...]:
        return tuple(_callback(each) for each in self.ask("callbacks")["callbacks"])

    def recorded_calls(self) -> tuple[Call, ...]:
        return tuple(Call(**each, remote=True) for each in self.ask("calls")["calls"])

    def authenticator_code(self, user_id: int) -> str | None:
        try:
            return str(self.ask("authenticator_code", user_id=user_id)["code"])
        except LookupError:
            return None

    def add_device(self, user_id: int, device_type: DeviceType | str) -> DeviceRegistered:
        reply = self.ask("add_device", user_id=user_id, device_type=str(device_type))
        return DeviceRegistered(reply["device_id"], reply["secret"])

    def pending(self, user_id: int) -> tuple[ApprovalRequest, ...]:
        pending = self.ask("pending", user_id=user_id)["pending"]
        return tuple(ApprovalRequest._read(each) for each in pending)

    def respond(
        self,
        response: Literal["approve", "deny", "report"],
        user_id: int | None,
        uuid: str | None,
        number: str | None,
    ) -> Callback | None:
        try:
            reply = self.ask(response, user_id=user_id, uuid=uuid, number=number)
        except LookupError:
            return None
        callback = _callback(reply["callback"])
        if self.post is not None:
            self.post(callback)
        return callback

    def run_jobs(self) -> JobsRun:
        return JobsRun(**self.ask("run_jobs"))

    def inject(self, fault: Planned) -> None:
        reply = self.ask(
            "failing",
            fault=str(fault.kind),
            calls=list(fault.calls),
            times=fault.times,
            retry_after=fault.retry_after,
            seconds=fault.seconds,
            status=fault.status,
        )
        fault.id = int(reply["id"])
        if fault.kind is Fault.TIMEOUT:
            with self.lock:
                self._timeouts.append(fault)

    def end(self, fault: Planned) -> None:
        with self.lock:
            self._timeouts = [each for each in self._timeouts if each is not fault]
        if not self._closed:
            self.ask("end_fault", id=fault.id)

    def unused(self) -> tuple[UnusedFault, ...]:
        faults = self.ask("faults")["faults"]
        return tuple(
            UnusedFault(Fault(each["fault"]), tuple(each["calls"]), each["times"], each["met"])
            for each in faults
            if each["met"] < (1 if each["times"] is None else each["times"])
        )


def _message(reply: dict[str, Any]) -> Message:
    expires_at = _moment(reply["expires_at"]) if reply["expires_at"] else None
    names = ("to", "text", "code", "id", "language")
    given = {name: reply[name] for name in names}
    return Message(via=Channel(reply["via"]), expires_at=expires_at, **given)


def _callback(reply: dict[str, Any]) -> Callback:
    return made(reply["url"], reply["body"].encode(), reply["headers"].items())

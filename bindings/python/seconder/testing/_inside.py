"""The engine of a sandbox, what it sent, and the two ways to call it: in this process and over
HTTP."""

from __future__ import annotations

import functools
import json
import math
import socket
import threading
from collections import deque
from collections.abc import Callable
from os import urandom
from time import sleep
from typing import TYPE_CHECKING, Any, Literal

from seconder import _seconder, errors, totp
from seconder.enums import DeviceType
from seconder.names import Names, _given
from seconder._functions import carrier
from seconder.opening import open as open_remote
from seconder.options import ClientOptions
from seconder.records import ApprovalRequest, DeviceRegistered, JobsRun, Message
from seconder.service import Service
from seconder.testing._callbacks import Callback, made
from seconder.testing._calls import Call, outcome_of, outcome_of_reply, shown_arguments
from seconder.testing._faults import Fault, Faults, Planned, UnusedFault
from seconder.testing._server import STOP, HttpReply, HttpRequest, Server
from seconder.testing._shared import Shared, View, Wait, Waits
from seconder.testing._time import Time

if TYPE_CHECKING:
    from seconder.aio import AsyncService

TIMEOUT_OF_FAULT = 0.2
"""The real duration of a call in this process that gets no response because of a fault, in
seconds."""
SHORTEST_PAUSE = 0.1
"""The shortest wait before a call is retried, in seconds; it doubles each time, as in production."""
FAILED_BODY = {"success": False, "message": "the sandbox was asked to fail", "error_code": "60000"}
RATE_LIMITED_BODY = {"success": False, "message": "API usage limit reached", "error_code": "60003"}
CARRIED_OUT = (Fault.LOST, Fault.UNAUTHORIZED, Fault.LATENCY)
"""The faults with which the engine gets the call."""
JSON = ("content-type", "application/json")
PAGE = b"<!DOCTYPE html><title>Not the service</title><p>The page of another server."
CLOSED = (
    "service is closed, and so is its sandbox: an application that keeps its service has to open it "
    "again in each test, for example after cache_clear()"
)


class Inside(Waits):
    """An engine in memory. All of its calls go through this class."""

    def __init__(
        self, url: str, time: Time, names: Names, settings: dict[str, Any], *, real_waits: bool
    ) -> None:
        self.api_key: str = settings["api_key"]
        self.names = names
        self.time = time
        self.post: Callable[[Callback], object] | None = None
        self.own_post: Callable[..., Any] | None = None
        self.own_deliver: Callable[..., Any] | None = None
        self.sent: list[tuple[Message, int | None]] = []
        self.callbacks: list[Callback] = []
        self.calls: deque[Call] = deque(maxlen=10_000)
        # The users to whom messages go, because a later attempt is not part of a call about the user.
        self._receivers: dict[str, int | None] = {}
        self.uris: dict[int, str] = {}
        self.devices: dict[int, DeviceRegistered] = {}
        self.faults = Faults()
        self.lock = threading.RLock()
        self._real_waits = real_waits
        self._closed = False
        self._ended = threading.Event()
        self._opened: list[_seconder.Service] = []
        self._opened_async: list[AsyncService] = []
        # One for clients of the application, whose calls are recorded, and one for clients of this
        # class, whose calls are recorded where they are made.
        self._servers: dict[bool, Server] = {}
        self._stopping: list[Server] = []
        # By thread, because the engine delivers and posts in the thread of the call.
        self._current = threading.local()
        self._record_message = carrier(self._delivered)
        self.engine = _seconder.open_sandbox(
            url,
            clock=time.clock,
            names=_given(names),
            deliver=self._deliver,
            post=self._post,
            **settings,
        )
        # The application may close its service, so the sandbox acts through one of its own.
        self.own = self.share(View(recorded=False))

    # Services that the application opens.

    def share(self, view: View) -> Shared:
        """Opens a service, which is closed with the sandbox."""
        with self.lock:
            self._require_open()
            native = _seconder.share(self.engine)
            self._opened = [each for each in self._opened if not each.closed] + [native]
            if view.post is not None:
                self.own_post = view.post
            if view.deliver is not None:
                self.own_deliver = view.deliver
        return Shared(self, native, view)

    def keep(self, service: AsyncService) -> AsyncService:
        """Has the threads of a service end with the sandbox."""
        with self.lock:
            self._require_open()
            self._opened_async.append(service)
        return service

    @property
    def url(self) -> str:
        return self._server(recorded=True).url

    def _server(self, *, recorded: bool) -> Server:
        with self.lock:
            self._require_open()
            if recorded not in self._servers:
                respond = functools.partial(self._respond, recorded=recorded)
                self._servers[recorded] = Server(respond)
            return self._servers[recorded]

    def _require_open(self) -> None:
        """Raises if it is closed. Methods that open something hold the lock until it is recorded,
        so that it is closed too."""
        if self._closed:
            raise errors.InvalidArgument(CLOSED, parameter="service", retry_safe=True)

    def close(self) -> None:
        with self.lock:
            is_first = not self._closed
            self._closed = True
            if is_first:
                self._stopping, self._servers = list(self._servers.values()), {}
        if is_first:
            try:
                self._end()
            finally:
                self._ended.set()
        elif not any(server.serves_here() for server in self._stopping):
            # Closed is closed for every caller, but one whose thread the first one waits for: a callback
            # of the application.
            self._ended.wait(STOP)

    def _end(self) -> None:
        # First, because a call held by ``timeout`` waits until its fault ends.
        self.faults.end_all()
        with self.lock:
            opened, self._opened = self._opened, []
            opened_async, self._opened_async = self._opened_async, []
        try:
            for server in self._stopping:
                server.stop()
            for service in opened_async:
                service._threads.stop()
        finally:
            # Also after Ctrl-C, because nothing else would.
            for native in opened:
                native.close()
            self.engine.close()

    # Actions of a test.

    def messages(self) -> tuple[tuple[Message, int | None], ...]:
        """Returns the messages that were sent, with the users to whom they went."""
        with self.lock:
            return tuple(self.sent)

    def recorded_callbacks(self) -> tuple[Callback, ...]:
        with self.lock:
            return tuple(self.callbacks)

    def recorded_calls(self) -> tuple[Call, ...]:
        with self.lock:
            return tuple(self.calls)

    def authenticator_code(self, user_id: int) -> str | None:
        """Returns the code that the user's app shows; None if there is no app."""
        uri = self.uris.get(user_id)
        return None if uri is None else totp.code(uri, at=self.time.now())

    def add_device(self, user_id: int, device_type: DeviceType | str) -> DeviceRegistered:
        return self.own.register_device(user_id, device_type)  # type: ignore[arg-type]

    def _device(self, user_id: int) -> DeviceRegistered:
        """Returns the user's device, after registering one if it does not exist."""
        return self.devices.get(user_id) or self.add_device(user_id, DeviceType.ANDROID)

    def pending(self, user_id: int) -> tuple[ApprovalRequest, ...]:
        device = self._device(user_id)
        return self.own.open_approvals(device_id=device.device_id, device_secret=device.secret)

    def respond(
        self,
        response: Literal["approve", "deny", "report"],
        user_id: int | None,
        uuid: str | None,
        number: str | None,
    ) -> Callback | None:
        """Responds to a request; None if the user has none."""
        if uuid is None:
            assert user_id is not None
            pending = self.pending(user_id)
            if not pending:
                return None
            uuid = pending[-1].uuid
        else:
            user_id = int(self.engine.call("check_approval", {"uuid": uuid})["user_id"])
        device = self._device(user_id)
        self.own.respond_to_approval(
            uuid,
            device_id=device.device_id,
            device_secret=device.secret,
            response=response,
            number=number,
        )
        # The callback list may already hold one of another thread, so match the request.
        id_in_body = uuid.encode()
        return next(each for each in reversed(self.callbacks) if id_in_body in each.body)

    def run_jobs(self) -> JobsRun:
        return self.own.run_jobs()

    def inject(self, fault: Planned) -> None:
        self.faults.plan(fault)

    def end(self, fault: Planned) -> None:
        self.faults.end(fault)

    def unused(self) -> tuple[UnusedFault, ...]:
        return self.faults.unused()

    # Calls in this process.

    def call(self, service: Shared, name: str, params: dict[str, Any]) -> Any:
        """Makes a call in this process. If it is to fail, a remote client makes it instead, so that
        the error is the one that production raises."""
        self._require_open()
        posted: list[Callback] = []
        self._current.posted = posted
        try:
            if name == "wait_for_approval":
                reply = self._wait(service, params)
            else:
                reply = self._make(service, name, params)
        except BaseException as error:
            self._record(service, name, params, error)
            raise
        self._record(service, name, params)
        # Only now, because a callback is received once the response is stored.
        for callback in posted:
            if self.post is not None:
                self.post(callback)
        return reply

    def _make(self, service: Shared, name: str, params: dict[str, Any]) -> Any:
        """Makes a call, and retries it as a remote client does, by the sandbox's clock."""
        end, pause = self.time.now() + service._view.timeout, SHORTEST_PAUSE
        while True:
            fault = self._fault(service, name)
            if fault is None or self._delays(service, fault):
                return self._make_in_engine(service, name, params)
            try:
                return self._fail(service, fault, lambda client: client._call(name, **params))
            except errors.RateLimited as error:
                again = self.time.now() + max(error.retry_after or 0, pause)
                if self._real_waits or again >= end or not _repeats(service, name):
                    raise
                self.time.pass_until(again)
                pause *= 2

    def _delays(self, service: Shared, fault: Planned) -> bool:
        """Returns whether a fault only delays the call, which has then been delayed already."""
        if fault.kind is not Fault.LATENCY or fault.seconds >= service._view.timeout:
            return False
        self.faults.use(fault)
        if self._real_waits:
            fault.ended.wait(fault.seconds)
        else:
            self.time.pass_until(self.time.now() + fault.seconds)
        return True

    def _make_in_engine(self, service: Shared, name: str, params: dict[str, Any]) -> Any:
        view = service._view
        self._begin(name, params.get("user_id"), view.deliver)
        reply = service._native.call(name, params, urandom(8).hex(), service._hook)
        self._note(name, params, reply)
        return reply

    def _fault(self, service: Shared, name: str) -> Planned | None:
        if service._native.closed or name not in _seconder.CALLS:
            return None
        return self.faults.find(name)

    def _fail(self, service: Shared, fault: Planned, make: Callable[[Service], Any]) -> Any:
        """Makes a call by a remote client that meets a fault."""
        view = service._view
        is_too_late = fault.kind is Fault.LATENCY and fault.seconds >= view.timeout
        if fault.kind is not Fault.TIMEOUT and not is_too_late:
            # With the waits of the sandbox's clock, _make retries.
            repeats = view.repeats if self._real_waits else "none"
            url = self._server(recorded=False).url
            with self._client(service, url, view.timeout, repeats) as client:
                return make(client)
        self.faults.use(fault)
        end = self.time.now() + view.timeout
        try:
            # The system accepts connections here, and their data is never read.
            with socket.create_server(("127.0.0.1", 0)) as silent:
                url = f"http://127.0.0.1:{silent.getsockname()[1]}"
                with self._client(service, url, TIMEOUT_OF_FAULT, "none") as client:
                    return make(client)
        finally:
            if not self._real_waits:
                self.time.pass_until(end)

    def _client(self, service: Shared, url: str, timeout: float, repeats: Any) -> Service:
        """A remote client that makes a call for a service of the sandbox."""
        client = open_remote(
            url,
            api_key=self.api_key,
            names=self.names,
            timeout=timeout,
            client=ClientOptions(allow_loopback_http=True, repeats=repeats),
        )
        client._hook = service._hook
        return client

    # Waits in this process.

    def _wait(self, service: Shared, params: dict[str, Any]) -> Any:
        if self._real_waits and self._fault(service, "check_approval") is None:
            return Service._call(service, "wait_for_approval", **params)
        wait = self.begin_wait(params)
        while True:
            reply_or_pause = self._poll(service, wait)
            if not isinstance(reply_or_pause, float):
                return reply_or_pause
            sleep(self.pass_pause(reply_or_pause))

    def poll_of_event_loop(self, service: Shared, wait: Wait) -> Any:
        """Polls once, and records the wait when it ends."""
        self._require_open()
        try:
            reply_or_pause = self._poll(service, wait)
        except BaseException as error:
            self._record(service, "wait_for_approval", wait.params, error)
            raise
        if not isinstance(reply_or_pause, float):
            self._record(service, "wait_for_approval", wait.params)
        return reply_or_pause

    def _poll(self, service: Shared, wait: Wait) -> Any:
        fault = self._fault(service, "check_approval")
        if fault is None:
            return service._native.poll_approval(wait.native, urandom(8).hex(), service._hook)
        return self._fail(service, fault, lambda client: client._poll_approval(wait.native))

    # Calls over HTTP.

    def _respond(self, request: HttpRequest, *, recorded: bool) -> HttpReply | None:
        """Returns the reply to a remote client; None closes the connection without one."""
        routed, rejection = self._route(request)
        if routed is None:
            return HttpReply(*rejection)
        # Read in any case: a fault concerns the reply to a whole request.
        body = request.read_body()
        name, params = routed.name, routed.read(*body)
        fault = self.faults.take(name)
        if fault is not None and fault.kind is Fault.LATENCY:
            # A client of the application waits in real time.
            if recorded or self._real_waits:
                fault.ended.wait(fault.seconds)
            else:
                self.time.pass_until(self.time.now() + fault.seconds)
        if fault is not None and fault.kind is Fault.UNAUTHORIZED:
            routed, _ = self._route(self._with_another_key(request))
            routed.read(*body)
        fields: dict[str, Any] = {}
        if fault is None or fault.kind in CARRIED_OUT:
            self._current.posted = []
            # A call that meets a fault on its way is one of the application in this process.
            deliver = None if recorded else self.own_deliver
            self._begin(name, params.get("user_id"), deliver)
            replied, fields = routed.respond(self.engine)
            reply: HttpReply | None = HttpReply(*replied)
            if replied[0] == 200:
                self._note(name, params, fields)
        else:
            reply = _reply_of_fault(fault)
        if fault is not None and fault.kind is Fault.LOST:
            reply = None
        if recorded:
            outcome = outcome_of_reply(name, reply.status if reply else None, fields)
            self._append(Call(name, shown_arguments(params), outcome, remote=True))
        return reply

    def _route(self, request: HttpRequest) -> Any:
        """The request with the call that it makes, or the reply to send because it makes none."""
        return _seconder.route(
            self.engine, method=request.method, target=request.target, headers=request.headers
        )

    def _with_another_key(self, request: HttpRequest) -> HttpRequest:
        key = self.names.api_key_header
        others = [header for header in request.headers if header[0].lower() != key.lower()]
        return request._replace(headers=[*others, (key, b"an-unknown-key")])

    # Functions that the engine calls within a call.

    def _begin(self, name: str, user: Any, deliver: Callable[..., Any] | None) -> None:
        """Notes which call this thread makes, for the functions below."""
        self._current.call = name, user, deliver

    def _deliver(self, id: str, *message: Any) -> Any:
        name, user, deliver = self._current.call
        if name == "run_jobs":
            deliver = deliver or self.own_deliver
        else:
            # As text from HTTP; the engine has checked it.
            self._receivers[id] = None if user is None else int(user)
        if self.faults.take(name, delivering=True) is not None:
            raise ConnectionError("the gateway did not accept the message")
        outcome = ("sent", None, None) if deliver is None else deliver(id, *message)
        if outcome[0] == "sent":
            self._current.receiver = self._receivers.pop(id, None)
            self._record_message(id, *message)
        return outcome

    def _delivered(self, message: Message) -> None:
        with self.lock:
            self.sent.append((message, self._current.receiver))

    def _post(self, url: str, body: bytes, headers: list[tuple[str, str]]) -> Any:
        callback = made(url, body, headers)
        with self.lock:
            self.callbacks.append(callback)
        self._current.posted.append(callback)
        return ("sent", None, None) if self.own_post is None else self.own_post(url, body, headers)

    # Records.

    def _note(self, name: str, params: dict[str, Any], reply: Any) -> None:
        """Records what the user's phone would store."""
        with self.lock:
            if name == "enrol_authenticator":
                self.uris[int(params["user_id"])] = reply["uri"]
            if name == "clear_sandbox":
                self.uris.clear()
                self.devices.clear()
            if name == "register_device":
                self.devices[int(params["user_id"])] = DeviceRegistered._read(reply)

    def _record(
        self,
        service: Shared,
        name: str,
        params: dict[str, Any],
        error: BaseException | None = None,
    ) -> None:
        if service._view.recorded:
            known = error if isinstance(error, errors.SecondFactorError) else None
            self._append(Call(name, shown_arguments(params), outcome_of(error), known))

    def _append(self, call: Call) -> None:
        with self.lock:
            self.calls.append(call)


def _repeats(service: Shared, name: str) -> bool:
    """Returns whether a remote client with these settings retries the call."""
    repeats = service._view.repeats
    return repeats == "all" or (repeats == "questions" and name in _seconder.QUESTIONS)


def _reply_of_fault(fault: Planned) -> HttpReply | None:
    if fault.kind is Fault.RATE_LIMITED:
        headers = [JSON, ("retry-after", str(math.ceil(fault.retry_after)))]
        return HttpReply(503, headers, json.dumps(RATE_LIMITED_BODY).encode())
    if fault.kind in (Fault.STORAGE, Fault.STATUS):
        status = 503 if fault.kind is Fault.STORAGE else fault.status
        return HttpReply(status, [JSON], json.dumps(FAILED_BODY).encode())
    if fault.kind is Fault.INVALID_RESPONSE:
        return HttpReply(200, [("content-type", "text/html")], PAGE)
    # Held until the fault ends; then the connection is closed.
    fault.ended.wait()
    return None

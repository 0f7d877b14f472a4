"""A sandbox in this process, with the functions of the application and the exceptions that they
raise."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import urandom
from time import sleep
from typing import Any

from seconder import _seconder, errors
from seconder.names import Names, _given
from seconder.service import Service
from seconder.testing._callbacks import Callback, made
from seconder.testing._calls import Call, outcome_of
from seconder.testing._operations import Operations
from seconder.testing._server import STOP, HttpReply, HttpRequest, Server
from seconder.testing._shared import Shared, View, Wait

MOST = 10_000
"""The most exceptions that are kept, as of calls."""
SENT = ("sent", None, None)
"""The outcome of a message or a callback that was accepted."""
READS = frozenset({"messages", "callbacks", "faults", "end_fault"})
"""The operations on a sandbox that is closed."""


class Inside(Operations):
    """An engine in memory. All of its calls go through this class."""

    def __init__(
        self, accept: str, now: float, names: Names, settings: dict[str, Any], *, real_waits: bool
    ) -> None:
        super().__init__(names, settings, real_waits=real_waits)
        self.own_post: Callable[..., Any] | None = None
        self.own_deliver: Callable[..., Any] | None = None
        self._errors: OrderedDict[int, errors.SecondFactorError] = OrderedDict()
        self._ended = threading.Event()
        self._own_server: Server | None = None
        self._stopping: Server | None = None
        # By thread, because the engine delivers and posts in the thread of the call.
        self._current = threading.local()
        self._native = _seconder.Sandbox(
            accept=accept,
            now=now,
            names=_given(names),
            deliver=self._deliver,
            post=self._post,
            **settings,
        )
        self.time = self.clock = self._native.clock

    def ask(self, operation: str, **params: Any) -> dict[str, Any]:
        if operation not in READS:
            self._require_open()
        deliver = self.own_deliver if operation == "run_jobs" else None
        given = {name: value for name, value in params.items() if value is not None}
        with self._calling(deliver) as posted:
            try:
                reply: dict[str, Any] = self._native.operate(operation, given)
            except errors.Rejected as error:
                if error.http_status == 404 and error.code is None:
                    raise LookupError(str(error)) from None
                raise
        self._pass_on(posted)
        return reply

    # Services that the application opens.

    def share(self, view: View) -> Shared:
        """Opens a service, which is closed with the sandbox."""
        with self.lock:
            self._require_open()
            native = self._native.service(self._real_waits)
            native = native.with_timeout(view.timeout).with_repeats(view.repeats)
            self._opened = [each for each in self._opened if not each.closed] + [native]
            if view.post is not None:
                self.own_post = view.post
            if view.deliver is not None:
                self.own_deliver = view.deliver
        return Shared(self, native, view)

    @property
    def url(self) -> str:
        with self.lock:
            self._require_open()
            if self._own_server is None:
                self._own_server = Server(self._respond)
            return self._own_server.url

    def close(self) -> None:
        with self.lock:
            is_first = not self._closed
            self._closed = True
            if is_first:
                self._stopping, self._own_server = self._own_server, None
        if is_first:
            try:
                self._end()
            finally:
                self._ended.set()
        elif self._stopping is None or not self._stopping.serves_here():
            # Closed is closed for every caller, but one whose thread the first one waits for: a callback
            # of the application.
            self._ended.wait(STOP)

    def _end(self) -> None:
        # First, because a call held by ``timeout`` waits until its fault ends.
        self.ask("end_fault")
        with self.lock:
            opened, self._opened = self._opened, []
            opened_async, self._opened_async = self._opened_async, []
        try:
            if self._stopping is not None:
                self._stopping.stop()
            for service in opened_async:
                service._threads.stop()
        finally:
            # Also after Ctrl-C, because nothing else would.
            for native in opened:
                native.close()

    # Calls in this process.

    def call(self, service: Shared, name: str, params: dict[str, Any]) -> Any:
        self._require_open()
        view = service._view
        deliver = view.deliver or (self.own_deliver if name == "run_jobs" else None)
        try:
            with self._calling(deliver) as posted:
                if name == "wait_for_approval" and not self._real_waits:
                    reply = self._wait(service, params)
                else:
                    reply = Service._call(service, name, **params)
        except BaseException as error:
            self._record(name, params, error)
            raise
        self._record(name, params)
        if name == "register_device":
            self._native.keep_device(params["user_id"], reply["device_id"], reply["secret"])
        elif name == "clear_sandbox":
            self._native.forget_phones()
        self._pass_on(posted)
        return reply

    def _wait(self, service: Shared, params: dict[str, Any]) -> Any:
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
            self._record("wait_for_approval", wait.params, error)
            raise
        if not isinstance(reply_or_pause, float):
            self._record("wait_for_approval", wait.params)
        return reply_or_pause

    def _poll(self, service: Shared, wait: Wait) -> Any:
        return service._native.poll_approval(wait.native, urandom(8).hex(), service._hook)

    # Calls over HTTP.

    def _respond(self, request: HttpRequest) -> HttpReply | None:
        """Returns the reply to a remote client; None closes the connection without one."""
        routed, rejection = self._route(request)
        if routed is None:
            return HttpReply(*rejection)
        # Read in any case: a fault concerns the reply to a whole request.
        body = request.read_body()
        if self._ended.is_set():
            self._require_open()
        with self._calling(None):
            reply = routed.respond(*body)
        return None if reply is None else HttpReply(*reply)

    def _route(self, request: HttpRequest) -> Any:
        """The request with the call that it makes, or the reply to send because it makes none."""
        return self._native.route(
            method=request.method, target=request.target, headers=request.headers
        )

    # Functions that the engine calls within a call.

    @contextmanager
    def _calling(self, deliver: Callable[..., Any] | None) -> Iterator[list[Callback]]:
        """Has this function deliver the messages of a call of this thread. Gives the list to which the
        callbacks of the call are added. Calls can be nested, by functions that are called during one."""
        outer = getattr(self._current, "call", None)
        posted: list[Callback] = []
        self._current.call = deliver, posted
        try:
            yield posted
        finally:
            self._current.call = outer

    def _deliver(self, *message: Any) -> Any:
        deliver, _ = self._current.call
        return SENT if deliver is None else deliver(*message)

    def _post(self, url: str, body: bytes, headers: list[tuple[str, str]]) -> Any:
        self._current.call[1].append(made(url, body, headers))
        return SENT if self.own_post is None else self.own_post(url, body, headers)

    def _pass_on(self, posted: list[Callback]) -> None:
        """Passes callbacks on only now, because they are received once the response is stored."""
        for callback in posted:
            if self.post is not None:
                self.post(callback)

    # The record of calls.

    def recorded_calls(self) -> tuple[Call, ...]:
        with self.lock:
            known = dict(self._errors)
        return tuple(
            Call(name, arguments, outcome, known.get(number), remote)
            for number, name, arguments, outcome, remote in self._native.calls()
        )

    def _record(
        self, name: str, params: dict[str, Any], error: BaseException | None = None
    ) -> None:
        number = self._native.record(name, params, outcome_of(error))
        if isinstance(error, errors.SecondFactorError):
            with self.lock:
                self._errors[number] = error
                if len(self._errors) > MOST:
                    self._errors.popitem(last=False)

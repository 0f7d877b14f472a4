"""The engine of a sandbox, what it sent, and the two ways to call it: in this process and over
HTTP."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from seconder import _seconder
from seconder.enums import Repeats
from seconder.names import Names, _given
from seconder.opening import _carrier
from seconder.opening import open as open_remote
from seconder.results import DeviceRegistered, Message
from seconder.service import Service
from seconder.testing._callbacks import Callback, made
from seconder.testing._faults import Fault, Faults
from seconder.testing._server import HttpReply, HttpRequest, Server

TIMEOUT_OF_FAULT = 0.2
"""The timeout of a call in this process that gets no response because of a fault, in seconds."""
RATE_LIMITED_BODY = {"success": False, "message": "API usage limit reached", "error_code": "60003"}
JSON = ("content-type", "application/json")
PAGE = b"<!DOCTYPE html><title>Not the service</title><p>The page of another server."


class Inside:
    """An engine in memory. All of its calls go through this class."""

    def __init__(
        self, url: str, clock: _seconder.Clock, names: Names, settings: dict[str, Any]
    ) -> None:
        self.api_key: str = settings["api_key"]
        self.names = names
        self.post: Callable[[Callback], object] | None = None
        self.sent: list[tuple[Message, int | None]] = []
        self.callbacks: list[Callback] = []
        self.uris: dict[int, str] = {}
        self.devices: dict[int, DeviceRegistered] = {}
        self.faults = Faults()
        self.lock = threading.RLock()
        self.engine = _seconder.open_sandbox(
            url,
            clock=clock,
            names=_given(names),
            deliver=_carrier(self._deliver),
            post=self._post,
            **settings,
        )
        # By thread, because the engine delivers and posts in the thread of the call.
        self._current = threading.local()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        with self.lock:
            if self._server is None:
                self._server = Server(self._respond)
            return self._server.url

    def close(self) -> None:
        # First, because a call held by ``timeout`` waits until its fault ends.
        self.faults.end_all()
        with self.lock:
            server, self._server = self._server, None
        if server is not None:
            server.stop()
        self.engine.close()

    def call(self, native: _seconder.Service, name: str, params: dict[str, Any]) -> Any:
        """Makes a call in this process. If it is to fail, a remote client makes it instead, so that
        the error is the one that production raises."""
        client = self._client(native, "check_approval" if name == "wait_for_approval" else name)
        if client is not None:
            with client:
                return client._call(name, **params)
        with self._call_in_progress(name, params) as posted:
            reply = native.call(name, params)
        self._note(name, params, reply)
        # Only now, because a callback is received once the response is stored.
        for callback in posted:
            if self.post is not None:
                self.post(callback)
        return reply

    def poll_approval(self, native: _seconder.Service, wait: _seconder.ApprovalWait) -> Any:
        """Makes one poll of a wait, in the same way."""
        client = self._client(native, "check_approval")
        if client is None:
            return native.poll_approval(wait)
        with client:
            return client._poll_approval(wait)

    def _client(self, native: _seconder.Service, name: str) -> Service | None:
        """Returns the remote client for a call that is to fail, None for any other."""
        fault = self.faults.find(name)
        if fault is None or native.closed or name not in _seconder.CALLS:
            return None
        return open_remote(
            self.url,
            api_key=self.api_key,
            names=self.names,
            allow_loopback_http=True,
            timeout=TIMEOUT_OF_FAULT if fault.kind is Fault.TIMEOUT else 10.0,
        )

    def _respond(self, request: HttpRequest) -> HttpReply | None:
        """Returns the reply to a remote client; None closes the connection without one."""
        routed, rejection = self._route(request)
        if routed is None:
            return HttpReply(*rejection)
        name, params = routed.name, routed.fields
        # Read in any case: a fault concerns the reply to a whole request.
        body, error = request.read_body()
        fault = self.faults.take(name)
        if fault is not None:
            if fault.kind is Fault.TIMEOUT:
                fault.ended.wait()
                return None
            if fault.kind is Fault.RATE_LIMITED:
                headers = [JSON, ("retry-after", str(math.ceil(fault.retry_after)))]
                return HttpReply(503, headers, json.dumps(RATE_LIMITED_BODY).encode())
            if fault.kind is Fault.INVALID_RESPONSE:
                return HttpReply(200, [("content-type", "text/html")], PAGE)
            if fault.kind is Fault.UNAUTHORIZED:
                routed, _ = self._route(self._with_another_key(request))
        with self._call_in_progress(name, params):
            reply, fields = routed.respond(self.engine, body, error)
        status = reply[0]
        if status == 200:
            self._note(name, params, fields)
        if fault is not None and fault.kind is Fault.LOST:
            return None
        return HttpReply(*reply)

    def _route(self, request: HttpRequest) -> Any:
        """The request with the call that it makes, or the reply to send because it makes none."""
        return _seconder.route(
            self.engine, method=request.method, target=request.target, headers=request.headers
        )

    def _with_another_key(self, request: HttpRequest) -> HttpRequest:
        key = self.names.api_key_header
        others = [header for header in request.headers if header[0].lower() != key.lower()]
        return request._replace(headers=[*others, (key, b"an-unknown-key")])

    @contextmanager
    def _call_in_progress(self, name: str, params: dict[str, Any]) -> Iterator[list[Callback]]:
        """Records which call this thread makes, for ``_deliver`` and ``_post``. Yields the list of
        the callbacks that the call posts."""
        self._current.name, self._current.user = name, params.get("user_id")
        posted: list[Callback] = []
        self._current.posted = posted
        yield posted

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

    def _deliver(self, message: Message) -> None:
        name, user = self._current.name, self._current.user
        if self.faults.take(name, delivering=True) is not None:
            raise ConnectionError("the gateway did not accept the message")
        with self.lock:
            self.sent.append((message, None if user is None else int(user)))

    def _post(self, url: str, body: bytes, headers: list[tuple[str, str]]) -> None:
        callback = made(url, body, headers)
        with self.lock:
            self.callbacks.append(callback)
        self._current.posted.append(callback)


class Shared(Service):
    """A service of a sandbox. Closing it does not close the sandbox."""

    __slots__ = ("_inside",)

    def __init__(self, inside: Inside, native: _seconder.Service | None = None) -> None:
        super().__init__(native or _seconder.share(inside.engine), "sandbox")
        self._inside = inside

    def with_timeout(self, timeout: float) -> Shared:
        return Shared(self._inside, self._native.with_timeout(timeout))

    def with_repeats(self, repeats: Repeats | Literal["none", "questions", "all"]) -> Shared:
        return Shared(self._inside, self._native.with_repeats(repeats))

    def _call(self, name: str, **params: Any) -> Any:
        return self._inside.call(self._native, name, params)

    def _poll_approval(self, wait: _seconder.ApprovalWait) -> Any:
        return self._inside.poll_approval(self._native, wait)

"""The sandbox."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from seconder import _seconder
from seconder._functions import carrier, poster
from seconder._hook import hook_of
from seconder._opened import flat
from seconder.callback import sign
from seconder.enums import DeviceType
from seconder.errors import InvalidArgument
from seconder.names import Names
from seconder.options import EngineOptions
from seconder.records import ApprovalRequest, DeviceRegistered, JobsRun, Message
from seconder.service import Service
from seconder.testing._callbacks import Callback, made
from seconder.testing._calls import Call
from seconder.testing._faults import Fault, FaultName, UnusedFault
from seconder.testing._inside import Inside
from seconder.testing._remote import Remote
from seconder.testing._settings import check
from seconder.testing._shared import View

if TYPE_CHECKING:
    from seconder import aio
else:
    from seconder._later import aio


class Sandbox:
    """A second factor in memory, for the tests of an application.

    Codes are checked, used up and rate limited as in production. The test controls the time, which
    stands still until :meth:`advance`; the phones, whose messages are recorded; the devices, which
    respond on demand; and the network, which fails on demand. The application under test takes
    :attr:`service`, or opens :attr:`url`. A sandbox can be shared between threads.

    It is a context manager that closes the sandbox. It leaves nothing behind, and nothing leaves
    this machine; it listens, on the loopback interface, once :attr:`url` is read.

    With ``url``, it is the sandbox of another process, ``seconder serve --sandbox``, which other
    processes may call too. It is emptied first, and tests use it in the same way, except that
    :attr:`service` is a client of it: it has no calls that only an engine has, such as
    ``register_device``, and its errors are those that a client gets.

    Args:
        url: The URL of a sandbox of another process, ``https:``. Default: one in this process.
        ca_file: The certificate to trust instead of the system's, for ``url``.
        accept: ``right`` accepts right codes alone; ``every`` accepts every token, without waits
            and caps, as the interface's own sandbox does (section 8); anything else is the one
            token that is accepted.
        api_key: The application's API key, which signs callbacks.
        application_name: The name in messages and authenticator apps.
        callback_url: The URL at which the application receives callbacks. It is signed, and nothing
            is sent there.
        token_length: How many digits the codes by SMS and voice have, 6 to 10.
        names: The names to use instead of those with ``svc`` in the interface document, also in
            callbacks. Default: the document's.
        now: The initial time, aware of its time zone. Default: the current second.
        post: A function that receives each callback as it is made, in the thread of the response,
            for example by the application's test client. It can also be set later, as :attr:`post`.
        run_deliver: Whether the function ``deliver`` that the application passes to :meth:`open`
            delivers the messages of that service. What it returns or raises has the consequences
            that it has in production, and a message that was not sent is not in :attr:`messages`.
        run_post: Whether the function ``post`` that the application passes to :meth:`open` posts the
            callbacks. As in production, what it raises does not undo the user's response.
            :meth:`run_jobs` makes the attempts that follow.
        real_waits: Whether waits take real time. By default they pass the sandbox's time, as
            :meth:`advance` does, and return at once. Tests whose other threads or processes respond
            during a wait need real ones.

    Raises:
        seconder.InvalidArgument: An argument is invalid.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        ca_file: str | PathLike[str] | None = None,
        accept: str = "right",
        api_key: str = _seconder.SANDBOX_API_KEY,
        application_name: str = "Sandbox",
        callback_url: str = "https://app.example/callback",
        token_length: int = 7,
        names: Names | None = None,
        now: datetime | None = None,
        post: Callable[[Callback], object] | None = None,
        run_deliver: bool = False,
        run_post: bool = False,
        real_waits: bool = False,
    ) -> None:
        start = math.floor(time.time()) if now is None else _unix(now)
        self._callback_url, self._ca_file = callback_url, ca_file
        self._run_deliver, self._run_post = run_deliver, run_post
        settings: dict[str, Any] = {
            "api_key": api_key,
            "application_name": application_name,
            "callback_url": callback_url,
            "token_length": token_length,
        }
        names = Names() if names is None else names
        self._inside: Inside | Remote
        if url is None:
            if ca_file is not None:
                raise InvalidArgument("ca_file is for a sandbox at a url", parameter="ca_file")
            try:
                self._inside = Inside(accept, start, names, settings, real_waits=real_waits)
            except (TypeError, OverflowError, UnicodeError):
                # The native module does not name the argument, as seconder.open does.
                engine = {name: settings[name] for name in settings if name != "api_key"}
                where = "sandbox:" if accept == "every" else f"sandbox:?accept={accept}"
                check(where, {"api_key": api_key, "engine": EngineOptions(**engine)})
                raise
        else:
            for name, given in (("run_deliver", run_deliver), ("run_post", run_post)):
                if given:
                    message = f"{name} is for a sandbox in this process: another one calls no function"
                    raise InvalidArgument(message, parameter=name)
            settings = {**settings, "accept": accept, "now": start}
            self._inside = Remote(url, ca_file, names, settings, real_waits=real_waits)
        self._time = self._inside.time
        self._inside.post = post
        self._service = self._inside.share(View())

    # For the application.

    @property
    def service(self) -> Service:
        """The service of the sandbox."""
        return self._service

    def open(self, url: str, **settings: Any) -> Service:
        """Replaces :func:`seconder.open`: it returns a service of the sandbox, which is closed with
        the sandbox. Closing that service does not close the sandbox.

        The URL and the settings are checked, with the errors of :func:`seconder.open`. No database
        is opened, and nothing is sent. Of the settings, ``timeout`` and ``repeats`` have an effect,
        and ``deliver`` and ``post`` if the sandbox runs them; the other settings are the sandbox's
        own.

        With pytest: ``monkeypatch.setattr("seconder.open", seconder_sandbox.open)``.

        >>> import seconder
        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     try:
        ...         sandbox.open("sqlite:app.db", timeout=3)
        ...     except seconder.InvalidArgument as error:
        ...         error.parameter
        'timeout'

        Raises:
            seconder.InvalidArgument: The URL or a setting is invalid, or has no effect with the URL.
            TypeError: There is no such setting.
        """
        return self._open(url, settings, may_await=False)

    def _open(self, url: str, settings: dict[str, Any], *, may_await: bool) -> Service:
        check(url, settings, may_await=may_await)
        return self._inside.share(self._view(settings))

    def open_async(self, url: str, *, threads: int = 16, **settings: Any) -> aio.Opening:
        """Replaces :func:`seconder.open_async` in the same way."""
        from seconder._awaited import Opening
        from seconder.aio import AsyncService
        from seconder.opening_async import open_async

        # Rejects settings that the real one does not have.
        inspect.signature(open_async).bind(url, **settings)

        def opened() -> AsyncService:
            service = self._open(url, settings, may_await=True)
            return self._inside.keep(AsyncService(service, threads=threads))

        return Opening(opened)

    def _view(self, settings: dict[str, Any]) -> View:
        """Returns how a service with these settings makes calls."""
        given = {name: value for name, value in flat(settings).items() if value is not None}
        view = View()
        if "timeout" in given:
            view = replace(view, timeout=float(given["timeout"]))
        if "repeats" in given:
            view = replace(view, repeats=str(given["repeats"]))
        if self._run_deliver and "deliver" in given:
            limit = given.get("deliver_timeout")
            view = replace(view, deliver=carrier(given["deliver"], limit))
        if self._run_post and "post" in given:
            view = replace(view, post=poster(given["post"]))
        if "on_call" in given:
            view = replace(view, hook=hook_of(given["on_call"]))
        return view

    @property
    def url(self) -> str:
        """The URL of the sandbox as a remote service, for an application that opens a URL from its
        settings, with the :attr:`api_key`, and ``allow_loopback_http=True`` or, for a sandbox over
        HTTPS, :attr:`ca_file`. The calls then use a real connection.

        >>> import seconder
        >>> from seconder.testing import Sandbox
        >>> client = seconder.ClientOptions(allow_loopback_http=True)
        >>> with Sandbox() as sandbox:
        ...     with seconder.open(sandbox.url, api_key=sandbox.api_key, client=client) as service:
        ...         service.app_details().name
        'Sandbox'
        """
        return self._inside.url

    @property
    def ca_file(self) -> str | PathLike[str] | None:
        """The setting ``ca_file`` of an application that opens :attr:`url`, as it was given."""
        return self._ca_file

    @property
    def api_key(self) -> str:
        """The application's API key."""
        return self._inside.api_key

    @property
    def callback_url(self) -> str:
        """The URL that callbacks are signed for."""
        return self._callback_url

    # The time.

    @property
    def now(self) -> datetime:
        """The sandbox's time, in UTC."""
        return datetime.fromtimestamp(self._time.now(), timezone.utc)

    def advance(self, by: float | timedelta) -> None:
        """Advances the time, by seconds or by a timedelta, of 0 or more, with all that :meth:`after`
        planned for it.

        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     before = sandbox.now
        ...     sandbox.advance(30)
        ...     str(sandbox.now - before)
        '0:00:30'
        """
        seconds = _seconds(by)
        self._time.pass_until(self._time.now() + seconds)

    def after(self, seconds: float | timedelta, action: Callable[[], object]) -> None:
        """Calls a function once that much time has passed, by :meth:`advance` or by a wait. What it
        raises is raised there.

        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     service = sandbox.service
        ...     ada = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        ...     uuid = service.create_approval(ada, "Log in?").uuid
        ...     sandbox.after(20, lambda: sandbox.approve(ada))
        ...     service.wait_for_approval(uuid, ada, timeout=60).approved_by(ada)
        True

        Args:
            seconds: How much time, in seconds or as a timedelta, of 0 or more.
            action: The function.
        """
        self._time.plan(self._time.now() + _seconds(seconds), action)

    # Further attempts.

    def run_jobs(self) -> JobsRun:
        """Makes the attempts that are due by the sandbox's time, as the application does with
        :meth:`seconder.Service.run_jobs`: to send messages for which ``deliver`` returned
        :class:`seconder.Retry` or :class:`seconder.Ambiguous`, and to post callbacks that failed.

        >>> import seconder
        >>> from seconder.testing import Sandbox
        >>> attempts = []
        >>> def deliver(message: seconder.Message) -> seconder.outcomes.Outcome | None:
        ...     attempts.append(message.id)
        ...     return seconder.Retry(after=30) if len(attempts) == 1 else None
        >>> with Sandbox(run_deliver=True) as sandbox:
        ...     service = sandbox.open("sqlite:app.db", deliver=deliver)
        ...     ada = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        ...     sent = service.request_sms(ada)
        ...     print(len(sandbox.messages), sandbox.run_jobs().sent)
        ...     sandbox.advance(40)
        ...     print(sandbox.run_jobs().sent, len(sandbox.code(ada)))
        0 0
        1 7
        """
        return self._inside.run_jobs()

    # The phones.

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every SMS and voice call that was sent, the oldest first."""
        return tuple(message for message, _ in self._inside.messages())

    def code(self, whom: int | str) -> str:
        """Returns the code sent last to a user, given by id, or to a number, given by its last
        digits.

        Raises:
            AssertionError: No code was sent.
        """
        sent = self._inside.messages()[::-1]
        if isinstance(whom, int):
            matching = (message for message, user_id in sent if user_id == whom)
        else:
            digits = "".join(filter(str.isdigit, whom))
            matching = (message for message, _ in sent if digits and message.to.endswith(digits))
        message = next(matching, None)
        if message is None:
            raise AssertionError(f"no code was sent to {whom!r}, of {len(sent)} messages")
        return message.code

    def authenticator_code(self, user_id: int) -> str:
        """Returns the code that the user's authenticator app shows now. Each can be used once: 30 s
        later, by :meth:`advance`, the app shows another.

        Raises:
            AssertionError: The user has no authenticator app.
        """
        code = self._inside.authenticator_code(user_id)
        if code is None:
            raise AssertionError(f"user {user_id} has no authenticator app: enrol_authenticator")
        return code

    # The devices.

    def add_device(
        self,
        user_id: int,
        device_type: DeviceType
        | Literal["android", "android_tablet", "ios", "svc_chrome"] = DeviceType.ANDROID,
    ) -> DeviceRegistered:
        """Registers a device with which a user responds to approval requests. It shows no codes, so the
        user is still sent those that are requested (section 4.2).

        Raises:
            seconder.Rejected: The user does not exist.
        """
        return self._inside.add_device(user_id, device_type)

    def pending(self, user_id: int) -> tuple[ApprovalRequest, ...]:
        """Returns the pending requests on the user's device, the oldest first. A user without a
        device gets one: see :meth:`add_device`."""
        return self._inside.pending(user_id)

    def approve(
        self, user_id: int | None = None, *, uuid: str | None = None, number: str | None = None
    ) -> Callback:
        """Approves a request on the user's device.

        Args:
            user_id: The user whose latest pending request is approved.
            uuid: The request to approve, instead of a user.
            number: What the user types on the device, if the request has a number.

        Returns:
            The callback that notifies the application. Send it to the application's endpoint.

        Raises:
            AssertionError: The user has no pending request.
            seconder.Rejected: The request does not exist, or is no longer pending, or the number is
                wrong.
        """
        return self._say("approve", user_id, uuid, number)

    def deny(self, user_id: int | None = None, *, uuid: str | None = None) -> Callback:
        """Denies a request. Otherwise as :meth:`approve`."""
        return self._say("deny", user_id, uuid)

    def report(self, user_id: int | None = None, *, uuid: str | None = None) -> Callback:
        """Denies a request and reports it as fraudulent. Otherwise as :meth:`approve`."""
        return self._say("report", user_id, uuid)

    @property
    def callbacks(self) -> tuple[Callback, ...]:
        """Every callback that a response caused, the oldest first. One that was posted again is there
        again, with another signature and the same ``Seconder-Delivery``."""
        return self._inside.recorded_callbacks()

    @property
    def post(self) -> Callable[[Callback], object] | None:
        """The function that receives each callback, once the response is stored. Its exceptions are
        raised by the call that responded, such as :meth:`approve`."""
        return self._inside.post

    @post.setter
    def post(self, post: Callable[[Callback], object] | None) -> None:
        self._inside.post = post

    def signed(self, body: bytes, *, nonce: str | None = None) -> Callback:
        """Returns a callback with any body, signed with the API key.

        Args:
            body: A JSON object.
            nonce: Default: the sandbox's time, in Unix seconds. An older one makes the callback
                stale.
        """
        nonce = nonce if nonce is not None else f"{math.floor(self._time.now())}"
        url, names = self._callback_url, self._inside.names
        signature = sign(api_key=self.api_key, nonce=nonce, url=url, body=body)
        headers = [(names.signature_header, signature), (names.nonce_header, nonce)]
        return made(url, body, headers)

    # The network.

    @contextmanager
    def failing(
        self,
        fault: Fault | FaultName,
        *,
        calls: Collection[str] = (),
        times: int | None = None,
        retry_after: float = 30,
        seconds: float = 1,
        status: int = 500,
    ) -> Iterator[None]:
        """Makes calls fail within a ``with`` block. A call has the error that the client of a remote
        service has, also in this process.

        ====================  ========================================  ===================
        fault                 what happens                              the call raises
        ====================  ========================================  ===================
        ``timeout``           not carried out, and no response          ``Timeout``
        ``lost``              carried out, but the response is lost     ``Unavailable``
        ``rate_limited``      status 503: wait (section 7)              ``RateLimited``
        ``unauthorized``      the service rejects the API key           ``Unauthorized``
        ``invalid_response``  the response is a web page                ``InvalidResponse``
        ``undelivered``       the SMS or voice call cannot be sent      ``Unavailable``
        ``storage``           the database of the service fails         ``Unavailable``
        ``status``            the response has this ``status``          by the status
        ``latency``           carried out ``seconds`` later             nothing, or ``Timeout``
        ====================  ========================================  ===================

        ``timeout`` takes no real time for :attr:`service` in this process, 0.2 s for a sandbox of another
        process, and the client's timeout for :attr:`url`.

        Args:
            fault: The fault.
            calls: The names of the calls affected, such as ``"verify"``. Default: all. Calls that
                only an engine has, such as ``register_device``, never are.
            times: How many calls are affected. Default: no limit.
            retry_after: How long to wait after ``rate_limited``, in seconds. A client waits by
                itself if the wait fits within its timeout and a retry is safe.
            seconds: How long a call with ``latency`` takes, by the sandbox's time for
                :attr:`service` in this process, and in real time for :attr:`url`, over HTTPS and
                with ``real_waits``.
            status: The status of the response with ``status``, 200 to 599.

        >>> import seconder
        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox, sandbox.failing("unauthorized", calls={"app_details"}):
        ...     try:
        ...         sandbox.service.app_details()
        ...     except seconder.Unauthorized as error:
        ...         print(error.http_status)
        401
        """
        # A single name is accepted too: its letters would otherwise count as names.
        calls = (calls,) if isinstance(calls, str) else tuple(calls)
        unknown = set(calls) - set(_seconder.CALLS)
        if unknown:
            raise ValueError(f"there is no call {', '.join(sorted(unknown))} of the interface")
        injected = self._inside.inject(
            Fault(fault),
            calls=list(calls),
            times=times,
            retry_after=retry_after,
            seconds=seconds,
            status=status,
        )
        try:
            yield
        finally:
            self._inside.end(injected)

    # Records.

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that the application made, in the order in which they ended, also those that
        failed; the latest 10,000 of them. Those by methods of the sandbox, such as :meth:`approve`,
        are not among them.

        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     user = sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
        ...     right = sandbox.service.request_sms(user.user_id, force=True)
        ...     for call in sandbox.calls:
        ...         print(call.name, call.outcome)
        create_user ok
        request_sms ok
        >>> sandbox.calls[-1].arguments
        {'user_id': 1, 'force': True}
        """
        return self._inside.recorded_calls()

    @property
    def unused_faults(self) -> tuple[UnusedFault, ...]:
        """The faults of :meth:`failing` that no call has met, and those that met fewer calls than
        ``times``, in the order in which they were injected. The test may then not show what it is
        meant to.

        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox, sandbox.failing("timeout", calls="verify"):
        ...     status = sandbox.service.app_details()
        >>> print(*sandbox.unused_faults)
        timeout of verify: met 0 of any number of calls
        """
        return self._inside.unused()

    # The end.

    def close(self) -> None:
        """Closes the services that were opened from it, the server behind :attr:`url` with its
        connections, and the engine. Later calls raise :class:`seconder.InvalidArgument`, and
        clients of :attr:`url` get :class:`seconder.Unavailable`. The records can still be read."""
        self._inside.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<seconder.testing.Sandbox at {self.now:%Y-%m-%d %H:%M:%S} UTC>"

    def _say(
        self,
        response: Literal["approve", "deny", "report"],
        user_id: int | None,
        uuid: str | None,
        number: str | None = None,
    ) -> Callback:
        if (uuid is None) == (user_id is None):
            raise TypeError("name either the user or the request, but not both")
        callback = self._inside.respond(response, user_id, uuid, number)
        if callback is None:
            raise AssertionError(f"user {user_id} has no pending approval request")
        return callback


def _seconds(time: float | timedelta) -> float:
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    if not 0 <= seconds < math.inf:
        raise ValueError("time passes forwards")
    return seconds


def _unix(time: datetime) -> float:
    if time.tzinfo is None:
        raise ValueError("now must be aware of its time zone")
    return time.timestamp()

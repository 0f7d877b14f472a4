"""The sandbox."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from seconder import _seconder, totp
from seconder.callback import sign
from seconder.enums import DeviceType
from seconder.names import Names
from seconder.results import ApprovalRequest, DeviceRegistered, Message
from seconder.service import Service
from seconder.testing._callbacks import Callback, made
from seconder.testing._faults import Fault, Planned
from seconder.testing._inside import Inside, Shared

if TYPE_CHECKING:
    from seconder._awaited import Opening


class Sandbox:
    """A second factor in memory, for the tests of an application.

    Codes are checked, used up and rate limited as in production. The test controls the time, which
    stands still until :meth:`advance`; the phones, whose messages are recorded; the devices, which
    respond on demand; and the network, which fails on demand. The application under test takes
    :attr:`service`, or opens :attr:`url`. A sandbox can be shared between threads.

    It is a context manager that closes the sandbox. It leaves nothing behind, and nothing leaves
    this machine; it listens, on the loopback interface, once :attr:`url` is read or a call fails.

    Args:
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

    Raises:
        seconder.InvalidArgument: An argument is invalid.
    """

    def __init__(
        self,
        *,
        accept: str = "right",
        api_key: str = "the-key-of-the-sandbox",
        application_name: str = "Sandbox",
        callback_url: str = "https://app.example/callback",
        token_length: int = 7,
        names: Names | None = None,
        now: datetime | None = None,
        post: Callable[[Callback], object] | None = None,
    ) -> None:
        self._clock = _seconder.Clock(math.floor(time.time()) if now is None else _unix(now))
        self._callback_url = callback_url
        settings = {
            "api_key": api_key,
            "application_name": application_name,
            "callback_url": callback_url,
            "token_length": token_length,
        }
        url = "sandbox:" if accept == "every" else f"sandbox:?accept={accept}"
        self._inside = Inside(url, self._clock, names or Names(), settings)
        self._inside.post = post
        self._service = Shared(self._inside)
        # The application may close its service, so the sandbox acts through one of its own.
        self._own = Shared(self._inside)

    # For the application.

    @property
    def service(self) -> Service:
        """The service, in this process."""
        return self._service

    def open(self, url: str = "", **settings: object) -> Service:
        """Replaces :func:`seconder.open`: it returns a service of the sandbox, whatever the URL and
        the settings. Closing that service does not close the sandbox.

        With pytest: ``monkeypatch.setattr("seconder.open", seconder_sandbox.open)``.
        """
        return Shared(self._inside)

    def open_async(self, url: str = "", *, threads: int = 16, **settings: object) -> Opening:
        """Replaces :func:`seconder.open_async` in the same way."""
        from seconder._awaited import Opening
        from seconder.aio import AsyncService

        return Opening(lambda: AsyncService(Shared(self._inside), threads=threads))

    @property
    def url(self) -> str:
        """The URL of the sandbox as a remote service, for an application that opens a URL from its
        settings, with ``allow_loopback_http=True`` and the :attr:`api_key`. The calls then use a
        real connection.

        >>> import seconder
        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     settings = {"api_key": sandbox.api_key, "allow_loopback_http": True}
        ...     with seconder.open(sandbox.url, **settings) as service:
        ...         service.app_details().name
        'Sandbox'
        """
        return self._inside.url

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
        return datetime.fromtimestamp(self._clock.now(), timezone.utc)

    def advance(self, by: float | timedelta) -> None:
        """Advances the time, by seconds or by a timedelta, of 0 or more.

        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     before = sandbox.now
        ...     sandbox.advance(30)
        ...     str(sandbox.now - before)
        '0:00:30'
        """
        seconds = by.total_seconds() if isinstance(by, timedelta) else by
        if not seconds >= 0:
            raise ValueError("time passes forwards")
        self._clock.set(self._clock.now() + seconds)

    # The phones.

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every SMS and voice call, the oldest first."""
        with self._inside.lock:
            return tuple(message for message, _ in self._inside.sent)

    def code(self, whom: int | str) -> str:
        """Returns the code sent last to a user, given by id, or to a number, given by its last
        digits.

        Raises:
            AssertionError: No code was sent.
        """
        with self._inside.lock:
            sent = self._inside.sent[::-1]
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
        uri = self._inside.uris.get(user_id)
        if uri is None:
            raise AssertionError(f"user {user_id} has no authenticator app: enrol_authenticator")
        return totp.code(uri, at=self._clock.now())

    # The devices.

    def add_device(
        self,
        user_id: int,
        device_type: DeviceType
        | Literal["android", "android_tablet", "ios", "svc_chrome"] = DeviceType.ANDROID,
    ) -> DeviceRegistered:
        """Registers a device with which a user responds to approval requests. From then on the user
        has an app and needs no SMS: a request for one is ignored unless forced (section 4.2).

        Raises:
            seconder.Rejected: The user does not exist.
        """
        return self._own.register_device(user_id, device_type)

    def pending(self, user_id: int) -> tuple[ApprovalRequest, ...]:
        """Returns the pending requests on the user's device, the oldest first. A user without a
        device gets one: see :meth:`add_device`."""
        device = self._device(user_id)
        return self._own.open_approvals(device_id=device.device_id, device_secret=device.secret)

    def approve(self, user_id: int | None = None, *, uuid: str | None = None) -> Callback:
        """Approves a request on the user's device.

        Args:
            user_id: The user whose latest pending request is approved.
            uuid: The request to approve, instead of a user.

        Returns:
            The callback that notifies the application. Send it to the application's endpoint.

        Raises:
            AssertionError: The user has no pending request.
            seconder.Rejected: The request does not exist, or is no longer pending.
        """
        return self._say("approve", user_id, uuid)

    def deny(self, user_id: int | None = None, *, uuid: str | None = None) -> Callback:
        """Denies a request. Otherwise as :meth:`approve`."""
        return self._say("deny", user_id, uuid)

    def report(self, user_id: int | None = None, *, uuid: str | None = None) -> Callback:
        """Denies a request and reports it as fraudulent. Otherwise as :meth:`approve`."""
        return self._say("report", user_id, uuid)

    @property
    def callbacks(self) -> tuple[Callback, ...]:
        """Every callback that a response caused, the oldest first."""
        with self._inside.lock:
            return tuple(self._inside.callbacks)

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
        nonce = nonce if nonce is not None else f"{math.floor(self._clock.now())}"
        url, names = self._callback_url, self._inside.names
        signature = sign(api_key=self.api_key, nonce=nonce, url=url, body=body)
        headers = [(names.signature_header, signature), (names.nonce_header, nonce)]
        return made(url, body, headers)

    # The network.

    @contextmanager
    def failing(
        self,
        fault: Fault
        | Literal[
            "timeout", "lost", "rate_limited", "unauthorized", "invalid_response", "undelivered"
        ],
        *,
        calls: Collection[str] = (),
        times: int | None = None,
        retry_after: float = 30,
    ) -> Iterator[None]:
        """Makes calls fail within a ``with`` block. Each fault is a real exchange over a loopback
        connection, handled by the client that production uses, so the errors are the real ones.

        ====================  ========================================  ===================
        fault                 what happens                              the call raises
        ====================  ========================================  ===================
        ``timeout``           not carried out, and no response          ``Timeout``
        ``lost``              carried out, but the response is lost     ``Unavailable``
        ``rate_limited``      status 503: wait (section 7)              ``RateLimited``
        ``unauthorized``      the service rejects the API key           ``Unauthorized``
        ``invalid_response``  the response is a web page                ``InvalidResponse``
        ``undelivered``       the SMS or voice call cannot be sent      ``Unavailable``
        ====================  ========================================  ===================

        ``timeout`` takes 0.2 s for :attr:`service`, and the client's timeout for :attr:`url`.

        Args:
            fault: The fault.
            calls: The names of the calls affected, such as ``"verify"``. Default: all. Calls that
                only an engine has, such as ``register_device``, never are.
            times: How many calls are affected. Default: no limit.
            retry_after: How long to wait after ``rate_limited``, in seconds. A client waits by
                itself if the wait fits within its timeout and a retry is safe.

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
        left = math.inf if times is None else times
        planned = Planned(Fault(fault), calls, left, retry_after)
        self._inside.faults.plan(planned)
        try:
            yield
        finally:
            self._inside.faults.end(planned)

    # The end.

    def close(self) -> None:
        """Releases everything. Later calls raise :class:`seconder.InvalidArgument`."""
        self._service.close()
        self._own.close()
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

    def _device(self, user_id: int) -> DeviceRegistered:
        """Returns the user's device, after registering one if there is none."""
        return self._inside.devices.get(user_id) or self.add_device(user_id)

    def _say(
        self, response: Literal["approve", "deny", "report"], user_id: int | None, uuid: str | None
    ) -> Callback:
        if uuid is None and user_id is not None:
            pending = self.pending(user_id)
            if not pending:
                raise AssertionError(f"user {user_id} has no pending approval request")
            uuid = pending[-1].uuid
        elif uuid is None or user_id is not None:
            raise TypeError("name either the user or the request, but not both")
        else:
            user_id = int(self._inside.engine.call("check_approval", {"uuid": uuid})["user_id"])
        device = self._device(user_id)
        self._own.respond_to_approval(
            uuid, device_id=device.device_id, device_secret=device.secret, response=response
        )
        # The callback list may already hold one of another thread, so match the request.
        id_in_body = uuid.encode()
        return next(each for each in reversed(self.callbacks) if id_in_body in each.body)


def _unix(time: datetime) -> float:
    if time.tzinfo is None:
        raise ValueError("now must be aware of its time zone")
    return time.timestamp()

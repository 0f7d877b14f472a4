"""What answers the calls."""

from __future__ import annotations

from seconder.calls import Calls
from seconder.enums import Repeats
from seconder.results import Approval, ApprovalRequest, DeviceRegistered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Literal, NoReturn

    from typing_extensions import Self

    from seconder import _seconder
    from seconder.enums import DeviceType, ApprovalResponse


class Service(Calls):
    """What answers the calls; :func:`seconder.open` makes it.

    It can be shared between threads, and other threads run while a call waits. It is a context
    manager that closes itself. Every call raises :class:`seconder.SecondFactorError` when it gives
    no result: see :mod:`seconder.errors` for the kinds.

    Ctrl-C ends :meth:`wait_for_approval` at once between two questions. A call that is under way
    is not broken off, because nobody could tell then what it did: Ctrl-C takes effect when it has
    ended, for a remote service within the ``timeout``.

    After a fork, a client of a remote service goes on in both processes. An engine goes on in
    the parent alone; open one in each worker.

    Example:
        >>> with seconder.open("sandbox:") as service:
        ...     service
        <seconder.Service on sandbox:>
    """

    __slots__ = ("_scheme",)

    def __init__(self, native: _seconder.Service, scheme: str) -> None:
        self._native = native
        self._scheme = scheme

    def wait_for_approval(self, uuid: str, user_id: int, *, timeout: float) -> Approval:
        """Waits until a user has answered, until the request has expired, or for so long as
        ``timeout`` says; then the status is still pending. Ask :meth:`Approval.approved_by` of what
        comes back.

        It asks the service again and again, at first after half a second and then ever more seldom,
        down to every 5 seconds; also while the service is busy or out of reach. Ctrl-C ends it. A
        request that is pending at the end can still be approved: ask for one that expires with the
        login, in ``seconds_to_expire`` of :meth:`create_approval`.

        Args:
            uuid: The request's name, from :meth:`create_approval`.
            user_id: The user who logs in, and must be the one who was asked.
            timeout: How long to wait, in seconds. The last question may end later than that, by
                the time that a call may take.

        Returns:
            The request when the wait ended.

        Raises:
            InvalidArgument: The request is that of another user: one's own approval must not open
                somebody else's door.
            InvalidResponse: The service does not tell whose request it is.
            Rejected: There is no such request.

        Example:
            >>> device = service.register_device(user.id, "ios")
            >>> asked = service.create_approval(user.id, "Log in?")
            >>> answer = service.respond_to_approval(
            ...     asked.uuid,
            ...     device_id=device.device_id,
            ...     device_secret=device.secret,
            ...     response="approve",
            ... )
            >>> service.wait_for_approval(asked.uuid, user.id, timeout=60).approved_by(user.id)
            True
        """
        reply = self._call("wait_for_approval", uuid=uuid, user_id=user_id, timeout=timeout)
        return Approval._read(reply)

    def _poll_approval(self, wait: _seconder.ApprovalWait) -> Any:
        """Asks once, for a wait of an event loop."""
        return self._native.poll_approval(wait)

    def register_device(
        self,
        user_id: int,
        device_type: DeviceType | Literal["android", "android_tablet", "ios", "svc_chrome"],
    ) -> DeviceRegistered:
        """Registers a device that answers approval requests. Engines in this process alone do it.

        Args:
            user_id: The user whose device it is.
            device_type: The kind of device (section 2.2).

        Returns:
            The device's number and its secret, which is told this once.

        Raises:
            Rejected: There is no such user.

        Example:
            >>> service.register_device(user.id, seconder.DeviceType.ANDROID)  # doctest: +ELLIPSIS
            DeviceRegistered(device_id=...)
        """
        reply = self._call("register_device", user_id=user_id, device_type=device_type)
        return DeviceRegistered._read(reply)

    def open_approvals(self, *, device_id: int, device_secret: str) -> tuple[ApprovalRequest, ...]:
        """The requests that a device's user can still answer, the oldest first. Engines in this
        process alone tell them.

        Args:
            device_id: The device that asks, from :meth:`register_device`.
            device_secret: What the device was told when it was registered.

        Returns:
            The requests, as the device shows them.

        Raises:
            InvalidArgument: The device does not prove itself.

        Example:
            >>> device = service.register_device(user.id, "ios")
            >>> service.open_approvals(device_id=device.device_id, device_secret=device.secret)
            ()
        """
        reply = self._call("open_approvals", device_id=device_id, device_secret=device_secret)
        return tuple(ApprovalRequest._read(request) for request in reply)

    def respond_to_approval(
        self,
        uuid: str,
        *,
        device_id: int,
        device_secret: str,
        response: ApprovalResponse | Literal["approve", "deny", "report"],
    ) -> Approval:
        """Answers an approval request from a device, and posts the callback. Engines in this
        process alone do it.

        Args:
            uuid: The request.
            device_id: The device that answers, from :meth:`register_device`.
            device_secret: What the device was told when it was registered.
            response: What the user said. ``report`` says no, and that it was not them who asked: the
                user is snoozed for 5 minutes.

        Returns:
            The request as it is now.

        Raises:
            InvalidArgument: The device does not prove itself.
            Rejected: The request is not the device's to answer, or no longer.

        Example:
            >>> device = service.register_device(user.id, "android")
            >>> asked = service.create_approval(user.id, "Log in?")
            >>> proof = {"device_id": device.device_id, "device_secret": device.secret}
            >>> service.respond_to_approval(asked.uuid, **proof, response="deny").status
            <ApprovalStatus.DENIED: 'denied'>
        """
        reply = self._call(
            "respond_to_approval",
            uuid=uuid,
            device_id=device_id,
            device_secret=device_secret,
            response=response,
        )
        return Approval._read(reply)

    def api_key(self) -> str:
        """The application's API key, which callbacks are signed with. Engines in this process
        alone tell it.

        Returns:
            The key. It is a secret.

        Raises:
            InvalidArgument: A remote service answers.

        Example:
            >>> with seconder.open("sandbox:", api_key="a-key-of-our-own") as own:
            ...     own.api_key()
            'a-key-of-our-own'
        """
        key: str = self._call("api_key")["api_key"]
        return key

    def with_timeout(self, timeout: float) -> Self:
        """The same service, on the same connections, with another time limit for each call. Both
        are closed as one. An engine in this process waits for nobody and has no limit.

        Args:
            timeout: How long a call may take from its first step to its last, in seconds: more than
                0 and at most an hour, which each call tells.

        Returns:
            The service with that limit.

        Raises:
            InvalidArgument: It is no such time.

        Example:
            >>> service.with_timeout(2.5).user_status(user.id).user_id == user.id
            True
        """
        return type(self)(self._native.with_timeout(timeout), self._scheme)

    def with_repeats(self, repeats: Repeats | Literal["none", "questions", "all"]) -> Self:
        """The same service, on the same connections, with other calls repeated when the service
        says "wait". Both are closed as one. An engine in this process repeats nothing.

        Args:
            repeats: Which calls are repeated.

        Returns:
            The service that repeats those.

        Raises:
            InvalidArgument: There is no such choice.

        Example:
            >>> service.with_repeats("none").request_sms(user.id).cellphone
            '+1-XXX-XXX-XX23'
        """
        return type(self)(self._native.with_repeats(repeats), self._scheme)

    def close(self) -> None:
        """Lets go of what the service holds. Calls after it raise
        :class:`seconder.InvalidArgument`; a call that is under way comes to its end.

        Example:
            >>> own = seconder.open("sandbox:")
            >>> own.close()
            >>> own
            <seconder.Service on sandbox:, closed>
        """
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._native.closed else ""
        return f"<seconder.Service on {self._scheme}:{closed}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Service cannot be pickled or copied: open one in each process")

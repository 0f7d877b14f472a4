"""The service: the calls of the interface, and further ones of an engine and of this library."""

from __future__ import annotations

from collections.abc import Callable
from os import urandom
from types import TracebackType

from seconder import _seconder
from seconder._frames import guarded_class
from seconder.calls import Calls
from seconder.enums import ApprovalResponse, DeviceType, Repeats
from seconder.errors import InvalidArgument
from seconder.records import ApprovalRequest, DeviceRegistered, JobsRun
from seconder.results import Approval

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    import typing

    import typing_extensions

    import seconder
else:
    from seconder._later import datetime, seconder, typing, typing_extensions


@guarded_class
class Service(Calls):
    """A second-factor service; :func:`seconder.open` returns one.

    It can be shared between threads, and other threads run while a call waits. It is a context
    manager that closes the service. Every call that returns no result raises
    :class:`seconder.SecondFactorError`: see :mod:`seconder.errors` for the kinds.

    Ctrl-C ends a call that waits for the network on the main thread within 100 ms, and so does any
    signal handler that raises; the exception is the handler's, such as :class:`KeyboardInterrupt`.
    Its ``__context__`` is a :class:`seconder.Cancelled`, whose ``retry_safe`` is false if the call
    may have been carried out. A call that an engine in this process has begun is completed first.
    :meth:`cancel` ends calls from another thread.

    The logger ``seconder`` of :mod:`logging` gets one record for each call, without secrets: at
    ``DEBUG`` if it succeeded, at ``WARNING`` if an operator has to act, and at ``INFO`` if it failed
    otherwise, as with a wrong code. Its attributes are ``seconder_call``, ``seconder_outcome``,
    ``seconder_stage``, ``seconder_timed_out``, ``seconder_user_id``, ``seconder_http_status``,
    ``seconder_code``, ``seconder_factor``, ``seconder_attempts``, ``seconder_duration`` (in seconds)
    and ``seconder_request_id``: those of :class:`seconder.results.CallRecord`, which the setting ``on_call``
    receives. An argument that is invalid by its form is not logged, because no call is made. Calls
    that a handler of the log makes are not logged either. A ``deliver`` or ``post`` that fails is
    logged at ``ERROR``, with its traceback.

    Tracebacks of errors have at most one frame of this package, without the arguments of the call: what
    reports errors also sends the local variables of frames, and these would be codes and numbers.

    After a fork, a client of a remote service keeps working in both processes. An engine keeps
    working in the parent alone: in the child, :meth:`reopen` it, or open another one.

    Example:
        >>> with seconder.open("sandbox:") as service:
        ...     service
        <seconder.Service on sandbox:>
    """

    __slots__ = ("_reopening", "_scheme")

    def __init__(self, native: _seconder.Service, scheme: str) -> None:
        self._native = native
        self._scheme = scheme
        self._hook = None
        self._reopening: Callable[[], tuple[typing.Any, str, dict[str, typing.Any], typing.Any]] | None = None

    @property
    def admin(self) -> seconder.admin.Admin:
        """The calls of an operator: the audit, operations, backups, statistics, the API key.

        Example:
            >>> service.admin.app_stats().total_users > 0
            True
        """
        from seconder.admin import Admin

        return Admin(self)

    @property
    def machines(self) -> seconder.machines.Machines:
        """The calls of login machines: login names, and logins while the service cannot be reached.

        Example:
            >>> done = service.machines.set_login(user.user_id, "ada")
            >>> service.machines.find_user("ada").user_id == user.user_id
            True
        """
        from seconder.machines import Machines

        return Machines(self)

    def wait_for_approval(
        self, uuid: str, user_id: int, *, timeout: float, bound: bool = True
    ) -> Approval:
        """Waits until a user has responded, the request has expired, or ``timeout`` has passed; in
        the last case the status is still pending. Check :meth:`Approval.approved_by` on the result.

        It polls the service at once, again after half a second, and then at growing intervals of
        up to 5 seconds. It keeps polling while the service is busy or unreachable. Ctrl-C and
        :meth:`cancel` end it.
        A request that is still pending at the end can be approved later: let it expire with the
        login, by ``seconds_to_expire`` of :meth:`create_approval`.

        Args:
            uuid: The id of the request, from :meth:`create_approval`.
            user_id: The user who logs in, which must be the user the request was sent to.
            timeout: How long to wait, in seconds: more than 0 and at most 3600. The last poll may
                end later, by as much as the timeout of a call.
            bound: False also accepts a request of which the service names no user, for a service
                that provides only the status. Pass it to :meth:`Approval.approved_by` too, which
                says why this is weaker and what the application has to do instead.

        Returns:
            The request, as it was when the wait ended.

        Raises:
            InvalidArgument: The request was sent to another user, whose approval must not let this
                user in.
            InvalidResponse: The service does not provide the user of the request, and ``bound`` is
                true.
            Rejected: The request does not exist.

        Example:
            >>> device = service.register_device(user.user_id, "ios")
            >>> request = service.create_approval(user.user_id, "Log in?")
            >>> approval = service.respond_to_approval(
            ...     request.uuid,
            ...     device_id=device.device_id,
            ...     device_secret=device.secret,
            ...     response="approve",
            ... )
            >>> approval = service.wait_for_approval(request.uuid, user.user_id, timeout=60)
            >>> approval.approved_by(user.user_id)
            True
        """
        reply = self._call(
            "wait_for_approval", uuid=uuid, user_id=user_id, timeout=timeout, bound=bound
        )
        return Approval._read(reply)

    # A wait poll by poll, on behalf of an event loop. A sandbox has its own time.

    def _begin_wait(self, params: dict[str, typing.Any]) -> typing.Any:
        return _seconder.ApprovalWait(params)

    def _poll_approval(self, wait: typing.Any) -> typing.Any:
        """Polls once. Returns the reply, or how long to pause, in seconds."""
        return self._native.poll_approval(wait, urandom(8).hex(), self._hook)

    def _pass(self, pause: float) -> float:
        """Returns how long to sleep for a pause, in seconds."""
        return pause

    def register_device(
        self,
        user_id: int,
        device_type: DeviceType | typing.Literal["android", "android_tablet", "ios", "svc_chrome"],
    ) -> DeviceRegistered:
        """Registers a device that can respond to approval requests. Only an engine in this process
        supports it.

        Args:
            user_id: The owner of the device.
            device_type: The kind of device (section 2.2).

        Returns:
            The device's id and its secret, which is returned only once.

        Raises:
            Rejected: The user does not exist.

        Example:
            >>> kind = seconder.enums.DeviceType.ANDROID
            >>> service.register_device(user.user_id, kind)  # doctest: +ELLIPSIS
            DeviceRegistered(device_id=...)
        """
        reply = self._call("register_device", user_id=user_id, device_type=device_type)
        return DeviceRegistered._read(reply)

    def open_approvals(self, *, device_id: int, device_secret: str) -> tuple[ApprovalRequest, ...]:
        """Returns the pending requests of a device's user, the oldest first. Only an engine in this
        process supports it.

        Args:
            device_id: The device, from :meth:`register_device`.
            device_secret: The secret that :meth:`register_device` returned.

        Returns:
            The requests, as a device shows them.

        Raises:
            InvalidArgument: The device could not be authenticated.

        Example:
            >>> device = service.register_device(user.user_id, "ios")
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
        response: ApprovalResponse | typing.Literal["approve", "deny", "report"],
        number: str | None = None,
    ) -> Approval:
        """Responds to an approval request on behalf of a device, and posts the callback. Only an
        engine in this process supports it.

        Args:
            uuid: The id of the request.
            device_id: The device, from :meth:`register_device`.
            device_secret: The secret that :meth:`register_device` returned.
            response: The user's response. ``report`` denies the request and reports it as
                fraudulent: the user is snoozed for 5 minutes.
            number: The number of the request, if it has one: :attr:`ApprovalCreated.number`.

        Returns:
            The updated request.

        Raises:
            InvalidArgument: The device could not be authenticated.
            Rejected: The request is not for this device's user, or can no longer be answered.

        Example:
            >>> device = service.register_device(user.user_id, "android")
            >>> request = service.create_approval(user.user_id, "Log in?")
            >>> proof = {"device_id": device.device_id, "device_secret": device.secret}
            >>> service.respond_to_approval(request.uuid, **proof, response="deny").status
            <ApprovalStatus.DENIED: 'denied'>
        """
        reply = self._call(
            "respond_to_approval",
            uuid=uuid,
            device_id=device_id,
            device_secret=device_secret,
            response=response,
            number=number,
        )
        return Approval._read(reply)

    def clear_sandbox(self) -> None:
        """Empties a sandbox: removes every user, code, device, approval request and activity, and
        the statistics. The application keeps its API key, and the ids of users are not given again.

        A sandbox can also empty itself: ``sandbox:?clear_every=86400`` does every day.

        Raises:
            InvalidArgument: The service is not a sandbox. A database is never emptied.

        Example:
            >>> with seconder.open("sandbox:") as own:
            ...     ada = own.create_user("ada@example.com", "555-010-0123", 1).user_id
            ...     own.clear_sandbox()
            ...     own.create_user("ada@example.com", "555-010-0123", 1).user_id == ada
            False
        """
        self._call("clear_sandbox")

    def run_jobs(self, budget: float | datetime.timedelta = 5.0) -> JobsRun:
        """Sends messages and posts callbacks whose next attempt is due: those that failed before and are
        to be repeated, and those of a process that was killed. Only an engine in this process supports
        it.

        Nothing in the process does so by itself. An application whose ``deliver`` returns
        :class:`seconder.Retry` or :class:`seconder.Ambiguous`, or that has a callback URL, calls this
        every few seconds: see docs/processes.md. Several threads, processes and machines can do so on
        one database; each message is sent by one of them.

        A message is repeated until its code has expired, and never sent once the code is void: after
        2, 4, 8 and so on, at most 60 seconds, or later if :class:`seconder.Retry` asks for it. A
        callback is posted again after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours and 10 hours.
        Each of these waits is up to a quarter shorter or longer.

        Args:
            budget: After how much time no further attempt begins, in seconds or as a timedelta, 0 or
                more. Ctrl-C and :meth:`cancel` have the same effect.

        Returns:
            How many were sent, have to wait, and failed. What failed to be sent raises nothing: the
            logger ``seconder`` has it.

        Raises:
            InvalidArgument: The budget is no time, or the service is a remote one.
            StorageError: The database cannot be read or written.

        Example:
            >>> with seconder.open("sandbox:") as own:
            ...     own.run_jobs()
            JobsRun(sent=0, waiting=0, failed=0, more=False)
        """
        total = getattr(budget, "total_seconds", None)
        seconds: typing.Any = budget if total is None else total()
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
            raise InvalidArgument(
                "budget must be a number of seconds or a timedelta", parameter="budget"
            )
        return JobsRun._read(self._call("run_jobs", budget=seconds))

    def with_timeout(self, timeout: float) -> typing_extensions.Self:
        """Returns the same service, on the same connections, with another timeout. Closing either
        closes both. An engine in this process has no timeout.

        Args:
            timeout: How long a call may take in all, in seconds: more than 0 and at most 3600.
                A longer timeout is rejected by each call.

        Returns:
            The service with that timeout.

        Raises:
            InvalidArgument: The timeout is not a number of seconds above 0.

        Example:
            >>> service.with_timeout(2.5).user_status(user.user_id).user_id == user.user_id
            True
        """
        return self._like(self._native.with_timeout(timeout))

    def with_repeats(self, repeats: Repeats | typing.Literal["none", "questions", "all"]) -> typing_extensions.Self:
        """Returns the same service, on the same connections, with other calls retried when the
        service is rate limiting. Closing either closes both. An engine in this process retries
        nothing.

        Args:
            repeats: Which calls are retried.

        Returns:
            The service that retries those.

        Raises:
            InvalidArgument: The value is invalid.

        Example:
            >>> service.with_repeats("none").request_sms(user.user_id).cellphone
            '+1-XXX-XXX-XX23'
        """
        return self._like(self._native.with_repeats(repeats))

    def cancel(self) -> None:
        """Ends the calls under way with this handle, on whichever threads, and every later one, with
        :class:`seconder.Cancelled`. A call that waits for the network ends within 100 ms, and so
        does :meth:`wait_for_approval`; a call that an engine in this process has begun is completed.

        A handle stays cancelled. To be able to cancel one call alone, make it with a handle of its
        own, from :meth:`with_timeout` or :meth:`with_repeats`, which also return one that works from
        a handle that is cancelled.

        Example:
            >>> login = service.with_timeout(10)
            >>> login.cancel()
            >>> try:
            ...     login.request_sms(user.user_id)
            ... except seconder.Cancelled as error:
            ...     error.retry_safe
            True
        """
        self._native.cancel()

    def reopen(self) -> None:
        """Opens the service again, in place and with the settings that it was opened with. For a child
        process that was forked while the service was open: the service has connections of its own
        then, also to a database that the parent still has open. The services of :meth:`with_timeout`
        and :meth:`with_repeats` are reopened with it, and one that was closed is open again.

        The sandbox of a ``sandbox:`` service is a new, empty one.

        Raises:
            InvalidArgument: The service is that of a :class:`seconder.testing.Sandbox`, or a file
                that a setting names has become invalid.
            StorageError: The database cannot be opened; or this process was forked while another
                thread of its parent used a database, and not by Python, which waits for that.

        Example:
            >>> own = seconder.open("sandbox:")
            >>> own.reopen()
            >>> own.admin.app_stats().total_users
            0
        """
        if self._reopening is None:
            raise InvalidArgument("service is that of a test, which opens it", parameter="service")
        url, _, settings, _ = self._reopening()
        self._native.reopen(url, settings)

    def _like(self, native: _seconder.Service) -> typing_extensions.Self:
        """Wraps another view of the service."""
        made = type(self)(native, self._scheme)
        made._hook, made._reopening = self._hook, self._reopening
        return made

    def close(self) -> None:
        """Releases the resources of the service. Later calls raise
        :class:`seconder.InvalidArgument`; a call that is in progress is completed.

        Example:
            >>> own = seconder.open("sandbox:")
            >>> own.close()
            >>> own
            <seconder.Service on sandbox:, closed>
        """
        self._native.close()

    def __enter__(self) -> typing_extensions.Self:
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

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("a Service cannot be pickled or copied: open one in each process")

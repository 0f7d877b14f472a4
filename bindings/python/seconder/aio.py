"""The asynchronous API, for programs that use :mod:`asyncio`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from types import TracebackType

from seconder._async_calls import AsyncAdminCalls, AsyncCalls, AsyncMachineCalls
from seconder._awaited import Opening as Opening, running_loop
from seconder._frames import guarded_class
from seconder._opened import opened
from seconder._threads import Threads
from seconder.enums import Repeats
from seconder.records import AuditPage, JobsRun
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
class AsyncService(AsyncCalls):
    """A :class:`seconder.Service` for programs that use :mod:`asyncio`, with the same calls as
    coroutines; :func:`seconder.open_async` returns one.

    The calls run in the service's own threads, of which there are at most ``threads``; a call that
    finds them all busy waits. :meth:`wait_for_approval` occupies none while it waits.

    A cancelled task continues at once, also after a timeout or Ctrl-C. Its call is not made if no
    thread has begun it. A call that waits for the network ends within 100 ms, and its thread is free
    again; one that an engine in this process has begun is completed. Either may have had its effect:
    after a cancelled :meth:`request_sms`, the code may be on its way.

    Example:
        >>> async def log_in() -> bool:
        ...     async with seconder.open_async("sandbox:") as service:
        ...         user = await service.create_user("ada@example.com", "555-010-0123", 1)
        ...         await service.verify(user.user_id, "1234567")
        ...     return True
        >>> asyncio.run(log_in())
        True
    """

    __slots__ = ()

    def __init__(self, service: seconder.Service, *, threads: int = 16) -> None:
        """Wraps a service that is already open.

        Args:
            service: The service. It is closed with this one.
            threads: How many calls can be in progress at the same time, 1 to 1024.

        Raises:
            InvalidArgument: ``threads`` is out of range.
        """
        self._service = service
        self._threads = Threads(threads)

    @property
    def admin(self) -> AsyncAdmin:
        """As :attr:`seconder.Service.admin`."""
        return AsyncAdmin(self, self._service.admin)

    @property
    def machines(self) -> AsyncMachines:
        """As :attr:`seconder.Service.machines`."""
        return AsyncMachines(self, self._service.machines)

    async def run_jobs(self, budget: float | datetime.timedelta = 5.0) -> JobsRun:
        """As :meth:`seconder.Service.run_jobs`. Where the task is cancelled, no further attempt
        begins."""
        return await self._run(self._service.run_jobs, budget)

    async def wait_for_approval(
        self, uuid: str, user_id: int, *, timeout: float, bound: bool = True
    ) -> Approval:
        """As :meth:`seconder.Service.wait_for_approval`. Cancelling the task ends the wait."""
        wait = self._service._begin_wait(
            {"uuid": uuid, "user_id": user_id, "timeout": timeout, "bound": bound}
        )
        # Each poll is a short call, and the pauses between them are the event loop's, so that a
        # long wait occupies no thread.
        while True:
            reply_or_pause = await self._run(self._service._poll_approval, wait)
            if not isinstance(reply_or_pause, float):
                return Approval._read(reply_or_pause)
            await asyncio.sleep(self._service._pass(reply_or_pause))

    def with_timeout(self, timeout: float) -> typing_extensions.Self:
        """As :meth:`seconder.Service.with_timeout`, with the same threads."""
        return self._like(self._service.with_timeout(timeout))

    def with_repeats(self, repeats: Repeats | typing.Literal["none", "questions", "all"]) -> typing_extensions.Self:
        """As :meth:`seconder.Service.with_repeats`, with the same threads."""
        return self._like(self._service.with_repeats(repeats))

    def cancel(self) -> None:
        """As :meth:`seconder.Service.cancel`. To end one call, cancel its task instead."""
        self._service.cancel()

    async def close(self) -> None:
        """As :meth:`seconder.Service.close`. The threads end with the calls that are in progress.
        The service is closed even if the task is cancelled meanwhile."""
        try:
            # Not in the pool, where it would wait behind the calls that are in progress.
            closing = running_loop().run_in_executor(None, self._service.close)
            await asyncio.shield(closing)
        finally:
            self._threads.stop()

    def _like(self, service: seconder.Service) -> typing_extensions.Self:
        """Wraps another view of the service, on the same threads."""
        made = type(self)(service)
        made._threads = self._threads
        return made

    async def __aenter__(self) -> typing_extensions.Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._service).replace("seconder.Service", "seconder.AsyncService")

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("an AsyncService cannot be pickled or copied: open one in each process")


@guarded_class
class AsyncAdmin(AsyncAdminCalls):
    """A :class:`seconder.admin.Admin` with its calls as coroutines; :attr:`AsyncService.admin` makes
    them."""

    __slots__ = ()

    async def audit_pages(
        self,
        *,
        user_id: int | None = None,
        since: datetime.datetime | float | None = None,
        until: datetime.datetime | float | None = None,
        verdict: str | None = None,
        call: str | None = None,
        user_ip: str | None = None,
        operator_name: str | None = None,
        most: int = 100,
    ) -> AsyncGenerator[AuditPage, None]:
        """As :meth:`seconder.admin.Admin.audit_pages`, for ``async for``. Where it may be left early, close it
        with :func:`contextlib.aclosing`; otherwise the event loop does so in a task of its own."""
        given = locals()
        del given["self"]
        after: str | None = None
        while True:
            page = await self.audit(**given, after=after)
            yield page
            after = page.next
            if after is None:
                return


class AsyncMachines(AsyncMachineCalls):
    """A :class:`seconder.machines.Machines` with its calls as coroutines;
    :attr:`AsyncService.machines` makes them."""

    __slots__ = ()


def opened_with(given: dict[str, typing.Any], threads: int) -> seconder.AsyncService:
    """Opens a service with the arguments of ``open``, and as many threads."""
    # An invalid number of threads must be rejected before a database is created.
    own = Threads(threads)
    service = AsyncService(opened(given, may_await=True))
    service._threads = own
    return service

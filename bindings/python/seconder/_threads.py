"""Makes calls in threads, for an event loop."""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from seconder import _seconder
from seconder._awaited import running_loop
from seconder._calling import CallerPart
from seconder._functions import LOOP
from seconder.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing

    from typing_extensions import ParamSpec

    import seconder

    _P = ParamSpec("_P")
    _T = typing.TypeVar("_T")
else:
    from seconder._later import seconder, typing


class Threads:
    """A bounded pool of threads that make calls. A forked child starts its own, because threads do
    not survive a fork."""

    __slots__ = ("_most", "_pools", "stopped")

    def __init__(self, most: int) -> None:
        if not isinstance(most, int) or not 1 <= most <= 1024:
            raise InvalidArgument("threads must be 1 to 1024", parameter="threads")
        self._most = most
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self.stopped = False

    def pool(self) -> ThreadPoolExecutor:
        pool = self._pools.get(os.getpid())
        if pool is None:
            # Another thread may have just put a pool there, which then wins. A pool that was not
            # used has started no threads, so dropping it is free.
            new = ThreadPoolExecutor(self._most, thread_name_prefix="seconder")
            pool = self._pools.setdefault(os.getpid(), new)
        return pool

    def stop(self) -> None:
        self.stopped = True
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            # Waiting for the calls in progress would block the event loop.
            pool.shutdown(wait=False)


class Threaded:
    """The base of a service whose calls run in threads."""

    __slots__ = ("__weakref__", "_service", "_threads")

    _service: seconder.Service
    _threads: Threads

    async def _run(self, call: Callable[_P, _T], /, *args: _P.args, **options: _P.kwargs) -> _T:
        if self._threads.stopped:
            # The pool is gone, but a closed service raises its error without blocking.
            return call(*args, **options)
        # As asyncio.to_thread does, the call sees the context variables of its task.
        context = contextvars.copy_context()
        loop = running_loop()
        context.run(LOOP.set, loop)
        canceller = _seconder.Canceller()

        # Not a functools.partial, whose repr shows the arguments.
        def running() -> _T:
            in_context = functools.partial(context.run, call, *args, **options)
            return canceller.run(in_context)

        try:
            return await loop.run_in_executor(self._threads.pool(), running)
        finally:
            # If the task was cancelled, its call may still be waiting in the thread.
            canceller.cancel()


class ThreadedPart:
    """The base of a group of calls that run in the threads of a service."""

    __slots__ = ("_of", "_service")

    def __init__(self, of: seconder.AsyncService, service: CallerPart) -> None:
        self._of = of
        self._service: typing.Any = service

    async def _run(self, call: Callable[_P, _T], /, *args: _P.args, **options: _P.kwargs) -> _T:
        return await self._of._run(call, *args, **options)

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} of {self._of!r}>"

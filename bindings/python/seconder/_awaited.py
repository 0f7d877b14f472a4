"""An awaitable that is also an asynchronous context manager, so that ``async with`` needs no
``await`` before it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from seconder._frames import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing

    import seconder

    _Opens = Coroutine[typing.Any, typing.Any, seconder.AsyncService]
    _Enters = AbstractAsyncContextManager[seconder.AsyncService, None]
else:
    from seconder._later import seconder, typing

    _Opens, _Enters = Coroutine, AbstractAsyncContextManager


def running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        # Both are imported by the program, if it uses them.
        others = [name for name in ("trio", "curio") if name in sys.modules]
        found = f" {others[0]} is not supported: call seconder.Service in a thread." if others else ""
        message = f"seconder.AsyncService needs a running event loop of asyncio.{found}"
        raise RuntimeError(message) from None


async def open_async(opening: Callable[[], seconder.AsyncService]) -> seconder.AsyncService:
    """Opens the service in a thread, because opening a database blocks.

    Python's warning about a coroutine that was never awaited shows this function's name.
    """
    running_loop()
    return await asyncio.to_thread(opening)


class Opening(_Opens, _Enters):
    """A service that is being opened; :func:`seconder.open_async` makes it.

    ``await`` returns the service. ``async with`` also closes it at the end of the block. Either can
    be done once. An opening is a coroutine, so :func:`asyncio.run` and :func:`asyncio.create_task`
    accept it.

    Example:
        >>> async def name() -> str:
        ...     async with seconder.open_async("sandbox:") as service:
        ...         return (await service.app_details()).name
        >>> asyncio.run(name())
        'Seconder'
    """

    def __init__(self, opening: Callable[[], seconder.AsyncService]) -> None:
        self._opening = guarded(open_async)(opening)

    def __await__(self) -> Generator[typing.Any, typing.Any, seconder.AsyncService]:
        return self._opening.__await__()

    def send(self, value: typing.Any, /) -> typing.Any:
        """As :meth:`collections.abc.Coroutine.send`, for the event loop."""
        return self._opening.send(value)

    def throw(self, *error: typing.Any) -> typing.Any:
        """As :meth:`collections.abc.Coroutine.throw`, for the event loop."""
        return self._opening.throw(*error)

    def close(self) -> None:
        """As :meth:`collections.abc.Coroutine.close`, for the event loop: the service is then never
        opened. A service that is already open is not closed."""
        self._opening.close()

    async def __aenter__(self) -> seconder.AsyncService:
        self._opened = await self._opening
        return self._opened

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._opened.close()

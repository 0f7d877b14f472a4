"""Keeps arguments out of tracebacks. Error reporters also send the local variables of the frames
that an exception has passed, and this package's frames hold codes, keys and numbers."""

from __future__ import annotations

from functools import wraps

from seconder.errors import SecondFactorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])
    _K = TypeVar("_K", bound=type)

_PACKAGE = __name__.partition(".")[0]
_IS_GENERATOR, _IS_COROUTINE, _IS_ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""``inspect.CO_GENERATOR`` and so on; importing :mod:`inspect` takes long."""


def guarded(function: _F) -> _F:
    """The same function, whose exceptions have no frame with its arguments."""
    if function.__code__.co_flags & _IS_COROUTINE:

        @wraps(function)
        async def awaited(*args: Any, **options: Any) -> Any:
            try:
                return await function(*args, **options)
            except BaseException as error:
                args, options = (), {}
                raise error.with_traceback(_bare(error))

        return awaited  # type: ignore[return-value]
    if function.__code__.co_flags & _IS_ASYNC_GENERATOR:

        @wraps(function)
        async def each_awaited(*args: Any, **options: Any) -> Any:
            items = function(*args, **options)
            args, options = (), {}
            try:
                async for item in items:
                    yield item
            except BaseException as error:
                # Otherwise, the event loop would close them, in a task of its own.
                await items.aclose()
                raise error.with_traceback(_bare(error))

        return each_awaited  # type: ignore[return-value]
    if function.__code__.co_flags & _IS_GENERATOR:

        @wraps(function)
        def each(*args: Any, **options: Any) -> Any:
            items = function(*args, **options)
            args, options = (), {}
            try:
                yield from items
            except BaseException as error:
                raise error.with_traceback(_bare(error))

        return each  # type: ignore[return-value]

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except BaseException as error:
            args, options = (), {}
            raise error.with_traceback(_bare(error))

    return called  # type: ignore[return-value]


def guarded_class(kind: _K) -> _K:
    """The same class, with all its public methods guarded."""
    for name, each in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(each, classmethod):
            setattr(kind, name, classmethod(guarded(each.__func__)))
        elif hasattr(each, "__code__"):
            setattr(kind, name, guarded(each))
    return kind


def _bare(error: BaseException) -> TracebackType | None:
    """The traceback of an exception without the arguments of this package. All frames within one of its
    errors belong to it, or to the threads that it uses."""
    return None if isinstance(error, SecondFactorError) else without_own(error)


def without_own(error: BaseException) -> TracebackType | None:
    """The traceback of an exception without the frames of this package."""
    return without(error, _PACKAGE)


def without(error: BaseException, *packages: str) -> TracebackType | None:
    """The traceback of an exception without the frames of these packages."""
    kept: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        if _package(trace.tb_frame) not in packages:
            kept.append(trace)
        trace = trace.tb_next
    rest: TracebackType | None = None
    for each in reversed(kept):
        rest = type(each)(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]

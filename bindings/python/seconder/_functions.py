"""The functions of the application that an engine calls: ``deliver``, ``post`` and ``lookup``."""

from __future__ import annotations

from contextvars import ContextVar

from seconder._frames import without_own
from seconder._calling import _moment
from seconder.enums import Channel, LineType
from seconder.errors import InvalidArgument
from seconder.outcomes import _parts_of
from seconder.records import Message, PhoneLine, SignedCallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    _Function = Callable[[Any], object]
    _Parts = tuple[str, "str | None", "float | None"]
    _Line = tuple["str | None", "str | None", "bool | None"]

LOOP: ContextVar[AbstractEventLoop | None] = ContextVar("seconder_loop", default=None)
"""The event loop of the task that makes a call."""

ASYNC_LIMIT = 15.0
"""The default time limit of an async function, in seconds; the application can set another."""
_LONGEST_LIMIT = 3600


def checked(name: str, given: _Function, *, may_await: bool) -> _Function:
    """Rejects what cannot be called at once, before the first message is lost."""
    if not callable(given):
        raise InvalidArgument(f"{name} must be a function", parameter=name)
    # Importing it takes long, and only an application with functions of its own needs it.
    import inspect

    if _is_async(given) and not may_await:
        raise InvalidArgument(
            f"{name} must not be an async function: open_async() takes one", parameter=name
        )
    try:
        inspect.signature(given).bind(object())
    except TypeError as error:
        raise InvalidArgument(f"{name} must take one argument: {error}", parameter=name) from None
    except ValueError:
        # A function that is not written in Python, and does not say what it takes.
        pass
    return given


def checked_limit(limit: float | None, deliver: object) -> float | None:
    """Rejects a limit that no function has, or that none can keep."""
    if limit is None:
        return None
    if deliver is None:
        message = "deliver_timeout has no effect without deliver"
        raise InvalidArgument(message, parameter="deliver_timeout")
    # A bool is an int too. A number that is not one is not above 0 either.
    number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
    if not number or not 0 < limit <= _LONGEST_LIMIT:
        message = f"deliver_timeout must be a number of seconds above 0, at most {_LONGEST_LIMIT}"
        raise InvalidArgument(message, parameter="deliver_timeout")
    return float(limit)


def carrier(
    deliver: _Function, limit: float | None = None
) -> Callable[[str, str, str, str, str, str, int], _Parts]:
    """Returns the function that the engine calls with the parts of a message. It returns the
    outcome's."""

    def carry(
        id: str, to: str, via: str, text: str, language: str, code: str, expires_at: int
    ) -> _Parts:
        # The install message has no code that could expire.
        expires = _moment(expires_at) if code else None
        if expires is None and code:
            raise ValueError("the code expires after the last year that datetime supports")
        message = Message(
            to=to,
            via=Channel(via),
            text=text,
            code=code,
            expires_at=expires,
            id=id,
            language=language,
        )
        # Error reporters send local variables too. A message does not show its code.
        del to, text, code
        try:
            parts = _parts_of("deliver", _run("deliver", deliver, message, limit))
        except Exception as error:
            failure = _failed("deliver", error, message.code, message.to)
        else:
            _log_outcome("deliver", parts, message.code, message.to)
            return parts
        del message
        raise failure

    return carry


def poster(post: _Function) -> Callable[[str, bytes, list[tuple[str, str]]], _Parts]:
    """Returns the function that the engine calls with the parts of a callback. It returns the
    outcome's."""

    def send(url: str, body: bytes, headers: list[tuple[str, str]]) -> _Parts:
        url, _, query = url.partition("?")
        # Only a POST has a body, and never an empty one.
        method: Literal["POST", "GET"] = "POST" if body else "GET"
        callback = SignedCallback(
            url=url, body=body, headers=dict(headers), method=method, query=query
        )
        try:
            parts = _parts_of("post", _run("post", post, callback, None))
        except Exception as error:
            failure = _failed("post", error, "", "")
        else:
            _log_outcome("post", parts, "", "")
            return parts
        del callback
        del body, headers, query
        raise failure

    return send


def looker(lookup: _Function) -> Callable[[str], _Line | None]:
    """Returns the function that the engine calls with a number. It returns the line's data, or
    None if the look-up failed."""

    def look_up(number: str) -> _Line | None:
        try:
            line = _run("lookup", lookup, number, None)
            return None if line is None else _line_of(line)
        except Exception as error:
            # No call fails because of it.
            _failed("lookup", error, "", number)
            return None

    return look_up


def _line_of(line: object) -> _Line:
    if not isinstance(line, PhoneLine):
        given = type(line).__name__
        raise TypeError(f"lookup must return a seconder.results.PhoneLine or None, not {given}")
    kind = None if line.kind is None else LineType(line.kind).value
    return line.carrier, kind, line.ported


def _is_async(function: _Function) -> bool:
    import inspect

    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _run(name: str, function: _Function, value: object, limit: float | None) -> object:
    if LOOP.get() is not None and _is_async(function):
        return _on_loop(name, lambda: function(value), limit)
    result: Any = function(value) if limit is None else _in_thread(name, function, value, limit)
    if not hasattr(result, "__await__"):
        return result
    if LOOP.get() is not None:
        return _on_loop(name, lambda: result, limit)
    # It would never run, and the message would be lost silently.
    if hasattr(result, "close"):
        # A closed coroutine does not warn that it was never awaited.
        result.close()
    raise TypeError(f"{name} must not return an awaitable: open_async() takes an async function")


def _on_loop(name: str, begin: Callable[[], Any], limit: float | None) -> object:
    """Runs an async function on the loop of the call, whose thread waits for it."""
    import asyncio
    from concurrent.futures import CancelledError, TimeoutError as Late

    loop = LOOP.get()
    assert loop is not None
    seconds = ASYNC_LIMIT if limit is None else limit

    async def run() -> object:
        return await asyncio.wait_for(begin(), seconds)

    running = asyncio.run_coroutine_threadsafe(run(), loop)
    try:
        # The loop ends it in time, unless the loop itself has stopped.
        return running.result(seconds + 1)
    except CancelledError:
        raise RuntimeError(f"{name} was cancelled by the event loop") from None
    except (Late, asyncio.TimeoutError, TimeoutError) as error:
        if running.cancel() or isinstance(error, TimeoutError):
            raise TimeoutError(f"{name} took longer than {seconds:g} s") from error
        raise


def _in_thread(name: str, function: _Function, value: object, limit: float) -> object:
    """Runs a function that cannot be ended in a thread of its own, which is given up after a while."""
    import threading
    from contextvars import copy_context

    context, outcome = copy_context(), list[tuple[object, "BaseException | None"]]()

    def run() -> None:
        try:
            outcome.append((context.run(function, value), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, name=f"seconder-{name}", daemon=True)
    thread.start()
    thread.join(limit)
    if not outcome:
        raise TimeoutError(f"{name} took longer than {limit:g} s, and was given up")
    result, error = outcome.pop()
    if error is not None:
        raise error
    return result


def _log_outcome(name: str, parts: _Parts, code: str, number: str) -> None:
    """Logs what was not sent: no error of a call says so, if another attempt is to come."""
    kind, reason, _ = parts
    if kind == "sent":
        return
    import logging

    shown = _hidden(reason or "", (code, number, number.lstrip("+")))
    logging.getLogger("seconder").warning("%s returned %s: %s", name, kind.capitalize(), shown)


def _hidden(shown: str, secrets: Iterable[str]) -> str:
    for secret in filter(None, secrets):
        shown = shown.replace(secret, "[hidden]")
    return shown


def _failed(name: str, error: Exception, code: str, number: str) -> Exception:
    """Logs the exception of a function with its traceback, and returns it, or another one if its text
    includes the code. The log has neither the code nor the number."""
    import logging
    import traceback

    error.__traceback__ = without_own(error)
    shown = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    secrets = [text for text in (code, number, number.lstrip("+")) if text and text in shown]
    log = logging.getLogger("seconder")
    kind = type(error).__name__
    if secrets:
        log.error("%s failed:\n%s", name, _hidden(shown, secrets).rstrip())
    else:
        log.error("%s failed", name, exc_info=error)
    if code in secrets:
        stands_for = RuntimeError(f"{name} raised {kind}, whose text includes the code")
        return stands_for.with_traceback(error.__traceback__)
    return error

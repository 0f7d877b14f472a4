"""The HTTP response to a callback, whichever framework received it."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Iterable
from types import TracebackType

from seconder import callback
from seconder._frames import guarded, without_own
from seconder.errors import InvalidArgument, InvalidCallback, SecondFactorError, StorageError
from seconder.names import Names
from seconder.records import Event

BODY_LIMIT = 2**20
"""The largest body that is read, in bytes."""

METHODS = ("GET", "POST")
"""The methods of callbacks (section 6)."""

_log = logging.getLogger("seconder.contrib")


class RejectedRequest(Exception):
    """A rejected request, and the response to it."""

    def __init__(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}


def too_large() -> RejectedRequest:
    """The response to a body that is larger than any callback."""
    return RejectedRequest(413, "A callback has at most 1 MiB.\n")


def incomplete() -> RejectedRequest:
    """The response to a body that is shorter than announced."""
    return RejectedRequest(400, "The body is incomplete.\n")


class Receiver:
    """Verifies callbacks: that they are signed, fresh, and received for the first time. The
    parameters are those of the frameworks' ``callback``.

    Raises:
        InvalidArgument: A parameter is invalid. It is raised here, not when the first callback
            arrives.
    """

    def __init__(
        self,
        *,
        api_key: str,
        url: str | Iterable[str],
        replay: callback.Replay,
        fresh: float | None,
        names: Names | None,
    ) -> None:
        self._api_key = api_key
        self._urls = [url] if isinstance(url, str) else list(url)
        self._replay = _CheckedReplay(_memory(replay, fresh))
        self._fresh = fresh
        self._names = Names() if names is None else names
        # An unsigned callback is rejected, unless a parameter is found to be invalid before that.
        try:
            self._verify("POST", b"{}", "", "none", "none")
        except InvalidCallback:
            pass

    @guarded
    def event(
        self,
        method: str,
        query: bytes | str,
        body: Callable[[], bytes],
        header: Callable[[str], str | None],
    ) -> Event:
        """Returns the event that a request reports.

        Args:
            method: The request's method.
            query: The raw query.
            body: Reads the body of a POST, at most one byte more than :data:`BODY_LIMIT` of it.
            header: The value of a header, by its name.

        Raises:
            RejectedRequest: The request must not be trusted; the exception holds the response.
        """
        if method not in METHODS:
            allow = {"Allow": ", ".join(METHODS)}
            raise RejectedRequest(405, "A callback is a GET or a POST.\n", allow)
        raw = body() if method == "POST" else b""
        if len(raw) > BODY_LIMIT:
            raise too_large()
        if method == "POST" and not raw:
            raise RejectedRequest(400, "There is no body.\n")
        text = query.decode("latin-1") if isinstance(query, bytes) else query
        if not text.isascii():
            raise RejectedRequest(400, "The query is not encoded.\n")
        signature = header(self._names.signature_header)
        nonce = header(self._names.nonce_header)
        try:
            return self._verify(method, raw, text, signature, nonce)
        except InvalidCallback as error:
            _log.warning("%s", error)
            raise RejectedRequest(401, "The callback was rejected.\n") from error
        except InvalidArgument:
            # A mistake in the application, not in the callback, so it must not look like a 503.
            raise
        except SecondFactorError as error:
            # Error trackers send what frames hold, and those that remain hold the signature.
            error.__traceback__ = without_own(error)
            _log.error("a callback could not be checked: %s", error, exc_info=True)
            wait = error.retry_after
            headers = {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}
            raise RejectedRequest(503, "Try again later.\n", headers) from error

    def _verify(
        self, method: str, body: bytes, query: str, signature: str | None, nonce: str | None
    ) -> Event:
        return callback.verify(
            api_key=self._api_key,
            url=self._urls,
            method=method,
            body=body,
            query=query,
            signature=signature,
            nonce=nonce,
            names=self._names,
            fresh=self._fresh,
            replay=self._replay,
        )


def _memory(replay: callback.Replay, fresh: float | None) -> callback.Replay:
    """Rejects an unsuitable memory at once, instead of when the first callback arrives."""
    if not callable(getattr(replay, "first_time", None)):
        raise InvalidArgument("replay must have first_time(key, until)", parameter="replay")
    if fresh is None and isinstance(replay, callback.Memory):
        # It raises InvalidArgument, because nothing would ever be forgotten.
        replay.first_time("", math.inf)
    return replay


def done(result: object) -> None:
    """Rejects the result of an async function: it would never run, and the event would be lost
    silently."""
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            # A closed coroutine does not warn that it was never awaited.
            result.close()
        raise TypeError("the callback function returned an awaitable: declare it with `async def`")


class _CheckedReplay:
    """A memory whose failures are raised as :class:`StorageError`, so that the response is a 503
    and the service may retry."""

    def __init__(self, memory: callback.Replay) -> None:
        self._memory = memory

    def first_time(self, key: str, until: float) -> bool:
        try:
            return self._memory.first_time(key, until)
        except SecondFactorError:
            raise
        except Exception as error:
            error.__traceback__ = without_own(error)
            raise StorageError("the memory of received callbacks failed") from error


class Needs:
    """A context manager that says what to install if an import in its block fails."""

    def __init__(self, module: str, package: str) -> None:
        self._message = f"{module} needs {package}: pip install {package.lower()}"

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, ModuleNotFoundError):
            raise ModuleNotFoundError(self._message, name=error.name) from error

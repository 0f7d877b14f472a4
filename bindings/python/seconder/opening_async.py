# Written by tools/generate from bindings/python/opening_async.py.in and src/{open_options,app_settings}.rs.
"""``open_async(url)``: opens a service for programs that use :mod:`asyncio`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from seconder._awaited import Opening
from seconder._frames import guarded
from seconder.aio import opened_with
from seconder.names import Names
from seconder.outcomes import Outcome
from seconder.records import CallRecord, Message, PhoneLine, SignedCallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    import seconder
else:
    from seconder._later import seconder

_Returned = Outcome | str | Awaitable[Outcome | str | None] | None
_LookedUp = PhoneLine | None | Awaitable[PhoneLine | None]


@guarded
def open_async(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float | None = None,
    names: Names | None = None,
    client: seconder.ClientOptions | None = None,
    engine: seconder.EngineOptions | None = None,
    deliver: Callable[[Message], _Returned] | None = None,
    deliver_timeout: float | None = None,
    post: Callable[[SignedCallback], _Returned] | None = None,
    lookup: Callable[[str], _LookedUp] | None = None,
    on_call: Callable[[CallRecord], object] | None = None,
    threads: int = 16,
) -> Opening:
    """Opens a service for programs that use :mod:`asyncio`. The settings are those of
    :func:`seconder.open`.

    ``deliver``, ``post`` and ``lookup`` may be async functions here, which run on the event loop of the call that
    needs them. Plain functions run in the thread of the call. So does ``on_call``, which is always a
    plain function.

    Args:
        threads: How many calls can be in progress at the same time, 1 to 1024.

    Returns:
        A :class:`seconder.aio.Opening`. ``await`` on it returns the service, and ``async with`` also
        closes it at the end of the block.

    Raises:
        InvalidArgument: The URL or a setting is invalid, or a setting has no effect with this URL;
            ``parameter`` names it.
        StorageError: The database cannot be opened; it is left unchanged.
        Unauthorized: The database has no application with that API key.

    Example:
        >>> asyncio.run(seconder.open_async("sandbox:"))
        <seconder.AsyncService on sandbox:>
    """
    given = locals()
    threads = given.pop("threads")
    return Opening(lambda: opened_with(given, threads))

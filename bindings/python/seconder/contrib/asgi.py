"""Callbacks in Starlette and FastAPI.

>>> import fastapi, seconder
>>> from seconder.contrib.asgi import callback
>>> from seconder.contrib.replay import SqlReplay
>>> app = fastapi.FastAPI()
>>> @callback(api_key="the-application-key", url="https://app.example/seconder/callback",
...           replay=SqlReplay.sqlite("replay.db"))
... async def answered(event: seconder.results.Event) -> None:
...     print(f"approval {event.uuid}: {event.status} by user {event.user_id}")
>>> app.add_route("/seconder/callback", answered, methods=["GET", "POST"])
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable

from seconder._frames import without_own
from seconder.callback import Replay
from seconder.contrib._receiver import (
    BODY_LIMIT,
    Needs,
    Receiver,
    RejectedRequest,
    incomplete,
    too_large,
)
from seconder.names import Names
from seconder.records import Event

with Needs(__name__, "Starlette"):
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response

__all__ = ["callback"]


def callback(
    *,
    api_key: str,
    url: str | Iterable[str],
    replay: Replay,
    fresh: float | None = 300.0,
    names: Names | None = None,
) -> Callable[[Callable[[Event], object]], Callable[[Request], Awaitable[Response]]]:
    """Makes an endpoint from a function that takes an event.

    The function is called for a callback that is signed, fresh and received for the first time; its
    result is ignored. It may be ``async``; otherwise it runs in a thread, as Starlette's endpoints
    do, and so does the memory. If it raises, the response is a 500, and the callback is
    posted again with a new signature, so the function may receive one response twice. The header
    ``Seconder-Delivery`` is the same in all attempts.

    The endpoint responds with 200; 401 to a callback that is rejected; 405 to another method; 400
    to a request without a body and 413 to one of more than 1 MiB; 503 if the memory fails or is
    full.

    Args:
        api_key: The application's API key, with which the service signs.
        url: The callback URL as it is configured with the service, scheme included; or several.
            The host that the request names is ignored.
        replay: The memory of received callbacks: one that all processes share, such as those of
            :mod:`seconder.contrib.replay`.
        fresh: The maximum age of a callback, in seconds; None for a service whose nonces are not
            times.
        names: The service's names, if they differ from the interface document's.

    Raises:
        InvalidArgument: A parameter is invalid.
    """
    receiver = Receiver(api_key=api_key, url=url, replay=replay, fresh=fresh, names=names)

    def decorate(
        function: Callable[[Event], object],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                event = await _event(receiver, request)
            except RejectedRequest as rejected:
                return Response(rejected.text, rejected.status, rejected.headers)
            except Exception as error:
                raise error.with_traceback(without_own(error))
            finally:
                # Error trackers send it with its headers, and one is the signature.
                del request
            if inspect.iscoroutinefunction(function):
                await function(event)
            else:
                result = await run_in_threadpool(function, event)
                # For example a lambda that calls an async function.
                if inspect.isawaitable(result):
                    await result
            return Response(media_type="text/plain")

        endpoint.__name__ = getattr(function, "__name__", "callback")
        endpoint.__doc__ = function.__doc__
        return endpoint

    return decorate


async def _event(receiver: Receiver, request: Request) -> Event:
    query: bytes = request.scope["query_string"]
    body = await _body(request)
    return await run_in_threadpool(
        receiver.event, request.method, query, lambda: body, request.headers.get
    )


async def _body(request: Request) -> bytes:
    # The body is read in chunks, so that an oversized one is rejected before it fills the memory.
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_LIMIT:
                raise too_large()
    except ClientDisconnect as error:
        raise incomplete() from error
    return bytes(body)

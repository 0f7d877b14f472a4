"""Callbacks in Starlette and FastAPI.

>>> import fastapi, seconder
>>> from seconder.contrib.asgi import callback
>>> from seconder.contrib.replay import SqlReplay
>>> app = fastapi.FastAPI()
>>> @callback(api_key="the application's key", url="https://app.example/seconder/callback",
...           replay=SqlReplay.sqlite("replay.db"))
... async def answered(event: seconder.Event) -> None:
...     print(f"user {event.user_id} said {event.status} to {event.uuid}")
>>> app.add_route("/seconder/callback", answered, methods=["GET", "POST"])
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable

from seconder.callback import Replay
from seconder.contrib._receiver import BODY_LIMIT, Needs, Receiver, Rejected, incomplete, too_large
from seconder.names import Names
from seconder.results import Event

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
    """Makes an endpoint of a function that takes an event.

    The function is called for what is signed, fresh and here for the first time; what it returns is
    ignored. It may be ``async``; one that is not runs in a thread, as Starlette's endpoints do, and
    so does the memory. When it raises, the answer is 500: an engine of Seconder posts each callback
    once, so ask ``check_approval`` for what was missed; another service may try again, so the
    function may learn of one answer twice.

    The endpoint answers with 200; 401 to what is not believed; 405 to another method; 400 to a
    request without a body and 413 to one of more than 1 MiB; 503 when the memory fails or is full.

    Args:
        api_key: The application's API key, which the service signs with.
        url: The callback URL as it is configured with the service, scheme included; or several.
            What the request says of its host is never looked at.
        replay: What remembers callbacks: one that all processes share, such as those of
            :mod:`seconder.contrib.replay`.
        fresh: How old a callback may be, in seconds; None for a service whose nonces are no times.
        names: What the service calls its headers and fields, where it is not as the interface
            document does.

    Raises:
        InvalidArgument: A parameter cannot be right.
    """
    receiver = Receiver(
        api_key=api_key, url=url, replay=replay, fresh=fresh, names=names
    )

    def decorate(
        function: Callable[[Event], object],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            query: bytes = request.scope["query_string"]
            try:
                body = await _body(request)
                event = await run_in_threadpool(
                    receiver.event, request.method, query, lambda: body, request.headers.get
                )
            except Rejected as rejected:
                return Response(rejected.text, rejected.status, rejected.headers)
            if inspect.iscoroutinefunction(function):
                await function(event)
            else:
                told = await run_in_threadpool(function, event)
                if inspect.isawaitable(told):
                    await told
            return Response(media_type="text/plain")

        endpoint.__name__ = getattr(function, "__name__", "callback")
        endpoint.__doc__ = function.__doc__
        return endpoint

    return decorate


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_LIMIT:
                raise too_large()
    except ClientDisconnect as error:
        raise incomplete() from error
    return bytes(body)

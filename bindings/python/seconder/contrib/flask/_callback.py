"""Callbacks in Flask."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flask import Response, current_app, request
from werkzeug.exceptions import ClientDisconnected

from seconder.callback import Replay
from seconder.contrib._receiver import (
    BODY_LIMIT,
    Receiver,
    RejectedRequest,
    done,
    incomplete,
    too_large,
)
from seconder.names import Names
from seconder.records import Event

__all__ = ["callback"]


def callback(
    *,
    api_key: str,
    url: str | Iterable[str],
    replay: Replay,
    fresh: float | None = 300.0,
    names: Names | None = None,
) -> Callable[[Callable[[Event], object]], Callable[[], Response]]:
    """Makes a view from a function that takes an event.

    The function is called for a callback that is signed, fresh and received for the first time; its
    result is ignored, and it may be ``async`` if Flask's views may. If it raises, the response is a
    500, and the callback is posted again with a new signature, so the function may receive one
    response twice. The header ``Seconder-Delivery`` is the same in all attempts.

    The view responds with 200; 401 to a callback that is rejected; 405 to another method; 400 to a
    request without a body and 413 to one of more than 1 MiB; 503 if the memory fails or is full.

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

    def decorate(function: Callable[[Event], object]) -> Callable[[], Response]:
        def view() -> Response:
            query = request.environ.get("QUERY_STRING", "")
            try:
                event = receiver.event(request.method, query, _body, request.headers.get)
            except RejectedRequest as rejected:
                return Response(rejected.text, rejected.status, rejected.headers)
            done(current_app.ensure_sync(function)(event))
            return Response(status=200, mimetype="text/plain")

        view.__name__ = getattr(function, "__name__", "callback")
        view.__doc__ = function.__doc__
        return view

    return decorate


def _body() -> bytes:
    length = request.content_length
    if length is not None and length > BODY_LIMIT:
        raise too_large()
    try:
        if length is None:
            # A chunked body does not announce its length: read one byte more than is allowed.
            return request.stream.read(BODY_LIMIT + 1)
        return request.get_data()
    except ClientDisconnected as error:
        raise incomplete() from error

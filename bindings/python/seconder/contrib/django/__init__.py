"""The second factor in Django.

Add ``"seconder.contrib.django"`` to ``INSTALLED_APPS``, which requires ``django.contrib.auth``, set
``SECONDER``, and run ``migrate``. :func:`service` then returns the service. To receive callbacks,
write among the views::

    from django.conf import settings
    from seconder.contrib.django import callback

    @callback(api_key=settings.SECONDER_KEY, url="https://app.example/seconder/callback")
    def answered(event: seconder.results.Event) -> None:
        logger.info("approval %s: %s by user %s", event.uuid, event.status, event.user_id)

    urlpatterns = [path("seconder/callback", answered)]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

from seconder.callback import Replay
from seconder.contrib._receiver import (
    BODY_LIMIT,
    Needs,
    Receiver,
    RejectedRequest,
    done,
    incomplete,
    too_large,
)
from seconder.names import Names
from seconder.records import Event

with Needs(__name__, "Django"):
    from django.http import HttpRequest, HttpResponse, UnreadablePostError
from asgiref.sync import async_to_sync
from django.views.decorators.csrf import csrf_exempt

from seconder.contrib.django import checks
from seconder.contrib.django._service import service
from seconder.contrib.django.middleware import user_ip
from seconder.contrib.django.replay import CacheReplay, TableReplay

__all__ = ["CacheReplay", "TableReplay", "callback", "service", "user_ip"]


def callback(
    *,
    api_key: str,
    url: str | Iterable[str],
    replay: Replay | None = None,
    fresh: float | None = 300.0,
    names: Names | None = None,
) -> Callable[[Callable[[Event], object]], Callable[[HttpRequest], HttpResponse]]:
    """Makes a view from a function that takes an event.

    The function is called for a callback that is signed, fresh and received for the first time; its
    result is ignored, and it may be ``async``. If it raises, the response is a 500, and the callback
    is posted again with a new signature, so the function may receive one response twice. The header
    ``Seconder-Delivery`` is the same in all attempts. The view needs no CSRF token, because the
    signature is stronger proof.

    The view responds with 200; 401 to a callback that is rejected; 405 to another method; 400 to a
    request without a body and 413 to one of more than 1 MiB; 503 if the memory fails.

    Args:
        api_key: The application's API key, with which the service signs.
        url: The callback URL as it is configured with the service, scheme included; or several.
            The host that the request names is ignored.
        replay: The memory of received callbacks: one that all processes share. Default:
            :class:`TableReplay`.
        fresh: The maximum age of a callback, in seconds; None for a service whose nonces are not
            times.
        names: The service's names, if they differ from the interface document's.

    Raises:
        InvalidArgument: A parameter is invalid.
        ImproperlyConfigured: The default memory is used and its app is not installed.
    """
    memory = TableReplay() if replay is None else replay
    receiver = Receiver(api_key=api_key, url=url, replay=memory, fresh=fresh, names=names)
    checks.RECEIVERS.append(memory)

    def decorate(
        function: Callable[[Event], object],
    ) -> Callable[[HttpRequest], HttpResponse]:
        act = async_to_sync(function) if inspect.iscoroutinefunction(function) else function

        @csrf_exempt
        def view(request: HttpRequest) -> HttpResponse:
            query, headers = request.META.get("QUERY_STRING", ""), request.headers
            try:
                event = receiver.event(
                    request.method or "", query, lambda: _body(request), headers.get
                )
            except RejectedRequest as rejected:
                return HttpResponse(
                    rejected.text, status=rejected.status, headers=rejected.headers
                )
            done(act(event))
            return HttpResponse(content_type="text/plain")

        view.__name__ = getattr(function, "__name__", "callback")
        view.__doc__ = function.__doc__
        return view

    return decorate


def _body(request: HttpRequest) -> bytes:
    # Django reports a length that is not a number as 0, so the header is read directly.
    length = request.META.get("CONTENT_LENGTH") or None
    if length is not None and not (length.isascii() and length.isdigit()):
        raise incomplete()
    if length is not None and (len(length) > 7 or int(length) > BODY_LIMIT):
        raise too_large()
    try:
        return request.read(BODY_LIMIT + 1) if length is None else request.body
    except UnreadablePostError as error:
        raise incomplete() from error

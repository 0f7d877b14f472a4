"""Middleware, from which the calls learn whose request is handled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, ClassVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest

from seconder.contrib import _visitor
from seconder.contrib.django import _settings

__all__ = ["VisitorMiddleware", "user_ip"]

_request: ContextVar[HttpRequest | None] = ContextVar("seconder_request", default=None)


class VisitorMiddleware:
    """For ``MIDDLEWARE``: lets :func:`user_ip`, and with it the calls of
    :mod:`seconder.contrib.django.accounts`, know whose request is handled."""

    sync_capable: ClassVar[bool] = True
    """True if it takes synchronous views."""
    async_capable: ClassVar[bool] = True
    """True if it takes asynchronous ones."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Handles a request."""
        if iscoroutinefunction(self.get_response):
            return self._awaited(request)
        before = _request.set(request)
        try:
            return self.get_response(request)
        finally:
            _request.reset(before)

    async def _awaited(self, request: HttpRequest) -> Any:
        before = _request.set(request)
        try:
            response: Awaitable[Any] = self.get_response(request)
            return await response
        finally:
            _request.reset(before)


def user_ip() -> str | None:
    """Returns the address of the visitor whose request is handled, for the argument ``user_ip`` of
    calls: what the function ``SECONDER["USER_IP"]`` returns. Without one, it is the address of the
    connection if that is public, and None if it is likely to be a proxy's. None outside of a request,
    and without :class:`VisitorMiddleware`.

    Raises:
        InvalidArgument: The function returned neither an IP address nor None.
    """
    request = _request.get()
    if request is None:
        return None
    return _visitor.of_request(
        request,
        _settings.visitor(),
        'SECONDER["USER_IP"]',
        address=request.META.get("REMOTE_ADDR"),
        header=request.headers.get,
    )

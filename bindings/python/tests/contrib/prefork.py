"""An application that a server loads before it forks its workers: ``contrib.prefork:load(WAY)``.

Its responses say whether a code was right, and which process checked it."""

from __future__ import annotations

import functools
import importlib
import os
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

import seconder


def open_service() -> seconder.Service:
    certificate = os.environ.get("CA_FILE")
    return seconder.open(
        os.environ["SERVICE_URL"],
        api_key=os.environ.get("API_KEY"),
        client=seconder.ClientOptions(ca_file=certificate) if certificate else None,
    )


def reopened_by_the_hook() -> seconder.Service:
    shop: Any = importlib.import_module("shop")
    service: seconder.Service = shop.service
    return service


def load(way: str) -> Callable[..., Iterable[bytes]]:
    """Opens the service before the fork (``before``), when a worker first uses it (``lazily``), or
    before the fork for a hook that reopens it (``hook``)."""
    get = reopened_by_the_hook if way == "hook" else functools.cache(open_service)
    if way != "lazily":
        # This establishes a connection that is kept alive across the fork.
        get().app_details()

    def application(environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
        query = dict(parse_qsl(environ["QUERY_STRING"]))
        if not query:
            start("404 Not Found", [("Content-Type", "text/plain")])
            return []
        # Gives the other workers time to accept requests, so that each of them serves some.
        time.sleep(0.05)
        try:
            get().verify(int(query["user"]), query["code"])
            status, body = "200 OK", ""
        except (seconder.TokenInvalid, seconder.RateLimited):
            status, body = "401 Unauthorized", ""
        except seconder.SecondFactorError as error:
            status, body = "500 Internal Server Error", f"{type(error).__name__}: {error}"
        start(status, [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))])
        return [body.encode()]

    return application

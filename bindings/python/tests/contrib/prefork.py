"""An application that a server loads before it forks its workers: ``contrib.prefork:load(WAY)``.

It says of each code whether it was right, and which process looked."""

from __future__ import annotations

import functools
import importlib
import os
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

import seconder

SETTINGS = ("API_KEY", "CA_FILE")


def open_service() -> seconder.Service:
    given: Any = {name.lower(): os.environ[name] for name in SETTINGS if name in os.environ}
    return seconder.open(os.environ["SERVICE_URL"], **given)


def opened_by_the_hook() -> seconder.Service:
    shop: Any = importlib.import_module("shop")
    found: seconder.Service = shop.service
    return found


def load(way: str) -> Callable[..., Iterable[bytes]]:
    """Opens the service before the fork (``before``), at a worker's first use of it (``lazily``), or
    leaves that to a hook (``hook``)."""
    find = opened_by_the_hook if way == "hook" else functools.cache(open_service)
    if way == "before":
        # A connection is kept alive from here on.
        find().app_details()

    def application(environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
        asked = dict(parse_qsl(environ["QUERY_STRING"]))
        if not asked:
            start("404 Not Found", [("Content-Type", "text/plain")])
            return []
        # Meanwhile the others get theirs.
        time.sleep(0.05)
        try:
            find().verify(asked["code"], int(asked["user"]), force=True)
            status, told = "200 OK", ""
        except (seconder.TokenInvalid, seconder.RateLimited):
            status, told = "401 Unauthorized", ""
        except seconder.SecondFactorError as error:
            status, told = "500 Internal Server Error", f"{type(error).__name__}: {error}"
        start(status, [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))])
        return [told.encode()]

    return application

"""Ends the interpreter while a thread is in a call: ``python exits.py STATE FOLDER``. Before 3.14, CPython ends
such a thread as soon as it asks for the global lock, which must not crash the process. The test of a wheel
runs it by other Pythons, so it needs the standard library alone."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import seconder

HOLD = 0.3
"""The duration of a function of the application: the interpreter begins to end before."""


class Slow:
    """Takes a second to be deleted, in which threads run that the interpreter then ends."""

    def __del__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        sleep(1)


class Memory:
    """A replay memory that takes a while."""

    def first_time(self, key: str, until: float) -> bool:
        time.sleep(HOLD)
        return True


class Handler(logging.Handler):
    """A handler of the log that takes a while."""

    def emit(self, record: logging.LogRecord) -> None:
        time.sleep(HOLD)


def for_ever(work: Callable[[], object]) -> None:
    while True:
        work()


def sandbox() -> tuple[seconder.Service, int]:
    service = seconder.open("sandbox:?accept=1234567")
    return service, service.create_user("ada@example.com", "555-010-0123", 1).user_id


def approval(folder: Path) -> Callable[[], object]:
    service, user_id = sandbox()
    service.register_device(user_id, "android")
    uuid = service.create_approval(user_id, "Log in?").uuid
    return lambda: service.wait_for_approval(uuid, user_id, timeout=60)


def silent_server(folder: Path) -> Callable[[], object]:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    key = "0123456789abcdef0123456789abcdef"
    service = seconder.open(
        url, api_key=key, timeout=HOLD, client=seconder.ClientOptions(allow_loopback_http=True)
    )

    def call() -> None:
        try:
            service.verify(1, "1234567")
        except seconder.Unavailable:
            assert listener is not None

    return call


def calls(folder: Path) -> Callable[[], object]:
    service, user_id = sandbox()
    return lambda: for_ever(lambda: service.verify(user_id, "1234567"))


def errors(folder: Path) -> Callable[[], object]:
    service, user_id = sandbox()

    def call() -> None:
        try:
            service.verify(user_id, "wrong")
        except seconder.TokenMalformed:
            pass

    return lambda: for_ever(call)


def deliver(folder: Path) -> Callable[[], object]:
    service = seconder.open(f"sqlite:{folder}/exits.db", deliver=lambda message: time.sleep(HOLD))
    user_id = service.create_user("ada@example.com", "555-010-0123", 1).user_id
    return lambda: service.request_sms(user_id, force=True)


def hook(folder: Path) -> Callable[[], object]:
    service = seconder.open("sandbox:", on_call=lambda record: time.sleep(HOLD))
    return lambda: service.app_details()


def log(folder: Path) -> Callable[[], object]:
    service, user_id = sandbox()
    logger = logging.getLogger("seconder")
    logger.addHandler(Handler())
    logger.setLevel(logging.DEBUG)
    return lambda: service.user_status(user_id)


def callback(folder: Path) -> Callable[[], object]:
    from seconder import callback

    key, url, nonce = "0123456789abcdef", "https://app.example/callback", str(int(time.time()))
    body = b'{"status": "approved", "svc_id": 7, "uuid": "3f05a350-4b2c"}'
    signature = callback.sign(api_key=key, nonce=nonce, url=url, body=body)
    return lambda: callback.verify(
        api_key=key,
        url=url,
        method="POST",
        body=body,
        signature=signature,
        nonce=nonce,
        replay=Memory(),
    )


def event_loop(folder: Path) -> Callable[[], object]:
    async def call() -> None:
        async with seconder.open_async("sandbox:?accept=1234567") as service:
            user = await service.create_user("ada@example.com", "555-010-0123", 1)
            while True:
                await service.verify(user.user_id, "1234567")

    return lambda: asyncio.run(call())


def opening(folder: Path) -> Callable[[], object]:
    return lambda: for_ever(lambda: seconder.open("sandbox:").close())


STATES: dict[str, Callable[[Path], Callable[[], object]]] = {
    each.__name__: each
    for each in (
        approval,
        silent_server,
        calls,
        errors,
        deliver,
        hook,
        log,
        callback,
        event_loop,
        opening,
    )
}
kept: list[Any] = []


def begin(state: str, folder: Path) -> None:
    """Starts a thread in this state. The interpreter has to end within a minute."""
    signal.alarm(60)
    threading.Thread(target=STATES[state](folder), daemon=True).start()
    time.sleep(HOLD / 2)
    kept.append(Slow())


if __name__ == "__main__":
    begin(sys.argv[1], Path(sys.argv[2]))

"""Calls that wait for a response end when the program cancels them, on Ctrl-C, and with their task."""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
import time
from collections.abc import Iterator

import pytest

import seconder
from conftest import RemoteService, when_asked

SOON = 15
"""100 ms, and time for a busy machine: the calls would wait for a minute."""


@pytest.fixture
def silent(remote: RemoteService) -> Iterator[RemoteService]:
    """A service that does not respond to SMS requests before the test has ended."""
    ended = threading.Event()

    def wait() -> None:
        if "/sms/" in remote.seen[-1][1]:
            ended.wait(30)

    remote.body = {"app": {"name": "Example"}, "success": True}
    remote.before = wait
    yield remote
    ended.set()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_call(silent: RemoteService) -> None:
    with silent.open(timeout=60) as service:
        begun = time.monotonic()
        when_asked(silent, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt) as caught:
            service.request_sms(1)
        assert time.monotonic() - begun < SOON
        context = caught.value.__context__
        # The request was sent.
        assert isinstance(context, seconder.Cancelled) and not context.retry_safe
        assert service.app_details().name == "Example"


def test_a_signal_handler_raises_what_it_likes(silent: RemoteService) -> None:
    def handler(number: int, frame: object) -> None:
        raise LookupError("the worker is to end")

    before = signal.signal(signal.SIGALRM, handler)
    here = threading.get_ident()
    when_asked(silent, lambda: signal.pthread_kill(here, signal.SIGALRM))
    try:
        with silent.open(timeout=60) as service, pytest.raises(LookupError, match="to end"):
            service.request_sms(1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_cancelled_handle_ends_its_calls(silent: RemoteService) -> None:
    with silent.open(timeout=60) as service:
        begun = time.monotonic()
        when_asked(silent, service.cancel)
        with pytest.raises(seconder.Cancelled, match="check before you retry") as caught:
            service.request_sms(1)
        assert time.monotonic() - begun < SOON and not caught.value.retry_safe


def test_a_timeout_ends_a_call_and_frees_its_thread(silent: RemoteService) -> None:
    async def run() -> float:
        async with seconder.AsyncService(silent.open(timeout=60), threads=1) as service:
            begun = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(service.request_sms(1), 0.3)
            # The only thread makes this call.
            await service.app_details()
            return time.monotonic() - begun

    assert asyncio.run(run()) < SOON

"""Calls that wait end when the program cancels them, on Ctrl-C, and with their task."""

from __future__ import annotations

import _thread
import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import seconder
from conftest import RemoteService, when_answered

SOON = 15
"""100 ms, and time for a busy machine: the calls would wait for half a minute or more."""


@pytest.fixture
def busy(remote: RemoteService) -> RemoteService:
    """A service that asks to wait, so that a call that is retried waits as long as it may."""
    remote.status, remote.headers = 503, {"Retry-After": "30"}
    remote.body = {"message": "busy"}
    return remote


def patient(busy: RemoteService) -> seconder.Service:
    return busy.open(timeout=60, repeats="all")


def later(seconds: float, work: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, work)
    timer.start()
    return timer


def took(begun: float) -> float:
    return time.monotonic() - begun


def test_a_cancelled_handle_ends_its_calls(busy: RemoteService) -> None:
    with patient(busy) as service:
        own = service.with_timeout(60)
        begun = time.monotonic()
        when_answered(busy, own.cancel)
        with pytest.raises(seconder.Cancelled) as caught:
            own.request_sms(1)
        assert took(begun) < SOON and caught.value.retry_safe
        assert not isinstance(caught.value, seconder.Unavailable)
        requests = len(busy.seen)
        with pytest.raises(seconder.Cancelled, match="can be retried"):
            own.request_sms(1)
        assert len(busy.seen) == requests
        # The other handles go on, also one that is made from it.
        for other in (service.with_repeats("none"), own.with_repeats("none")):
            with pytest.raises(seconder.RateLimited):
                other.request_sms(1)


def test_an_engine_is_cancelled_before_its_calls() -> None:
    with seconder.open("sandbox:") as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        service.cancel()
        for call in (
            lambda: service.create_user("eve@example.com", "555-010-0124", 1),
            lambda: service.register_device(user.user_id, "ios"),
            service.clear_sandbox,
        ):
            with pytest.raises(seconder.Cancelled):
                call()
        assert service.with_timeout(1).user_status(user.user_id).user_id == user.user_id


def test_cancelling_ends_a_wait_for_an_approval() -> None:
    with seconder.open("sandbox:") as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        uuid = service.create_approval(user.user_id, "Log in?").uuid
        begun = time.monotonic()
        later(0.3, service.cancel)
        with pytest.raises(seconder.Cancelled):
            service.wait_for_approval(uuid, user.user_id, timeout=60)
        assert took(begun) < SOON


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_call(busy: RemoteService) -> None:
    with patient(busy) as service:
        begun = time.monotonic()
        when_answered(busy, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt) as caught:
            service.request_sms(1)
        assert took(begun) < SOON
        context = caught.value.__context__
        assert isinstance(context, seconder.Cancelled) and context.retry_safe
        # The exception is gone, and the handle still works.
        with pytest.raises(seconder.RateLimited):
            service.with_repeats("none").request_sms(1)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_wait_for_an_approval(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with seconder.open("sandbox:") as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        uuid = service.create_approval(user.user_id, "Log in?").uuid
        timer = later(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt) as caught:
            service.wait_for_approval(uuid, user.user_id, timeout=60)
        timer.join()
    cancelled = caught.value.__context__
    assert isinstance(cancelled, seconder.Cancelled) and cancelled.retry_safe
    assert "outcome=cancelled" in caplog.records[-1].getMessage()


def test_a_signal_handler_that_raises_nothing_lets_the_call_go_on(busy: RemoteService) -> None:
    busy.headers = {"Retry-After": "1"}
    handled: list[int] = []

    def handler(number: int, frame: Any) -> None:
        handled.append(number)
        busy.status, busy.body = 200, {"success": True, "message": "sent"}

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with patient(busy) as service:
            later(0.2, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1))
            assert service.request_sms(1).message == "sent"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert handled == [signal.SIGUSR1]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_end_the_calls_of_other_threads(busy: RemoteService) -> None:
    ends: list[object] = []

    def call() -> None:
        try:
            own.request_sms(1)
        except seconder.SecondFactorError as error:
            ends.append(type(error))

    with patient(busy) as service:
        own = service.with_timeout(60)
        thread = threading.Thread(target=call)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            later(0.2, _thread.interrupt_main)
            time.sleep(5)
        time.sleep(0.3)
        assert ends == []
        own.cancel()
        thread.join(30)
    assert ends == [seconder.Cancelled]


def test_a_cancelled_task_ends_its_call_and_frees_the_thread(busy: RemoteService) -> None:
    async def run() -> float:
        async with seconder.AsyncService(patient(busy), threads=1) as service:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(service.request_sms(1), 0.3)
            task = asyncio.ensure_future(service.request_sms(1))
            await asyncio.sleep(0.3)
            task.cancel()
            begun = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The only thread makes this call.
            with pytest.raises(seconder.RateLimited):
                await service.with_repeats("none").request_sms(1)
            return took(begun)

    assert asyncio.run(run()) < SOON


def test_cancelling_an_async_service_ends_all_its_calls(busy: RemoteService) -> None:
    async def run() -> list[Any]:
        async with seconder.AsyncService(patient(busy)) as service:
            calls = [asyncio.ensure_future(service.request_sms(1)) for _ in range(3)]
            await asyncio.sleep(0.3)
            service.cancel()
            return await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 30)

    assert [type(error) for error in asyncio.run(run())] == [seconder.Cancelled] * 3

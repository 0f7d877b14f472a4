"""Waits pass the sandbox's time, and take no real time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

import seconder
from seconder.testing import Sandbox


@pytest.fixture
def ada(seconder_sandbox: Sandbox) -> int:
    return seconder_sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id


@pytest.fixture
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test that sleeps."""

    def sleep(seconds: float) -> None:
        assert seconds == 0

    monkeypatch.setattr("seconder.testing._inside.sleep", sleep)
    monkeypatch.setattr(time, "sleep", sleep)
    real = asyncio.sleep

    async def sleep_async(seconds: float) -> None:
        sleep(seconds)
        await real(0)

    monkeypatch.setattr(asyncio, "sleep", sleep_async)
    yield


def wait(service: seconder.Service, *args: Any, **options: Any) -> seconder.results.Approval:
    return service.wait_for_approval(*args, **options)


def wait_async(service: seconder.Service, *args: Any, **options: Any) -> seconder.results.Approval:
    return asyncio.run(seconder.AsyncService(service).wait_for_approval(*args, **options))


WAYS = pytest.mark.parametrize("wait", [wait, wait_async])
Wait = Callable[..., seconder.results.Approval]


@WAYS
@pytest.mark.usefixtures("no_sleep")
def test_a_wait_passes_the_time_of_the_sandbox(
    seconder_sandbox: Sandbox, ada: int, wait: Wait
) -> None:
    sandbox = seconder_sandbox
    uuid = sandbox.service.create_approval(ada, "Log in?", seconds_to_expire=3600).uuid
    began = sandbox.now
    approval = wait(sandbox.service, uuid, ada, timeout=600)
    assert approval.status is seconder.enums.ApprovalStatus.PENDING
    assert sandbox.now - began == timedelta(minutes=10)
    approval = wait(sandbox.service, uuid, ada, timeout=3600)
    assert approval.status is seconder.enums.ApprovalStatus.EXPIRED
    assert sandbox.now - began < timedelta(seconds=3606)


@WAYS
@pytest.mark.usefixtures("no_sleep")
def test_a_wait_of_a_fraction_of_a_second_ends(
    seconder_sandbox: Sandbox, ada: int, wait: Wait
) -> None:
    uuid = seconder_sandbox.service.create_approval(ada, "Log in?").uuid
    # The rest after a pause is then often less than the step between two floats of the time.
    for number in range(1, 200):
        approval = wait(seconder_sandbox.service, uuid, ada, timeout=number / 997)
        assert approval.status is seconder.enums.ApprovalStatus.PENDING


@WAYS
@pytest.mark.usefixtures("no_sleep")
def test_a_user_responds_during_a_wait(seconder_sandbox: Sandbox, ada: int, wait: Wait) -> None:
    sandbox = seconder_sandbox
    for respond, approved in [(sandbox.approve, True), (sandbox.deny, False)]:
        uuid = sandbox.service.create_approval(ada, "Log in?").uuid
        began = sandbox.now
        sandbox.after(20, lambda respond=respond: respond(ada))  # type: ignore[misc]
        approval = wait(sandbox.service, uuid, ada, timeout=60)
        assert approval.approved_by(ada) is approved
        assert 20 <= (sandbox.now - began).total_seconds() <= 25


@WAYS
@pytest.mark.usefixtures("no_sleep")
@pytest.mark.parametrize("fault", ["rate_limited", "timeout", "lost"])
def test_a_wait_continues_after_faults(
    seconder_sandbox: Sandbox, ada: int, wait: Wait, fault: Any
) -> None:
    sandbox = seconder_sandbox
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    sandbox.approve(ada)
    began = sandbox.now
    with sandbox.failing(fault, calls="check_approval", times=2, retry_after=7):
        assert wait(sandbox.service, uuid, ada, timeout=60).approved_by(ada)
    passed = (sandbox.now - began).total_seconds()
    assert passed >= {"rate_limited": 14, "timeout": 20, "lost": 1}[fault]
    assert not sandbox.unused_faults


@pytest.mark.usefixtures("no_sleep")
def test_a_call_is_retried_by_the_time_of_the_sandbox(seconder_sandbox: Sandbox, ada: int) -> None:
    sandbox, service = seconder_sandbox, seconder_sandbox.service
    began = time.monotonic()
    before = sandbox.now
    with sandbox.failing("rate_limited", times=2, retry_after=4):
        assert service.user_status(ada), "after two waits"
    assert (sandbox.now - before).total_seconds() == 8
    with sandbox.failing("rate_limited", times=3, retry_after=4), pytest.raises(
        seconder.RateLimited
    ):
        service.user_status(ada)
    assert not sandbox.unused_faults, "the third wait would end after the timeout"
    not_retried: list[Callable[[], object]] = [
        lambda: service.machines.set_login(ada, "ada"),
        lambda: service.with_repeats("none").user_status(ada),
    ]
    for call in not_retried:
        with sandbox.failing("rate_limited", retry_after=1), pytest.raises(seconder.RateLimited):
            call()
    with sandbox.failing("rate_limited", times=1, retry_after=1):
        service.with_repeats(seconder.enums.Repeats.ALL).machines.set_login(ada, "ada")
    with sandbox.failing("rate_limited", times=1, retry_after=20):
        assert service.with_timeout(30).user_status(ada)
    assert time.monotonic() - began < 20


def test_a_timeout_takes_the_time_of_the_service(seconder_sandbox: Sandbox) -> None:
    sandbox = seconder_sandbox
    services = {
        10: sandbox.service,
        60: sandbox.service.with_timeout(60),
        3: sandbox.open("https://2fa.example.com", api_key="key", timeout=3),
    }
    for seconds, service in services.items():
        before = sandbox.now
        with sandbox.failing("timeout"), pytest.raises(seconder.Timeout):
            service.app_details()
        assert (sandbox.now - before).total_seconds() == seconds


def test_planned_functions_are_called_in_order(seconder_sandbox: Sandbox) -> None:
    sandbox = seconder_sandbox
    start, called = sandbox.now, []

    def note(name: str) -> None:
        called.append((name, (sandbox.now - start).total_seconds()))

    sandbox.after(timedelta(minutes=1), lambda: note("minute"))
    sandbox.after(5, lambda: note("first"))
    sandbox.after(5, lambda: note("second"))
    sandbox.after(5, lambda: sandbox.after(5, lambda: note("nested")))
    sandbox.after(3600, lambda: note("never"))
    sandbox.advance(4)
    assert not called
    sandbox.advance(56)
    assert called == [("first", 5), ("second", 5), ("nested", 10), ("minute", 60)]
    for wrong in (-1, float("nan"), float("inf"), timedelta(-1)):
        with pytest.raises(ValueError, match="time passes forwards"):
            sandbox.after(wrong, note)  # type: ignore[arg-type]

    def fail() -> None:
        raise AssertionError("the endpoint returned 500")

    sandbox.after(1, fail)
    with pytest.raises(AssertionError, match="returned 500"):
        sandbox.advance(1)


@pytest.mark.seconder(real_waits=True)
@WAYS
def test_real_waits_leave_time_to_other_threads(
    seconder_sandbox: Sandbox, ada: int, wait: Wait
) -> None:
    sandbox = seconder_sandbox
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    before = sandbox.now
    thread = threading.Timer(0.1, sandbox.approve, [ada])
    thread.start()
    assert wait(sandbox.service, uuid, ada, timeout=60).approved_by(ada)
    thread.join()
    assert sandbox.now == before


@pytest.mark.seconder(real_waits=True)
def test_real_waits_of_faults(seconder_sandbox: Sandbox, ada: int) -> None:
    sandbox = seconder_sandbox
    before = sandbox.now
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    sandbox.approve(ada)
    with sandbox.failing("rate_limited", times=1, retry_after=0):
        assert sandbox.service.user_status(ada)
    with sandbox.failing("lost", times=1, calls="check_approval"):
        assert sandbox.service.wait_for_approval(uuid, ada, timeout=60).approved_by(ada)
    assert sandbox.now == before and not sandbox.unused_faults

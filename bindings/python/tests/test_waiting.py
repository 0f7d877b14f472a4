"""Waiting for an approval, which must be by the user who logs in."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import seconder
from conftest import Phone, RemoteService

UUID = "3f05a350-4b2c-0136"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Makes time pass only in pauses, and records them."""
    passed: list[float] = []
    monkeypatch.setattr(time, "sleep", passed.append)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + sum(passed))
    return passed


def response(**fields: Any) -> dict[str, Any]:
    return {"approval_request": {"uuid": UUID, **fields}, "success": True}


def test_waits_until_the_user_responds(phone: Phone) -> None:
    service = phone.service
    device = service.register_device(phone.user_id, "ios")
    uuid = service.create_approval(phone.user_id, "Log in?").uuid

    def answer() -> None:
        service.respond_to_approval(
            uuid, device_id=device.device_id, device_secret=device.secret, response="approve"
        )

    thread = threading.Timer(0.1, answer)
    thread.start()
    approval = service.wait_for_approval(uuid, phone.user_id, timeout=30)
    thread.join()
    assert approval.approved_by(phone.user_id)
    with pytest.raises(seconder.InvalidArgument) as caught:
        service.wait_for_approval(uuid, phone.user_id + 1, timeout=30)
    assert caught.value.parameter == "uuid"


def test_is_still_pending_if_the_user_does_not_respond(phone: Phone, pauses: list[float]) -> None:
    uuid = phone.service.create_approval(phone.user_id, "Log in?").uuid
    approval = phone.service.wait_for_approval(uuid, phone.user_id, timeout=10)
    assert not approval and approval.status is seconder.enums.ApprovalStatus.PENDING
    # In short ones, so that the wait can be ended.
    assert sum(pauses) == pytest.approx(10) and max(pauses) <= 0.05


def test_a_request_of_another_or_unknown_user_is_rejected(
    remote: RemoteService, pauses: list[float]
) -> None:
    with remote.open() as service:
        for body, kind in [
            (response(status="approved", svc_id=8), seconder.InvalidArgument),
            (response(status="approved"), seconder.InvalidResponse),
            (response(status="approved", svc_id=7, uuid="other"), seconder.InvalidResponse),
        ]:
            remote.body = body
            with pytest.raises(kind):
                service.wait_for_approval(UUID, 7, timeout=30)
        remote.status, remote.body = 401, {"error_code": "60001", "success": False}
        with pytest.raises(seconder.Unauthorized):
            service.wait_for_approval(UUID, 7, timeout=30)
        assert not pauses
        remote.status, remote.body = 503, {"success": False}
        # The last poll may take 100 ms of real time, which a busy machine exceeds.
        with pytest.raises((seconder.RateLimited, seconder.Timeout)):
            service.wait_for_approval(UUID, 7, timeout=30)
        assert sum(pauses) == pytest.approx(30)


def test_a_record_without_a_user_is_accepted_on_request(remote: RemoteService) -> None:
    async def wait_async(service: seconder.Service) -> seconder.results.Approval:
        asynchronous = seconder.AsyncService(service)
        return await asynchronous.wait_for_approval(UUID, 7, timeout=30, bound=False)

    ways: list[Callable[[seconder.Service], seconder.results.Approval]] = [
        lambda service: service.check_approval(UUID),
        lambda service: service.wait_for_approval(UUID, 7, timeout=30, bound=False),
        lambda service: asyncio.run(wait_async(service)),
    ]
    with remote.open() as service:
        for way in ways:
            for body in (
                {"approval_request": {"status": "approved"}, "success": True},
                response(status="approved"),
                response(status="approved", user_id="57fc7f1e2b1b0b0b0b0b0b0b"),
            ):
                remote.body = body
                approval = way(service)
                assert approval.approved_by(7, bound=False) and not approval.approved_by(7)
            remote.body = response(status="approved", user_id=7)
            approval = way(service)
            assert approval.approved_by(7, bound=False) and not approval.approved_by(9, bound=False)
            remote.body = response(status="denied")
            assert not way(service).approved_by(7, bound=False)
            remote.body = response(status="approved", uuid="other")
            with pytest.raises(seconder.InvalidResponse):
                way(service)
        others: list[dict[str, Any]] = [
            {"svc_id": 8},
            {"user_id": 8},
            {"user_id": "08"},
            {"user_id": "9" * 5000},
        ]
        for other in (response(status="approved", **fields) for fields in others):
            remote.body = other
            assert not service.check_approval(UUID).approved_by(7, bound=False)
            for way in ways[1:]:
                with pytest.raises(seconder.InvalidArgument):
                    way(service)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "soon"])
def test_an_invalid_timeout_is_named(phone: Phone, timeout: Any) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        phone.service.wait_for_approval(UUID, phone.user_id, timeout=timeout)
    assert caught.value.parameter == "timeout"


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_wait(phone: Phone) -> None:
    uuid = phone.service.create_approval(phone.user_id, "Log in?").uuid
    began = time.monotonic()
    here = threading.get_ident()
    thread = threading.Timer(0.2, signal.pthread_kill, [here, signal.SIGINT])
    # On a busy machine the signal may come before the wait has begun.
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        phone.service.wait_for_approval(uuid, phone.user_id, timeout=60)
    thread.join()
    assert time.monotonic() - began < 20
    assert phone.service.check_approval(uuid).status is seconder.enums.ApprovalStatus.PENDING

"""`seconder.testing` with a sandbox of another process, beyond the tests of test_testing.py."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import open_with

import seconder
from seconder import _seconder
from seconder.testing import Callback, Fault, Sandbox

METHODS = {
    "reset": "__init__",
    "clock": "now",
    "end_fault": "failing",
    "faults": "unused_faults",
}
"""The names that Python has for what a test does, where they differ."""


@pytest.fixture(params=["in this process", "over HTTPS"])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {} if request.param == "in this process" else request.getfixturevalue("served_sandbox")


@pytest.fixture
def sandbox(options: dict[str, Any]) -> Iterator[Sandbox]:
    with Sandbox(**options) as sandbox:
        yield sandbox


@pytest.fixture
def ada(sandbox: Sandbox) -> int:
    return sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id


def test_python_does_what_the_list_of_the_library_has() -> None:
    names = [name for name, _, _ in _seconder.SANDBOX_OPERATIONS]
    assert [name for name in names if not hasattr(Sandbox, METHODS.get(name, name))] == []
    assert {fault.value for fault in Fault} == set(_seconder.SANDBOX_FAULTS)


def test_latency_takes_the_time_of_the_sandbox_in_this_process() -> None:
    with Sandbox() as sandbox:
        before = sandbox.now
        with sandbox.failing("latency", seconds=7, times=1):
            assert sandbox.service.app_details().name == "Sandbox"
        assert (sandbox.now - before).total_seconds() == 7
        with sandbox.failing("latency", seconds=60), pytest.raises(seconder.Timeout):
            sandbox.service.app_details()


def test_latency_delays_a_call_over_https(served_sandbox: dict[str, Any]) -> None:
    with Sandbox(**served_sandbox) as sandbox:
        with sandbox.failing("latency", seconds=0.05):
            assert sandbox.service.app_details().name == "Sandbox"
        asking = sandbox.service.with_timeout(0.2)
        with sandbox.failing("latency", seconds=600), pytest.raises(seconder.Timeout):
            asking.app_details()


def test_a_status_is_that_of_the_response(sandbox: Sandbox, ada: int) -> None:
    with sandbox.failing("status", status=418), pytest.raises(seconder.Rejected) as error:
        sandbox.service.user_status(ada)
    assert error.value.http_status == 418
    assert not sandbox.unused_faults
    with sandbox.failing("status", calls="verify"):
        pass
    unused = sandbox.unused_faults[0]
    assert (unused.fault, unused.calls, unused.met) == (Fault.STATUS, ("verify",), 0)


def test_calls_are_recorded_without_secrets(sandbox: Sandbox, ada: int) -> None:
    sandbox.service.request_sms(ada, force=True)
    sandbox.service.verify(ada, sandbox.code(ada))
    with pytest.raises(seconder.TokenInvalid):
        sandbox.service.verify(ada, sandbox.code(ada))
    with sandbox.failing("storage"), pytest.raises(seconder.Unavailable):
        sandbox.service.user_status(ada)
    outcomes = [(call.name, call.outcome) for call in sandbox.calls]
    assert outcomes == [
        ("create_user", "ok"),
        ("request_sms", "ok"),
        ("verify", "ok"),
        ("verify", "token_reused"),
        ("user_status", "unavailable"),
    ]
    assert sandbox.calls[2].arguments["token"] == "***"
    assert sandbox.calls[2].arguments["user_id"] == ada


def test_a_wait_passes_the_time_of_the_sandbox(sandbox: Sandbox, ada: int) -> None:
    started = time.monotonic()
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    sandbox.after(20, lambda: sandbox.approve(ada))
    assert sandbox.service.wait_for_approval(uuid, ada, timeout=60).approved_by(ada)
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    before = sandbox.now
    assert not sandbox.service.wait_for_approval(uuid, ada, timeout=60).approved_by(ada)
    assert (sandbox.now - before).total_seconds() == pytest.approx(60)
    assert time.monotonic() - started < 60, "it does not take real time"


def test_an_application_that_awaits(sandbox: Sandbox, ada: int) -> None:
    async def log_in() -> seconder.results.Approval:
        async with sandbox.open_async("https://2fa.example.com", api_key="key") as service:
            uuid = (await service.create_approval(ada, "Log in?")).uuid
            sandbox.after(20, lambda: sandbox.approve(ada))
            return await service.wait_for_approval(uuid, ada, timeout=60)

    assert asyncio.run(log_in()).approved_by(ada)


def test_a_sandbox_begins_anew(options: dict[str, Any]) -> None:
    for name in ("First", "Second"):
        with Sandbox(**options, application_name=name) as sandbox:
            assert sandbox.service.app_details().name == name
            assert (sandbox.messages, sandbox.calls[:-1]) == ((), ())
            user = sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
            assert user.created
            sandbox.service.request_sms(user.user_id)


def test_callbacks_of_another_process_go_to_post(sandbox: Sandbox, ada: int) -> None:
    taken: list[Callback] = []
    sandbox.post = taken.append
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    assert sandbox.deny(uuid=uuid) == taken[0] == sandbox.callbacks[0]
    assert not sandbox.run_jobs().more


def test_an_application_in_another_process_meets_the_faults(
    sandbox: Sandbox, ada: int
) -> None:
    held: list[BaseException] = []

    def ask() -> None:
        settings: dict[str, Any] = {"ca_file": sandbox.ca_file}
        if sandbox.ca_file is None:
            settings = {"allow_loopback_http": True}
        with open_with(sandbox.url, api_key=sandbox.api_key, **settings) as service:
            try:
                service.user_status(ada)
            except seconder.Unavailable as error:
                held.append(error)

    with sandbox.failing("timeout", calls="user_status"):
        application = threading.Thread(target=ask)
        application.start()
        while sandbox.unused_faults:
            time.sleep(0.01)
    application.join(60)
    assert held


def test_what_cannot_be_is_an_error(served_sandbox: dict[str, Any], tmp_path: Path) -> None:
    for name in ("run_deliver", "run_post"):
        options = {**served_sandbox, name: True}
        with pytest.raises(seconder.InvalidArgument, match="in this process") as error:
            Sandbox(**options)
        assert error.value.parameter == name
    with pytest.raises(seconder.InvalidArgument, match="ca_file"):
        Sandbox(ca_file=tmp_path / "ca.pem")
    with pytest.raises(seconder.Unauthorized):
        Sandbox(**served_sandbox, api_key="another-key")
    with pytest.raises(seconder.Unavailable, match="was not reached"):
        Sandbox(url="https://127.0.0.1:1", ca_file=served_sandbox["ca_file"])
    with pytest.raises(seconder.InvalidArgument):
        Sandbox(url="http://127.0.0.1:1")

"""The promises of `seconder.testing` to the tests of applications."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from conftest import open_with

import seconder
from seconder.testing import Callback, Fault, Sandbox


HERE, SERVED = "in this process", "over HTTPS"
here_only = pytest.mark.parametrize("sandbox", [HERE], indirect=True)
"""For what needs an engine in this process."""


@pytest.fixture(params=[HERE, SERVED])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Returns the options that place a sandbox in this process or another one."""
    return request.getfixturevalue("served_sandbox") if request.param == SERVED else {}


@pytest.fixture(params=[HERE, SERVED])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    served = request.getfixturevalue("served_sandbox") if request.param == SERVED else {}
    with Sandbox(**served) as sandbox:
        yield sandbox


def remotely(sandbox: Sandbox, **settings: Any) -> seconder.Service:
    """A client of the URL, as applications in other processes have."""
    settings.setdefault("api_key", sandbox.api_key)
    if sandbox.ca_file is None:
        return open_with(sandbox.url, **settings, allow_loopback_http=True)
    return open_with(sandbox.url, **settings, ca_file=sandbox.ca_file)


@pytest.fixture
def ada(sandbox: Sandbox) -> int:
    return sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id


@pytest.fixture
def remote(sandbox: Sandbox) -> Iterator[seconder.Service]:
    with remotely(sandbox, timeout=5) as service:
        yield service


@pytest.mark.parametrize(
    "module", ["seconder.testing", "seconder.testing._sandbox", "seconder.testing._callbacks"]
)
def test_the_examples_in_the_docstrings_run(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert done.attempted and not done.failed


def test_code_returns_the_code_sent_last(sandbox: Sandbox, ada: int) -> None:
    bob = sandbox.service.create_user("bob@example.com", "555-010-0199", 1).user_id
    sandbox.service.request_sms(ada)
    sandbox.service.request_call(bob)
    first, second = sandbox.messages
    assert (first.to, first.via, second.to, second.via) == (
        "+15550100123",
        "sms",
        "+15550100199",
        "call",
    )
    assert sandbox.code(ada) == first.code == sandbox.code("555-010-0123")
    assert sandbox.code(bob) == second.code == sandbox.code("+1 555 010 0199")
    assert "Sandbox" in first.text and first.code in first.text
    with pytest.raises(AssertionError, match="no code was sent to 4711, of 2 messages"):
        sandbox.code(4711)


def test_codes_are_checked_and_used_up(sandbox: Sandbox, ada: int) -> None:
    sandbox.service.request_sms(ada)
    code = sandbox.code(ada)
    with pytest.raises(seconder.NotChecked):
        sandbox.service.verify(ada, code, force=False)
    assert sandbox.service.verify(ada, code)
    with pytest.raises(seconder.TokenInvalid) as used:
        sandbox.service.verify(ada, code)
    assert used.value.reused
    with pytest.raises(seconder.TokenInvalid):
        sandbox.service.verify(ada, "000000")


def test_time_passes_only_by_advance(sandbox: Sandbox, ada: int) -> None:
    before = sandbox.now
    assert sandbox.service.request_sms(ada).resend_after == 30
    code = sandbox.code(ada)
    with pytest.raises(seconder.RateLimited) as soon:
        sandbox.service.request_sms(ada)
    assert soon.value.retry_after == 30
    sandbox.advance(30)
    sandbox.service.request_sms(ada)
    assert sandbox.code(ada) == code, "a second request sends the same code"
    sandbox.advance(timedelta(minutes=10))
    assert sandbox.now - before == timedelta(minutes=10, seconds=30)
    with pytest.raises(seconder.TokenInvalid):
        sandbox.service.verify(ada, code)
    wrong: list[float | timedelta] = [-1, float("nan"), timedelta(seconds=-1)]
    for backwards in wrong:
        with pytest.raises(ValueError):
            sandbox.advance(backwards)


def test_the_initial_time_can_be_set(options: dict[str, Any]) -> None:
    start = datetime(2030, 2, 28, 23, 59, 59, tzinfo=timezone.utc)
    with Sandbox(**options, now=start) as sandbox:
        assert sandbox.now == start
        statistics = sandbox.service.admin.app_stats()
        assert (statistics.stats[-1].month, statistics.stats[-1].year) == ("February", 2030)
        sandbox.advance(1)
        assert sandbox.service.admin.app_stats().stats[-1].month == "March"
    with pytest.raises(ValueError, match="time zone"):
        Sandbox(now=datetime(2030, 1, 1))


def test_an_authenticator_app(sandbox: Sandbox, ada: int) -> None:
    with pytest.raises(AssertionError, match="has no authenticator app"):
        sandbox.authenticator_code(ada)
    sandbox.service.enrol_authenticator(ada)
    code = sandbox.authenticator_code(ada)
    assert sandbox.service.verify(ada, code)
    with pytest.raises(seconder.TokenInvalid):
        sandbox.service.verify(ada, code)
    sandbox.advance(30)
    assert sandbox.service.verify(ada, sandbox.authenticator_code(ada))


def test_a_number_without_a_user(sandbox: Sandbox) -> None:
    sandbox.service.start_phone_verification("sms", "555-010-0177", 1)
    code = sandbox.code("555-010-0177")
    assert sandbox.service.check_phone_verification("555-010-0177", 1, code)


@pytest.mark.parametrize(
    ("response", "status"), [("approve", "approved"), ("deny", "denied"), ("report", "denied")]
)
def test_a_user_responds(sandbox: Sandbox, ada: int, response: str, status: str) -> None:
    uuid = sandbox.service.create_approval(ada, "Log in?", details={"city": "Oslo"}).uuid
    (request,) = sandbox.pending(ada)
    assert (request.uuid, request.message, request.details) == (uuid, "Log in?", {"city": "Oslo"})
    callback = getattr(sandbox, response)(ada)
    assert sandbox.service.check_approval(uuid).status == status
    event = verified(sandbox, callback)
    assert (event.uuid, event.status, event.user_id) == (uuid, status, ada)
    assert callback in sandbox.callbacks
    with pytest.raises(AssertionError, match="no pending approval request"):
        sandbox.approve(ada)
    with pytest.raises(seconder.Rejected):
        sandbox.approve(uuid=uuid)


def test_a_number_is_typed_to_approve_a_request(sandbox: Sandbox, ada: int) -> None:
    created = sandbox.service.create_approval(ada, "Log in?", number_digits=2)
    assert created.number is not None and len(created.number) == 2
    with pytest.raises(seconder.InvalidArgument, match="number"):
        sandbox.approve(ada)
    assert verified(sandbox, sandbox.approve(ada, number=created.number)).approved_by(ada)
    twice = sandbox.service.create_approval(ada, "Log in?", number_digits=6)
    wrong = f"{(int(twice.number or 0) + 1) % 1_000_000:06}"
    for message in ("can be typed once more", "wrong twice"):
        with pytest.raises(seconder.Rejected, match=message):
            sandbox.approve(uuid=twice.uuid, number=wrong)
    assert sandbox.service.check_approval(twice.uuid).status == "denied"
    assert sandbox.service.create_approval(ada, "Log in?").number is None


def test_a_user_with_a_device_is_sent_codes_as_it_shows_none(sandbox: Sandbox, ada: int) -> None:
    sandbox.add_device(ada)
    assert not sandbox.service.request_sms(ada).ignored
    app = sandbox.service.enrol_authenticator(ada)
    sandbox.service.confirm_authenticator(
        ada, seconder.totp.code(app.uri, at=sandbox.now.timestamp())
    )
    ignored = sandbox.service.request_sms(ada)
    assert ignored.ignored and ignored.device == "android"


def test_one_of_several_requests(sandbox: Sandbox, ada: int) -> None:
    phone = sandbox.add_device(ada, "ios")
    assert sandbox.service.user_status(ada).devices == ("ios",)
    first = sandbox.service.create_approval(ada, "First?").uuid
    second = sandbox.service.create_approval(ada, "Second?").uuid
    sandbox.approve(uuid=first)
    assert [request.uuid for request in sandbox.pending(ada)] == [second]
    assert phone.device_id and phone.secret
    sandbox.advance(timedelta(days=1))
    assert sandbox.service.check_approval(second).status == "expired"
    for both_or_none in [{}, {"user_id": ada, "uuid": second}]:
        with pytest.raises(TypeError):
            sandbox.approve(**both_or_none)  # type: ignore[arg-type]


def verified(
    sandbox: Sandbox, callback: Callback, fresh: float | None = 300
) -> seconder.results.Event:
    return seconder.callback.verify(
        api_key=sandbox.api_key,
        url=sandbox.callback_url,
        method=callback.method,
        body=callback.body,
        signature=callback.headers["X-Svc-Signature"],
        nonce=callback.headers["X-Svc-Signature-Nonce"],
        fresh=fresh,
    )


def test_forged_and_stale_callbacks_are_rejected(sandbox: Sandbox) -> None:
    callback = sandbox.signed(b'{"uuid": "3f05", "status": "approved", "svc_id": 7}')
    assert verified(sandbox, callback).approved_by(7)
    assert callback.headers["Content-Type"] == "application/json"
    assert callback.url == sandbox.callback_url
    with pytest.raises(seconder.InvalidCallback):
        verified(sandbox, callback.forged())
    stale = sandbox.signed(callback.body, nonce=str(int(sandbox.now.timestamp()) - 301))
    with pytest.raises(seconder.InvalidCallback):
        verified(sandbox, stale)
    assert verified(sandbox, stale, fresh=None)


def test_callbacks_are_passed_to_post(sandbox: Sandbox, ada: int) -> None:
    taken: list[Callback] = []
    sandbox.post = taken.append
    sandbox.service.create_approval(ada, "Log in?")
    assert sandbox.approve(ada) == taken[0]

    def fails(callback: Callback) -> None:
        raise AssertionError("the endpoint returned 500")

    sandbox.post = fails
    sandbox.service.create_approval(ada, "Log in?")
    with pytest.raises(AssertionError, match="the endpoint returned 500"):
        sandbox.deny(ada)


FAULTS: list[tuple[Fault, type[seconder.SecondFactorError], dict[str, Any]]] = [
    (Fault.TIMEOUT, seconder.Timeout, {"retry_safe": False}),
    (Fault.LOST, seconder.Unavailable, {"retry_safe": False}),
    (Fault.RATE_LIMITED, seconder.RateLimited, {"retry_after": 30.0, "retry_safe": True}),
    (Fault.UNAUTHORIZED, seconder.Unauthorized, {"http_status": 401}),
    (Fault.INVALID_RESPONSE, seconder.InvalidResponse, {"retry_safe": False}),
    (Fault.STORAGE, seconder.Unavailable, {"retry_safe": False}),
    (Fault.STATUS, seconder.Unavailable, {"retry_safe": False}),
]


@pytest.mark.parametrize(("fault", "error", "attributes"), FAULTS)
def test_faults_in_this_process(
    sandbox: Sandbox,
    ada: int,
    fault: Fault,
    error: type[seconder.SecondFactorError],
    attributes: dict[str, Any],
) -> None:
    with sandbox.failing(fault), pytest.raises(error) as raised:
        sandbox.service.request_sms(ada)
    for name, value in attributes.items():
        assert getattr(raised.value, name) == value, name
    # LOST is the only fault that carries out the call.
    assert len(sandbox.messages) == (fault is Fault.LOST)
    sandbox.advance(30)
    assert sandbox.service.request_sms(ada).message


@pytest.mark.parametrize(("fault", "error", "attributes"), FAULTS)
def test_faults_are_the_same_remotely(
    sandbox: Sandbox,
    ada: int,
    fault: Fault,
    error: type[seconder.SecondFactorError],
    attributes: dict[str, Any],
) -> None:
    here = messages_of(sandbox.service, sandbox, fault, error, ada)
    assert sandbox.service.app_details().name == "Sandbox", "the fault has ended"
    with remotely(sandbox, timeout=5) as service:
        # TIMEOUT takes the whole timeout of the call, so that is short; other calls may be slower.
        # The connection is there before it counts.
        service.app_details()
        asking = service.with_timeout(1) if fault is Fault.TIMEOUT else service
        assert messages_of(asking, sandbox, fault, error, ada) == here
        assert service.app_details().name == "Sandbox", "the fault has ended"


def messages_of(
    service: seconder.Service,
    sandbox: Sandbox,
    fault: Fault,
    error: type[seconder.SecondFactorError],
    user: int,
) -> str:
    with sandbox.failing(fault), pytest.raises(error) as raised:
        service.request_sms(user)
    # In this process, a fault has a port of its own.
    return re.sub(r"127\.0\.0\.1:\d+", "the sandbox", str(raised.value))


def test_an_undelivered_message_can_be_requested_again(
    sandbox: Sandbox, ada: int, remote: seconder.Service
) -> None:
    with sandbox.failing("undelivered"):
        # A service does not say to its clients what its gateway says.
        says = "the gateway did not accept the message" if sandbox.ca_file is None else None
        with pytest.raises(seconder.Unavailable, match=says):
            sandbox.service.request_sms(ada)
        assert sandbox.service.user_status(ada), "only messages fail"
        with pytest.raises(seconder.SecondFactorError):
            remote.request_sms(ada)
    assert not sandbox.messages
    assert sandbox.service.request_sms(ada).message


def test_faults_can_be_limited_to_calls_and_times(sandbox: Sandbox, ada: int) -> None:
    with sandbox.failing("invalid_response", calls={"user_status"}, times=1):
        assert sandbox.service.app_details()
        with pytest.raises(seconder.InvalidResponse):
            sandbox.service.user_status(ada)
        assert sandbox.service.user_status(ada)
    with sandbox.failing("rate_limited"), sandbox.failing("unauthorized", calls="app_details"):
        with pytest.raises(seconder.Unauthorized):
            sandbox.service.app_details()
        with pytest.raises(seconder.RateLimited):
            sandbox.service.user_status(ada)
        assert sandbox.add_device(ada), "a call that only an engine has is never affected"
    with (
        pytest.raises(ValueError, match="there is no call login"),
        sandbox.failing("lost", calls={"login"}),
    ):
        pass
    with (
        pytest.raises(ValueError, match="broken"),
        sandbox.failing(
            "broken"  # type: ignore[arg-type]
        ),
    ):
        pass


def test_a_wait_continues_after_a_fault(sandbox: Sandbox, ada: int) -> None:
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    sandbox.approve(uuid=uuid)
    with sandbox.failing("rate_limited", calls={"check_approval"}, times=1, retry_after=0):
        approval = sandbox.service.wait_for_approval(uuid, ada, timeout=5)
    assert approval.approved_by(ada)


def test_every_call_works_remotely(sandbox: Sandbox, remote: seconder.Service, ada: int) -> None:
    again = remote.create_user("ada@example.org", "555-010-0123", 1)
    assert (again.user_id, again.created) == (ada, False)
    with pytest.raises(seconder.Rejected, match="cellphone belongs to a user"):
        remote.create_user("eve@example.org", "555-010-0123", 1, new_only=True)
    assert remote.request_sms(ada).cellphone == "+1-XXX-XXX-XX23"
    assert remote.verify(ada, sandbox.code(ada))
    remote.enrol_authenticator(ada)
    assert remote.verify(ada, sandbox.authenticator_code(ada))
    uuid = remote.create_approval(ada, "Log in?", details={"city": "Zürich"}).uuid
    assert verified(sandbox, sandbox.approve(ada)).approved_by(ada)
    assert remote.wait_for_approval(uuid, ada, timeout=5).approved_by(ada)
    remote.start_phone_verification("sms", "555-010-0177", 1)
    code = sandbox.code("555-010-0177")
    assert remote.check_phone_verification("555-010-0177", 1, code)
    assert remote.user_status(ada) == sandbox.service.user_status(ada)
    assert remote.delete_user(ada)
    with pytest.raises(seconder.Rejected) as gone:
        remote.user_status(ada)
    assert gone.value.http_status == 404


def test_a_wrong_key_is_rejected_remotely(sandbox: Sandbox) -> None:
    with (
        remotely(sandbox, api_key="another") as service,
        pytest.raises(seconder.Unauthorized),
    ):
        service.app_details()


def test_an_application_can_open_the_sandbox_itself(
    sandbox: Sandbox, ada: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seconder.open", sandbox.open)
    with seconder.open("https://2fa.example.com", api_key="key", timeout=3) as service:
        assert isinstance(service, seconder.Service)
        service.request_sms(ada)
        with sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized):
            service.user_status(ada)
    with pytest.raises(seconder.InvalidArgument, match="is closed"):
        service.user_status(ada)
    assert sandbox.service.user_status(ada) and sandbox.code(ada)
    uuid = sandbox.service.create_approval(ada, "Log in?").uuid
    sandbox.service.close()
    assert verified(sandbox, sandbox.approve(ada)).uuid == uuid


def test_accept_selects_the_accepted_tokens(options: dict[str, Any]) -> None:
    with Sandbox(**options, accept="every") as sandbox:
        assert sandbox.service.verify(4711, "1234567")
    with Sandbox(**options, accept="0000000", token_length=6) as sandbox:
        assert sandbox.service.verify(4711, "0000000")
        with pytest.raises(seconder.TokenInvalid):
            sandbox.service.verify(4711, "1234567")
        user = sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id
        sandbox.service.request_sms(user)
        assert len(sandbox.code(user)) == 6
    for wrong in [{"accept": "12"}, {"token_length": 11}, {"api_key": ""}, {"callback_url": "x"}]:
        with pytest.raises(seconder.InvalidArgument):
            Sandbox(**{**options, **wrong})  # type: ignore[dict-item]


@here_only
def test_a_sandbox_can_be_emptied(sandbox: Sandbox, ada: int) -> None:
    sandbox.service.enrol_authenticator(ada)
    sandbox.add_device(ada)
    sandbox.service.clear_sandbox()
    with pytest.raises(seconder.Rejected):
        sandbox.service.user_status(ada)
    with pytest.raises(AssertionError, match="has no authenticator app"):
        sandbox.authenticator_code(ada)
    again = sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id
    assert again != ada and sandbox.pending(again) == ()


def test_threads_can_share_a_sandbox(sandbox: Sandbox) -> None:
    def enrol(number: int) -> None:
        cellphone = f"555-010-01{number}"
        user = sandbox.service.create_user(f"u{number}@example.com", cellphone, 1).user_id
        sandbox.service.request_sms(user)
        sandbox.service.verify(user, sandbox.code(user))
        done.append(user)

    done: list[int] = []
    threads = [threading.Thread(target=enrol, args=(number,)) for number in range(10, 18)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(done)) == 8 == len(sandbox.messages)


def test_latency_delays_a_message_that_the_application_delivers() -> None:
    delivered: list[seconder.Message] = []
    with Sandbox(run_deliver=True) as sandbox:
        service = sandbox.open("sqlite:app.db", deliver=delivered.append)
        before = sandbox.now
        with sandbox.failing("latency", seconds=3):
            service.start_phone_verification("sms", "555-010-0123", 1)
        assert (sandbox.now - before).total_seconds() == 3
        assert [message.code for message in delivered] == [sandbox.messages[-1].code]


def test_closing_ends_waiting_calls(sandbox: Sandbox, ada: int) -> None:
    service = remotely(sandbox, timeout=20)
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            service.user_status(ada)
        except seconder.Unavailable as error:
            ended.append(error)

    with sandbox.failing("timeout"):
        thread = threading.Thread(target=ask)
        thread.start()
        until = time.monotonic() + 60
        while sandbox.unused_faults and time.monotonic() < until:
            time.sleep(0.01)
        sandbox.close()
        thread.join(10)
    assert ended
    service.close()
    sandbox.close()
    with pytest.raises(seconder.InvalidArgument, match="is closed"):
        sandbox.service.app_details()


def test_repr_shows_no_secret(sandbox: Sandbox, ada: int) -> None:
    sandbox.service.request_sms(ada)
    sandbox.service.create_approval(ada, "Log in?")
    callback = sandbox.approve(ada)
    shown = f"{sandbox!r} {sandbox.service!r} {callback!r} {sandbox.messages!r}"
    assert sandbox.api_key not in shown and sandbox.code(ada) not in shown
    assert callback.headers["X-Svc-Signature"] not in shown


def test_neither_importing_the_package_nor_a_sandbox_imports_pytest() -> None:
    program = (
        "import sys, seconder; assert 'seconder.testing' not in sys.modules;"
        "from seconder.testing import Sandbox; Sandbox().close();"
        "assert 'pytest' not in sys.modules and '_pytest' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

"""Observing calls from programs: the hook, ids, the classes of errors, and what happens to the
functions that deliver."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seconder
import seconder._opened
from conftest import Phone, RETRIED_ONCE, RemoteService, open_with

NUMBER = "555-010-0123"


def enrolled(service: seconder.Service) -> int:
    created = service.create_user("ada@example.com", NUMBER, 1, send_install_link_via_sms=False)
    return created.user_id


def test_the_hook_gets_a_record_of_each_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    records: list[seconder.results.CallRecord] = []
    with seconder.open("sandbox:?accept=right", on_call=records.append) as service:
        user = enrolled(service)
        with pytest.raises(seconder.TokenInvalid) as caught:
            service.with_timeout(5).verify(user, "1234567")
        with pytest.raises(seconder.UserNotFound) as unknown:
            service.with_repeats("none").user_status(12345)
        with pytest.raises(seconder.InvalidArgument) as malformed:
            service.user_status("ada")  # type: ignore[arg-type]
    shown = [(r.call, r.outcome, r.error, r.code, r.user_id, r.retries) for r in records]
    assert shown == [
        ("create_user", "ok", None, None, user, 0),
        ("verify", "token_wrong", "TokenInvalid", "60020", user, 0),
        ("user_status", "rejected", "UserNotFound", "60026", 12345, 0),
    ]
    assert all(0 < record.duration < 60 for record in records)
    ids = [record.request_id for record in records]
    assert ids[1:] == [caught.value.request_id, unknown.value.request_id]
    assert len({*ids, malformed.value.request_id}) == 4
    assert all(each is not None and len(each) == 16 and int(each, 16) >= 0 for each in ids)
    logged = [vars(record)["seconder_request_id"] for record in caplog.records]
    assert logged == ids and f"request_id={ids[0]}" in caplog.messages[0]
    with pytest.raises(AttributeError):
        records[0].call = "another"  # type: ignore[misc]
    assert seconder.InvalidArgument().request_id is None


def test_the_hook_counts_retries(remote: RemoteService) -> None:
    records: list[seconder.results.CallRecord] = []
    remote.status, remote.body, remote.waits = 503, {}, RETRIED_ONCE.copy()
    with remote.open(on_call=records.append) as service:
        with pytest.raises(seconder.RateLimited):
            service.app_details()
    assert [(r.retries, r.http_status, r.error) for r in records] == [(1, 503, "RateLimited")]


def test_a_hook_that_fails_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(record: seconder.results.CallRecord) -> None:
        raise RuntimeError("the hook fails")

    with seconder.open("sandbox:", on_call=fails) as service:
        assert service.app_details().name == "Seconder"
        with pytest.raises(seconder.UserNotFound):
            service.user_status(12345)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert all("the hook fails" in str(record.exc_text) for record in caplog.records)


def test_the_hook_is_called_for_the_calls_of_others_only() -> None:
    seen: list[str] = []

    def calls(record: seconder.results.CallRecord) -> None:
        seen.append(record.call)
        service.user_status(user)

    with seconder.open("sandbox:") as service:
        user = enrolled(service)
    with seconder.open("sandbox:", on_call=calls) as service:
        user = enrolled(service)
        service.app_details()
    assert seen == ["create_user", "app_details"]


def test_ctrl_c_in_a_hook_is_not_lost() -> None:
    def interrupted(record: seconder.results.CallRecord) -> None:
        raise KeyboardInterrupt

    with seconder.open("sandbox:", on_call=interrupted) as service:
        with pytest.raises(KeyboardInterrupt):
            service.app_details()


def test_the_hook_of_an_event_loop() -> None:
    records: list[seconder.results.CallRecord] = []

    async def ask() -> None:
        async with seconder.open_async("sandbox:", on_call=records.append) as service:
            await service.app_details()
            user = (await service.create_user("ada@example.com", NUMBER, 1)).user_id
            uuid = (await service.create_approval(user, "Log in?")).uuid
            await service.wait_for_approval(uuid, user, timeout=0.01)

    asyncio.run(ask())
    assert [record.call for record in records][:3] == [
        "app_details",
        "create_user",
        "create_approval",
    ]
    assert {record.call for record in records[3:]} == {"wait_for_approval"}


def test_rejections_have_classes() -> None:
    with seconder.open("sandbox:?accept=right") as service:
        user = enrolled(service)
        device = service.register_device(user, "ios")
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        request = service.create_approval(user, "Log in?").uuid
        service.respond_to_approval(request, **proof, response="deny")
        service.start_phone_verification("sms", "555-010-0199", 1)
        calls: list[tuple[type[seconder.Rejected], seconder.enums.Code, Callable[[], object]]] = [
            (
                seconder.UserNotFound,
                seconder.enums.Code.USER_NOT_FOUND,
                lambda: service.verify(99, "123456"),
            ),
            (
                seconder.UserNotFound,
                seconder.enums.Code.USER_NOT_FOUND,
                lambda: service.request_sms(99),
            ),
            (
                seconder.UserNotFound,
                seconder.enums.Code.USER_NOT_FOUND,
                lambda: service.machines.find_user("bob"),
            ),
            (
                seconder.AlreadyEnrolled,
                seconder.enums.Code.INVALID_USER,
                lambda: service.create_user("eve@example.com", NUMBER, 1, new_only=True),
            ),
            (
                seconder.ApprovalNotFound,
                seconder.enums.Code.APPROVAL_NOT_FOUND,
                lambda: service.check_approval("a-1"),
            ),
            (
                seconder.ApprovalNotPending,
                seconder.enums.Code.APPROVAL_NOT_PENDING,
                lambda: service.respond_to_approval(request, **proof, response="approve"),
            ),
            (
                seconder.VerificationNotFound,
                seconder.enums.Code.VERIFICATION_NOT_FOUND,
                lambda: service.check_phone_verification("555-010-0198", 1, "0000"),
            ),
        ]
        for kind, code, call in calls:
            with pytest.raises(seconder.Rejected) as caught:
                call()
            assert type(caught.value) is kind and caught.value.code == code, code


def test_a_wrong_code_is_the_same_error_for_a_number_as_for_a_user(phone: Phone) -> None:
    phone.service.start_phone_verification("sms", "555-010-0199", 1)
    for code, call in (
        (
            seconder.enums.Code.VERIFICATION_CODE_WRONG,
            lambda: phone.service.check_phone_verification("555-010-0199", 1, "12345678"),
        ),
        (
            seconder.enums.Code.TOKEN_WRONG,
            lambda: phone.service.verify(phone.user_id, "12345678"),
        ),
    ):
        with pytest.raises(seconder.TokenInvalid) as caught:
            call()
        assert type(caught.value) is seconder.TokenInvalid and caught.value.code == code
        assert not caught.value.reused and caught.value.http_status is None


def test_a_code_that_was_used_has_a_class(phone: Phone) -> None:
    phone.service.request_sms(phone.user_id)
    phone.service.verify(phone.user_id, phone.code())
    with pytest.raises(seconder.TokenInvalid) as caught:
        phone.service.verify(phone.user_id, phone.code())
    assert type(caught.value) is seconder.AlreadyUsed and caught.value.reused
    assert caught.value.code is not None and seconder.enums.Code(caught.value.code)


def test_an_unknown_code_stays_text(remote: RemoteService) -> None:
    remote.status, remote.body = 400, {"message": "No.", "error_code": "60999"}
    with remote.open() as service, pytest.raises(seconder.Rejected) as caught:
        service.user_status(7)
    assert caught.value.code == "60999" and type(caught.value) is seconder.Rejected


READS: list[Callable[[seconder.Service], object]] = [
    lambda service: service.user_status(7),
    lambda service: service.app_details(),
    lambda service: service.admin.app_stats(),
    lambda service: service.phone_info(NUMBER, 1),
    lambda service: service.phone_verification_status(phone_number=NUMBER, country_code=1),
    lambda service: service.check_approval("a-1"),
    lambda service: service.machines.find_user("ada"),
]


@pytest.mark.parametrize("call", READS)
def test_calls_that_only_read_can_be_retried(
    remote: RemoteService, call: Callable[[seconder.Service], object]
) -> None:
    remote.status, remote.body = 502, {}
    with remote.open() as service:
        with pytest.raises(seconder.Unavailable, match="changes nothing") as caught:
            call(service)
        assert caught.value.stage == "response" and caught.value.retry_safe
        with pytest.raises(seconder.Unavailable, match="check before you retry") as written:
            service.request_sms(7)
        assert not written.value.retry_safe


class Gateway(Exception):
    """The exception that a gateway raises."""


def test_the_exception_of_deliver_is_the_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def deliver(message: seconder.Message) -> None:
        raise Gateway("no credit left")

    with seconder.open(f"sqlite:{tmp_path}/test.db", deliver=deliver) as service:
        user = enrolled(service)
        with pytest.raises(seconder.Unavailable, match="no credit left") as caught:
            service.request_sms(user)
        assert isinstance(caught.value.__cause__, Gateway)
        assert caught.value.stage is seconder.enums.Stage.DELIVERY
        with pytest.raises(seconder.UserNotFound) as other:
            service.request_sms(99)
    assert other.value.__cause__ is None
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.name == "seconder" and record.getMessage() == "deliver failed"
    assert record.exc_info is not None and record.exc_info[1] is caught.value.__cause__
    assert "in deliver" in str(record.exc_text)


def test_no_code_and_no_number_is_logged_or_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    codes: list[str] = []

    def deliver(message: seconder.Message) -> None:
        codes.append(message.code)
        try:
            raise ValueError(f"cannot send {message.text} to {message.to}")
        except ValueError as error:
            raise Gateway("bad request") from error

    with seconder.open(f"sqlite:{tmp_path}/test.db", deliver=deliver) as service:
        user = enrolled(service)
        with pytest.raises(seconder.Unavailable) as caught:
            service.request_sms(user)
    cause = caught.value.__cause__
    assert str(cause) == "deliver raised Gateway, whose text includes the code"
    assert cause is not None and cause.__cause__ is None and cause.__context__ is None
    assert codes[0] not in caplog.text and "5550100123" not in caplog.text
    assert "cannot send" in caplog.text and "[hidden]" in caplog.text


def test_a_failing_post_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def post(callback: seconder.results.SignedCallback) -> None:
        raise Gateway("the application is down")

    with seconder.open(
        "sandbox:", post=post, engine=seconder.EngineOptions(callback_url="https://app.example/")
    ) as service:
        user = enrolled(service)
        device = service.register_device(user, "ios")
        request = service.create_approval(user, "Log in?").uuid
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        service.respond_to_approval(request, **proof, response="deny")
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage() == "post failed" and "the application is down" in str(
        record.exc_text
    )


async def async_deliver(message: seconder.Message) -> None: ...


class AsyncObject:
    async def __call__(self, message: seconder.Message) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (7, "must be a function"),
        (lambda: None, "must take one argument"),
        (lambda to, text: None, "must take one argument"),
        (async_deliver, "must not be an async function"),
        (AsyncObject(), "must not be an async function"),
    ],
)
def test_a_wrong_function_is_rejected_by_open(tmp_path: Path, wrong: Any, says: str) -> None:
    for name in ("deliver", "post", "on_call"):
        with pytest.raises(seconder.InvalidArgument, match=f"^{name} {says}") as caught:
            open_with(f"sqlite:{tmp_path}/test.db", **{name: wrong})
        assert caught.value.parameter == name
    assert not list(tmp_path.iterdir()), "nothing is created"


@pytest.mark.parametrize("limit", [0, -1, float("nan"), 3601, "5", True])
def test_a_wrong_limit_is_rejected(limit: Any) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        seconder.open("sandbox:", deliver=print, deliver_timeout=limit)
    assert caught.value.parameter == "deliver_timeout"
    with pytest.raises(seconder.InvalidArgument, match="without deliver"):
        seconder.open("sandbox:", deliver_timeout=5)


def test_a_plain_function_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    go_on = threading.Event()

    def deliver(message: seconder.Message) -> None:
        go_on.wait(60)

    url = f"sqlite:{tmp_path}/test.db"
    with seconder.open(url, deliver=deliver, deliver_timeout=0.05) as service:
        user = enrolled(service)
        with pytest.raises(seconder.Unavailable, match="took longer than 0.05 s") as caught:
            service.request_sms(user)
        assert isinstance(caught.value.__cause__, TimeoutError)
    go_on.set()


def test_an_async_deliver_runs_on_the_loop_of_the_call(tmp_path: Path) -> None:
    loops: list[object] = []

    async def deliver(message: seconder.Message) -> None:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())

    async def ask() -> None:
        url = f"sqlite:{tmp_path}/test.db"
        for given in (deliver, lambda message: deliver(message)):
            async with seconder.open_async(url, deliver=given) as service:
                created = await service.create_user(
                    "ada@example.com", NUMBER, 1, send_install_link_via_sms=False
                )
                await service.request_sms(created.user_id, action=f"a{len(loops)}")
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(ask())


def test_an_async_deliver_that_fails_or_takes_too_long(tmp_path: Path) -> None:
    async def fails(message: seconder.Message) -> None:
        raise Gateway("no credit left")

    async def sleeps(message: seconder.Message) -> None:
        await asyncio.sleep(60)

    async def ask(deliver: Any, limit: float, cause: type[BaseException]) -> None:
        url = f"sqlite:{tmp_path}/test.db"
        async with seconder.open_async(url, deliver=deliver, deliver_timeout=limit) as service:
            created = await service.create_user(
                "ada@example.com", NUMBER, 1, send_install_link_via_sms=False
            )
            with pytest.raises(seconder.Unavailable) as caught:
                await service.request_sms(created.user_id)
            assert type(caught.value.__cause__) is cause

    began = time.monotonic()
    asyncio.run(ask(fails, 60, Gateway))
    asyncio.run(ask(sleeps, 0.05, TimeoutError))
    assert time.monotonic() - began < 30


def test_a_database_without_deliver_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seconder._opened, "_warned", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconder.open("sandbox:").close()
        seconder.open(f"sqlite:{tmp_path}/test.db", deliver=print).close()
        assert not caught
        for _ in range(2):
            seconder.open(f"sqlite:{tmp_path}/test.db").close()
    (warning,) = caught
    assert warning.category is seconder.SpoolWarning and warning.filename == __file__
    monkeypatch.setattr(seconder._opened, "_warned", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(seconder.SpoolWarning):
            seconder.open(f"sqlite:{tmp_path}/test.db")


def test_services_and_results_have_weak_references() -> None:
    service = seconder.open("sandbox:")
    result, other = service.app_details(), seconder.AsyncService(service)
    alive: list[Callable[[], object]] = []
    alive += [weakref.ref(service), weakref.ref(result), weakref.ref(other)]
    assert all(each() is not None for each in alive)
    service.close()
    del service, result, other
    gc.collect()
    assert [each() for each in alive] == [None] * 3


def test_a_service_that_its_hook_refers_to_is_collected() -> None:
    class Application:
        def __init__(self) -> None:
            self.service = seconder.open("sandbox:", on_call=self.seen)

        def seen(self, record: seconder.results.CallRecord) -> None: ...

    application = weakref.ref(Application())
    gc.collect()
    assert application() is None


def test_capitals_in_a_scheme_do_not_count(tmp_path: Path) -> None:
    with seconder.open("HTTPS://2fa.example", api_key="key") as service:
        assert repr(service) == "<seconder.Service on https:>"
    with seconder.open(f"SQLite:{tmp_path}/Test.db") as service:
        assert repr(service) == "<seconder.Service on sqlite:>"
    assert (tmp_path / "Test.db").exists()
    with seconder.open("Sandbox:") as service:
        assert service.app_details().name == "Seconder"


def test_trio_gets_an_error_at_once() -> None:
    trio = pytest.importorskip("trio")

    async def opens() -> None:
        async with seconder.open_async("sandbox:"):
            raise AssertionError

    async def calls(service: seconder.AsyncService) -> None:
        await service.app_details()

    with pytest.raises(RuntimeError, match="needs a running event loop of asyncio. trio is not"):
        trio.run(opens)
    with seconder.open("sandbox:") as service:
        with pytest.raises(RuntimeError, match="trio is not supported"):
            trio.run(calls, seconder.AsyncService(service))

"""Services that an application opens from a sandbox: their settings are checked, their functions
run when asked, their calls are recorded, and all of it is closed with the sandbox."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import GROUPS, open_with

import seconder
from seconder.testing import Call, Sandbox
from seconder.testing._calls import SECRETS

URL = "https://2fa.example.com"


@pytest.fixture
def ada(seconder_sandbox: Sandbox) -> int:
    return seconder_sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id


def remote(sandbox: Sandbox, **settings: Any) -> seconder.Service:
    settings = {"timeout": 5, **settings}
    return open_with(sandbox.url, api_key=sandbox.api_key, allow_loopback_http=True, **settings)


# Closing of services.


def test_closing_a_sandbox_closes_its_services() -> None:
    with Sandbox() as sandbox:
        services = [
            sandbox.service,
            sandbox.service.with_timeout(3),
            sandbox.open(URL, api_key="key"),
            sandbox.open("sqlite:app.db").with_repeats("none"),
        ]
    for service in services:
        assert "closed" in repr(service)
        calls: list[Callable[[seconder.Service], object]] = [
            lambda service: service.app_details(),
            lambda service: service.wait_for_approval("a-1", 1, timeout=5),
            lambda service: service.clear_sandbox(),
        ]
        for call in calls:
            with pytest.raises(seconder.InvalidArgument, match=r"closed.*cache_clear") as closed:
                call(service)
            assert closed.value.parameter == "service"
    ways: list[Callable[[], object]] = [lambda: sandbox.open("sandbox:"), lambda: sandbox.url]
    for way in ways:
        with pytest.raises(seconder.InvalidArgument, match="closed"):
            way()
    assert len(sandbox.calls) == 0 and sandbox.messages == ()


def test_closing_a_sandbox_ends_the_threads_of_asynchronous_services() -> None:
    before = set(threading.enumerate())

    async def use() -> None:
        sandbox = Sandbox()
        service = await sandbox.open_async(URL, api_key="key", threads=2)
        await asyncio.gather(*(service.app_details() for _ in range(4)))
        sandbox.close()
        with pytest.raises(seconder.InvalidArgument, match="closed"):
            await service.app_details()
        with pytest.raises(seconder.InvalidArgument, match="closed"):
            await service.wait_for_approval("a-1", 1, timeout=5)
        await service.close()

    asyncio.run(use())
    ended(before)


def test_closing_a_sandbox_ends_its_server_and_connections() -> None:
    before = set(threading.enumerate())
    sandbox = Sandbox()
    with sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized):
        sandbox.service.app_details()
    with remote(sandbox) as kept:
        assert kept.app_details().name == "Sandbox"
        sandbox.close()
        ended(before)
        with pytest.raises(seconder.Unavailable):
            kept.app_details()
    sandbox.close()


def ended(before: set[threading.Thread]) -> None:
    """Waits until every thread has ended that was not there before."""
    limit = time.monotonic() + 60
    while set(threading.enumerate()) - before:
        assert time.monotonic() < limit, threading.enumerate()
        time.sleep(0.01)


def test_a_service_that_the_application_closed_is_closed_for_it_alone(
    seconder_sandbox: Sandbox,
) -> None:
    first, second = (seconder_sandbox.open(URL, api_key="key") for _ in range(2))
    first.close()
    with pytest.raises(seconder.InvalidArgument, match="service is closed$"):
        first.app_details()
    assert second.app_details() and seconder_sandbox.service.app_details()


# Wrong settings.

WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((URL,), {}),
    ((URL,), {"api_key": ""}),
    ((URL,), {"api_key": 7}),
    ((URL, "key"), {}),
    ((URL,), {"api_key": "key", "api_kee": "key"}),
    ((URL,), {"api_key": "key", "timeout": 0}),
    ((URL,), {"api_key": "key", "timeout": 3601}),
    ((URL,), {"api_key": "key", "client": seconder.ClientOptions(repeats="some")}),  # type: ignore[arg-type]
    ((URL,), {"api_key": "key", "client": seconder.ClientOptions(ca_file="/there/is/none.pem")}),
    ((URL,), {"api_key": "key", "client": seconder.ClientOptions(pins=["sha256/tooshort"])}),
    ((URL,), {"api_key": "key", "engine": seconder.EngineOptions(token_length=6)}),
    ((URL,), {"api_key": "key", "deliver": print}),
    ((URL,), {"api_key": "key", "names": {"word": "acme"}}),
    (("http://2fa.example.com",), {"api_key": "key"}),
    (("http://127.0.0.1:1",), {"api_key": "key"}),
    (("https://",), {"api_key": "key"}),
    (("https://2fa.example.com/?a",), {"api_key": "key"}),
    (("unix:relative.sock",), {}),
    (("unix:/run/s.sock",), {"api_key": "key"}),
    (("sqlite:",), {}),
    (("sqlite::memory:",), {}),
    (("sqlite:app.db?mode=ro",), {}),
    (("sqlite:app.db",), {"timeout": 3}),
    (("sqlite:app.db",), {"engine": seconder.EngineOptions(token_length=5)}),
    (("sqlite:app.db",), {"engine": seconder.EngineOptions(token_length="7")}),  # type: ignore[arg-type]
    (("sqlite:app.db",), {"engine": seconder.EngineOptions(must_exist="yes")}),  # type: ignore[arg-type]
    (("sqlite:app.db",), {"engine": seconder.EngineOptions(callback_url="ftp://app.example")}),
    (("sqlite:app.db",), {"engine": seconder.EngineOptions(callback_ca_file="/there/is/none.pem")}),
    (("sqlite:app.db",), {"engine": seconder.EngineOptions(authenticator_period=0)}),
    (("sqlite:app.db",), {"deliver": "print"}),
    (("sqlite:app.db",), {"post": 7}),
    (("sandbox:?accept=12",), {}),
    (("sandbox:",), {"engine": seconder.EngineOptions(must_exist=True)}),
    (("postgres://db",), {}),
    (
        ("postgres://seconder@db:5432/app",),
        {"engine": seconder.EngineOptions(keyring="ring"), "timeout": 3},
    ),
    (("mysql://db",), {}),
    (("app.db",), {}),
    ((7,), {}),
    ((None,), {}),
]


@pytest.mark.parametrize(("args", "settings"), WRONG, ids=[f"{a} {s}" for a, s in WRONG])
def test_wrong_settings_are_refused_as_in_production(
    seconder_sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[Any, ...],
    settings: dict[str, Any],
) -> None:
    monkeypatch.chdir(tmp_path)

    def error_of(opened: Callable[..., object]) -> tuple[type, str, object]:
        with pytest.raises((seconder.SecondFactorError, TypeError)) as caught:
            opened(*args, **settings)
        # A TypeError names the function.
        text = str(caught.value) if not isinstance(caught.value, TypeError) else ""
        return type(caught.value), text, getattr(caught.value, "parameter", None)

    async def await_(opening: seconder.aio.Opening) -> None:
        await (await opening).close()

    expected = error_of(seconder.open)
    assert error_of(seconder_sandbox.open) == expected
    assert error_of(lambda *a, **s: asyncio.run(await_(seconder_sandbox.open_async(*a, **s)))) == (
        error_of(lambda *a, **s: asyncio.run(await_(seconder.open_async(*a, **s))))
    )
    assert list(tmp_path.iterdir()) == []


RIGHT: list[tuple[str, dict[str, Any]]] = [
    (
        URL,
        {
            "api_key": "key",
            "timeout": 3,
            "client": seconder.ClientOptions(repeats=seconder.enums.Repeats.ALL),
        },
    ),
    (
        "https://nowhere.invalid",
        {"api_key": "key", "client": seconder.ClientOptions(name_servers=["192.0.2.1"])},
    ),
    ("unix:/there/is/none.sock", {"timeout": 2.5}),
    (
        "sqlite:app.db",
        {
            "engine": seconder.EngineOptions(must_exist=True, application_name="Example"),
            "deliver": print,
        },
    ),
    ("sqlite://app.db", {}),
    (
        "sqlite:/there/is/no/folder/app.db",
        {"engine": seconder.EngineOptions(token_length=6), "post": print},
    ),
    ("sandbox:?accept=0000000", {}),
]


@pytest.mark.parametrize(("url", "settings"), RIGHT)
def test_right_settings_open_the_sandbox_and_nothing_else(
    seconder_sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    settings: dict[str, Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert seconder_sandbox.open(url, **settings).app_details().name == "Sandbox"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"token_length": "7"},
        {"token_length": 300},
        {"api_key": 7},
        {"application_name": None, "callback_url": 7},
        {"accept": "12"},
        {"names": {"word": "acme"}},
    ],
)
def test_wrong_settings_of_a_sandbox_are_refused_alike(wrong: dict[str, Any]) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        Sandbox(**wrong)
    assert caught.value.parameter in {*wrong, "url"}


# The application's own functions.


def test_the_own_deliver_runs_when_asked() -> None:
    delivered: list[seconder.Message] = []
    for runs in (False, True):
        with Sandbox(run_deliver=runs) as sandbox:
            service = sandbox.open("sqlite:app.db", deliver=delivered.append)
            ada = service.create_user("ada@example.com", "555-010-0123", 1).user_id
            service.request_sms(ada)
            assert len(delivered) == runs and sandbox.code(ada)
            sandbox.service.request_call(ada)
            assert len(delivered) == runs, "the function of the service that is called"
            assert len(sandbox.messages) == 2
    assert delivered[0].code and delivered[0].to == "+15550100123"


def test_a_failure_of_the_own_deliver_is_that_of_production(tmp_path: Path) -> None:
    def deliver(message: seconder.Message) -> None:
        raise ConnectionError(f"the gateway did not take {message.code}")

    async def awaits(message: seconder.Message) -> None:
        raise AssertionError

    def failure(service: seconder.Service) -> dict[str, Any]:
        ada = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        with pytest.raises(seconder.SecondFactorError) as caught:
            service.request_sms(ada)
        fields = {name: getattr(caught.value, name, None) for name in ("stage", "retry_safe")}
        return {"kind": type(caught.value), "text": str(caught.value), **fields}

    wrong: list[Any] = [deliver, awaits]
    for number, function in enumerate(wrong):
        url = f"sqlite:{tmp_path}/{number}.db"
        try:
            real = seconder.open(url, deliver=function)
        except seconder.InvalidArgument:
            continue
        with real, Sandbox(run_deliver=True) as sandbox:
            assert failure(sandbox.open(url, deliver=function)) == failure(real)
            assert sandbox.messages == () and sandbox.calls[-1].outcome == "unavailable"


def test_the_own_post_runs_when_asked() -> None:
    posted: list[seconder.results.SignedCallback] = []

    def post(callback: seconder.results.SignedCallback) -> None:
        posted.append(callback)
        raise ConnectionError("the application is down")

    for runs in (False, True):
        with Sandbox(run_post=runs) as sandbox:
            service = sandbox.open("sqlite:app.db", post=post)
            ada = service.create_user("ada@example.com", "555-010-0123", 1).user_id
            uuid = service.create_approval(ada, "Log in?").uuid
            callback = sandbox.approve(ada)
            assert service.check_approval(uuid).approved_by(ada)
            assert len(posted) == runs
    assert (posted[0].url, posted[0].body) == (callback.url, callback.body)
    names = {name.lower() for name in posted[0].headers}
    assert {name.lower() for name in callback.headers} <= names | {"content-type"}


# The calls.


def test_calls_are_recorded_in_order(seconder_sandbox: Sandbox, ada: int) -> None:
    sandbox, service = seconder_sandbox, seconder_sandbox.service
    service.request_sms(ada)
    code = sandbox.code(ada)
    asynchronous = seconder.AsyncService(service)
    attempts: list[Callable[[], object]] = [
        lambda: service.verify(ada, code, force=False),
        lambda: service.verify(ada, "000000"),
        lambda: service.verify(ada, code),
        lambda: service.verify(ada, code),
        lambda: asyncio.run(asynchronous.verify(ada, "12")),
        lambda: service.request_sms(ada + 1),
        lambda: service.with_timeout(3).app_details(user_ip="no address"),
    ]
    for attempt in attempts:
        try:
            attempt()
        except seconder.SecondFactorError:
            pass
    for fault in ("timeout", "lost", "rate_limited", "unauthorized", "invalid_response"):
        with sandbox.failing(fault), pytest.raises(seconder.SecondFactorError):
            service.request_call(ada)
    uuid = service.create_approval(ada, "Log in?").uuid
    sandbox.approve(ada)
    service.wait_for_approval(uuid, ada, timeout=5)
    asyncio.run(asynchronous.wait_for_approval(uuid, ada, timeout=5))
    assert [(call.name, call.outcome) for call in sandbox.calls] == [
        ("create_user", "ok"),
        ("request_sms", "ok"),
        ("verify", "token_not_checked"),
        ("verify", "token_wrong"),
        ("verify", "ok"),
        ("verify", "token_reused"),
        ("verify", "token_malformed"),
        ("request_sms", "rejected"),
        ("app_details", "invalid_argument"),
        *[
            ("request_call", outcome)
            for outcome in (
                "unavailable",
                "unavailable",
                "rate_limited",
                "unauthorized",
                "invalid_response",
            )
        ],
        ("create_approval", "ok"),
        ("wait_for_approval", "ok"),
        ("wait_for_approval", "ok"),
    ]
    created, _, unforced, _, forced = sandbox.calls[:5]
    assert created.arguments["cellphone"] == "555-010-0123"
    assert unforced.arguments == {"token": "***", "user_id": ada, "force": False}
    assert isinstance(unforced.error, seconder.NotChecked)
    assert forced.error is None and forced.arguments["force"] is True
    assert code not in repr(sandbox.calls) and not any(call.remote for call in sandbox.calls)


def test_outcomes_are_those_of_the_log(
    seconder_sandbox: Sandbox, ada: int, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox = seconder_sandbox
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "seconder"):
        for service in (sandbox.service, remote(sandbox)):
            sandbox.service.clear_sandbox()
            use(service, sandbox)
    logged = [(r.seconder_call, r.seconder_outcome) for r in caplog.records]  # type: ignore[attr-defined]
    calls = [call for call in sandbox.calls[1:] if call.outcome != "invalid_argument"]
    assert [(call.name, call.outcome) for call in calls] == logged
    half = len(calls) // 2
    assert [call.remote for call in calls] == [False] * half + [
        call.name != "clear_sandbox" for call in calls[half:]
    ]


def use(service: seconder.Service, sandbox: Sandbox) -> None:
    """Makes calls with each outcome that a service has."""
    user = service.create_user("ada@example.com", "555-010-0123", 1).user_id
    calls: list[Callable[[], object]] = [
        lambda: service.request_sms(user),
        lambda: service.request_sms(user),
        lambda: service.verify(user, sandbox.code(user)),
        lambda: service.verify(user, "1111111"),
        lambda: service.verify(user, sandbox.code(user)),
        lambda: service.verify(user, sandbox.code(user)),
        lambda: service.user_status(user + 1),
        lambda: service.start_phone_verification("sms", "555-010-0177", 1),
        lambda: service.check_phone_verification("555-010-0177", 1, "0000"),
        lambda: service.check_phone_verification("555-010-0178", 1, "0000"),
        lambda: service.create_user("a@example.com", "555-010-0123", 1, new_only=True),
        lambda: service.delete_user(user),
    ]
    for call in calls:
        try:
            call()
        except seconder.SecondFactorError:
            pass
    for fault in ("lost", "rate_limited", "unauthorized", "invalid_response"):
        with sandbox.failing(fault), pytest.raises(seconder.SecondFactorError):
            service.delete_user(user)


def test_calls_over_http_have_their_arguments(seconder_sandbox: Sandbox, ada: int) -> None:
    with remote(seconder_sandbox) as service:
        service.create_user("ada@example.org", "555-010-0123", 1)
        service.request_sms(ada, action="pay", force=True)
        with pytest.raises(seconder.SecondFactorError):
            service.verify(ada, "1234567", action="pay")
        with seconder_sandbox.failing("rate_limited"), pytest.raises(seconder.RateLimited):
            service.create_approval(ada, "Log in?")
    created, sent, checked, asked = seconder_sandbox.calls[-4:]
    assert created.arguments["email"] == "ada@example.org"
    assert sent.arguments == {"user_id": ada, "action": "pay", "force": "true"}
    assert (checked.arguments["token"], checked.arguments["user_id"]) == ("***", ada)
    assert asked.arguments["message"] == "Log in?" and asked.outcome == "rate_limited"
    assert asked.remote and asked.error is None
    assert seconder_sandbox.api_key not in repr(seconder_sandbox.calls)


def test_every_secret_argument_is_masked() -> None:
    no_secrets = {"country_code", "code_length"}
    words = {"token", "code", "secret", "key", "password"}
    methods = [each for kind in GROUPS for each in inspect.getmembers(kind, inspect.isfunction)]
    for name, function in methods:
        if name.startswith("_"):
            continue
        parameters = inspect.signature(function).parameters
        for parameter in parameters:
            secret = bool(words & set(parameter.split("_"))) and parameter not in no_secrets
            assert secret is (parameter in SECRETS), (name, parameter)


# Unused faults.


def test_unused_faults_are_visible(seconder_sandbox: Sandbox, ada: int) -> None:
    sandbox, service = seconder_sandbox, seconder_sandbox.service
    with sandbox.failing("timeout", calls="verify"):
        service.app_details()
    with sandbox.failing("lost", times=2), pytest.raises(seconder.Unavailable):
        service.user_status(ada)
    with sandbox.failing("undelivered"):
        service.user_status(ada)
    with sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized):
        service.user_status(ada)
    with sandbox.failing("rate_limited", times=0):
        service.user_status(ada)
    assert [str(fault) for fault in sandbox.unused_faults] == [
        "timeout of verify: met 0 of any number of calls",
        "lost: met 1 of 2 calls",
        "undelivered: met 0 of any number of calls",
    ]
    assert sandbox.unused_faults[1].fault == "lost"


def test_a_cached_opener(seconder_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    @functools.cache
    def service() -> seconder.Service:
        return seconder.open(URL, api_key="key")

    monkeypatch.setattr("seconder.open", seconder_sandbox.open)
    assert service() is service() and service().app_details()
    seconder_sandbox.close()
    with pytest.raises(seconder.InvalidArgument, match=r"cache_clear\(\)"):
        service().app_details()
    with Sandbox() as another:
        monkeypatch.setattr("seconder.open", another.open)
        service.cache_clear()
        assert service().app_details()
        assert another.calls == (Call("app_details", {}, "ok"),)

"""One record of logging for each call, without secrets."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import seconder
from conftest import GROUPS, RETRIED_ONCE, Phone, RemoteService, method

KEY = "a-key-that-nobody-sees"
EMAIL, NUMBER, TOKEN = "hidden@example.com", "555-010-0199", "7654321"
PIN, TEXT, LOGIN, COOKIE = "47112233", "hidden text", "hidden-login", "hidden-cookie"


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """The attributes of this library."""
    return {k[9:]: v for k, v in vars(record).items() if k.startswith("seconder_")}


def make_every_call(service: seconder.Service) -> set[str]:
    """Makes every call with arguments that must not be logged, and returns the calls' names."""
    calls: dict[str, Any] = {
        "create_user": (EMAIL, NUMBER, 1),
        "request_sms": (1,),
        "request_call": (1,),
        "verify": (1, TOKEN),
        "register_activity": (1, "banned"),
        "app_details": (),
        "user_status": (1,),
        "app_stats": (),
        "start_phone_verification": ("sms", NUMBER, 1),
        "phone_info": (NUMBER, 1),
        "create_approval": (1, TEXT),
        "check_approval": ("a-1",),
        "check_phone_verification": (NUMBER, 1, PIN),
        "enrol_authenticator": (1,),
        "set_login": (1, LOGIN),
        "find_user": (LOGIN,),
        "remove_login": (LOGIN,),
        "create_recovery_codes": (1,),
        "prepare_offline": (1, TOKEN),
        "report_offline": (1, 1, [{"step": 1, "time": 1}]),
        "confirm_authenticator": (1, TOKEN),
        "remove_authenticator": (1, "1"),
        "remember": (1,),
        "recognise": (1, COOKIE),
        "forget": (1,),
        "unlock_user": (1,),
        "invite_device": (1,),
        "set_number": (1, NUMBER, 1, PIN),
        "register_device": (1, "ios"),
        "devices": (1,),
        "remove_device": (1, 1),
        "delete_user": (1,),
        "operate": ("user.list",),
    }
    options: dict[str, dict[str, Any]] = {
        "request_sms": {"action": TEXT, "action_message": TEXT},
        "register_activity": {"data": {"text": TEXT}},
        "enrol_authenticator": {"label": TEXT},
        "prepare_offline": {"machine": TEXT},
        "report_offline": {"machine": TEXT},
        "forget": {"token": COOKIE},
        "operate": {"after": TEXT},
        "phone_verification_status": {"phone_number": NUMBER, "country_code": 1},
        "open_approvals": {"device_id": 1, "device_secret": TEXT},
        "respond_to_approval": {"device_id": 1, "device_secret": TEXT, "response": "deny"},
        "wait_for_approval": {"timeout": 0.001},
    }
    calls |= {"phone_verification_status": (), "open_approvals": (), "respond_to_approval": ("a-1",)}
    calls |= {"wait_for_approval": ("a-1", 1), "clear_sandbox": ()}
    calls |= {"backup": ("/nowhere/at/all",), "audit": (), "run_jobs": (0,)}
    methods = [each for kind in GROUPS for each in inspect.getmembers(kind, inspect.isfunction)]
    own = {"api_key", "audit_pages", "cancel", "close", "reopen", "with_timeout", "with_repeats"}
    assert {name for name, _ in methods if name[0] != "_"} - own == set(calls)
    for name, arguments in calls.items():
        try:
            method(service, name)(*arguments, **options.get(name, {}))
        except seconder.SecondFactorError:
            pass
    # An operation is logged by its own name.
    return set(calls) - {"operate"} | {"user.list"}


def secrets_in(records: list[logging.LogRecord]) -> list[str]:
    secrets = (KEY, EMAIL, NUMBER, "5550100199", TOKEN, PIN, TEXT, LOGIN, COOKIE, "otpauth")
    shown = [f"{vars(record)}" for record in records]
    return [line for line in shown if any(secret in line for secret in secrets)]


def test_every_call_of_an_engine_is_logged_without_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with seconder.open("sandbox:?accept=right", api_key=KEY) as service:
        made = make_every_call(service)
    assert {record.seconder_call for record in caplog.records} == made  # type: ignore[attr-defined]
    assert len(caplog.records) == len(made) and {r.name for r in caplog.records} == {"seconder"}
    assert secrets_in(caplog.records) == []


@pytest.mark.parametrize("status", [200, 400, 401, 503])
def test_every_call_of_a_remote_service_is_logged_without_secrets(
    remote: RemoteService, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"{KEY} {EMAIL} {NUMBER} {TOKEN} {PIN} {TEXT} {COOKIE} 5550100199"
    remote.status, remote.headers = status, {"Retry-After": "60"}
    for code in ("60004", NUMBER, "5550100199", PIN, EMAIL):
        remote.body = {"message": echo, "error_code": code, "errors": {"message": echo, echo: echo}}
        with remote.open() as service:
            make_every_call(service)
    assert len(caplog.records) >= 5 * 16
    assert secrets_in(caplog.records) == []
    shown = {record.getMessage().split()[1] for record in caplog.records}
    assert len(shown) >= 1 and all(line.startswith("outcome=") for line in shown)


def test_a_record_says_what_happened(phone: Phone, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    phone.service.request_sms(phone.user_id)
    with pytest.raises(seconder.TokenInvalid):
        phone.service.verify(1, "9" * 7 if phone.code() != "9" * 7 else "8" * 7)
    sent, wrong = caplog.records
    assert (sent.levelno, wrong.levelno) == (logging.DEBUG, logging.INFO)
    line = f"call=request_sms outcome=ok user_id={phone.user_id} duration_ms="
    assert sent.getMessage().startswith(line)
    assert 0 < fields(sent).pop("duration") < 10
    found = {k: v for k, v in fields(wrong).items() if v and k not in ("duration", "request_id")}
    assert found == {
        "call": "verify",
        "outcome": "token_wrong",
        "user_id": phone.user_id,
        "code": "60020",
    }


def test_what_an_operator_has_to_see_to_is_a_warning(
    remote: RemoteService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    remote.status, remote.body = 401, {"message": "Invalid API key", "error_code": "60001"}
    with remote.open() as service:
        with pytest.raises(seconder.Unauthorized):
            service.app_details()
        remote.status, remote.body, remote.waits = 503, {}, RETRIED_ONCE.copy()
        with pytest.raises(seconder.RateLimited):
            service.app_details()
        remote.status, remote.body = 200, "<html>"
        with pytest.raises(seconder.InvalidResponse):
            service.app_details()
    levels = [(record.levelname, fields(record)["outcome"]) for record in caplog.records]
    assert levels == [
        ("WARNING", "unauthorized"),
        ("INFO", "rate_limited"),
        ("WARNING", "invalid_response"),
    ]
    counts = [(fields(r)["http_status"], fields(r)["attempts"]) for r in caplog.records]
    assert counts == [(401, 1), (503, 2), (200, 1)]


def test_a_disabled_logger_is_asked_once_and_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    logger = logging.getLogger("seconder")

    def enabled(level: int) -> bool:
        asked.append(level)
        return False

    monkeypatch.setattr(logger, "isEnabledFor", enabled)
    monkeypatch.setattr(logger, "_log", None)
    with seconder.open("sandbox:") as service:
        service.app_details()
        with pytest.raises(seconder.Rejected):
            service.user_status(12345)
    assert asked == [logging.DEBUG, logging.INFO]


def test_a_log_that_fails_does_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(record: logging.LogRecord) -> bool:
        raise RuntimeError("the filter fails")

    logger = logging.getLogger("seconder")
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    monkeypatch.setattr(logger, "filters", [fails])
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    try:
        with seconder.open("sandbox:") as service:
            assert service.app_details().name == "Seconder"
    finally:
        logger.manager._clear_cache()  # type: ignore[attr-defined]
    assert [str(each.exc_value) for each in seen] == ["the filter fails"]


def test_calls_of_a_log_are_logged_too_but_keep_their_own_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A deliver function that makes a call of its own gets a record for each."""
    caplog.set_level(logging.DEBUG)
    with seconder.open("sandbox:") as other:

        def deliver(message: seconder.Message) -> None:
            other.app_details()

        with seconder.open("sandbox:?accept=right", deliver=deliver) as service:
            user = service.create_user("ada@example.com", "555-010-0123", 1)
            service.request_sms(user.user_id)
    calls = [fields(record)["call"] for record in caplog.records]
    assert calls == ["create_user", "app_details", "request_sms"]


class Calling(logging.Handler):
    """A handler that calls a function."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__()
        self.function = function

    def emit(self, record: logging.LogRecord) -> None:
        self.function()


@pytest.fixture
def handlers() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Adds handlers of the logger that call a function."""
    logger = logging.getLogger("seconder")
    added: list[logging.Handler] = []

    def add(function: Callable[[], object]) -> None:
        handler = Calling(function)
        added.append(handler)
        logger.addHandler(handler)

    logger.setLevel(logging.DEBUG)
    yield add
    logger.setLevel(logging.NOTSET)
    for handler in added:
        logger.removeHandler(handler)


def test_the_calls_of_a_handler_are_not_logged(
    handlers: Callable[[Callable[[], object]], None],
) -> None:
    runs: list[int | None] = []
    with seconder.open("sandbox:") as service:
        handlers(lambda: runs.append(service.app_details().app_id))
        service.app_details()
        service.app_details()
    assert len(runs) == 2


def test_ctrl_c_in_a_handler_is_not_lost(
    handlers: Callable[[Callable[[], object]], None],
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with seconder.open("sandbox:") as service:
        handlers(interrupt)
        with pytest.raises(KeyboardInterrupt):
            service.app_details()
        with pytest.raises(KeyboardInterrupt) as caught:
            service.user_status(99)
    assert isinstance(caught.value.__context__, seconder.Rejected)

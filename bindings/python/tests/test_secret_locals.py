"""Error trackers get no secrets: the SDK of Sentry, with its default scrubber, sends the local
variables of every frame."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Any

import pytest

import seconder
import seconder.totp
from seconder import _seconder
from conftest import RemoteService, method
from tracker import captured, without_tests

KEY = "a-key-that-nobody-sees"
EMAIL, PHONE, TOKEN = "hidden@example.com", "555-010-0199", "7654321"
RECOVERY, PIN, TEXT = "123412341234", "47112233", "hidden text"
SECRET, DEVICE_SECRET = b"hidden-secret-of-an-app", "hidden-secret-of-a-device"
HIDDEN = (
    KEY,
    EMAIL,
    PHONE,
    "5550100199",
    TOKEN,
    RECOVERY,
    PIN,
    TEXT,
    SECRET.decode(),
    DEVICE_SECRET,
)


def shows_nothing(events: list[dict[str, Any]]) -> None:
    shown = without_tests(events)
    assert events and [each for each in HIDDEN if each in shown] == [], shown


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "create_user": ((EMAIL, PHONE, 1), {}),
    "request_sms": ((1,), {"action": TEXT, "action_message": TEXT}),
    "request_call": ((1,), {"action": TEXT}),
    "verify": ((1, TOKEN), {"force": True}),
    "delete_user": ((1,), {}),
    "register_activity": ((1, "banned"), {"data": {"text": TEXT}}),
    "app_details": ((), {}),
    "user_status": ((1,), {}),
    "app_stats": ((), {}),
    "start_phone_verification": (("sms", PHONE, 1), {}),
    "phone_info": ((PHONE, 1), {}),
    "create_approval": ((1, TEXT), {"details": {"text": TEXT}}),
    "check_approval": (("a-1",), {}),
    "check_phone_verification": ((PHONE, 1, PIN), {}),
    "phone_verification_status": ((), {"phone_number": PHONE, "country_code": 1}),
    "enrol_authenticator": ((1,), {"label": TEXT}),
    "find_user": ((TEXT.replace(" ", "-"),), {}),
    "set_login": ((1, "a-login"), {}),
    "remove_login": (("a-login",), {}),
    "create_recovery_codes": ((1,), {}),
    "prepare_offline": ((1, TOKEN), {"machine": TEXT}),
    "report_offline": ((1, 1, [{"step": 1, "time": 1}]), {"machine": TEXT}),
    "confirm_authenticator": ((1, TOKEN), {}),
    "remove_authenticator": ((1, "1"), {}),
    "devices": ((1,), {}),
    "remove_device": ((1, 1), {}),
    "remember": ((1,), {"days": 7}),
    "recognise": ((1, TEXT), {}),
    "forget": ((1,), {"token": TEXT}),
    "unlock_user": ((1,), {}),
    "invite_device": ((1,), {}),
    "set_number": ((1, PHONE, 1, PIN), {}),
}


def test_every_call_is_in_the_list() -> None:
    assert set(CALLS) >= set(_seconder.CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_of_a_call_are_not_sent(
    remote: RemoteService, sent: list[dict[str, Any]], name: str
) -> None:
    """Neither of a call that the service rejects, nor of one whose argument is invalid."""
    arguments, options = CALLS[name]
    remote.status, remote.body = 401, {"message": "Invalid API key", "error_code": "60001"}
    wrong = {**options, "user_ip": "x"}
    with remote.open() as service:
        captured(lambda: method(service, name)(*arguments, **options))
        captured(lambda: method(service, name)(*arguments, **wrong))

        async def ask() -> None:
            await method(seconder.AsyncService(service), name)(*arguments, **options)

        captured(lambda: asyncio.run(ask()))
    assert len(sent) == 3
    shows_nothing(sent)


@pytest.mark.parametrize("typed", [TOKEN, RECOVERY])
def test_wrong_codes_are_not_sent(tmp_path: Path, sent: list[dict[str, Any]], typed: str) -> None:
    with seconder.open(f"sqlite:{tmp_path}/test.db", api_key=KEY, deliver=print) as service:
        user = service.create_user(EMAIL, PHONE, 1).user_id
        assert isinstance(
            captured(lambda: service.verify(user, typed)), seconder.TokenInvalid
        )
        captured(lambda: service.verify(user, typed + "x"))
        captured(lambda: service.open_approvals(device_id=1, device_secret=DEVICE_SECRET))
        captured(
            lambda: service.respond_to_approval(
                "a-1", device_id=1, device_secret=DEVICE_SECRET, response="approve"
            )
        )
    assert len(sent) == 4
    shows_nothing(sent)


def test_the_arguments_of_an_iterator_are_not_sent(
    remote: RemoteService, sent: list[dict[str, Any]]
) -> None:
    with remote.open() as service:
        captured(lambda: list(service.admin.audit_pages(verdict=TEXT)))

        async def ask() -> None:
            async for page in seconder.AsyncService(service).admin.audit_pages(verdict=TEXT):
                raise AssertionError(page)

        captured(lambda: asyncio.run(ask()))
    assert len(sent) == 2
    shows_nothing(sent)


def test_keys_and_secrets_of_functions_are_not_sent(
    tmp_path: Path, sent: list[dict[str, Any]]
) -> None:
    url = f"sqlite:{tmp_path}/test.db"
    seconder.open(url, deliver=print).close()
    captured(lambda: seconder.open(url, api_key=KEY, deliver=print))
    captured(lambda: seconder.open("https://2fa.example", api_key=KEY, timeout=-1))
    captured(lambda: asyncio.run(seconder.open_async(url, api_key=KEY, deliver=print)))
    totp = seconder.totp.Totp(SECRET)
    captured(lambda: totp.check(TOKEN[:6], 59))
    captured(lambda: seconder.totp.Totp(SECRET, digits=99))
    captured(lambda: seconder.totp.Totp.from_uri(f"otpauth://totp/x?secret={SECRET.decode()}"))
    captured(lambda: seconder.totp.code(f"otpauth://totp/x?secret={SECRET.decode()}"))
    given: dict[str, Any] = {"api_key": KEY, "url": "https://app.example/", "method": "POST"}
    received: dict[str, Any] = {**given, "body": b"{}", "signature": "signed", "nonce": "1"}
    captured(lambda: seconder.callback.verify(**received))
    captured(lambda: seconder.callback.verify_parameters(**received))
    captured(lambda: seconder.callback.sign(**{**given, "nonce": "1", "body": b"no"}))
    assert len(sent) == 10
    shows_nothing(sent)


def test_the_code_that_a_gateway_did_not_take_is_not_sent(
    tmp_path: Path, sent: list[dict[str, Any]]
) -> None:
    codes: list[str] = []

    def deliver(message: seconder.Message) -> None:
        codes.append(message.code)
        raise OSError(f"cannot send {message.text}" if len(codes) > 1 else "no credit left")

    url = f"sqlite:{tmp_path}/test.db"
    for limit in (None, 20.0):
        with seconder.open(url, deliver=deliver, deliver_timeout=limit) as service:
            user = service.create_user(
                "ada@example.com", "555-010-0123", 1, send_install_link_via_sms=False
            ).user_id
            for action in ("one", "two"):
                captured(lambda: service.request_sms(user, action=f"{action}{limit}"))
    # One of each from the logger, at the level of errors, and one from the application.
    assert len(sent) == 8
    shown = without_tests(sent)
    assert codes and [code for code in (*codes, "5550100123") if code in shown] == [], shown


def test_a_trace_shows_the_line_of_the_application(sent: list[dict[str, Any]]) -> None:
    with seconder.open("sandbox:?accept=0000000") as service:
        error = captured(lambda: service.verify(99, TOKEN))
    assert error.__traceback__ is not None
    frames = sent[0]["exception"]["values"][0]["stacktrace"]["frames"]
    assert any("service.verify(99, TOKEN)" in each["context_line"] for each in frames)
    logging.getLogger("seconder").debug("nothing")
    with contextlib.suppress(seconder.TokenInvalid):
        raise error

"""Each kind of error: its cause and its attributes."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seconder
from conftest import Phone, RemoteService, open_with


@pytest.mark.parametrize(
    "token",
    [
        "",
        "12345",
        "1234567890123",
        "../sms",
        "0000000\n",
        "1e5678",
        " 123456",
        "-12345",
        "1234567/2",
        "1234567#",
        "١٢٣٤٥٦",
        "１２３４５６７",
        "123\0456",
        "123456\ud800",
        1234567,
        None,
    ],
)
def test_a_malformed_token_is_never_sent(remote: RemoteService, token: Any) -> None:
    with remote.open() as service, pytest.raises(seconder.InvalidArgument) as caught:
        service.verify(7, token)
    assert caught.value.parameter == "token" and isinstance(caught.value, ValueError)
    assert not remote.seen


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("email", lambda s: s.create_user("ada", "555-010-0123", 1)),
        ("cellphone", lambda s: s.create_user("ada@example.com", "../../1", 1)),
        ("country_code", lambda s: s.create_user("ada@example.com", "555-010-0123", "x")),
        ("cellphone", lambda s: s.create_user("ada@example.com", 2**70, 1)),
        ("country_code", lambda s: s.create_user("ada@example.com", "555-010-0123", object())),
        ("url", lambda s: s.create_approval(7, "Log in?", logos=[{"url": object()}])),
        ("logos", lambda s: s.create_approval(7, "Log in?", logos=[object()])),
        ("step", lambda s: s.machines.report_offline(7, 1, [{"step": object(), "time": 0}])),
        ("user_id", lambda s: s.request_sms("7/../8")),
        ("user_id", lambda s: s.request_call(0)),
        ("user_id", lambda s: s.verify(-1, "1234567")),
        ("user_id", lambda s: s.verify(2**64, "1234567")),
        ("user_id", lambda s: s.verify(True, "1234567")),
        ("user_id", lambda s: s.verify(7.0, "1234567")),
        ("user_id", lambda s: s.verify(None, "1234567")),
        ("force", lambda s: s.verify(7, "1234567", force="perhaps")),
        ("user_id", lambda s: s.user_status(2**63)),
        ("user_ip", lambda s: s.app_details(user_ip="here")),
        ("uuid", lambda s: s.check_approval("../users/7")),
        ("type", lambda s: s.register_activity(7, "dancing")),
        ("data", lambda s: s.register_activity(7, "banned", data={"when": object()})),
        ("data", lambda s: s.register_activity(7, "banned", data={1: 2})),
        ("data", lambda s: s.register_activity(7, "banned", data={"a": float("nan")})),
        ("details", lambda s: s.create_approval(7, "Log in?", details={"when": {"at": object()}})),
        ("via", lambda s: s.start_phone_verification("pigeon", "555-010-0123", 1)),
        ("phone_number", lambda s: s.phone_info("", 1)),
        ("verification_code", lambda s: s.check_phone_verification("555-010-0123", 1, 1234)),
        ("message", lambda s: s.create_approval(7, "")),
    ],
)
def test_an_invalid_argument_is_named(
    remote: RemoteService, parameter: str, call: Callable[[seconder.Service], object]
) -> None:
    with remote.open() as service, pytest.raises(seconder.InvalidArgument) as caught:
        call(service)
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(parameter) and not caught.value.retry_safe
    assert not remote.seen


@pytest.mark.parametrize(
    ("parameter", "given"),
    [("token", ("123456", 7)), ("user_id", ("123456", "7")), ("user_id", ("123456", "1234567"))],
)
def test_a_code_before_its_user_is_rejected(parameter: str, given: tuple[Any, Any]) -> None:
    # A sandbox accepts every code.
    with seconder.open("sandbox:") as service:
        with pytest.raises(seconder.InvalidArgument) as caught:
            service.verify(*given)
    assert type(caught.value) is seconder.InvalidArgument and caught.value.parameter == parameter


def test_recursive_data_is_rejected(remote: RemoteService) -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with remote.open() as service, pytest.raises(seconder.InvalidArgument):
        service.register_activity(7, "banned", data=endless)


MEGABYTE = "x" * 1_000_000


@pytest.mark.parametrize(
    "call",
    [
        lambda s: seconder.open(MEGABYTE),
        lambda s: seconder.open("sqlite:" + MEGABYTE),
        lambda s: open_with("sandbox:", limits={MEGABYTE: 1}),
        lambda s: open_with("sandbox:", texts={MEGABYTE: {"sms": "a"}}),
        lambda s: open_with("https://a.example", api_key="k", ca_file=MEGABYTE),
        lambda s: open_with("https://a.example", api_key="k", proxy=MEGABYTE),
        lambda s: seconder.Names(MEGABYTE),
        lambda s: s.create_user(MEGABYTE, "555-010-0123", 1),
        lambda s: s.create_approval(7, "Log in?", details={MEGABYTE: object()}),
        lambda s: s.request_sms(MEGABYTE),
        lambda s: s.start_phone_verification(MEGABYTE, "555-010-0123", 1),
        lambda s: s.admin.operate(MEGABYTE),
        lambda s: s.admin.operate("user.list", **{MEGABYTE: 1}),
        lambda s: seconder.enums.Channel(MEGABYTE),
        lambda s: seconder.totp.code(MEGABYTE),
        lambda s: seconder.callback.verify(
            api_key="k", url=MEGABYTE, method=MEGABYTE, body=b"", signature=MEGABYTE, nonce=MEGABYTE, fresh=300
        ),
    ],
)
def test_an_error_does_not_repeat_a_megabyte(call: Callable[[seconder.Service], object]) -> None:
    with seconder.open("sandbox:") as service:
        with pytest.raises((seconder.SecondFactorError, ValueError)) as caught:
            call(service)
    error: BaseException | None = caught.value
    while error is not None:
        assert len(f"{error!r} {error}") < 50_000
        assert len(str(getattr(error, "parameter", ""))) < 10_000
        error = error.__cause__ or error.__context__


def nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("details", lambda s: s.create_approval(7, "Log in?", details=nested(5000))),
        ("data", lambda s: s.register_activity(7, "banned", data=nested(5000))),
        ("texts", lambda s: open_with("sandbox:", texts={"de": nested(5000)})),
        ("texts", lambda s: open_with("sandbox:", texts={"de": {"sms": float("nan")}})),
        ("limits", lambda s: open_with("sandbox:", limits={"number_day": float("nan")})),
        ("country_code", lambda s: s.create_user("ada@example.com", "555-010-0123", float("nan"))),
    ],
)
def test_what_json_cannot_hold_is_rejected(parameter: str, call: Callable[[seconder.Service], object]) -> None:
    with seconder.open("sandbox:") as service, pytest.raises(seconder.InvalidArgument) as caught:
        call(service)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("inner", [b'{"a":' * 5000 + b"1" + b"}" * 5000, b"[" * 5000 + b"]" * 5000, b"NaN"])
def test_a_body_that_is_nested_deep_or_has_no_number_is_a_typed_error(
    remote: RemoteService, inner: bytes
) -> None:
    remote.body = f'{{"success": true, "user": {{"id": 7}}, "other": {inner.decode()}}}'
    with remote.open() as service, pytest.raises(seconder.InvalidResponse):
        service.create_user("ada@example.com", "555-010-0123", 1)
    # It has no right signature, as one of an attacker.
    given: dict[str, Any] = {"body": inner, "signature": "a", "nonce": "1", "url": "https://a.example/"}
    with pytest.raises(seconder.InvalidCallback):
        seconder.callback.verify(api_key="key", method="POST", fresh=None, **given)


@pytest.mark.parametrize(
    ("parameter", "settings"),
    [
        ("url", {"url": "ftp://example.com"}),
        ("url", {"url": "http://2fa.example.com"}),
        ("url", {"url": "https://2fa.example.com/\ud800"}),
        ("timeout", {"timeout": 0}),
        ("timeout", {"timeout": -1}),
        ("timeout", {"timeout": float("nan")}),
        ("timeout", {"timeout": float("inf")}),
    ],
)
def test_an_invalid_setting_is_named(parameter: str, settings: dict[str, Any]) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        open_with(**{"url": "https://2fa.example.com", "api_key": "key", **settings})
    assert caught.value.parameter == parameter


def test_a_wrong_key_is_unauthorized(remote: RemoteService) -> None:
    remote.status, remote.body = 401, {"message": "Invalid API key.", "error_code": "60001"}
    with remote.open() as service, pytest.raises(seconder.Unauthorized) as caught:
        service.verify(7, "1234567")
    assert (caught.value.http_status, caught.value.code) == (401, "60001")
    assert "a-key-that-nobody-sees" not in f"{caught.value!r} {caught.value} {service!r}"


def test_a_wrong_token_is_rejected_remotely(remote: RemoteService) -> None:
    remote.status, remote.body = 401, {"token": "is invalid", "error_code": "60020"}
    with remote.open() as service, pytest.raises(seconder.TokenInvalid) as caught:
        service.verify(7, "1234567")
    assert not caught.value.reused and caught.value.code == "60020"
    remote.body = {"message": "Token was used already.", "error_code": "60019"}
    with remote.open() as service, pytest.raises(seconder.TokenInvalid) as caught:
        service.verify(7, "1234567")
    assert caught.value.reused and "1234567" not in f"{caught.value!r}"
    assert caught.value.code == "60019"
    remote.body = {"success": "false", "errors": {"token": "is invalid"}}
    with remote.open() as service, pytest.raises(seconder.TokenInvalid) as caught:
        service.verify(7, "1234567")
    assert caught.value.code is None, "a service that sends no code"


def test_an_engine_has_the_codes_of_a_remote_service(phone: Phone, tmp_path: Path) -> None:
    def code(call: Callable[[], object]) -> str | None:
        with pytest.raises(seconder.SecondFactorError) as caught:
            call()
        return caught.value.code

    service, user = phone.service, phone.user_id
    service.request_sms(user)
    right = phone.code()
    service.verify(user, right)
    wrong = "0000000" if right != "0000000" else "0000001"
    assert code(lambda: service.verify(user, right)) == "60019"
    assert code(lambda: service.verify(user, wrong)) == "60020"
    service.request_sms(user, action="one")
    assert code(lambda: service.request_sms(user, action="one")) == "60003"
    assert code(lambda: seconder.open(f"sqlite:{tmp_path}/test.db", api_key="other")) == "60001"
    assert code(lambda: service.verify(user, "x")) is None


def test_a_rejection_has_all_the_details(remote: RemoteService) -> None:
    errors = {"message": "User was not valid", "email": "is invalid"}
    remote.status = 400
    remote.body = {"message": "User was not valid", "errors": errors, "error_code": "60027"}
    with remote.open() as service, pytest.raises(seconder.Rejected) as caught:
        service.create_user("ada@example.com", "555-010-0123", 1)
    error = caught.value
    assert (error.http_status, error.code, error.retry_safe) == (400, "60027", False)
    assert error.fields == errors and error.message == str(error)


def test_a_rate_limit_says_how_long_to_wait(remote: RemoteService) -> None:
    remote.status, remote.body = 503, {"message": "Slow down.", "error_code": "60003"}
    remote.headers = {"Retry-After": "30"}
    with remote.open() as service, pytest.raises(seconder.RateLimited) as caught:
        service.verify(7, "1234567")
    assert caught.value.retry_after == 30.0 and caught.value.retry_safe
    assert caught.value.code == "60003"
    assert caught.value.limit is None and not caught.value.is_operator_limit


@pytest.mark.parametrize("limit, of_operator", [("cool_down", False), ("key_rate", True)])
def test_a_rate_limit_says_which_limit_it_is(
    remote: RemoteService, limit: str, of_operator: bool
) -> None:
    body = {"message": "Slow down.", "error_code": "60003", "limit": limit}
    remote.status, remote.body = 503, body
    with remote.open() as service, pytest.raises(seconder.RateLimited) as caught:
        service.verify(7, "1234567")
    assert (caught.value.limit, caught.value.is_operator_limit) == (limit, of_operator)


def test_a_refused_connection_is_unavailable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        settings: dict[str, Any] = {"api_key": "key", "allow_loopback_http": True, "timeout": 2}
        with open_with(url, **settings) as service:
            with pytest.raises(seconder.Unavailable) as caught:
                service.verify(7, "1234567")
    assert isinstance(caught.value, ConnectionError) and caught.value.retry_safe
    assert caught.value.stage is seconder.enums.Stage.CONNECT
    assert not isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize(
    "body",
    [
        "<html>Welcome</html>",
        "",
        [],
        {},
        {"token": "is valid", "success": "false"},
        {"token": "is", "success": "true"},
        {"device": {"token": "is valid"}, "success": "true"},
        [{"token": "is valid", "success": "true"}],
    ],
)
def test_a_response_that_cannot_be_parsed_lets_nobody_in(remote: RemoteService, body: Any) -> None:
    remote.body = body
    with remote.open() as service, pytest.raises(seconder.SecondFactorError) as caught:
        service.verify(7, "1234567")
    assert isinstance(caught.value, seconder.InvalidResponse)


def test_a_file_that_is_not_a_database_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    path.write_text("This is a note to my aunt. " * 100)
    with pytest.raises(seconder.StorageError):
        seconder.open(f"sqlite:{path}")
    assert path.read_text().startswith("This is a note")


def test_a_key_of_another_application_is_unauthorized(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/test.db"
    with seconder.open(url, api_key="the-first-key-of-the-database") as service:
        assert service.admin.api_key() == "the-first-key-of-the-database"
    with pytest.raises(seconder.Unauthorized) as caught:
        seconder.open(url, api_key="a-key-that-nobody-sees")
    assert "a-key-that-nobody-sees" not in f"{caught.value!r} {caught.value}"


def test_a_call_that_does_not_exist_is_an_internal_error(remote: RemoteService) -> None:
    with remote.open() as service, pytest.raises(seconder.InternalError):
        service._call("dance")


def test_a_remote_service_does_not_register_devices(remote: RemoteService) -> None:
    with remote.open() as service:
        with pytest.raises(seconder.InvalidArgument) as caught:
            service.register_device(7, "ios")
        assert caught.value.parameter == "url"
        with pytest.raises(seconder.InvalidArgument):
            service.admin.api_key()


def test_errors_can_be_pickled() -> None:
    errors = [
        seconder.TokenInvalid("used", reused=True, code="60019"),
        seconder.InvalidArgument("email is invalid", parameter="email"),
        seconder.TokenMalformed("token must be digits", parameter="token"),
        seconder.Rejected("no", code="60026", http_status=404, fields={"a": "b"}),
        seconder.RateLimited("wait", retry_safe=True, retry_after=1.5, limit="cool_down"),
        seconder.Unavailable("no answer", stage="connect", retry_safe=True),
        seconder.Timeout("no answer", stage=seconder.enums.Stage.RESPONSE),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert vars(again) == vars(error)


def test_the_error_of_a_failed_delivery_does_not_include_the_code(tmp_path: Path) -> None:
    codes: list[str] = []

    def deliver(message: seconder.Message) -> None:
        assert message.code
        codes.append(message.code)
        raise RuntimeError(f"the gateway does not like {message.text}")

    with seconder.open(f"sqlite:{tmp_path}/test.db", deliver=deliver) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        with pytest.raises(seconder.SecondFactorError) as caught:
            service.request_sms(user.user_id)
    assert codes and codes[-1] not in f"{caught.value!r} {caught.value}"

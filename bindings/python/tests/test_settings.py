"""Every setting of a remote service and of an engine has its documented effect."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import weakref
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import seconder
from conftest import Phone, RETRIED_ONCE, RemoteService, open_with

VALID = {"token": "is valid", "success": "true", "message": "Token is valid."}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("api_key", 7),
        ("repeats", "some"),
        ("ca_file", 7),
        ("ca_file", "/there/is/none.pem"),
        ("pins", "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
        ("pins", ["sha256/tooshort"]),
        ("client_certificate", 7),
        ("client_key", 7),
        ("proxy", "socks5://127.0.0.1"),
        ("name_servers", ["dns.example"]),
        ("name_servers", "192.0.2.1"),
        ("allow_loopback_http", "yes"),
        ("format", "yaml"),
        ("generation", "next"),
        ("nested_as_json", "yes"),
        ("names", {"word": "acme"}),
        ("must_exist", "yes"),
        ("token_length", 5),
        ("token_length", 300),
        ("token_length", "7"),
        ("plan", ""),
        ("sms_enabled", "yes"),
        ("force_codes", 1),
        ("white_label", "no"),
        ("logo", "http://example.com/logo.png"),
        ("authenticator_digits", 5),
        ("authenticator_period", -1),
        ("callback_url", "ftp://example.com"),
    ],
)
def test_an_invalid_setting_is_named(tmp_path: Path, parameter: str, value: Any) -> None:
    of_engine = (
        "token",
        "authenticator",
        "callback",
        "must",
        "plan",
        "sms",
        "force",
        "white",
        "logo",
    )
    engine = parameter.startswith(of_engine)
    url = f"sqlite:{tmp_path}/test.db" if engine else "https://2fa.example.com"
    settings: dict[str, Any] = {"api_key": None if engine else "a-key-that-nobody-sees"}
    settings[parameter] = value
    with pytest.raises(seconder.InvalidArgument) as caught:
        open_with(url, **settings)
    assert caught.value.parameter == parameter
    assert "nobody-sees" not in str(caught.value)


def test_a_client_certificate_and_its_key_come_together() -> None:
    files = {"client_certificate": "/there/is/none.pem", "client_key": "/nor/here.pem"}
    for given, missing in (files.keys(), reversed(files.keys())):
        with pytest.raises(seconder.InvalidArgument) as caught:
            open_with("https://2fa.example.com", api_key="key", **{given: files[given]})
        assert caught.value.parameter == missing
    with pytest.raises(seconder.InvalidArgument) as caught:
        open_with("https://2fa.example.com", api_key="key", **files)
    assert caught.value.parameter == "client_certificate"


def test_a_setting_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(TypeError):
        seconder.open("sandbox:", api_kee="x")  # type: ignore[call-arg]
    settings = dict.fromkeys(inspect.signature(seconder.open).parameters)
    for wrong in ({}, {"api_kee": "x"}, {"deliver": None}):
        with pytest.raises(seconder.InternalError, match="exists on one side only"):
            seconder._seconder.open("sandbox:", wrong)
    assert len(settings) > 10


def test_the_format_is_part_of_the_path(remote: RemoteService) -> None:
    remote.body = "<hash><token>is valid</token><success>true</success><new>1</new></hash>"
    with remote.open(format=seconder.enums.Format.XML) as service:
        assert service.verify(7, "1234567").extra == {"new": "1"}
    assert remote.seen[0][1] == "/protected/xml/verify/1234567/7?force=true"


def test_the_older_generation_sends_the_key_in_the_query(remote: RemoteService) -> None:
    remote.body = {"token": "is valid"}
    with remote.open() as service, pytest.raises(seconder.InvalidResponse):
        service.verify(7, "1234567")
    with remote.open(generation="older") as service:
        assert service.verify(7, "1234567")
    assert remote.seen[1][1].endswith("&api_key=a-key-that-nobody-sees")


def test_nested_data_is_sent_as_json_if_asked_for(remote: RemoteService) -> None:
    remote.body = {"success": True}
    data = {"seats": 2, "ok": True, "none": None, "in": {"list": ["a"]}}
    with remote.open() as service:
        service.register_activity(7, "banned", data=data)
        with pytest.raises(seconder.InvalidArgument) as caught:
            service.register_activity(7, "banned", data={"a[b]": 1})
    assert caught.value.parameter == "data"
    with remote.open(nested_as_json=True) as service:
        service.register_activity(7, "banned", data=data)
        service.register_activity(7, "banned", data={"reason": "chargeback"})
    form, nested, flat = [body.decode() for _, _, body in remote.seen]
    assert form == "type=banned&data[seats]=2&data[ok]=true&data[in][list][0]=a"
    assert json.loads(nested) == {"type": "banned", "data": data}
    assert flat == "type=banned&data[reason]=chargeback"


def test_a_service_with_other_names(remote: RemoteService) -> None:
    names = seconder.Names("acme", push_path="onetouch", header_prefix="X-Corp-")
    assert (names.api_key_header, names.nonce_header) == (
        "X-Corp-API-Key",
        "X-Corp-Signature-Nonce",
    )
    remote.body = {"approval_request": {"status": "approved", "acme_id": 7}, "success": True}
    with remote.open(names=names) as service:
        found = service.check_approval("3f05a350")
    assert found.approved_by(7) and remote.seen[0][1].startswith("/onetouch/json/")
    assert names == seconder.Names("acme", "onetouch", "X-Corp-") != seconder.Names()
    for parameter, name in [("names", "A-b"), ("push_path", "protected"), ("id_field", "")]:
        key = "word" if parameter == "names" else parameter
        with pytest.raises(seconder.InvalidArgument) as caught:
            seconder.Names(**{key: name})
        assert caught.value.parameter == parameter


@pytest.mark.parametrize("wrong", [{"word": None}, {"push_path": ["push"]}, {"id_field": 7}])
def test_names_that_are_no_text_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(seconder.InvalidArgument, match="must be text") as caught:
        seconder.Names(**wrong)
    assert {caught.value.parameter} == wrong.keys()


def test_which_calls_are_retried(remote: RemoteService) -> None:
    remote.status, remote.body = 503, {"message": "Slow down.", "success": False}

    def requests_of(service: seconder.Service) -> int:
        remote.seen.clear()
        for call in (service.app_details, lambda: service.delete_user(7)):
            remote.waits = RETRIED_ONCE.copy()
            with pytest.raises(seconder.RateLimited):
                call()
        return len(remote.seen)

    with remote.open() as service:
        reads, none = requests_of(service), requests_of(service.with_repeats("none"))
        everything = requests_of(service.with_repeats(seconder.enums.Repeats.ALL))
    assert (none, reads, everything) == (2, 3, 4)
    with remote.open(repeats="none") as service:
        assert requests_of(service) == 2
        with pytest.raises(seconder.InvalidArgument):
            service.with_repeats("some")  # type: ignore[arg-type]
        with pytest.raises(seconder.InvalidArgument):
            service.with_repeats("\ud800")  # type: ignore[arg-type]


def test_deliver_and_post_must_be_functions() -> None:
    wrong: Any = "no function"
    for parameter in ("deliver", "post"):
        with pytest.raises(seconder.InvalidArgument) as caught:
            open_with("sandbox:", **{parameter: wrong})
        assert caught.value.parameter == parameter


def test_a_closed_service_releases_its_functions() -> None:
    class Application:
        def __init__(self) -> None:
            self.service = seconder.open("sandbox:", deliver=self.send)

        def send(self, message: seconder.Message) -> None:
            pass

    application = Application()
    gone = weakref.ref(application)
    application.service.close()
    del application
    gc.collect()
    assert gone() is None


def test_services_with_different_timeouts_are_closed_together(phone: Phone) -> None:
    quick = phone.service.with_timeout(0.5).with_repeats("all")
    assert quick.user_status(phone.user_id).user_id == phone.user_id
    phone.service.close()
    assert "closed" in repr(quick)
    with pytest.raises(seconder.InvalidArgument, match="closed"):
        quick.user_status(phone.user_id)
    for wrong in (0, -1, float("nan"), float("inf"), 10**400):
        with pytest.raises(seconder.InvalidArgument) as caught:
            phone.service.with_timeout(wrong)
        assert caught.value.parameter == "timeout"


def test_the_length_of_an_engines_codes(tmp_path: Path) -> None:
    messages: list[seconder.Message] = []
    with seconder.open(
        f"sqlite:{tmp_path}/test.db",
        deliver=messages.append,
        engine=seconder.EngineOptions(
            token_length=9, authenticator_digits=8, authenticator_period=60
        ),
    ) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        service.request_sms(user.user_id)
        assert len(messages[-1].code) == 9
        totp = seconder.totp.Totp.from_uri(service.enrol_authenticator(user.user_id).uri)
    assert (totp.digits, totp.period) == (8, 60)


def test_callbacks_are_posted_by_a_function(tmp_path: Path) -> None:
    posted: list[seconder.results.SignedCallback] = []
    url = "https://app.example/callback"
    names = seconder.Names("acme")
    settings: Any = {"callback_url": url, "post": posted.append, "names": names}
    with open_with(f"sqlite:{tmp_path}/test.db", **settings) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        device = service.register_device(user.user_id, seconder.enums.DeviceType.IOS)
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        request = service.create_approval(user.user_id, "Log in?")
        approve = seconder.enums.ApprovalResponse.APPROVE
        service.respond_to_approval(request.uuid, **proof, response=approve)
        (callback,) = posted
        event = seconder.callback.verify(
            api_key=service.admin.api_key(),
            url=callback.url,
            method="POST",
            body=callback.body,
            signature=callback.headers[names.signature_header],
            nonce=callback.headers[names.nonce_header],
            names=names,
            fresh=60,
        )
    assert event.approved_by(user.user_id) and event.uuid == request.uuid
    assert json.loads(callback.body)["acme_id"] == user.user_id and callback.url == url


def test_callbacks_are_sent_by_get_where_that_is_set(tmp_path: Path) -> None:
    sent: list[seconder.results.SignedCallback] = []
    settings: Any = {"callback_url": "https://app.example/callback", "callback_method": "get"}
    with open_with(f"sqlite:{tmp_path}/test.db", post=sent.append, **settings) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        device = service.register_device(user.user_id, "android")
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        request = service.create_approval(user.user_id, "Log in to a & b?")
        service.respond_to_approval(request.uuid, **proof, response="approve")
        (callback,) = sent
        assert (callback.method, callback.body, "?" in callback.url) == ("GET", b"", False)
        names = seconder.Names()
        event = seconder.callback.verify(
            api_key=service.admin.api_key(),
            url=callback.url,
            method=callback.method,
            query=callback.query,
            signature=callback.headers[names.signature_header],
            nonce=callback.headers[names.nonce_header],
            fresh=60,
        )
    assert event.approved_by(user.user_id) and event.uuid == request.uuid


def test_a_failed_post_does_not_undo_the_response(tmp_path: Path) -> None:
    def post(callback: seconder.results.SignedCallback) -> None:
        raise RuntimeError("the application is down")

    settings: Any = {"callback_url": "https://app.example/callback", "post": post}
    with open_with(f"sqlite:{tmp_path}/test.db", **settings) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        device = service.register_device(user.user_id, "android")
        proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
        request = service.create_approval(user.user_id, "Log in?")
        assert service.respond_to_approval(request.uuid, **proof, response="approve")
        assert service.check_approval(request.uuid).approved_by(user.user_id)


def test_an_application_keeps_its_settings(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/seconder.db"
    names = seconder.Names("acme", push_path="onetouch")
    messages: list[seconder.Message] = []
    first = seconder.open(
        url,
        names=names,
        engine=seconder.EngineOptions(
            replies="older", install_link="https://app.example/get", token_length=8
        ),
    )
    first.close()
    with seconder.open(url, deliver=messages.append) as service:
        created = service.create_user("ada@example.com", "555-010-0123", 1)
        service.request_sms(created.user_id)
    assert created.message == "User created successfully."
    assert created.install_message is seconder.enums.InstallMessage.SENT
    install, code = messages
    assert install.text == "Install the app for Seconder: https://app.example/get"
    assert (install.code, install.expires_at, install.via) == ("", None, seconder.enums.Channel.SMS)
    assert len(code.code) == 8 and code.expires_at is not None
    seconder.open(url, names=names).close()
    for other in (seconder.Names(), seconder.Names("acme")):
        with pytest.raises(seconder.InvalidArgument, match="X-Acme-") as caught:
            seconder.open(url, names=other)
        assert caught.value.parameter == "names"
        with pytest.raises(seconder.InvalidArgument):
            asyncio.run(_opened(url, other))


async def _opened(url: str, names: seconder.Names) -> None:
    async with seconder.open_async(url, names=names):
        pass


def test_the_settings_of_an_application_are_validated(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate")
    settings: dict[str, list[Any]] = {
        "callback_ca_file": [tmp_path / "missing", str(tmp_path / "text"), 7],
        "callback_method": ["POST", "put", "", 7],
        "callback_private": ["yes", 1],
        "install_link": ["http://app.example", "app.example", 7],
        "replies": ["2012", "", 7],
        "offline_days": [8, -1, 256, "1"],
        "texts": [{"de": {"sms": "{{cod}}"}}, {"de": 7}, {"de": {"sms": {7}}}, "{}", 7],
        "otp_domain": ["https://example.com", "localhost", 7],
        "push_hosts": ["https://push.example", "192.0.2.1:80", ["push.example"], 7],
        "limits": [{"code_life": 59}, {"tries": 11}, {"no": 1}, {"countries": ["x"]}, "tries=1", 7],
    }
    for parameter, wrong in settings.items():
        for value in wrong:
            with pytest.raises(seconder.InvalidArgument) as caught:
                open_with(f"sqlite:{tmp_path}/none.db", **{parameter: value})
            assert caught.value.parameter == parameter
    assert not (tmp_path / "none.db").exists()
    seconder.open(
        "sandbox:", engine=seconder.EngineOptions(replies=seconder.enums.Generation.OLDER)
    ).close()


def test_an_application_has_texts_of_its_own_and_a_domain_for_browsers(tmp_path: Path) -> None:
    messages: list[seconder.Message] = []
    url = f"sqlite:{tmp_path}/test.db"
    texts = {"de": {"sms": "{{code}} für {{app}}"}}
    seconder.open(
        url,
        deliver=messages.append,
        engine=seconder.EngineOptions(texts=texts, otp_domain="example.com"),
    ).close()
    with seconder.open(url, deliver=messages.append) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        service.request_sms(user, locale="de")
        service.request_call(user, locale="he")
        service.start_phone_verification("sms", "555-010-0124", 1, locale="pt-BR")
    german, hebrew, portuguese = messages
    code = german.code
    assert (german.language, german.text) == ("de", f"{code} für Seconder\n@example.com #{code}")
    assert hebrew.language == "he" and "@" not in hebrew.text
    assert portuguese.language == "pt-BR" and "Expira em 10 minutos." in portuguese.text
    with seconder.open(
        url, deliver=messages.append, engine=seconder.EngineOptions(texts={}, otp_domain="")
    ) as service:
        service.start_phone_verification("sms", "555-010-0125", 1, locale="de")
    assert messages[-1].text.startswith("Ihr Code für Seconder ist ")
    assert "@" not in messages[-1].text


def test_a_failed_install_message_does_not_fail_the_creation() -> None:
    def deliver(message: seconder.Message) -> None:
        raise ConnectionError("the gateway is down")

    with seconder.open(
        "sandbox:", deliver=deliver, engine=seconder.EngineOptions(install_link="https://a.example")
    ) as service:
        created = service.create_user("ada@example.com", "555-010-0123", 1)
        assert created.message == "User created successfully."
        assert created.install_message is seconder.enums.InstallMessage.FAILED
        assert service.user_status(created.user_id).phone_number == "XXX-XXX-0123"


def test_an_application_says_how_long_codes_live_and_how_many_tries_they_have(
    tmp_path: Path,
) -> None:
    messages: list[seconder.Message] = []
    url = f"sqlite:{tmp_path}/test.db"
    limits = {"code_life": 60, "tries": 1}
    seconder.open(
        url, deliver=messages.append, engine=seconder.EngineOptions(limits=limits)
    ).close()
    with seconder.open(url, deliver=messages.append) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        service.request_sms(user)
        (message,) = messages
        assert message.expires_at is not None and "valid for 1 minute." in message.text
        left = (message.expires_at - datetime.now(timezone.utc)).total_seconds()
        assert 0 < left <= 60
        wrong = "7654321" if message.code != "7654321" else "1234567"
        for code in (wrong, message.code):
            with pytest.raises(seconder.TokenInvalid):
                service.verify(user, code)
        reasons = {entry.reason for entry in service.admin.audit(verdict="wrong").entries}
        assert reasons == {None, "too_many_tries"}


def test_what_an_application_says_and_sends_is_stored(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/test.db"
    messages: list[seconder.Message] = []
    seconder.open(
        url,
        deliver=messages.append,
        engine=seconder.EngineOptions(
            plan="annual",
            white_label=True,
            sms_enabled=False,
            force_codes=True,
            logo="https://app.example/logo.png",
        ),
    ).close()
    with seconder.open(url, deliver=messages.append) as service:
        details = service.app_details()
        assert (details.plan, details.white_label, details.sms_enabled) == ("annual", True, False)
        assert details.phone_calls_enabled
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        assert user.install_message is seconder.enums.InstallMessage.NOT_CONFIGURED
        totp = seconder.totp.Totp.from_uri(service.enrol_authenticator(user.user_id).uri)
        service.confirm_authenticator(user.user_id, totp.code())
        assert service.request_call(user.user_id, force=False).ignored
        assert not messages
        assert not service.request_call(user.user_id).ignored
        assert [message.via for message in messages] == [seconder.enums.Channel.CALL]
        with pytest.raises(seconder.Rejected) as caught:
            service.request_sms(user.user_id)
        assert caught.value.code == seconder.enums.Code.SMS_NOT_ENABLED
        uuid = service.create_approval(user.user_id, "Log in?").uuid
        assert service.check_approval(uuid).logos == (
            {"res": "default", "url": "https://app.example/logo.png"},
        )

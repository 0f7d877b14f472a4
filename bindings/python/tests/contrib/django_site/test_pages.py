"""The page for the code, and the views that require it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings
from pytest_django import Settings

import seconder
from contrib.django_site.conftest import Person
from contrib.django_site.settings import INSTALLED_APPS as APPS
from seconder.contrib.django import accounts, user_ip
from seconder.contrib.django.middleware import VisitorMiddleware
from seconder.contrib.django.models import Decision
from seconder.contrib.django.otp.models import ChallengeFailed, SeconderDevice
from seconder.contrib.django.rest import FreshFactor, SecondFactorVerified
from seconder.contrib.django.verified import (
    KEY,
    forget_verified,
    fresh_factor_required,
    is_verified,
    mark_verified,
)
from seconder.testing import Sandbox

PAGE = "/second-factor/"


def test_a_code_opens_the_views_that_require_it(ada: Person) -> None:
    assert ada.client.get("/secret/")["Location"] == "/accounts/login/?next=/secret/"
    ada.log_in()
    asked = ada.client.get("/secret/")
    assert asked["Location"] == f"{PAGE}?next=/secret/"
    before = ada.client.session.session_key
    done = ada.client.post(PAGE, {"code": ada.code(), "next": "/secret/"})
    assert done["Location"] == "/secret/"
    assert ada.client.session.session_key != before
    assert ada.client.get("/secret/").content == b"secret"
    ada.client.logout()
    ada.log_in()
    assert ada.client.get("/secret/").status_code == 302


def test_the_page_has_what_phones_need(ada: Person) -> None:
    ada.log_in()
    page = ada.client.get(f"{PAGE}?next=/secret/")
    text = page.content.decode()
    assert 'autocomplete="one-time-code"' in text and 'inputmode="numeric"' in text
    assert 'value="/secret/"' in text
    assert "no-store" in page["Cache-Control"]


@pytest.mark.parametrize("url", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_the_page_leads_to_this_site_alone(ada: Person, url: str) -> None:
    ada.log_in()
    assert "evil" not in ada.client.get(PAGE, {"next": url}).content.decode()
    assert ada.client.post(PAGE, {"code": ada.code(), "next": url})["Location"] == "/home/"


def test_a_code_is_sent_on_request(ada: Person, sandbox: Sandbox) -> None:
    ada.log_in()
    sandbox.advance(31)
    page = ada.client.post(PAGE, {"send": "sms"})
    assert page.status_code == 200 and "+1-XXX-XXX-XX" in page.content.decode()
    again = ada.client.post(PAGE, {"send": "sms"})
    assert again.status_code == 429 and again["Retry-After"] == "30"
    wait = "A code cannot be sent at the moment. Try again in 30 seconds."
    assert wait in again.content.decode()
    code = sandbox.code(ada.user_id)
    assert ada.client.post(PAGE, {"code": code}).status_code == 302


def test_an_account_without_a_number_types_a_code_of_its_app(bob: Person, sandbox: Sandbox) -> None:
    uri = accounts.start_authenticator(bob.user).uri
    code = seconder.totp.code(uri, at=sandbox.now.timestamp())
    user_id = accounts.enrol_authenticator(bob.user, code).user_id
    bob.log_in()
    page = bob.client.post(PAGE, {"send": "sms"})
    assert page.status_code == 400 and "no valid phone number" in page.content.decode()
    sandbox.advance(30)
    done = bob.client.post(PAGE, {"code": sandbox.authenticator_code(user_id)})
    assert done.status_code == 302 and bob.client.get("/secret/").status_code == 200


def test_every_error_keeps_the_user_out(ada: Person, bob: Person, sandbox: Sandbox) -> None:
    ada.log_in()
    assert ada.client.post(PAGE, {"code": ""}).status_code == 400
    assert ada.client.post(PAGE, {"code": "letters"}).status_code == 400
    # While no code is pending, a wrong one does not count.
    ada.code()
    for _ in range(4):
        page = ada.client.post(PAGE, {"code": "0000000"})
        assert page.status_code == 400 and "0000000" not in page.content.decode()
    limited = ada.client.post(PAGE, {"code": "0000000"})
    assert (limited.status_code, limited["Retry-After"]) == (429, "2")
    assert "Too many attempts. Try again in 2 seconds." in limited.content.decode()
    with sandbox.failing("timeout"):
        assert ada.client.post(PAGE, {"code": "0000000"}).status_code == 503
    assert ada.client.get("/secret/").status_code == 302
    bob.log_in()
    assert bob.client.post(PAGE, {"code": "0000000"}).status_code == 403
    assert bob.client.get("/secret/").status_code == 302


def test_the_page_requires_a_csrf_token(ada: Person) -> None:
    ada.client = Client(enforce_csrf_checks=True)
    ada.log_in()
    assert ada.client.post(PAGE, {"code": ada.code()}).status_code == 403
    assert ada.client.get("/secret/").status_code == 302


def test_a_record_counts_for_its_account_and_time(ada: Person, bob: Person) -> None:
    ada.log_in()
    ada.client.post(PAGE, {"code": ada.code()})
    assert ada.client.get("/transfer/").status_code == 200
    session = ada.client.session
    record = session[KEY]
    for at in (time.time() - 62, time.time() + 3600, "now"):
        session[KEY] = {**record, "at": at}
        session.save()
        assert ada.client.get("/transfer/").status_code == 302
    session[KEY] = {**record, "account": str(bob.user.pk)}
    session.save()
    assert ada.client.get("/secret/").status_code == 302


def test_the_session_of_another_user_does_not_count(ada: Person, bob: Person) -> None:
    """A request may have a token of one user and the session of another."""
    ada.log_in()
    ada.client.post(PAGE, {"code": ada.code()})
    request = RequestFactory().get("/")
    request.session = ada.client.session
    request.user = User.objects.get(pk=ada.user.pk)
    assert is_verified(request)
    request.session[KEY] = {"account": str(bob.user.pk), "at": time.time()}
    request.user = User.objects.get(pk=bob.user.pk)
    assert not is_verified(request)
    request.user = User.objects.get(pk=ada.user.pk)
    forget_verified(request)
    assert not is_verified(request) and not is_verified(RequestFactory().get("/"))


@pytest.mark.django_db(transaction=True)
def test_async_views_are_guarded_too(ada: Person) -> None:
    from asgiref.sync import async_to_sync

    client = AsyncClient()
    client.cookies = ada.client.cookies
    assert async_to_sync(client.get)("/secret-async/").status_code == 302
    ada.log_in()
    ada.client.post(PAGE, {"code": ada.code()})
    client.cookies = ada.client.cookies
    assert async_to_sync(client.get)("/secret-async/").content == b"secret"


def test_a_method_of_the_user_model_does_not_count(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many sites have one of their own that says whether the e-mail address was verified."""
    ada.log_in()
    request = RequestFactory().get("/")
    request.session = ada.client.session
    request.user = User.objects.get(pk=ada.user.pk)
    monkeypatch.setattr(User, "is_verified", lambda user: True, raising=False)
    assert not is_verified(request)
    for device in (object(), SeconderDevice(user_id=ada.user.pk + 1)):
        monkeypatch.setattr(User, "otp_device", device, raising=False)
        assert not is_verified(request)
    monkeypatch.setattr(User, "otp_device", SeconderDevice(user_id=ada.user.pk))
    assert is_verified(request)
    settings = [each for each in APPS if each != "django_otp"]
    with override_settings(INSTALLED_APPS=settings):
        assert not is_verified(request)


def test_a_mark_ends_with_the_enrolment(ada: Person) -> None:
    ada.log_in()
    ada.client.post(PAGE, {"code": ada.code()})
    assert ada.client.get("/secret/").status_code == 200
    accounts.remove(ada.user)
    assert ada.client.get("/secret/").status_code == 302
    ada.enrol()
    assert ada.client.get("/secret/").status_code == 302
    accounts.remove(ada.user)
    request: Any = RequestFactory().get("/")
    request.session, request.user = ada.client.session, ada.user
    with pytest.raises(accounts.NotEnrolled):
        mark_verified(request)


@pytest.mark.parametrize("by_header", [False, True])
def test_the_calls_have_the_visitors_address(
    ada: Person,
    sandbox: Sandbox,
    settings: Settings,
    addresses: tuple[str, str, str | None, str],
    by_header: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, header, default, proxied = addresses
    if by_header:
        settings.SECONDER = {**settings.SECONDER, "USER_IP": real_ip}
    ada.client.defaults.update(REMOTE_ADDR=connection, HTTP_X_REAL_IP=header)
    ada.log_in()
    sandbox.advance(31)
    ada.client.post(PAGE, {"send": "sms"})
    done = ada.client.post(PAGE, {"code": sandbox.code(ada.user_id), "next": "/secret/"})
    assert done["Location"] == "/secret/"
    wanted = proxied if by_header else default
    calls = ("request_sms", "verify")
    found = [sandbox.service.admin.audit(call=each).entries[0].user_ip for each in calls]
    assert found == [wanted] * 2
    warned = [each for each in caplog.records if 'SECONDER["USER_IP"]' in each.getMessage()]
    assert len(warned) == (0 if wanted else 1)
    assert user_ip() is None


def real_ip(request: HttpRequest) -> str:
    return request.headers["X-Real-Ip"]


def test_an_asynchronous_view_has_the_visitors_address() -> None:
    async def view(request: HttpRequest) -> str | None:
        return await sync_to_async(user_ip)()

    request = RequestFactory(REMOTE_ADDR="9.9.9.9").get("/")
    assert asyncio.run(VisitorMiddleware(view)(request)) == "9.9.9.9"
    assert VisitorMiddleware(lambda request: user_ip())(request) == "9.9.9.9"
    assert user_ip() is None


UNDECIDED = [("too_many_wrong_keys", "ERROR"), (None, "WARNING")]


def limited(monkeypatch: pytest.MonkeyPatch, code: str | None, limit: str | None = None) -> None:
    """Has the service decide nothing."""

    class Undecided:
        def __getattr__(self, name: str) -> Any:
            return self.call

        def call(self, *given: object, **options: object) -> None:
            ours = limit in ("key_rate", "country_day")
            raise seconder.RateLimited("wait", code=code, limit=limit, is_operator_limit=ours)

    monkeypatch.setattr(accounts, "service", Undecided)


def about_limits(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    ours = (each for each in caplog.records if each.name == "seconder.contrib")
    return [each for each in ours if "visitors' addresses" not in each.getMessage()]


@pytest.mark.parametrize("code, level", UNDECIDED)
def test_a_service_that_decides_nothing_blames_no_user(
    ada: Person,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: str | None,
    level: str,
) -> None:
    ada.log_in()
    limited(monkeypatch, code)
    page = ada.client.post(PAGE, {"code": "1234567"})
    assert page.status_code == 503 and "That cannot be checked at the moment." in page.content.decode()
    assert Decision.objects.earliest("-pk").verdict == "failed"
    assert [each.levelname for each in about_limits(caplog)] == [level]
    page = ada.client.post("/api/verify/", {"code": "1234567"})
    assert page.status_code == 503 and "cannot be checked" in page.content.decode()


def test_a_limit_of_the_application_is_logged_once(
    ada: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ada.log_in()
    limited(monkeypatch, "60003", "country_day")
    assert ada.client.post(PAGE, {"send": "sms"}).status_code == 429
    (logged,) = about_limits(caplog)
    assert "the limit country_day" in logged.getMessage()


@pytest.mark.parametrize("code, limit", [("60003", "key_rate"), ("too_many_wrong_keys", None)])
def test_no_user_is_blamed_by_the_other_packages(
    ada: Person, monkeypatch: pytest.MonkeyPatch, code: str, limit: str | None
) -> None:
    device = SeconderDevice.add(ada.user)
    ada.client.post("/accounts/login/", {"login": "ada", "password": "password"})
    limited(monkeypatch, code, limit)
    assert not device.verify_token("1234567")
    assert device.locked_until is None
    with pytest.raises(ChallengeFailed):
        device.generate_challenge()
    page = ada.client.post("/accounts/2fa/authenticate/", {"code": "1234567"})
    assert "cannot be checked" in str(page.context["form"].errors)


def test_a_proxy_in_front_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    request = RequestFactory(REMOTE_ADDR="9.9.9.9", HTTP_X_FORWARDED_FOR="8.8.8.8").get("/")
    assert VisitorMiddleware(lambda request: user_ip())(request) == "9.9.9.9"
    assert "Set SECONDER[" in caplog.text


def test_what_changes_factors_needs_a_fresh_one(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.log_in()
    ada.client.post(PAGE, {"code": ada.code()})
    request: Any = RequestFactory().get("/")
    request.session, request.user = ada.client.session, ada.user
    view: Any = fresh_factor_required(lambda request: HttpResponse("codes"))
    permission: Any = FreshFactor()
    assert view(request).content == b"codes" and permission.has_permission(request, None)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 302)
    assert view(request).status_code == 302 and not permission.has_permission(request, None)
    any_age: Any = SecondFactorVerified()
    assert any_age.has_permission(request, None)

"""The device for django-otp: django-otp's own tests of devices, its forms and its admin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client, override_settings
from django.utils import timezone
from django_otp import devices_for_user, match_token, user_has_device, verify_token
from django_otp.forms import OTPAuthenticationForm, OTPTokenForm, otp_verification_failed
from django_otp.models import GenerateNotAllowed, VerifyNotAllowed
from django_otp.test_utils import (
    CooldownTestMixin,
    TestCase,
    ThrottlingTestMixin,
    TimestampTestMixin,
)

from contrib.django_site.conftest import Person
from seconder.contrib.django import accounts
from seconder.contrib.django._service import close
from seconder.contrib.django.models import Enrolment
from seconder.contrib.django.otp.models import ChallengeFailed, SeconderDevice
from seconder.testing import Sandbox


class DeviceTests(TestCase):
    """Provides what django-otp's mixins need: a device, and codes that are right and wrong."""

    def setUp(self) -> None:
        self.sandbox = Sandbox()
        for patched in (
            patch("seconder.open", self.sandbox.open),
            override_settings(SECONDER={"URL": "sandbox:"}),
        ):
            patched.__enter__()
            self.addCleanup(patched.__exit__, None, None, None)
        self.addCleanup(self.sandbox.close)
        self.addCleanup(close)
        alice = self.create_user("alice", "password")
        user = self.sandbox.service.create_user("alice@example.com", "555-010-0123", 1)
        Enrolment.objects.create(account=alice, user_id=user.user_id)
        self.device = SeconderDevice.add(alice)

    def valid_token(self) -> str:
        self.sandbox.advance(31)
        self.sandbox.service.request_sms(self.device.user.seconder.user_id)
        return self.sandbox.code(self.device.user.seconder.user_id)

    def invalid_token(self) -> str:
        return "0000000"


class TestTimestamps(DeviceTests, TimestampTestMixin):
    """django-otp's."""


class TestThrottling(DeviceTests, ThrottlingTestMixin):
    """django-otp's."""


@override_settings(OTP_SECONDER_COOLDOWN_DURATION=10)
class TestCooldown(DeviceTests, CooldownTestMixin):
    """django-otp's."""


@pytest.fixture
def device(ada: Person) -> SeconderDevice:
    return SeconderDevice.add(ada.user)


def form(device: SeconderDevice, **fields: str) -> OTPAuthenticationForm:
    data = {"username": "ada", "password": "password", "otp_device": device.persistent_id}
    return OTPAuthenticationForm(None, {**data, **fields})


def errors(device: SeconderDevice, **fields: str) -> str:
    filled = form(device, **fields)
    assert not filled.is_valid() and filled.get_user().otp_device is None
    return " ".join(filled.non_field_errors())


def test_the_forms_send_a_code_and_accept_it(
    ada: Person, device: SeconderDevice, sandbox: Sandbox
) -> None:
    assert device.is_interactive() and list(devices_for_user(ada.user)) == [device]
    assert errors(device, otp_challenge="1").startswith(
        "OTP Challenge: The code goes to +1-XXX-XXX-XX"
    )
    again = errors(device, otp_challenge="1")
    assert "The next code can be sent in" in again
    filled = form(device, otp_token=sandbox.code(ada.user_id))
    assert filled.is_valid() and filled.get_user().otp_device == device
    token = OTPTokenForm(
        ada.user, None, {"otp_device": device.persistent_id, "otp_token": ada.code()}
    )
    assert token.is_valid()


def test_a_wrong_code_is_rejected_and_signalled(ada: Person, device: SeconderDevice) -> None:
    failed = []

    def note(sender: object, user: object, **rest: object) -> None:
        failed.append(user)

    otp_verification_failed.connect(note)
    assert "Invalid token" in errors(device, otp_token="0000000")
    assert failed == [ada.user]
    assert "temporarily disabled because of 1 failed attempt" in errors(device, otp_token="0000000")
    device.refresh_from_db()
    assert device.throttling_failure_count == 1


def test_what_is_no_code_costs_no_try(device: SeconderDevice) -> None:
    for typed in ("", "letters", "1" * 400, "١٢٣٤٥٦٧", None, 1234567):
        assert device.verify_token(typed) is False  # type: ignore[arg-type]
    assert device.verify_is_allowed() == (True, None)


@override_settings(OTP_SECONDER_THROTTLE_FACTOR=0)
def test_the_limit_of_the_service_is_the_limit_of_the_device(
    ada: Person, device: SeconderDevice, sandbox: Sandbox
) -> None:
    ada.code()
    for _ in range(4):
        assert device.verify_token("0000000") is False
        assert device.verify_is_allowed() == (True, None)
    before = timezone.now()
    assert device.verify_token("0000000") is False
    device.refresh_from_db()
    allowed, reason = device.verify_is_allowed()
    assert not allowed and reason is not None
    assert reason["reason"] is VerifyNotAllowed.N_FAILED_ATTEMPTS and reason["failure_count"] == 4
    wait = reason["locked_until"] - before
    assert timedelta(seconds=2) <= wait < timedelta(seconds=60)
    assert "temporarily disabled because of 4 failed attempts" in errors(device, otp_token="1")
    SeconderDevice.objects.update(locked_until=timezone.now())
    device.refresh_from_db()
    assert device.verify_token(ada.code()) is True
    device.refresh_from_db()
    assert device.locked_until is None and device.last_used_at is not None


def test_the_cool_down_of_the_service_is_the_cool_down_of_the_device(
    ada: Person, device: SeconderDevice
) -> None:
    ada.code()
    assert device.generate_is_allowed()[0]
    message = device.generate_challenge()
    assert message in (
        "The next code can be sent in 30 seconds.",
        "The next code can be sent in 29 seconds.",
    )
    allowed, reason = device.generate_is_allowed()
    assert not allowed and reason is not None
    assert reason["reason"] is GenerateNotAllowed.COOLDOWN_DURATION_PENDING


@pytest.mark.parametrize(
    "fault", ["timeout", "lost", "rate_limited", "unauthorized", "invalid_response"]
)
def test_no_fault_lets_anyone_in(
    ada: Person, device: SeconderDevice, sandbox: Sandbox, fault: Any
) -> None:
    code = ada.code()
    with sandbox.failing(fault, retry_after=300):
        assert device.verify_token(code) is False
        assert match_token(ada.user, code) is None
        assert "Invalid token" in errors(device, otp_token=code) or fault == "rate_limited"


@pytest.mark.parametrize("fault", ["timeout", "unauthorized", "undelivered"])
def test_a_code_that_was_not_sent_is_reported(
    ada: Person, device: SeconderDevice, sandbox: Sandbox, fault: Any
) -> None:
    with sandbox.failing(fault):
        text = errors(device, otp_challenge="1")
        assert text == "Error generating challenge: The code could not be sent."
    sandbox.advance(31)
    assert device.generate_challenge().startswith("The code goes")


def test_an_account_has_one_device_and_an_enrolment(ada: Person, bob: Person) -> None:
    assert SeconderDevice.add(ada.user) == SeconderDevice.add(ada.user, "another")
    with pytest.raises(IntegrityError), transaction.atomic():
        SeconderDevice.objects.create(user=ada.user)
    with pytest.raises(accounts.NotEnrolled):
        SeconderDevice.add(bob.user)
    assert not user_has_device(bob.user)
    stray = SeconderDevice.objects.create(user=bob.user)
    assert stray.verify_token("0000000") is False
    with pytest.raises(ChallengeFailed):
        stray.generate_challenge()
    with pytest.raises(ValidationError, match="no second factor"):
        stray.full_clean()


def test_a_code_is_right_for_its_own_user_alone(
    ada: Person, bob: Person, device: SeconderDevice
) -> None:
    bob.enrol()
    theirs = SeconderDevice.add(bob.user)
    code = bob.code()
    assert verify_token(ada.user, device.persistent_id, code) is None
    assert verify_token(ada.user, theirs.persistent_id, code) is None
    assert verify_token(bob.user, theirs.persistent_id, code) == theirs


def test_the_otp_admin_lets_in_with_a_code(ada: Person, device: SeconderDevice) -> None:
    url, client = "/otp-admin/login/?next=/otp-admin/", Client()
    ada.log_in()
    assert ada.client.get("/otp-admin/").status_code == 302
    first = {"username": "ada", "password": "password"}
    page = client.post(url, first)
    assert page.status_code == 200 and device.persistent_id in page.content.decode()
    chosen = {**first, "otp_device": device.persistent_id}
    page = client.post(url, {**chosen, "otp_challenge": "Get OTP Challenge"})
    assert "The code goes to" in page.content.decode()
    assert client.get("/otp-admin/").status_code == 302
    done = client.post(url, {**chosen, "otp_token": ada.code()})
    assert done.status_code == 302 and done["Location"] == "/otp-admin/"
    assert client.get("/otp-admin/").status_code == 200
    listed = client.get("/otp-admin/seconder_otp/seconderdevice/")
    assert listed.status_code == 200 and b"Phone" in listed.content


def test_a_device_verifies_the_session_for_every_view(ada: Person, device: SeconderDevice) -> None:
    client = Client()
    fields = {"username": "ada", "password": "password", "otp_device": device.persistent_id}
    client.post("/otp/login/", {**fields, "otp_token": ada.code()})
    assert client.get("/otp/secret/").content == b"verified"
    assert client.get("/secret/").content == b"secret"
    assert client.get("/api/secret/").json() == "secret"
    # django-otp does not say when it was.
    assert client.get("/transfer/").status_code == 302
    device.confirmed = False
    device.save()
    assert client.get("/secret/").status_code == 302


def test_a_device_goes_with_the_enrolment(ada: Person, device: SeconderDevice) -> None:
    accounts.remove(ada.user)
    assert not SeconderDevice.objects.exists()
    ada.enrol()
    SeconderDevice.add(ada.user)
    ada.user.delete()
    assert not SeconderDevice.objects.exists()


def test_a_device_without_an_enrolment_is_logged(
    bob: Person, caplog: pytest.LogCaptureFixture
) -> None:
    stray = SeconderDevice.objects.create(user=bob.user)
    assert stray.verify_token("0000000") is False
    assert f"{stray.persistent_id} has no enrolment" in caplog.text

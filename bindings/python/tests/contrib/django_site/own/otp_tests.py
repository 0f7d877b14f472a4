"""django-otp's own tests, on its own test project, with the device of Seconder in place of the
static one that they create."""

from __future__ import annotations

import itertools
from typing import Any
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.test import TestCase, override_settings
from django_otp import tests

from seconder.contrib.django import accounts
from seconder.contrib.django._service import close
from seconder.contrib.django.models import Enrolment
from seconder.contrib.django.otp.models import SeconderDevice
from seconder.testing import Sandbox


class Tokens:
    """In place of a static device's tokens: each name of a token stands for a code by SMS."""

    def __init__(self, test: SeconderTests, user: Any) -> None:
        self.test, self.user = test, user

    def create(self, token: str) -> None:
        user_id = Enrolment.objects.get(account=self.user).user_id
        self.test.sandbox.service.request_sms(user_id)
        self.test.codes[token] = self.token = self.test.sandbox.code(user_id)

    def get(self) -> Tokens:
        return self


class Devices:
    """In place of a user's static devices."""

    def __init__(self, test: SeconderTests, user: Any) -> None:
        self.test, self.user = test, user

    def create(self) -> SeconderDevice:
        number = f"555-010-{next(self.test.numbers)}"
        created = self.test.sandbox.service.create_user("ada@example.com", number, 1)
        Enrolment.objects.create(account=self.user, user_id=created.user_id)
        self.test.tokens[self.user.pk] = Tokens(self.test, self.user)
        return SeconderDevice.add(self.user)

    def get(self) -> SeconderDevice:
        device: SeconderDevice = SeconderDevice.objects.get(user=self.user)
        return device

    first = get

    async def aupdate(self, **values: Any) -> int:
        count: int = await SeconderDevice.objects.filter(user=self.user).aupdate(**values)
        return count


class SeconderTests(TestCase):
    """Sets the sandbox up."""

    def setUp(self) -> None:
        self.codes: dict[str, str] = {}
        self.tokens: dict[int, Tokens] = {}
        self.numbers = itertools.count(1000)
        self.sandbox = Sandbox()
        digits = accounts.digits
        user, device = get_user_model(), SeconderDevice
        each: Any
        for each in (
            patch("seconder.open", self.sandbox.open),
            override_settings(SECONDER={"URL": "sandbox:"}, OTP_SECONDER_THROTTLE_FACTOR=0),
            patch.object(accounts, "digits", lambda typed: digits(self.codes.get(typed) or typed)),
            patch.object(user, "staticdevice_set", property(lambda user: Devices(self, user))),
            patch.object(
                device,
                "token_set",
                property(lambda device: self.tokens[device.user_id]),
                create=True,
            ),
        ):
            each.__enter__()
            self.addCleanup(each.__exit__, None, None, None)
        self.addCleanup(self.sandbox.close)
        self.addCleanup(close)
        super().setUp()


class TestApi(SeconderTests, tests.APITestCase): ...


class TestSignal(SeconderTests, tests.OTPVerificationFailedSignalTestCase): ...


class TestMiddleware(SeconderTests, tests.OTPMiddlewareTestCase):
    # There were no devices of ours when sessions had ids of this form.
    test_verified_legacy_device_id = None


class TestMiddlewareAsync(SeconderTests, tests.OTPMiddlewareAsyncTestCase):
    # There were no devices of ours when sessions had ids of this form.
    test_verified_legacy_device_id = None


class TestLogin(SeconderTests, tests.LoginViewTestCase): ...

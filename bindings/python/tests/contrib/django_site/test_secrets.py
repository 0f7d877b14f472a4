"""Error trackers get no secrets: the SDK of Sentry sends the local variables of every frame."""

from __future__ import annotations

from typing import Any

import pytest

from contrib.django_site.conftest import Person
from seconder.contrib.django import accounts
from seconder.contrib.django.allauth.forms import AuthenticateForm
from seconder.contrib.django.models import Decision
from seconder.contrib.django.otp.models import SeconderDevice
from seconder.testing import Sandbox
from tracker import captured, without_tests


def test_codes_that_are_still_valid_are_not_sent(
    ada: Person, sandbox: Sandbox, sent: list[dict[str, Any]]
) -> None:
    code, number = ada.code(), "555-010-0188"
    device = SeconderDevice.add(ada.user)
    accounts.start_enrolment(number, 1)
    pin = sandbox.code(number)
    with sandbox.failing("unauthorized"):
        captured(lambda: accounts.verify(ada.user, code))
        captured(lambda: accounts.confirm_authenticator(ada.user, code))
        captured(lambda: accounts.start_enrolment(number, 1))
        captured(lambda: accounts.enrol(make_other(ada), number, 1, pin))
        assert device.verify_token(code) is False
    # Three are of the log.
    assert len(sent) == 7
    shown = without_tests(sent)
    assert [each for each in (code, number, pin) if each in shown] == [], shown


def test_codes_are_not_sent_with_an_error_of_the_database(
    ada: Person, sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = ada.code()

    def failing(*args: Any) -> None:
        raise OSError("the database is gone")

    monkeypatch.setattr(Decision.objects, "create", failing)
    captured(lambda: accounts.verify(ada.user, code))
    captured(lambda: SeconderDevice.add(ada.user).verify_token(code))
    monkeypatch.setattr("seconder.contrib.django.allauth.forms.check_rate_limit", failing)
    form = AuthenticateForm({"code": code}, user=ada.user)
    form.cleaned_data = {"code": code}
    captured(form.clean_code)
    assert len(sent) == 3
    shown = without_tests(sent)
    assert code not in shown, shown


def make_other(ada: Person) -> Any:
    user: Any = type(ada.user).objects.create_user("other", "other@example.com", "password")
    return user

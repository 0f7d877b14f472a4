"""Enrolling accounts, and checking their codes."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.transaction import TransactionManagementError
from pytest_django import Settings

import seconder
from contrib.django_site.conftest import Person
from seconder.contrib.django import accounts, service
from seconder.contrib.django.models import Decision, Enrolment, PendingEnrolment
from seconder.testing import Sandbox

NUMBER = "555-010-0123"


def decisions() -> list[tuple[str, str, str]]:
    return list(Decision.objects.order_by("pk").values_list("asked", "verdict", "reason"))


def test_only_a_proven_number_is_enrolled(sandbox: Sandbox, bob: Person) -> None:
    accounts.start_enrolment(NUMBER, 1)
    with pytest.raises(seconder.TokenInvalid):
        accounts.enrol(bob.user, NUMBER, 1, "0000")
    assert accounts.enrolment(bob.user) is None
    found = accounts.enrol(bob.user, NUMBER, 1, sandbox.code(NUMBER))
    assert accounts.enrolment(bob.user) == found
    assert service().user_status(found.user_id).phone_number == "XXX-XXX-0123"
    with pytest.raises(accounts.AlreadyEnrolled):
        accounts.enrol(bob.user, NUMBER, 1, "0000")


def test_an_account_without_a_number_has_an_app(sandbox: Sandbox, bob: Person) -> None:
    with pytest.raises(accounts.NotEnrolled, match="start_authenticator"):
        accounts.enrol_authenticator(bob.user, "000000")
    abandoned = accounts.start_authenticator(bob.user)
    app = accounts.start_authenticator(bob.user)
    assert app.uri != abandoned.uri and service().admin.app_stats().total_users == 1
    old = seconder.totp.code(abandoned.uri, at=sandbox.now.timestamp())
    for wrong in ("000000", old):
        with pytest.raises(seconder.TokenInvalid):
            accounts.enrol_authenticator(bob.user, wrong)
    # Until the first right code, nothing keeps the user out.
    assert accounts.enrolment(bob.user) is None
    found = accounts.enrol_authenticator(bob.user, seconder.totp.code(app.uri, at=sandbox.now.timestamp()))
    assert accounts.enrolment(bob.user) == found and not PendingEnrolment.objects.exists()
    status = service().user_status(found.user_id)
    assert status.confirmed and status.phone_number is None
    sandbox.advance(30)
    accounts.verify(bob.user, sandbox.authenticator_code(found.user_id))
    with pytest.raises(seconder.Rejected, match="no phone number"):
        accounts.send_code(bob.user)
    for again in (accounts.start_authenticator, lambda user: accounts.enrol_authenticator(user, "1")):
        with pytest.raises(accounts.AlreadyEnrolled):
            again(bob.user)
    accounts.remove(bob.user)
    accounts.start_authenticator(bob.user)
    assert decisions()[:3] == [
        ("confirm", "rejected", "TokenInvalid 60020"),
        ("confirm", "rejected", "TokenInvalid 60020"),
        ("confirm", "accepted", ""),
    ]


def test_an_address_identifies_one_account_without_a_number(
    sandbox: Sandbox, ada: Person, bob: Person
) -> None:
    accounts.start_authenticator(bob.user)
    eve = User.objects.create_user("eve", "bob@example.com")
    with pytest.raises(seconder.Rejected) as caught:
        accounts.start_authenticator(eve)
    assert "email" in caught.value.fields
    # Ada has the address below with a number.
    accounts.start_authenticator(eve, email="ada@example.com")
    with pytest.raises(seconder.InvalidArgument):
        accounts.start_authenticator(User.objects.create_user("tom"))


def test_an_app_that_is_awaited_is_no_stranger(
    sandbox: Sandbox, bob: Person, django_capture_on_commit_callbacks: Any
) -> None:
    accounts.start_authenticator(bob.user)
    shown = io.StringIO()
    call_command("seconder_check", stdout=shown)
    assert "belongs to no account" not in shown.getvalue()
    # An operator deletes the user: the next one is another.
    accounts.delete_user(PendingEnrolment.objects.get().user_id)
    accounts.start_authenticator(bob.user)
    assert service().admin.app_stats().total_users == 1
    with django_capture_on_commit_callbacks(execute=True):
        bob.user.delete()
    assert service().admin.app_stats().total_users == 0


def test_the_number_of_another_account_is_not_enrolled(
    sandbox: Sandbox, ada: Person, bob: Person
) -> None:
    """Eve holds a number that was Ada's, and proves it."""
    number = sandbox.messages[-1].to.rpartition(" ")[2].removeprefix("+1")
    sandbox.advance(31)
    accounts.start_enrolment(number, 1)
    with pytest.raises(seconder.Rejected) as caught:
        accounts.enrol(bob.user, number, 1, sandbox.code(number))
    assert "cellphone" in caught.value.fields
    assert accounts.enrolment(bob.user) is None


def test_two_accounts_never_share_a_second_factor(ada: Person, bob: Person) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Enrolment.objects.create(account=bob.user, user_id=ada.user_id)


@pytest.mark.django_db(transaction=True)
def test_a_rollback_leaves_no_user_behind(sandbox: Sandbox) -> None:
    user = User.objects.create_user("bob", "bob@example.com")
    accounts.start_enrolment(NUMBER, 1)
    code = sandbox.code(NUMBER)
    with pytest.raises(TransactionManagementError, match="non_atomic_requests"), transaction.atomic():
        accounts.enrol(user, NUMBER, 1, code)
    with pytest.raises(TransactionManagementError, match="start_authenticator"), transaction.atomic():
        accounts.start_authenticator(user)
    assert service().admin.app_stats().total_users == 0
    # Nothing was sent, so the code is still right.
    accounts.enrol(user, NUMBER, 1, code)


def test_a_race_leaves_no_user_behind(
    sandbox: Sandbox, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.start_enrolment(NUMBER, 1)
    Enrolment.objects.create(account=bob.user, user_id=7)
    monkeypatch.setattr(accounts, "enrolment", lambda account: None)
    with pytest.raises(accounts.AlreadyEnrolled):
        accounts.enrol(bob.user, NUMBER, 1, sandbox.code(NUMBER))
    assert service().admin.app_stats().total_users == 0


def test_a_code_is_right_once_and_each_decision_is_recorded(ada: Person) -> None:
    code = ada.code()
    accounts.verify(ada.user, f" {code[:3]} {code[3:]}")
    with pytest.raises(seconder.TokenInvalid):
        accounts.verify(ada.user, code)
    with pytest.raises(seconder.TokenMalformed):
        accounts.verify(ada.user, "12x")
    assert decisions() == [
        ("send", "accepted", "sms"),
        ("code", "accepted", "sms"),
        ("code", "rejected", "AlreadyUsed 60019"),
        ("code", "rejected", "TokenMalformed"),
    ]
    newest = Decision.objects.first()
    assert newest is not None and newest.account == ada.user and newest.user_id == ada.user_id
    assert code not in str(Decision.objects.values_list())


def test_decisions_can_be_left_out(ada: Person, settings: Settings) -> None:
    settings.SECONDER = {"URL": "sandbox:", "DECISIONS": False}
    accounts.verify(ada.user, ada.code())
    assert decisions() == []


def test_a_failure_is_logged_and_recorded(
    sandbox: Sandbox, ada: Person, caplog: pytest.LogCaptureFixture
) -> None:
    with sandbox.failing("lost"), pytest.raises(seconder.Unavailable):
        accounts.verify(ada.user, "1234567")
    assert decisions() == [("code", "failed", "Unavailable")]
    (record,) = [each for each in caplog.records if each.name == "seconder.contrib"]
    assert record.levelno == logging.ERROR and "1234567" not in caplog.text


def test_a_call_can_be_asked_for(ada: Person, sandbox: Sandbox) -> None:
    accounts.send_code(ada.user, via="call")
    assert sandbox.messages[-1].via is seconder.enums.Channel.CALL
    with pytest.raises(ValueError):
        accounts.send_code(ada.user, via="pigeon")


def test_an_account_without_a_second_factor_is_not_let_in(bob: Person) -> None:
    for call in (lambda: accounts.verify(bob.user, "0000000"), lambda: accounts.send_code(bob.user)):
        with pytest.raises(accounts.NotEnrolled):
            call()
    assert accounts.enrolment(User()) is None


def test_an_app_is_confirmed_by_its_own_code_alone(ada: Person, sandbox: Sandbox) -> None:
    service().enrol_authenticator(ada.user_id)
    with pytest.raises(seconder.TokenInvalid):
        accounts.confirm_authenticator(ada.user, ada.code())
    accounts.confirm_authenticator(ada.user, sandbox.authenticator_code(ada.user_id))
    assert decisions()[-1][:2] == ("confirm", "accepted")


def test_factors_are_listed_and_removed(ada: Person, sandbox: Sandbox) -> None:
    service().enrol_authenticator(ada.user_id)
    accounts.confirm_authenticator(ada.user, sandbox.authenticator_code(ada.user_id))
    sandbox.add_device(ada.user_id)
    found = accounts.enrolment(ada.user)
    assert found is not None
    listed = accounts.factors(found)
    assert listed is not None
    names = [line.partition(" ")[0] for line in accounts.lines(listed)]
    assert names == ["codes", "authenticator", "device", "recovery"]
    assert (accounts.remove_authenticators(found), accounts.remove_devices(found)) == (1, 1)
    listed = accounts.factors(found)
    assert listed is not None and not listed.authenticators and not listed.devices


def test_removing_deletes_the_user_at_the_service_first(ada: Person, sandbox: Sandbox) -> None:
    with sandbox.failing("timeout"), pytest.raises(seconder.Unavailable):
        accounts.remove(ada.user)
    assert accounts.enrolment(ada.user) is not None
    service().delete_user(ada.user_id)
    accounts.remove(ada.user)
    assert accounts.enrolment(ada.user) is None and service().admin.app_stats().total_users == 0

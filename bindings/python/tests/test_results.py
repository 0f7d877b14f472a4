"""Results are values: frozen, comparable, hashable, picklable, and silent about secrets."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pytest

import seconder
from conftest import Elsewhere
from seconder import results

APPROVED = seconder.ApprovalStatus.APPROVED
SAMPLES: list[results.Result] = [
    seconder.Application(name="Example", app_id=1, sms_enabled=True),
    seconder.Approval(APPROVED, uuid="u", svc_id=7),
    seconder.ApprovalCreated("u"),
    seconder.ApprovalRequest("u", "Log in?", {"city": "Oslo"}, 1),
    seconder.AuthenticatorEnrolled(label="ada", uri="otpauth://hush", qr_code="data:hush"),
    seconder.CodeRequested(message="sent", cellphone="+1-XXX-XXX-XX23"),
    seconder.Device(id=1, city="Oslo"),
    seconder.DeviceRegistered(1, "hush"),
    seconder.Done("done"),
    seconder.Event("u", APPROVED, 7, seconder.Device(id=1), {"uuid": "u", "list": ["hush"]}),
    seconder.Message("+15550100123", "sms", "Your code is hush", "hush", 1),
    seconder.MonthlyStatistic("May", 2026, sms_count=3),
    seconder.PhoneInformation("found", seconder.PhoneType.VOIP),
    seconder.PhoneVerificationStarted(carrier="Post", uuid="u"),
    seconder.Statistics(stats=(seconder.MonthlyStatistic("May", 2026),), count=1),
    seconder.UserCreated(7),
    seconder.UserStatus(7, devices=("ios", "sms")),
    seconder.Verification("right", seconder.Device(id=1)),
]


def test_no_kind_is_forgotten() -> None:
    kinds = {kind.__name__ for kind in results.Result.__subclasses__()}
    assert {type(sample).__name__ for sample in SAMPLES} == kinds


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_it_is_a_value(sample: results.Result) -> None:
    again = pickle.loads(pickle.dumps(sample))
    assert again == sample and hash(again) == hash(sample) and len({again, sample}) == 1
    assert type(again) is type(sample)
    name = dataclasses.fields(sample)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(sample, name, None)
    with pytest.raises((AttributeError, TypeError)):
        sample.another = 1  # type: ignore[attr-defined]
    assert not hasattr(sample, "__dict__")
    assert json.loads(json.dumps(sample.to_dict())) == sample.to_dict()
    assert "hush" not in repr(sample)


def test_results_that_differ_are_not_equal() -> None:
    assert seconder.UserCreated(7) != seconder.UserCreated(8)
    assert repr(seconder.UserCreated(7)) == "UserCreated(id=7, message=None)"


def test_only_an_approval_is_true() -> None:
    for status in seconder.ApprovalStatus:
        approval = seconder.Approval(status, svc_id=7)
        event = seconder.Event("u", status, 7)
        for each in (status, approval, event):
            assert bool(each) is (status is APPROVED)
        assert approval.approved_by(7) is event.approved_by(7) is (status is APPROVED)
        assert not approval.approved_by(8)
    assert not seconder.Approval(APPROVED).approved_by(7)
    assert str(APPROVED) == f"{APPROVED}" == "approved"


def test_a_status_that_nobody_knows_lets_nobody_in(elsewhere: Elsewhere) -> None:
    elsewhere.body = {"approval_request": {"status": "APPROVED!"}, "success": True}
    with elsewhere.open() as service:
        found = service.check_approval("3f05a350")
    assert found.status is seconder.ApprovalStatus.UNKNOWN and not found


def test_every_field_of_a_reply_is_read(elsewhere: Elsewhere) -> None:
    elsewhere.body = {
        "token": "is valid",
        "success": "true",
        "message": "Token is valid.",
        "device": {
            "id": 2**60,
            "city": None,
            "os_type": "android",
            "registration_date": "1700000000",
            "last_account_recovery_at": None,
            "something_new": 1,
        },
    }
    with elsewhere.open() as service:
        device = service.verify("1234567", 7).device
    assert device == seconder.Device(id=2**60, os_type="android", registration_date=1700000000)

"""Results are values: frozen, comparable, hashable, picklable, and without secrets in repr."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import datetime, timezone
from typing import Any

import pytest

import seconder
from conftest import RemoteService, method
from seconder import results

APPROVED = seconder.enums.ApprovalStatus.APPROVED
SOON = datetime(2026, 5, 1, 12, 30, tzinfo=timezone.utc)
SAMPLES: list[results.Result] = [
    seconder.results.Application(name="Example", app_id=1, sms_enabled=True),
    seconder.results.Approval(APPROVED, uuid="u", user_id=7, created_at=SOON),
    seconder.results.ApprovalCreated("u"),
    seconder.results.ApprovalRequest("u", "Log in?", {"city": "Oslo"}, SOON),
    seconder.results.AuditEntry(SOON, "verify", "wrong", user_id=7, factor="code", times=3),
    seconder.results.AuditPage((seconder.results.AuditEntry(SOON, "open", "created"),), "1.7.2"),
    seconder.results.Authenticator("1", confirmed=True, label="ada", created_at=SOON),
    seconder.results.AuthenticatorEnrolled(label="ada", uri="otpauth://hush", qr_code="data:hush"),
    seconder.results.CodeRequested(message="sent", cellphone="+1-XXX-XXX-XX23", resend_after=30),
    seconder.results.Device(id=1, city="Oslo", registration_date=SOON),
    seconder.results.DeviceInvited(600, link="hush", code="hush", qr_code="data:hush"),
    seconder.results.DeviceRegistered(1, "hush"),
    seconder.results.Done("done", extra={"secret": "hush"}),
    seconder.results.Event(
        "u", APPROVED, 7, seconder.results.Device(id=1), {"uuid": "u", "list": ["hush"]}
    ),
    seconder.results.Factors(
        True, devices=(seconder.results.RegisteredDevice(1),), recovery_codes=9
    ),
    seconder.results.FoundUser(
        7, "ada", authenticator=True, devices=("ios",), recovery_codes_left=9
    ),
    seconder.results.CallRecord("verify", "token_wrong", 0.25, error="TokenInvalid", code="60020"),
    seconder.Message("+15550100123", seconder.enums.Channel.SMS, "Your code is hush", "hush", SOON),
    seconder.results.JobsRun(sent=2, waiting=1, more=True),
    seconder.results.MonthlyStatistic("May", 2026, sms_count=3),
    seconder.results.OfflinePrepared(1, 6, 30, 9, 10, 1776000000, hash_key="hush", hashes="hush"),
    seconder.results.PhoneInformation("found", seconder.enums.PhoneType.VOIP),
    seconder.results.PhoneLine("Example Mobile", "mobile", False),
    seconder.results.PhoneVerificationStarted(carrier="Post", uuid="u"),
    seconder.results.PhoneVerificationRecord(seconder.enums.VerificationStatus.PENDING, 600),
    seconder.results.RecoveryCodes(("hush",)),
    seconder.results.RegisteredDevice(1, "ios", SOON),
    seconder.results.RegisteredDevices((seconder.results.RegisteredDevice(1),)),
    seconder.results.Remembered("hush", SOON),
    seconder.results.SignedCallback("https://example.com/", b"{}", {"X-Svc-Signature-Nonce": "1"}),
    seconder.results.Statistics(stats=(seconder.results.MonthlyStatistic("May", 2026),), count=1),
    seconder.results.UserCreated(7),
    seconder.results.UserStatus(
        7, devices=("ios", "sms"), factors=seconder.results.Factors(sms=True)
    ),
    seconder.results.Verification("right", seconder.results.Device(id=1), extra={"new": [1]}),
]


def test_every_kind_has_a_sample() -> None:
    kinds = {*results.Result.__subclasses__(), *results.Reply.__subclasses__()} - {results.Reply}
    assert {type(sample) for sample in SAMPLES} == kinds
    assert all(getattr(results, kind.__name__) is kind for kind in kinds)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_every_result_is_a_value(sample: results.Result) -> None:
    for again in (pickle.loads(pickle.dumps(sample)), copy.copy(sample), copy.deepcopy(sample)):
        assert again == sample and hash(again) == hash(sample) and len({again, sample}) == 1
        assert type(again) is type(sample) and again.to_dict() == sample.to_dict()
    name = next(iter(type(sample)._fields))
    for other in (name, "another"):
        with pytest.raises(AttributeError):
            setattr(sample, other, None)
    with pytest.raises(AttributeError):
        delattr(sample, name)
    with pytest.raises(TypeError):
        type(sample)(another=1)  # type: ignore[call-arg]
    assert not hasattr(sample, "__dict__")
    assert json.loads(json.dumps(sample.to_dict())) == sample.to_dict()
    assert "hush" not in repr(sample)


def test_a_value_can_be_matched_and_shown() -> None:
    match seconder.results.Approval(APPROVED, "u", 7):
        case seconder.results.Approval(status=seconder.enums.ApprovalStatus.APPROVED, user_id=8):
            pytest.fail("it is another user's")
        case seconder.results.Approval(status, uuid, 7):
            assert (status, uuid) == (APPROVED, "u")
        case _:
            pytest.fail("it matches nothing")
    month = seconder.results.MonthlyStatistic("May", 2026, sms_count=3)
    assert eval(repr(month), {"MonthlyStatistic": seconder.results.MonthlyStatistic}) == month
    assert seconder.results.Approval(APPROVED, created_at=SOON).to_dict()["created_at"] == (
        "2026-05-01T12:30:00+00:00"
    )
    assert month.__replace__(year=2027) == seconder.results.MonthlyStatistic(
        "May", 2027, sms_count=3
    )


def test_results_that_differ_are_not_equal() -> None:
    assert seconder.results.UserCreated(7) != seconder.results.UserCreated(8)
    shown = "UserCreated(user_id=7, created=None, message=None, install_message=None)"
    assert repr(seconder.results.UserCreated(7)) == shown


def test_only_an_approval_is_true() -> None:
    for status in seconder.enums.ApprovalStatus:
        approval = seconder.results.Approval(status, user_id=7)
        event = seconder.results.Event("u", status, 7)
        for each in (status, approval, event):
            assert bool(each) is (status is APPROVED)
        assert approval.approved_by(7) is event.approved_by(7) is (status is APPROVED)
        assert not approval.approved_by(8)
    assert not seconder.results.Approval(APPROVED).approved_by(7)
    assert str(APPROVED) == f"{APPROVED}" == "approved"


def test_an_unknown_status_lets_nobody_in(remote: RemoteService) -> None:
    remote.body = {"approval_request": {"status": "APPROVED!"}, "success": True}
    with remote.open() as service:
        found = service.check_approval("3f05a350")
    assert found.status is seconder.enums.ApprovalStatus.UNKNOWN and not found


def test_every_field_of_a_reply_is_read(remote: RemoteService) -> None:
    remote.body = {
        "token": "is valid",
        "success": "true",
        "message": "Token is valid.",
        "risk": {"score": 3},
        "device": {
            "id": 2**60,
            "city": None,
            "os_type": "android",
            "registration_date": "1700000000",
            "last_account_recovery_at": None,
            "something_new": 1,
        },
    }
    with remote.open() as service:
        found = service.verify(7, "1234567")
    registered = datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
    assert found == seconder.results.Verification(
        "Token is valid.",
        seconder.results.Device(
            id=2**60,
            os_type="android",
            registration_date=registered,
            extra={"something_new": 1},
        ),
        extra={"risk": {"score": 3}},
    )
    assert pickle.loads(pickle.dumps(found)) == found and "risk" not in repr(found)


@pytest.mark.parametrize(
    ("name", "body", "extra"),
    [
        ("app_details", {"app": {"name": "x", "a": 1}, "b": 2, "success": True}, {"a": 1, "b": 2}),
        ("app_stats", {"stats": [], "count": 0, "success": "true", "more": None}, {"more": None}),
        ("app_details", {"app": {"name": "x", "extra": 1}, "success": True}, {"extra": 1}),
        ("app_details", {"app": {"name": "x", "token": 1}, "success": True}, {"token": 1}),
        ("request_sms", {"success": True, "ignored": False, "cost": "0.1"}, {"cost": "0.1"}),
        ("request_call", {"success": "Call started", "ignored": None}, {}),
        ("check_approval", {"approval_request": {"status": "denied", "_svc_id": 7}}, {}),
    ],
)
def test_fields_beyond_the_interface_are_kept_in_extra(
    remote: RemoteService, name: str, body: Any, extra: dict[str, Any]
) -> None:
    remote.body = body
    with remote.open() as service:
        given: dict[str, list[Any]] = {"request_sms": [7], "request_call": [7]}
        given["check_approval"] = ["3f05a350"]
        assert method(service, name)(*given.get(name, [])).extra == extra


def test_each_month_has_its_own_extra(remote: RemoteService) -> None:
    month = {"month": "May", "year": 2026, "fax_count": 1}
    remote.body = {"stats": [month, {**month, "year": 2027}], "success": True}
    with remote.open() as service:
        found = service.admin.app_stats()
    assert [each.extra for each in found.stats] == [{"fax_count": 1}] * 2 and not found.extra


def test_times_are_aware_and_unparsable_ones_are_kept(remote: RemoteService, phone: Any) -> None:
    request = phone.service.create_approval(phone.user_id, "Log in?", seconds_to_expire=60)
    created = phone.service.check_approval(request.uuid).created_at
    assert abs((datetime.now(timezone.utc) - created).total_seconds()) < 60
    times = {
        "created_at": "2026-05-01T14:30:00+02:00",
        "updated_at": "2026-05-01T12:30:00Z",
        "processed_at": "yesterday",
    }
    remote.body = {"approval_request": {"status": "denied", **times}, "success": True}
    with remote.open() as service:
        found = service.check_approval("3f05a350")
    assert found.created_at == found.updated_at == SOON and found.processed_at is None
    assert (
        found.created_at
        and found.created_at.tzinfo
        and found.extra == {"processed_at": "yesterday"}
    )

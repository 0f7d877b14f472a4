"""Every call, made to an engine on a fresh database."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import seconder
from conftest import Phone, RemoteService


def confirm(phone: Phone) -> str:
    phone.service.request_sms(phone.user_id)
    phone.service.verify(phone.user_id, phone.code())
    return phone.code()


def test_create_user_matches_by_cellphone(phone: Phone) -> None:
    again = phone.service.create_user(
        email="countess@example.com", cellphone="555.010.0123", country_code="1"
    )
    assert again.user_id == phone.user_id
    other = phone.service.create_user("ada@example.com", "555-010-0124", 1)
    assert other.user_id != phone.user_id
    assert (again.created, other.created) == (False, True)
    assert again.to_dict()["created"] is False


def test_a_known_user_is_rejected_if_only_a_new_one_is_wanted(phone: Phone) -> None:
    with pytest.raises(seconder.Rejected, match="cellphone belongs to a user") as caught:
        phone.service.create_user("eve@example.com", "555.010.0123", 1, new_only=True)
    assert (caught.value.http_status, caught.value.code) == (409, "60027")
    assert "cellphone" in caught.value.fields
    assert phone.service.enrol_authenticator(phone.user_id).label == "ada@example.com"
    assert not phone.messages
    assert phone.service.create_user("eve@example.com", "555-010-0124", 1, new_only=True).created


def test_a_user_without_a_number_is_identified_by_the_address(phone: Phone) -> None:
    service = phone.service
    # The address of a user with a number does not lead to that user.
    ada = service.create_user("ada@example.com")
    assert ada.created and ada.user_id != phone.user_id
    assert not service.create_user("ada@example.com", None, None).created
    with pytest.raises(seconder.AlreadyEnrolled, match="email belongs to a user") as caught:
        service.create_user("ada@example.com", new_only=True)
    assert "email" in caught.value.fields
    with pytest.raises(seconder.Rejected, match="no phone number") as rejected:
        service.request_sms(ada.user_id)
    assert (rejected.value.http_status, rejected.value.code) == (400, "60033")
    status = service.user_status(ada.user_id)
    assert (status.phone_number, status.country_code) == (None, None)
    app = service.enrol_authenticator(ada.user_id)
    service.confirm_authenticator(ada.user_id, seconder.totp.code(app.uri))
    assert not phone.messages
    halves: list[dict[str, Any]] = [{"cellphone": "555-010-0199"}, {"country_code": 1}]
    for given in (*halves, {"cellphone": ""}):
        with pytest.raises(seconder.InvalidArgument):
            service.create_user("ada@example.com", **given)


def test_a_service_has_to_know_users_without_a_number(remote: RemoteService) -> None:
    with remote.open() as service:
        remote.body = {"user": {"id": 7, "created": False}, "success": True}
        assert service.create_user("ada@example.com").user_id == 7
        sent = remote.seen[-1][2]
        assert b"without_phone" in sent and b"cellphone" not in sent
        # Another service that takes the call may have another idea of whom it means.
        remote.body = {"user": {"id": 7}, "success": True}
        with pytest.raises(seconder.InvalidResponse, match="no users without a phone number"):
            service.create_user("ada@example.com")
        service.create_user("ada@example.com", "555-010-0123", 1)
        assert b"without_phone" not in remote.seen[-1][2]


def test_a_service_has_to_say_that_a_user_is_new(remote: RemoteService) -> None:
    expected: list[tuple[dict[str, object], bool | None, str]] = [
        ({}, None, "does not say whether the user is new"),
        ({"created": "2017-11-25"}, None, "does not say whether the user is new"),
        ({"created": False}, False, "was there before"),
        ({"created": True}, True, ""),
    ]
    with remote.open() as service:
        for said, created, error in expected:
            remote.body = {"user": {"id": 7, **said}, "success": True}
            user = service.create_user("ada@example.com", "555-010-0123", 1)
            assert (user.user_id, user.created) == (7, created)
            assert b"new_only" not in remote.seen[-1][2]
            if created:
                user = service.create_user("ada@example.com", "555-010-0123", 1, new_only=True)
                assert user.created
            else:
                with pytest.raises(seconder.InvalidResponse, match=error):
                    service.create_user("ada@example.com", "555-010-0123", 1, new_only=True)
            assert b"new_only=true" in remote.seen[-1][2]


def test_the_wait_for_another_code_is_that_of_its_channel_and_action(phone: Phone) -> None:
    service, user = phone.service, phone.user_id
    assert service.request_sms(user).resend_after == 30
    assert service.request_call(user).resend_after == 30
    with pytest.raises(seconder.RateLimited):
        service.request_sms(user)
    assert service.request_sms(user, action="pay:1").resend_after == 30
    started = service.start_phone_verification("sms", "555-010-0177", 1)
    assert started.resend_after == 30
    app = service.enrol_authenticator(user)
    service.confirm_authenticator(user, seconder.totp.code(app.uri))
    ignored = service.request_sms(user, action="pay:2")
    assert ignored.ignored and ignored.resend_after is None
    with seconder.open("sandbox:") as sandbox:
        ada = sandbox.create_user("ada@example.com", "555-010-0123", 1).user_id
        assert sandbox.request_sms(ada).resend_after == sandbox.request_call(ada).resend_after == 0


def test_other_services_do_not_say_when_a_code_can_be_sent_again(remote: RemoteService) -> None:
    with remote.open() as service:
        remote.body = {"message": "sent", "success": True}
        assert service.request_sms(7).resend_after is None
        assert service.start_phone_verification("sms", "555-010-0177", 1).resend_after is None
        remote.body["resend_after"] = "2017-11-25"
        assert service.request_sms(7).resend_after is None
        remote.body["resend_after"] = "12"
        assert service.request_sms(7).resend_after == 12


def test_request_sms_returns_a_redacted_number(phone: Phone) -> None:
    sent = phone.service.request_sms(phone.user_id)
    assert sent.cellphone == "+1-XXX-XXX-XX23" and not sent.ignored
    assert sent.resend_after == sent.to_dict()["resend_after"] == 30
    message = phone.messages[-1]
    assert (message.to, message.via) == ("+15550100123", "sms")
    assert phone.code() in message.text and len(phone.code()) == 7
    assert message.via is seconder.enums.Channel.SMS
    assert message.expires_at is not None
    assert message.expires_at > datetime.now(timezone.utc)


def test_request_call_speaks_the_code(phone: Phone) -> None:
    phone.service.request_call(phone.user_id)
    assert phone.messages[-1].via == "call"
    found = phone.service.verify(phone.user_id, phone.code())
    assert isinstance(found, seconder.results.Verification)


def test_a_code_for_an_action_is_valid_for_no_other(phone: Phone) -> None:
    phone.service.request_sms(phone.user_id, action="pay:1", action_message="Pay 1 to Bob?")
    with pytest.raises(seconder.TokenInvalid):
        phone.service.verify(phone.user_id, phone.code(), action="pay:2")
    time.sleep(1.1)
    phone.service.verify(phone.user_id, phone.code(), action="pay:1")


def test_verify_returns_only_for_a_right_code(phone: Phone) -> None:
    phone.service.request_sms(phone.user_id)
    with pytest.raises(seconder.NotChecked):
        phone.service.verify(phone.user_id, phone.code(), force=False)
    assert not phone.service.user_status(phone.user_id).confirmed
    phone.service.verify(phone.user_id, phone.code())
    assert phone.service.user_status(phone.user_id).confirmed
    with pytest.raises(seconder.TokenInvalid) as caught:
        phone.service.verify(phone.user_id, phone.code())
    assert caught.value.reused


@pytest.mark.parametrize(
    "typed", ["", "12345", "1234567890123", "12345a", " 123456", "12\udcff456"]
)
def test_what_cannot_be_a_code_is_the_users_mistake(phone: Phone, typed: str) -> None:
    def verify(force: bool) -> object:
        return phone.service.verify(phone.user_id, typed, force=force)

    def check_phone() -> object:
        return phone.service.check_phone_verification("555-010-0199", 1, f"{typed[:3]}x")

    totp = seconder.totp.Totp(b"12345678901234567890")
    checks: list[tuple[str, Callable[[], object]]] = [
        ("token", lambda: verify(False)),
        ("token", lambda: verify(True)),
        ("token", lambda: totp.check(typed, 59)),
        ("verification_code", check_phone),
    ]
    for name, check in checks:
        with pytest.raises(seconder.TokenMalformed) as caught:
            check()
        assert isinstance(caught.value, seconder.TokenInvalid)
        assert isinstance(caught.value, seconder.InvalidArgument)
        assert caught.value.parameter == name and not caught.value.reused
    # No try was counted.
    phone.service.request_sms(phone.user_id)
    phone.service.verify(phone.user_id, phone.code())


def test_wrong_codes_are_rejected_and_the_fifth_is_rate_limited() -> None:
    """In memory, because a busy disk may take longer than the wait of two seconds."""
    messages: list[seconder.Message] = []
    with seconder.open("sandbox:?accept=right", deliver=messages.append) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        service.request_sms(user.user_id)
        code = str(messages[-1].code)
        wrong = str((int(code) + 1) % 10**7).zfill(7)
        for _ in range(4):
            with pytest.raises(seconder.TokenInvalid) as caught:
                service.verify(user.user_id, wrong)
            assert not caught.value.reused
        with pytest.raises(seconder.RateLimited) as limited:
            service.verify(user.user_id, code)
    assert limited.value.retry_safe and limited.value.limit == "wrong_codes"
    assert limited.value.retry_after is not None and 0 < limited.value.retry_after <= 2


def test_delete_user_removes_the_user(phone: Phone) -> None:
    phone.service.delete_user(phone.user_id, user_ip="2001:db8::7")
    with pytest.raises(seconder.Rejected) as caught:
        phone.service.user_status(phone.user_id)
    assert caught.value.http_status == 404


def test_register_activity(phone: Phone) -> None:
    done = phone.service.register_activity(
        phone.user_id, "cookie_login", data={"tries": [1, 2.5, None, True]}, user_ip="192.0.2.1"
    )
    assert isinstance(done, seconder.results.Done)
    with pytest.raises(seconder.InvalidArgument) as caught:
        phone.service.register_activity(phone.user_id, "dancing")  # type: ignore[arg-type]
    assert caught.value.parameter == "type"


def test_app_details_and_statistics(phone: Phone) -> None:
    details = phone.service.app_details(user_ip="192.0.2.1")
    assert details.name == "Example" and details.sms_enabled
    assert details.phone_calls_enabled and details.push_enabled
    confirm(phone)
    stats = phone.service.admin.app_stats()
    this_month = stats.stats[-1]
    assert this_month.year == time.gmtime().tm_year
    assert this_month.sms_count == 1 and this_month.users_count == 1


def test_user_status(phone: Phone) -> None:
    status = phone.service.user_status(phone.user_id)
    assert status.user_id == phone.user_id and status.phone_number == "XXX-XXX-0123"
    assert status.country_code == 1 and isinstance(status.devices, tuple)


def test_phone_verification(phone: Phone) -> None:
    number = {"phone_number": "555-010-0199", "country_code": "1"}
    started = phone.service.start_phone_verification("sms", **number, code_length=4, locale="en")
    assert started.seconds_to_expire
    assert len(phone.code()) == 4 and phone.messages[-1].to == "+15550100199"
    record = phone.service.phone_verification_status(uuid=started.uuid)
    assert record.status is seconder.enums.VerificationStatus.PENDING and record.seconds_to_expire
    done = phone.service.check_phone_verification(**number, verification_code=phone.code())
    assert phone.service.phone_verification_status(**number).status == "verified"
    with pytest.raises(seconder.InvalidArgument, match="uuid"):
        phone.service.phone_verification_status()
    assert isinstance(done, seconder.results.Done)
    with pytest.raises(seconder.Rejected) as caught:
        phone.service.check_phone_verification(**number, verification_code=phone.code())
    assert caught.value.http_status == 404 and caught.value.code == "60023"


def test_a_number_is_changed_by_the_code_that_was_sent_to_the_new_one(phone: Phone) -> None:
    user_id = phone.service.create_user("ada@example.com", "555-010-0123", 1).user_id
    other = phone.service.create_user("bob@example.com", "555-010-0124", 1).user_id
    phone.service.start_phone_verification("sms", "555-010-0199", 1)
    code = phone.code()
    wrong = "0" * len(code) if code[0] != "0" else "1" * len(code)
    with pytest.raises(seconder.TokenInvalid):
        phone.service.set_number(user_id, "555-010-0199", 1, wrong)
    with pytest.raises(seconder.Rejected, match="409"):
        phone.service.set_number(user_id, "555-010-0124", 1, code)
    phone.service.set_number(user_id, "555-010-0199", 1, code, user_ip="192.0.2.7")
    assert phone.service.user_status(user_id).phone_number == "XXX-XXX-0199"
    assert phone.service.user_status(other).phone_number == "XXX-XXX-0124"
    phone.service.request_sms(user_id)
    assert phone.messages[-1].to == "+15550100199"
    phone.service.verify(user_id, phone.code())


def test_phone_info(phone: Phone) -> None:
    found = phone.service.phone_info("30 901820", 49)
    assert found.type is seconder.enums.PhoneType.LANDLINE
    assert phone.service.phone_info("1512 3456789", 49).type == "cellphone"


def test_approvals(phone: Phone) -> None:
    device = phone.service.register_device(phone.user_id, "ios")
    request = phone.service.create_approval(
        phone.user_id,
        "Log in?",
        details={"city": "Oslo"},
        hidden_details={"session": 7},
        logos=[{"res": "default", "url": "https://example.com/logo.png"}],
        seconds_to_expire=60,
    )
    pending = phone.service.check_approval(request.uuid)
    assert pending.status is seconder.enums.ApprovalStatus.PENDING
    assert not pending and not pending.approved_by(phone.user_id)
    assert pending.seconds_to_expire == 60 and pending.processed_at is None
    assert pending.message == "Log in?" and pending.details == {"city": "Oslo"}
    assert pending.hidden_details == {"session": 7}
    assert pending.logos == ({"res": "default", "url": "https://example.com/logo.png"},)
    assert pending.app_name == "Example" and pending.app_id == "1" and pending.user_email
    proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
    (shown,) = phone.service.open_approvals(**proof)
    assert (shown.uuid, shown.message, shown.details) == (request.uuid, "Log in?", {"city": "Oslo"})
    assert shown.expires_at is not None
    assert 0 < (shown.expires_at - datetime.now(timezone.utc)).total_seconds() <= 60
    response = phone.service.respond_to_approval(request.uuid, **proof, response="approve")
    assert phone.service.open_approvals(**proof) == ()
    assert response.status is seconder.enums.ApprovalStatus.APPROVED
    found = phone.service.check_approval(request.uuid)
    assert found and found.approved_by(phone.user_id)
    assert not found.approved_by(phone.user_id + 1)


def test_numbers_of_details_keep_their_digits(phone: Phone) -> None:
    details = {
        "account": 12345678901234567890123,
        "small": -(2**63) - 1,
        "amount": 1.5,
        "big": 1e22,
    }
    request = phone.service.create_approval(phone.user_id, "Pay?", details=details)
    pending = phone.service.check_approval(request.uuid)
    assert pending.details == details
    assert isinstance(pending.details["account"], int)
    with pytest.raises(seconder.InvalidArgument) as caught:
        phone.service.create_approval(phone.user_id, "Pay?", details={"a": 10**5000})
    assert caught.value.parameter == "details" and "fewer digits" in str(caught.value)


def test_a_request_that_nobody_can_respond_to_yet_says_so(phone: Phone) -> None:
    assert "no device" in str(phone.service.create_approval(phone.user_id, "Log in?").message)
    phone.service.register_device(phone.user_id, "ios")
    created = phone.service.create_approval(phone.user_id, "Log in?")
    assert created.message == "Approval request created."


def test_a_request_with_a_number_is_approved_by_typing_it(phone: Phone) -> None:
    device = phone.service.register_device(phone.user_id, "ios")
    request = phone.service.create_approval(phone.user_id, "Log in?", number_digits=6)
    assert request.number is not None and len(request.number) == 6
    assert request.number not in repr(request)
    proof: Any = {"device_id": device.device_id, "device_secret": device.secret}
    (shown,) = phone.service.open_approvals(**proof)
    assert shown.number_digits == 6
    with pytest.raises(seconder.InvalidArgument, match="number"):
        phone.service.respond_to_approval(request.uuid, **proof, response="approve")
    found = phone.service.respond_to_approval(
        request.uuid, **proof, response="approve", number=request.number
    )
    assert found.approved_by(phone.user_id)
    with pytest.raises(seconder.InvalidArgument) as caught:
        phone.service.create_approval(phone.user_id, "Log in?", number_digits=4)
    assert caught.value.parameter == "number_digits"


def test_nobody_is_invited_to_a_service_that_phones_do_not_reach(phone: Phone) -> None:
    with pytest.raises(seconder.Rejected) as rejected:
        phone.service.invite_device(phone.user_id)
    assert rejected.value.code == seconder.enums.Code.NO_PUBLIC_URL
    with pytest.raises(seconder.InvalidArgument) as caught:
        phone.service.invite_device(phone.user_id, qr_size=99)
    assert caught.value.parameter == "qr_size"


def test_an_invitation_of_a_remote_service_is_not_shown_by_its_repr(remote: RemoteService) -> None:
    with remote.open() as service:
        remote.body = {
            "success": True,
            "link": "https://login.example/a#ABCDE",
            "code": "ABCDE-FGHJK",
        }
        remote.body |= {"qr_code": "data:image/png;base64,AA==", "expires_in": 600}
        invited = service.invite_device(7)
        assert (invited.link, invited.code) == ("https://login.example/a#ABCDE", "ABCDE-FGHJK")
        assert invited.qr_code.startswith("data:") and invited.expires_in == 600
        assert "ABCDE" not in repr(invited) and "data:" not in repr(invited)


def test_a_denied_approval_lets_nobody_in(phone: Phone) -> None:
    device = phone.service.register_device(phone.user_id, "android")
    request = phone.service.create_approval(phone.user_id, "Log in?")
    with pytest.raises(seconder.InvalidArgument, match="device_secret"):
        phone.service.respond_to_approval(
            request.uuid, device_id=device.device_id, device_secret="another", response="approve"
        )
    phone.service.respond_to_approval(
        request.uuid, device_id=device.device_id, device_secret=device.secret, response="deny"
    )
    found = phone.service.check_approval(request.uuid)
    assert found.status == "denied" and not found


def test_an_authenticator_app(phone: Phone) -> None:
    confirm(phone)
    app = phone.service.enrol_authenticator(phone.user_id, label="ada", qr_size=200)
    assert app.label == "ada" and app.issuer == "Example" and app.qr_code.startswith("data:")
    code = seconder.totp.code(app.uri)
    phone.service.verify(phone.user_id, code)
    with pytest.raises(seconder.TokenInvalid) as caught:
        phone.service.verify(phone.user_id, code)
    assert caught.value.reused


def test_login_names_and_recovery_codes(phone: Phone, caplog: pytest.LogCaptureFixture) -> None:
    service, ada = phone.service, phone.user_id
    confirm(phone)
    service.machines.set_login(ada, "ada")
    created = service.create_recovery_codes(ada)
    assert len(created.codes) == 10 and created.codes[0] not in repr(created)
    with caplog.at_level("DEBUG", logger="seconder"):
        verified = service.verify(ada, created.codes[0])
    assert verified.device is not None and verified.device.os_type == "recovery_code"
    assert vars(caplog.records[-1])["seconder_factor"] == "recovery_code"
    assert (
        caplog.records[-1]
        .getMessage()
        .partition(" request_id=")[0]
        .endswith(" factor=recovery_code")
    )
    with pytest.raises(seconder.TokenInvalid) as caught:
        service.verify(ada, created.codes[0])
    assert caught.value.reused
    found = service.machines.find_user("ada")
    assert (found.user_id, found.recovery_codes_left, found.devices) == (ada, 9, ("sms",))
    bob = service.create_user("bob@example.com", "555-010-0188", 1).user_id
    with pytest.raises(seconder.Rejected, match="another user"):
        service.machines.set_login(bob, "ada")
    service.machines.remove_login("ada")
    with pytest.raises(seconder.Rejected, match="nobody has the login name ada") as rejected:
        service.machines.find_user("ada")
    assert rejected.value.code == "60026"
    with pytest.raises(seconder.InvalidArgument) as invalid:
        service.machines.set_login(ada, "../ada")
    assert invalid.value.parameter == "login"


def test_offline_logins() -> None:
    with seconder.open(
        "sandbox:?accept=right", engine=seconder.EngineOptions(offline_days=2)
    ) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        uri = service.enrol_authenticator(user).uri
        code = seconder.totp.code(uri)
        service.verify(user, code)
        prepared = service.machines.prepare_offline(user, code, days=1, machine="door")
        assert prepared.first_step == prepared.last_step + 1 and prepared.period == 30
        step = prepared.first_step
        next_code = seconder.totp.code(uri, at=step * 30)
        hashed = b"seconder offline code\0" + user.to_bytes(8, "big") + step.to_bytes(8, "big")
        digest = hmac.digest(
            base64.b64decode(prepared.hash_key), hashed + next_code.encode(), "sha256"
        )
        assert base64.b64decode(prepared.hashes)[:8] == digest[:8]
        login: seconder.typed.OfflineLogin = {"step": step, "time": step * 30}
        app = prepared.authenticator_id
        assert service.machines.report_offline(user, app, [login], machine="door").message
        with pytest.raises(seconder.TokenInvalid) as caught:
            service.verify(user, next_code)
        assert caught.value.reused
        with pytest.raises(seconder.Rejected) as rejected:
            service.machines.prepare_offline(user, code)
        assert rejected.value.code == "no_code_accepted"
        with pytest.raises(seconder.TokenMalformed):
            service.machines.prepare_offline(user, "12")
        with pytest.raises(seconder.InvalidArgument) as invalid:
            service.machines.report_offline(user, app, [])
        assert invalid.value.parameter == "logins"


def test_the_sandbox_accepts_only_its_token() -> None:
    with seconder.open("sandbox:?accept=0000000") as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        service.verify(user.user_id, "0000000")
        with pytest.raises(seconder.TokenInvalid):
            service.verify(user.user_id, "1234567")


def test_without_deliver_messages_are_written_to_a_folder(tmp_path: Path) -> None:
    with seconder.open(f"sqlite:{tmp_path}/test.db") as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        service.request_sms(user.user_id)
    header, _, text = max((tmp_path / "test.spool").iterdir()).read_text().partition("\n\n")
    lines = dict(line.split(": ") for line in header.splitlines())
    assert lines["To"] == "+15550100123" and lines["Via"] == "sms" and lines["Code"] in text

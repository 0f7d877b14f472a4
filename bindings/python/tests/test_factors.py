"""Factors of an account: listing them, confirming an authenticator app, and removing them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone

import pytest

import seconder
from conftest import Phone, RemoteService


def factors(phone: Phone) -> seconder.results.Factors:
    found = phone.service.user_status(phone.user_id).factors
    assert found is not None
    return found


def test_only_a_code_of_the_new_app_confirms_it(phone: Phone) -> None:
    service, ada = phone.service, phone.user_id
    with pytest.raises(seconder.Rejected) as rejected:
        service.confirm_authenticator(ada, "123456")
    assert (rejected.value.http_status, rejected.value.code) == (404, "no_pending_authenticator")
    app = service.enrol_authenticator(ada, label="Phone")
    [shown] = factors(phone).authenticators
    assert (shown.confirmed, shown.label) == (False, "Phone")
    assert shown.created_at is not None
    assert abs(datetime.now(timezone.utc) - shown.created_at) < timedelta(hours=1)

    service.request_sms(ada)
    with pytest.raises(seconder.TokenInvalid) as wrong:
        service.confirm_authenticator(ada, phone.code())
    assert (wrong.value.reused, wrong.value.code) == (False, "60020")
    with pytest.raises(seconder.TokenMalformed) as malformed:
        service.confirm_authenticator(ada, "12 34")
    assert malformed.value.parameter == "code"
    with pytest.raises(seconder.InvalidArgument) as number:
        service.confirm_authenticator(ada, 123456)  # type: ignore[arg-type]
    assert number.value.parameter == "code"

    verified = service.confirm_authenticator(ada, seconder.totp.code(app.uri))
    assert verified.device is not None and verified.device.os_type == "authenticator"
    assert [each.confirmed for each in factors(phone).authenticators] == [True]
    assert service.user_status(ada).confirmed


def test_removed_factors_are_void(phone: Phone) -> None:
    service, ada = phone.service, phone.user_id
    app = service.enrol_authenticator(ada)
    code = seconder.totp.code(app.uri)
    service.confirm_authenticator(ada, code)
    assert service.request_sms(ada).ignored
    service.remove_authenticator(ada, factors(phone).authenticators[0].id)
    assert not service.request_sms(ada).ignored
    with pytest.raises(seconder.Rejected) as rejected:
        service.remove_authenticator(ada, "1")
    assert rejected.value.code == "authenticator_not_found"
    with pytest.raises(seconder.InvalidArgument) as invalid:
        service.remove_authenticator(ada, "../1")
    assert invalid.value.parameter == "authenticator_id"

    device = service.register_device(ada, "ios")
    listed = service.devices(ada).devices
    assert [(each.id, each.type) for each in listed] == [(device.device_id, "ios")]
    assert factors(phone).devices == listed and listed[0].created_at is not None
    service.remove_device(ada, device.device_id)
    assert not service.devices(ada).devices
    with pytest.raises(seconder.InvalidArgument, match="device_secret"):
        service.open_approvals(device_id=device.device_id, device_secret=device.secret)
    service.create_recovery_codes(ada)
    assert factors(phone) == seconder.results.Factors(sms=True, recovery_codes=10)
    assert factors(phone).to_dict()["recovery_codes"] == 10


def test_other_services_do_not_say_what_protects_an_account(remote: RemoteService) -> None:
    app = {"id": 3, "confirmed": "true", "created_at": 1786924800, "model": "x"}
    some: dict[str, object] = {"sms": True, "authenticators": [app], "devices": [], "more": 1}
    some["recovery_codes"] = 10
    with remote.open() as service:
        others: list[object] = [None, "sms", [], {}, {"authenticators": "none"}, {"sms": True}]
        for said in others:
            remote.body = {"status": {"svc_id": 7, "factors": said}, "success": True}
            assert service.user_status(7).factors is None
        remote.body = {"status": {"svc_id": 7}, "success": True}
        assert service.user_status(7).factors is None
        remote.body = {"status": {"svc_id": 7, "factors": some}, "success": True}
        found = service.user_status(7).factors
        assert found is not None and found.extra == {"more": 1} and found.devices == ()
        [shown] = found.authenticators
        assert (shown.id, shown.confirmed, shown.extra) == ("3", True, {"model": "x"})
        assert shown.created_at == datetime.fromtimestamp(1786924800, timezone.utc)
        remote.body = {"message": "Verified.", "success": True}
        with pytest.raises(seconder.InvalidResponse):
            service.confirm_authenticator(7, "123456")


def test_the_calls_are_coroutines_too() -> None:
    async def work() -> None:
        async with seconder.open_async("sandbox:") as service:
            user = await service.create_user("ada@example.com", "555-010-0123", 1)
            await service.enrol_authenticator(user.user_id)
            await service.confirm_authenticator(user.user_id, "123456")
            found = (await service.user_status(user.user_id)).factors
            assert found is not None
            await service.remove_authenticator(user.user_id, found.authenticators[0].id)
            device = await service.register_device(user.user_id, "ios")
            await service.remove_device(user.user_id, device.device_id)
            assert (await service.devices(user.user_id)).devices == ()

    asyncio.run(work())

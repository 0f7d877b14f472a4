"""Reading what an engine has decided."""

from __future__ import annotations

import asyncio
import gc
import json
from contextlib import aclosing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import seconder
from conftest import Phone, RemoteService


def log_in(phone: Phone) -> None:
    phone.service.request_sms(phone.user_id, user_ip="192.0.2.7")
    with pytest.raises(seconder.RateLimited):
        phone.service.request_sms(phone.user_id)
    with pytest.raises(seconder.NotChecked):
        phone.service.verify(phone.user_id, phone.code(), force=False)
    phone.service.verify(phone.user_id, phone.code())


def test_decisions_are_read_without_codes_and_numbers(phone: Phone) -> None:
    before = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    log_in(phone)
    page = phone.service.admin.audit(user_id=phone.user_id)
    assert page.next is None
    found = {entry.verdict: entry for entry in page.entries}
    assert set(found) == {"created", "sent", "refused", "not_checked", "right"}
    sent = found["sent"]
    assert (sent.call, sent.factor, sent.number) == ("request_sms", "code", "+1-XXX-XXX-XX23")
    assert (sent.user_ip, sent.times, sent.over_limit, sent.reason) == ("192.0.2.7", 1, None, None)
    assert sent.user_id == phone.user_id and sent.app_id and sent.nonce is not None
    assert before <= sent.time <= datetime.now(timezone.utc)
    assert sent.operator_name is None
    assert found["refused"].over_limit == "cool_down"
    assert found["not_checked"].reason == "not_confirmed"
    shown = json.dumps(page.to_dict()) + repr(page)
    for secret in (phone.code(), "5550100123", "ada@example.com", phone.service.admin.api_key()):
        assert secret not in shown
    assert page.to_dict()["entries"][0]["time"].endswith("+00:00")


def test_a_filter_selects_decisions(phone: Phone) -> None:
    log_in(phone)
    read = phone.service.admin.audit
    assert [entry.verdict for entry in read(verdict="sent").entries] == ["sent"]
    assert [entry.user_id for entry in read(verdict="created").entries] == [phone.user_id, None]
    assert read(user_id=phone.user_id + 1).entries == ()
    assert {entry.call for entry in read(call="verify").entries} == {"verify"}
    assert [entry.verdict for entry in read(user_ip="192.0.2.7").entries] == ["sent"]
    assert read(call="verify", user_ip="192.0.2.7").entries == ()
    assert read(operator_name="ada").entries == ()
    soon = datetime.now(timezone.utc) + timedelta(minutes=1)
    assert read(since=soon).entries == read(until=1).entries == ()
    everything = read().entries
    assert len(everything) == 6 and read(until=soon, since=1.5).entries == everything


def test_pages_lead_to_the_end(phone: Phone) -> None:
    log_in(phone)
    whole = phone.service.admin.audit().entries
    pages = list(phone.service.admin.audit_pages(most=4))
    assert [len(page.entries) for page in pages] == [4, 2]
    assert pages[0].entries + pages[1].entries == whole
    assert phone.service.admin.audit(most=4, after=pages[0].next) == pages[1]

    async def ask() -> list[seconder.results.AuditPage]:
        service = seconder.AsyncService(phone.service)
        assert await service.admin.audit(most=4) == pages[0]
        return [page async for page in service.admin.audit_pages(most=4)]

    assert asyncio.run(ask()) == pages


@pytest.mark.parametrize("closed", [True, False])
def test_pages_that_are_left_early_leave_nothing(phone: Phone, closed: bool) -> None:
    log_in(phone)

    async def ask() -> None:
        trouble: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: trouble.append(context))
        service = seconder.AsyncService(phone.service)
        if closed:
            async with aclosing(service.admin.audit_pages(most=1)) as pages:
                async for _ in pages:
                    break
        else:
            async for _ in service.admin.audit_pages(most=1):
                break
        gc.collect()
        # The event loop closes in a task what is left to it.
        for _ in range(1 if closed else 10):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert trouble == []

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("most", 0),
        ("most", 1001),
        ("after", "1.2"),
        ("user_id", 0),
        ("user_ip", "localhost"),
        ("since", "yesterday"),
        ("since", datetime(2026, 5, 1)),  # noqa: DTZ001
        ("until", float("nan")),
        ("since", -1),
        ("until", -1),
    ],
)
def test_an_invalid_argument_is_named(phone: Phone, name: str, value: Any) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        phone.service.admin.audit(**{name: value})
    assert caught.value.parameter == name


def test_a_remote_service_has_no_audit(remote: RemoteService) -> None:
    with remote.open() as service, pytest.raises(seconder.InvalidArgument, match="remote service"):
        service.admin.audit()

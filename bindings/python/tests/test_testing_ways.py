"""The ways to use a sandbox: with other names, with other timeouts, and with asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from conftest import open_with

import seconder
from seconder.testing import Callback, Sandbox


@pytest.fixture
def ada(seconder_sandbox: Sandbox) -> int:
    return seconder_sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id


@pytest.mark.parametrize("format", ["json", "xml"])
def test_other_names(format: Literal["json", "xml"]) -> None:
    names = seconder.Names("acme", push_path="onetouch")
    settings: dict[str, Any] = {"allow_loopback_http": True, "names": names, "format": format}
    with (
        Sandbox(names=names) as sandbox,
        open_with(sandbox.url, api_key=sandbox.api_key, **settings) as remote,
    ):
        user = remote.create_user("ada@example.com", "555-010-0123", 1).user_id
        remote.enrol_authenticator(user)
        assert remote.verify(user, sandbox.authenticator_code(user))
        remote.create_approval(user, "Log in?")
        posted = sandbox.approve(user)
        for callback in [posted, sandbox.signed(posted.body)]:
            assert b'"acme_id"' in callback.body

            def verified(callback: Callback) -> seconder.results.Event:
                return seconder.callback.verify(
                    api_key=sandbox.api_key,
                    url=sandbox.callback_url,
                    method="POST",
                    body=callback.body,
                    signature=callback.headers[names.signature_header],
                    nonce=callback.headers[names.nonce_header],
                    names=names,
                )

            assert verified(callback).approved_by(user)
            with pytest.raises(seconder.InvalidCallback):
                verified(callback.forged())
        with sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized):
            sandbox.service.user_status(user)


def test_a_service_with_another_timeout_belongs_to_the_sandbox(
    seconder_sandbox: Sandbox, ada: int
) -> None:
    service = seconder_sandbox.service.with_timeout(3).with_repeats("none")
    service.request_sms(ada)
    assert service.verify(ada, seconder_sandbox.code(ada))
    with seconder_sandbox.failing("invalid_response"), pytest.raises(seconder.InvalidResponse):
        service.user_status(ada)


def test_an_application_can_use_asyncio(seconder_sandbox: Sandbox, ada: int) -> None:
    async def log_in() -> None:
        async with seconder.AsyncService(seconder_sandbox.service) as service:
            await service.request_sms(ada)
            await service.verify(ada, seconder_sandbox.code(ada))
            uuid = (await service.create_approval(ada, "Log in?")).uuid
            seconder_sandbox.approve(ada)
            approval = await service.wait_for_approval(uuid, ada, timeout=5)
            assert approval.approved_by(ada)
            with seconder_sandbox.failing("lost"), pytest.raises(seconder.Unavailable):
                await service.user_status(ada)
            with seconder_sandbox.failing("unauthorized"), pytest.raises(seconder.Unauthorized):
                await service.wait_for_approval(uuid, ada, timeout=5)

    asyncio.run(log_in())


def test_an_application_can_open_it_with_asyncio(
    seconder_sandbox: Sandbox, ada: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seconder.open_async", seconder_sandbox.open_async)

    async def log_in() -> None:
        url = "https://2fa.example.com"
        async with seconder.open_async(url, api_key="key", threads=2) as service:
            await service.request_sms(ada)
        async with await seconder.open_async(url, api_key="key") as service:
            assert await service.verify(ada, seconder_sandbox.code(ada))

    asyncio.run(log_in())

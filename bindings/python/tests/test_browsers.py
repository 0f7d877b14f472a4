"""Remembered browsers: cookies that take the place of the second factor for some days."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

import seconder

from conftest import RemoteService

DAY = datetime.timedelta(days=1)


@pytest.fixture
def sandbox() -> Iterator[seconder.Service]:
    with seconder.open("sandbox:") as service:
        yield service


def enrol(service: seconder.Service) -> tuple[int, int]:
    """Returns two users."""
    first = service.create_user("ada@example.com", "555-010-0123", 1).user_id
    return first, service.create_user("ben@example.com", "555-010-0124", 1).user_id


def test_a_remembered_browser(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'test.db'}"
    with seconder.open(url) as service:
        ada, ben = enrol(service)
        remembered = service.remember(ada)
        token = remembered.token
        assert len(token) <= 200 and token.replace("-", "").replace("_", "").isalnum()
        assert token not in repr(remembered)
        left = remembered.expires_at - datetime.datetime.now(datetime.timezone.utc)
        assert 29 * DAY < left <= 30 * DAY
        assert service.recognise(ada, token) is True
        assert service.recognise(ben, token) is False
        assert service.recognise(ada + 1000, token) is False
    # The database remembers it.
    with seconder.open(url) as service, seconder.open(url) as other:
        assert service.recognise(ada, token) and other.recognise(ada, token)
        assert service.forget(ada, token=token).message
        assert not service.recognise(ada, token) and not other.recognise(ada, token)


def test_what_a_cookie_may_hold_is_no_error(sandbox: seconder.Service) -> None:
    ada, _ = enrol(sandbox)
    token = sandbox.remember(ada, days=400).token
    for other in ("", "-", "1234567", "is valid", token + "A", token[:-1], " " + token, "ä", "\udcff"):
        assert sandbox.recognise(ada, other) is False
        sandbox.forget(ada, token=other)
    assert sandbox.recognise(ada, token) is True
    for wrong in (None, 1, b"a"):
        with pytest.raises(seconder.InvalidArgument) as caught:
            sandbox.recognise(ada, wrong)  # type: ignore[arg-type]
        assert caught.value.parameter == "token"
    for days in (0, 401, -1):
        with pytest.raises(seconder.InvalidArgument) as caught:
            sandbox.remember(ada, days=days)
        assert caught.value.parameter == "days"


def test_forgetting_all_browsers(sandbox: seconder.Service) -> None:
    ada, ben = enrol(sandbox)
    tokens = [sandbox.remember(ada).token for _ in range(3)]
    his = sandbox.remember(ben).token
    sandbox.forget(ada)
    assert not any(sandbox.recognise(ada, token) for token in tokens)
    assert sandbox.recognise(ben, his)
    sandbox.register_activity(ben, "password_reset")
    assert not sandbox.recognise(ben, his)
    with pytest.raises(seconder.Rejected) as caught:
        sandbox.forget(ada + 1000)
    assert caught.value.code == "60026"


def test_a_token_is_no_code_and_is_logged_without_it(caplog: pytest.LogCaptureFixture) -> None:
    with seconder.open("sandbox:?accept=right") as service:
        ada, _ = enrol(service)
        token = service.remember(ada).token
        with pytest.raises(seconder.TokenMalformed):
            service.verify(ada, token)
        with caplog.at_level("DEBUG", logger="seconder"):
            assert service.recognise(ada, token)
            assert not service.recognise(ada, "another")
        outcomes = [vars(record)["seconder_outcome"] for record in caplog.records]
        assert outcomes == ["ok", "not_recognised"] and token not in caplog.text
        assert [record.levelname for record in caplog.records] == ["DEBUG", "INFO"]
        assert not service.user_status(ada).confirmed


def test_asyncio() -> None:
    async def log_in() -> None:
        async with seconder.open_async("sandbox:") as service:
            ada = (await service.create_user("ada@example.com", "555-010-0123", 1)).user_id
            token = (await service.remember(ada, days=7)).token
            assert await service.recognise(ada, token) is True
            await service.forget(ada, token=token)
            assert await service.recognise(ada, token) is False

    asyncio.run(log_in())


def test_only_a_reply_that_confirms_the_user_recognises_a_browser(remote: RemoteService) -> None:
    with remote.open() as service:
        remote.body = {"browser": "is recognised", "svc_id": 7, "success": True}
        assert service.recognise(7, "a-token") is True
        # In the body, never in the URL.
        assert remote.seen[-1] == ("POST", "/-/json/users/7/browsers/recognise", b"token=a-token")
        with pytest.raises(seconder.InvalidResponse, match="another user"):
            service.recognise(8, "a-token")
        for body in ({}, {"success": True}, {"token": "is valid", "success": "true", "svc_id": 7}):
            remote.body = body
            with pytest.raises(seconder.InvalidResponse):
                service.recognise(7, "a-token")
        remote.status, remote.body = 403, {"success": False, "error_code": "not_recognised"}
        assert service.recognise(7, "a-token") is False
        remote.body = {"success": False, "message": "Forbidden: a-token"}
        with pytest.raises(seconder.Rejected) as caught:
            service.recognise(7, "a-token")
        assert "a-token" not in str(caught.value)
        remote.status, remote.body = 404, "<html>Not found</html>"
        with pytest.raises(seconder.SecondFactorError):
            service.recognise(7, "a-token")
        remote.body = {"message": "Not found"}
        for call in (service.remember, service.forget):
            with pytest.raises(seconder.Rejected, match="has no call"):
                call(7)
        with pytest.raises(seconder.Rejected, match="has no call recognise"):
            service.recognise(7, "a-token")

"""Callbacks are believed once their signature held."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import quote_plus

import pytest

import seconder

KEY = "a-key-that-nobody-sees"
URL = "https://example.com/callback"
PARAMETERS = {"status": "approved", "svc_id": 7, "uuid": "3f05a350-4b2c-0136"}


def received(**changes: Any) -> dict[str, Any]:
    nonce, method = "1700000000", "POST"
    pairs = "&".join(f"{key}={quote_plus(str(PARAMETERS[key]))}" for key in sorted(PARAMETERS))
    signed = "|".join([nonce, method, URL, pairs])
    digest = hmac.new(KEY.encode(), signed.encode(), hashlib.sha256).digest()
    return {
        "api_key": KEY,
        "url": URL,
        "method": method,
        "body": json.dumps(PARAMETERS).encode(),
        "signature": base64.b64encode(digest).decode(),
        "nonce": nonce,
        **changes,
    }


def test_a_signed_callback_is_an_event() -> None:
    event = seconder.callback.verify(**received())
    assert event.uuid == "3f05a350-4b2c-0136" and event.svc_id == 7
    assert event.status is seconder.ApprovalStatus.APPROVED and event.approved_by(7)
    assert event.parameters == PARAMETERS


@pytest.mark.parametrize(
    "change",
    [
        {"api_key": "another"},
        {"url": "https://example.org/callback"},
        {"method": "GET"},
        {"body": json.dumps({**PARAMETERS, "svc_id": 8}).encode()},
        {"body": b""},
        {"body": b"\xff"},
        {"signature": None},
        {"signature": ""},
        {"signature": "AAAA"},
        {"nonce": None},
        {"nonce": "1700000001"},
    ],
    ids=repr,
)
def test_whatever_is_changed_is_noticed(change: dict[str, Any]) -> None:
    with pytest.raises(seconder.Forged) as caught:
        seconder.callback.verify(**received(**change))
    assert KEY not in f"{caught.value!r} {caught.value}"


def test_without_a_key_nothing_is_checked() -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        seconder.callback.verify(**received(api_key=""))
    assert caught.value.parameter == "api_key"

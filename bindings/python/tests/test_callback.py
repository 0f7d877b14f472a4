"""Callbacks are accepted only if their signature is valid."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
import pickle
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

import pytest

import seconder

KEY = "a-key-that-nobody-sees"
URL = "https://example.com/callback"
PARAMETERS: dict[str, Any] = {"status": "approved", "svc_id": 7, "uuid": "3f05a350-4b2c-0136"}


def verified(**given: Any) -> seconder.results.Event:
    """Verifies a callback whose nonce may be old, unless the test says how old."""
    return seconder.callback.verify(**{"fresh": None, **given})


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
    event = verified(**received())
    assert event.uuid == "3f05a350-4b2c-0136" and event.user_id == 7
    assert event.status is seconder.enums.ApprovalStatus.APPROVED and event.approved_by(7)
    assert event.parameters == PARAMETERS


def test_numbers_keep_their_digits() -> None:
    numbers: dict[str, Any] = {
        "account": 12345678901234567890123,
        "amount": 10.0,
        "rate": "0.1000000000000000055511151231257827",
        "huge": "1E400",
        "long": "9" * 5000,
    }
    written = {**numbers, "amount": "10.00"}
    details = ",".join(f'"{name}":{number}' for name, number in written.items())
    body = (json.dumps(PARAMETERS)[:-1] + f', "details": {{{details}}}}}').encode()
    given: dict[str, Any] = {"api_key": KEY, "url": URL, "nonce": "1700000000", "body": body}
    signature = seconder.callback.sign(**given)
    event = verified(method="POST", signature=signature, **given)
    assert event.parameters["details"] == numbers


def from_the_service() -> seconder.results.Event:
    body = json.dumps({**PARAMETERS, "device": {"id": "3", "city": "Vienna"}, "x": {}}).encode()
    given: dict[str, Any] = {"api_key": KEY, "url": URL, "nonce": "1700000000", "body": body}
    signature = seconder.callback.sign(**given)
    return verified(method="POST", signature=signature, **given)


DEVICE = {"id": "3", "city": "Vienna"}
SAME = seconder.results.Event(
    PARAMETERS["uuid"],
    seconder.enums.ApprovalStatus.APPROVED,
    7,
    seconder.results.Device(id=3, city="Vienna"),
    {**PARAMETERS, "device": DEVICE},
)


@pytest.mark.parametrize(
    "seen",
    [
        repr,
        hash,
        seconder.results.Event.to_dict,
        copy.copy,
        copy.deepcopy,
        lambda event: pickle.loads(pickle.dumps(event)),
        lambda event: event.device,
        lambda event: event.parameters,
        lambda event: event.__replace__(user_id=8),
        lambda event: event == SAME and SAME == event,
    ],
)
def test_an_event_is_the_same_before_and_after_it_is_read(
    seen: Callable[[seconder.results.Event], object],
) -> None:
    event = from_the_service()
    first = seen(event)
    assert first == seen(event) == seen(SAME) and event == SAME
    match event:
        case seconder.results.Event(_, status, 7, seconder.results.Device(city=city)):
            assert status and city == "Vienna"
        case _:
            raise AssertionError("no match")


def test_an_event_is_frozen_and_has_no_other_attributes() -> None:
    event = from_the_service()
    for name in ("device", "parameters", "uuid", "other"):
        with pytest.raises(AttributeError):
            setattr(event, name, None)
    with pytest.raises(AttributeError, match="'Event' object has no attribute 'other'"):
        event.other  # type: ignore[attr-defined]
    assert not hasattr(SAME, "other") and event.parameters is event.parameters


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
        {"method": "POST\udcff"},
        {"query": "\udcff"},
        {"signature": "\udcff"},
        {"nonce": "1700000000\udcff"},
    ],
    ids=repr,
)
def test_any_change_invalidates_the_signature(change: dict[str, Any]) -> None:
    with pytest.raises(seconder.InvalidCallback) as caught:
        verified(**received(**change))
    assert KEY not in f"{caught.value!r} {caught.value}"


def test_a_missing_key_is_rejected() -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        verified(**received(api_key=""))
    assert caught.value.parameter == "api_key"


def test_settings_of_the_wrong_type_are_named() -> None:
    given = [("api_key", "\udcff"), ("url", "\udcff"), ("fresh", 10**400), ("names", ())]
    for parameter, wrong in given:
        with pytest.raises(seconder.InvalidArgument) as caught:
            verified(**received(**{parameter: wrong}))
        assert caught.value.parameter == parameter


def signed(nonce: str, **changes: Any) -> dict[str, Any]:
    given = received(**changes)
    pairs = "&".join(f"{key}={quote_plus(str(PARAMETERS[key]))}" for key in sorted(PARAMETERS))
    digest = hmac.new(KEY.encode(), f"{nonce}|POST|{URL}|{pairs}".encode(), hashlib.sha256)
    return {**given, "nonce": nonce, "signature": base64.b64encode(digest.digest()).decode()}


def test_several_urls_can_be_configured() -> None:
    event = verified(**received(url=["https://old.example/", URL]))
    assert event.approved_by(7)
    with pytest.raises(seconder.InvalidCallback):
        verified(**received(url=("https://old.example/", URL + "/")))
    nothings: list[str | list[str]] = ["", []]
    for nothing in nothings:
        with pytest.raises(seconder.InvalidArgument):
            verified(**received(url=nothing))


def test_stale_callbacks_are_rejected() -> None:
    now = int(time.time())
    assert verified(**signed(str(now)), fresh=60)
    assert verified(**signed(f"{now - 30}.0123"), fresh=60.5)
    for nonce in (str(now - 90), str(now + 90), "opaque"):
        assert verified(**signed(nonce))
        with pytest.raises(seconder.InvalidCallback):
            verified(**signed(nonce), fresh=60)
    for window in (-1.0, float("nan")):
        with pytest.raises(seconder.InvalidArgument) as caught:
            verified(**signed(str(now)), fresh=window)
        assert caught.value.parameter == "fresh"


def test_replayed_callbacks_are_rejected() -> None:
    now = int(time.time())
    memory = seconder.callback.Memory(2)

    def check(nonce: str, **changes: Any) -> seconder.results.Event:
        return verified(**signed(nonce, **changes), fresh=60, replay=memory)

    with pytest.raises(seconder.InvalidCallback):
        check(str(now), body=b"{}")
    assert check(str(now)) and check(f"{now}.1")
    for again in (PARAMETERS, dict(reversed(PARAMETERS.items()))):
        with pytest.raises(seconder.InvalidCallback, match="before"):
            check(str(now), body=json.dumps(again, indent=1).encode())
    with pytest.raises(seconder.RateLimited) as caught:
        check(f"{now}.2")
    assert caught.value.retry_after is not None and 0 < caught.value.retry_after <= 61
    with pytest.raises(seconder.InvalidArgument):
        verified(**signed(str(now)), replay=memory)


def test_a_memory_forgets_stale_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, now = seconder.callback.Memory(1), time.time()
    assert memory.first_time("a", now + 10) and not memory.first_time("a", now + 10)
    monkeypatch.setattr(time, "time", lambda: now + 12)
    assert memory.first_time("b", now + 22)


def test_a_custom_memory_is_consulted_last_and_its_exceptions_propagate() -> None:
    class Table:
        answer: Any = True

        def __init__(self) -> None:
            self.calls: list[tuple[str, float]] = []

        def first_time(self, key: str, until: float) -> bool:
            self.calls.append((key, until))
            if isinstance(self.answer, BaseException):
                raise self.answer
            return self.answer  # type: ignore[no-any-return]

    table, now = Table(), int(time.time())
    given = signed(str(now))
    with pytest.raises(seconder.InvalidCallback):
        verified(**{**given, "nonce": "1"}, replay=table)
    assert not table.calls
    assert verified(**given, fresh=60, replay=table)
    assert verified(**given, replay=table)
    assert table.calls == [(given["signature"], now + 60), (given["signature"], float("inf"))]
    for answer, kind in [
        (False, seconder.InvalidCallback),
        (None, TypeError),
        (1, TypeError),
        (KeyError("gone"), KeyError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ]:
        table.answer = answer
        with pytest.raises(kind):
            verified(**given, replay=table)
    assert verified(**given)


def test_sign_agrees_with_verify_and_with_other_implementations() -> None:
    body = json.dumps(PARAMETERS).encode()
    given: Any = {"api_key": KEY, "url": URL + "?x=1#y", "nonce": "1700000000"}
    assert seconder.callback.sign(body=body, **given) == received()["signature"]
    query = seconder.callback.query(body)
    signature = seconder.callback.sign(method="GET", query=query, **given)
    query_request: Any = {**given, "method": "GET", "query": query, "signature": signature}
    assert verified(**query_request).approved_by(7)
    signed_alone = seconder.callback.verify_parameters(**query_request)
    assert signed_alone == {name: str(value) for name, value in PARAMETERS.items()}
    assert seconder.callback.verify_parameters(**received()) == PARAMETERS
    for wrong in ({"query": query + "&a=1"}, {"signature": None}, {"method": "PUT"}):
        with pytest.raises(seconder.InvalidCallback):
            seconder.callback.verify_parameters(**{**query_request, **wrong})
    for parameter, bad in [("nonce", ""), ("api_key", ""), ("url", "a|b"), ("method", "PUT")]:
        with pytest.raises(seconder.InvalidArgument) as caught:
            seconder.callback.sign(body=body, **{**given, parameter: bad})
        assert caught.value.parameter == parameter
    for nothing in (b"", b"[]", b"\xff"):
        with pytest.raises(seconder.InvalidArgument) as caught:
            seconder.callback.query(nothing)
        assert caught.value.parameter == "body"


def test_the_id_field_can_have_another_name() -> None:
    body = b'{"uuid":"a-1","status":"approved","acme_id":7}'
    given: Any = {"api_key": KEY, "url": URL, "nonce": "1"}
    signature = seconder.callback.sign(body=body, **given)
    given.update(method="POST", body=body, signature=signature)
    assert not verified(**given).approved_by(7)
    assert verified(**given, names=seconder.Names("acme")).approved_by(7)


def test_callbacks_older_than_five_minutes_are_rejected() -> None:
    def verify(age: int) -> seconder.results.Event:
        given: Any = {"api_key": KEY, "url": URL, "nonce": str(int(time.time()) - age)}
        given["body"] = json.dumps(PARAMETERS).encode()
        signature = seconder.callback.sign(**given)
        return seconder.callback.verify(method="POST", signature=signature, **given)

    assert verify(240).approved_by(7)
    with pytest.raises(seconder.InvalidCallback, match="s old"):
        verify(310)
    with pytest.raises(seconder.InvalidCallback):
        seconder.callback.verify(**received())

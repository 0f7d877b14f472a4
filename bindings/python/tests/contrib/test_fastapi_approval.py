"""Approval requests at the FastAPI router: which ones let a user in."""

from __future__ import annotations

import time
from typing import Any

import pytest
from contrib.shop import Login, Shop, reason, serving
from fastapi.testclient import TestClient

import seconder
from seconder.testing import Sandbox


def plain(uuid: str) -> str:
    """The id of a request with the service."""
    return uuid.partition(".")[0]


def test_an_approval_lets_its_user_in_once(
    client: TestClient, shop: Shop, sandbox: Sandbox
) -> None:
    device = sandbox.service.register_device(1, "android")
    proof: dict[str, Any] = {"device_id": device.device_id, "device_secret": device.secret}
    shop.hold(client, "eve", 2)
    theirs = client.post("/approval").json()["uuid"]
    login = shop.hold(client, "ada", 1)
    asked = client.post("/approval").json()
    uuid, proof["number"] = asked["uuid"], asked["number"]
    assert len(asked["number"]) == 2
    assert client.post(f"/approval/{uuid}").json() == {"status": "pending", "result": None}
    assert client.get(f"/approval/{uuid}").status_code == 405
    for other in (theirs, "there-is-none", "x" * 60):
        assert reason(client.post(f"/approval/{other}")) == (404, "no_such_approval")
    sandbox.service.respond_to_approval(plain(uuid), response="approve", **proof)
    # Not for the user who did not approve it.
    shop.hold(client, "eve", 2)
    assert reason(client.post(f"/approval/{uuid}")) == (404, "no_such_approval")
    assert client.get("/me").status_code == 401
    # Nor for another login of the same user.
    shop.hold(client, "ada", 1)
    assert reason(client.post(f"/approval/{uuid}")) == (404, "no_such_approval")
    client.cookies.set("login", login)
    got = client.post(f"/approval/{uuid}")
    assert got.json() == {"status": "approved", "result": {"done": True}}
    assert client.get("/me").json() == "ada"
    # An application that does not end the login when it lets the user in.
    shop.pending[login] = Login("ada", 1, login)
    client.cookies.set("login", login)
    assert reason(client.post(f"/approval/{uuid}")) == (401, "approval_used")


def test_a_denied_approval_lets_no_one_in(
    client: TestClient, shop: Shop, sandbox: Sandbox
) -> None:
    device = sandbox.service.register_device(1, "android")
    proof: dict[str, Any] = {"device_id": device.device_id, "device_secret": device.secret}
    shop.hold(client, "ada", 1)
    uuid = client.post("/approval").json()["uuid"]
    sandbox.service.respond_to_approval(plain(uuid), response="deny", **proof)
    assert client.post(f"/approval/{uuid}").json()["status"] == "denied"
    assert client.get("/me").status_code == 401


@pytest.mark.parametrize(
    "setting",
    [
        {"used": None},
        {"secret": None},
        {"secret": "too short"},
        {"secret": b"sixteen characters"},
        {"login_id": None},
        {"approval_seconds": 0},
        {"approval_seconds": True},
        {"approval_seconds": 1.5},
        {"approval_seconds": None},
        {"number_digits": 4},
    ],
    ids=str,
)
def test_what_approvals_need(shop: Shop, setting: dict[str, Any]) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        shop.app(**setting)
    assert caught.value.parameter == next(iter(setting))


def test_there_are_no_endpoints_without_a_question(shop: Shop) -> None:
    paths = shop.app(approval=None, used=None, secret=None, login_id=None).openapi()["paths"]
    assert not [path for path in paths if "approval" in path or "callback" in path]


def test_an_approval_of_another_purpose_lets_no_one_in(
    client: TestClient, shop: Shop, sandbox: Sandbox
) -> None:
    sandbox.service.register_device(1, "android")
    other = sandbox.service.create_approval(1, "Transfer 5 EUR to Bob?").uuid
    sandbox.approve(1)
    shop.hold(client, "ada", 1)
    asked = client.post("/approval").json()["uuid"]
    _, until, signature = asked.split(".")
    far = str(int(until) + 1000)
    for forged in (
        other,
        f"{other}.{until}.{signature}",
        f"{plain(asked)}.{far}.{signature}",
        f"{plain(asked)}.{until}.{signature[:-1]}",
        f"{plain(asked)}.{until}.ü",
        f"{plain(asked)}.{until}.",
        f"{other}.١٢.{signature}",
        "4711..",
    ):
        assert reason(client.post(f"/approval/{forged}")) == (404, "no_such_approval"), forged
    assert client.get("/me").status_code == 401
    assert client.post(f"/approval/{asked}").json()["status"] == "pending"


def test_an_approval_counts_for_a_limited_time(
    shop: Shop, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[float] = []

    class Used(seconder.callback.Memory):
        def first_time(self, key: str, until: float) -> bool:
            kept.append(until)
            return super().first_time(key, until)

    sandbox.service.register_device(1, "android")
    app = shop.app(approval_seconds=60, number_digits=0, used=Used())
    with serving(app, sandbox.service) as client:
        shop.hold(client, "ada", 1)
        asked = client.post("/approval").json()["uuid"]
        sandbox.approve(1)
        now = time.time()
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda: now + 61)
            got = client.post(f"/approval/{asked}")
            assert got.json() == {"status": "expired", "result": None}
            assert client.get("/me").status_code == 401 and not kept
        assert client.post(f"/approval/{asked}").json()["status"] == "approved"
        # It is not forgotten before it has expired.
        assert kept[0] >= now + 60


def test_another_process_knows_the_request(client: TestClient, shop: Shop, sandbox: Sandbox) -> None:
    sandbox.service.register_device(1, "android")
    shop.hold(client, "ada", 1)
    reply = client.post("/approval").json()
    asked = reply["uuid"]
    sandbox.approve(1, number=reply["number"])
    for secret, status in (("another secret of 16", 404), ("a secret of the tests", 200)):
        with serving(shop.app(secret=secret), sandbox.service) as other:
            other.cookies = client.cookies
            assert other.post(f"/approval/{asked}").status_code == status

"""The FastAPI router and dependencies: statuses, whose factor it is, and the description."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import fastapi
import pytest
from contrib import signing
from contrib.shop import Login, Shop, reason, serving
from fastapi.testclient import TestClient

import seconder
from conftest import RemoteService
from seconder.contrib.asgi import callback
from seconder.contrib.fastapi import (
    add_error_handlers,
    fresh_factor_required,
    lifespan,
    service,
)
from seconder.testing import Sandbox

SENT = {"sent_to": "+1-XXX-XXX-XX23", "resend_after": 30}


def test_a_code_lets_its_user_in(client: TestClient, shop: Shop, sandbox: Sandbox) -> None:
    shop.hold(client, "ada", 1)
    assert client.get("/me").status_code == 401
    assert client.post("/sms").json() == SENT
    code = sandbox.code(1)
    assert reason(client.post("/verify", json={"code": "0000000"})) == (401, "code_wrong")
    assert reason(client.post("/verify", json={"code": "12345"})) == (401, "code_malformed")
    assert client.get("/me").status_code == 401
    got = client.post("/verify", json={"code": f"{code[:3]} - {code[3:]}"})
    assert (got.status_code, got.json()) == (200, {"done": True})
    assert client.get("/me").json() == "ada"
    assert reason(client.post("/verify", json={"code": code})) == (401, "no_login")
    shop.hold(client, "ada", 1)
    assert reason(client.post("/verify", json={"code": code})) == (401, "code_used")


def test_a_call_brings_a_code(client: TestClient, shop: Shop, sandbox: Sandbox) -> None:
    shop.hold(client, "ada", 1)
    assert client.post("/call").status_code == 200
    assert client.post("/own", json={"code": sandbox.code(1)}).json() == "ada"


@pytest.mark.parametrize("by_header", [False, True])
def test_the_calls_have_the_visitors_address(
    sandbox: Sandbox,
    shop: Shop,
    addresses: tuple[str, str, str | None, str],
    by_header: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, header, default, proxied = addresses
    own = {"USER_IP": lambda request: request.headers["X-Real-Ip"]}
    app = shop.app(settings=own if by_header else {})
    serving(app, sandbox.service)
    headers = {"X-Real-Ip": header}
    with TestClient(app, client=(connection, 50000), headers=headers) as client:
        shop.hold(client, "ada", 1)
        client.post("/sms")
        sandbox.advance(31)
        client.post("/call")
        assert client.post("/own", json={"code": sandbox.code(1)}).json() == "ada"
    wanted = proxied if by_header else default
    calls = ("request_sms", "request_call", "verify")
    found = [sandbox.service.admin.audit(call=each).entries[0].user_ip for each in calls]
    assert found == [wanted] * 3
    warned = [each for each in caplog.records if "USER_IP" in each.getMessage()]
    assert len(warned) == (0 if wanted else 1)


def test_a_proxy_in_front_is_noticed(
    shop: Shop, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    app = shop.app()
    serving(app, sandbox.service)
    headers = {"X-Forwarded-For": "8.8.8.8"}
    with TestClient(app, client=("9.9.9.9", 50000), headers=headers) as client:
        shop.hold(client, "ada", 1)
        client.post("/sms")
    assert sandbox.service.admin.audit(call="request_sms").entries[0].user_ip == "9.9.9.9"
    assert "Set USER_IP" in caplog.text


def test_a_function_for_addresses_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        settings = {"SHOP_URL": "sandbox:", "SHOP_USER_IP": "nowhere.address"}
        with TestClient(fastapi.FastAPI(lifespan=lifespan(settings, "SHOP_"))):
            pass
    assert caught.value.parameter == "SHOP_USER_IP"


def test_what_changes_factors_needs_a_fresh_one() -> None:
    app, passed = fastapi.FastAPI(), [0.0]

    def passed_at() -> float | None:
        return passed[0] or None

    @app.post("/recovery", dependencies=[fastapi.Depends(fresh_factor_required(passed_at))])
    def recovery() -> str:
        return "codes"

    client = TestClient(app)
    for age, fresh in ((None, False), (0, True), (299, True), (301, False), (-60, False)):
        passed[0] = 0.0 if age is None else time.time() - age
        got = client.post("/recovery")
        assert got.status_code == 200 if fresh else reason(got) == (403, "factor_not_fresh")


@pytest.mark.parametrize("path", ["/sms", "/call", "/approval", "/approval/some", "/verify", "/own"])
def test_nothing_works_without_a_login(client: TestClient, sandbox: Sandbox, path: str) -> None:
    assert reason(client.post(path, json={"code": "1234567"})) == (401, "no_login")
    assert not sandbox.messages


def test_a_request_does_not_choose_the_user(
    client: TestClient, shop: Shop, sandbox: Sandbox
) -> None:
    shop.hold(client, "ada", 1)
    sandbox.service.request_sms(2)
    code, other = sandbox.code(2), {"user_id": 2, "login": {"name": "eve", "user_id": 2}}
    query: dict[str, Any] = {"user_id": 2, "login": "eve", "found": 2}
    got = client.post("/verify", json={"code": code}, params=query)
    assert reason(got) == (401, "code_wrong")
    assert client.post("/verify", json={"code": code, **other}).status_code == 422
    assert client.post("/sms", params=query, json=other).json() == SENT
    described = json.dumps(client.get("/openapi.json").json()["paths"])
    assert "user_id" not in described and '"found"' not in described
    assert client.get("/me").status_code == 401


@pytest.mark.parametrize("body", [{"code": 1234567}, {"code": "1" * 65}, {}, [], {"code": None}])
def test_a_body_of_another_form_is_refused(client: TestClient, shop: Shop, body: Any) -> None:
    shop.hold(client, "ada", 1)
    assert client.post("/verify", json=body).status_code == 422


def test_a_second_password_uses_the_code_that_was_sent(
    client: TestClient, shop: Shop, sandbox: Sandbox
) -> None:
    shop.hold(client, "ada", 1)
    assert client.post("/sms").json() == SENT
    shop.hold(client, "ada", 1)
    assert client.post("/sms").json() == {"sent_to": None, "resend_after": 30}
    assert client.post("/verify", json={"code": sandbox.code(1)}).status_code == 200


def test_limits_are_429(client: TestClient, shop: Shop, sandbox: Sandbox) -> None:
    shop.hold(client, "ada", 1)
    for _ in range(6):
        got = client.post("/sms")
        sandbox.advance(31)
    assert reason(got) == (429, "rate_limited") and int(got.headers["Retry-After"]) >= 1
    assert got.json()["detail"]["message"] == "A code cannot be sent at the moment."
    tries = [client.post("/verify", json={"code": "0000000"}) for _ in range(20)]
    assert reason(tries[-1]) == (429, "rate_limited")
    assert tries[-1].json()["detail"]["message"] == "Too many attempts."
    assert int(tries[-1].headers["Retry-After"]) >= 1


def test_failures_of_the_service(shop: Shop, remote: RemoteService) -> None:
    app = shop.app()
    with remote.open(repeats="none") as opened, serving(app, opened) as client:
        shop.hold(client, "ada", 1)
        remote.status, remote.body = 503, "<html>down</html>"
        for path in ("/verify", "/sms", "/call", "/approval"):
            got = client.post(path, json={"code": "1234567"})
            assert reason(got) == (503, "unavailable"), path
        # The key is wrong: for the operator.
        remote.status, remote.body = 401, {"message": "Invalid API key", "success": "false"}
        assert client.post("/verify", json={"code": "1234567"}).status_code == 500
        assert client.get("/me").status_code == 401


def test_a_user_whom_the_service_does_not_have(client: TestClient, shop: Shop) -> None:
    shop.hold(client, "ada", 99)
    assert reason(client.post("/sms")) == (400, "not_possible")
    assert client.post("/verify", json={"code": "1234567"}).status_code in (400, 401)
    assert client.get("/me").status_code == 401


@pytest.mark.parametrize("kind", ["function", "coroutine function", "lambda of a coroutine"])
def test_the_response_is_what_done_returns(shop: Shop, sandbox: Sandbox, kind: str) -> None:
    async def later(login: Login, request: Any, response: Any) -> dict[str, str]:
        return {"token": login.name}

    ways: dict[str, Any] = {
        "function": lambda login, request, response: {"token": login.name},
        "coroutine function": later,
        "lambda of a coroutine": lambda *given: later(*given),
    }
    app = shop.app(done=ways[kind], result=dict[str, str])
    with serving(app, sandbox.service) as client:
        shop.hold(client, "ada", 1)
        client.post("/sms")
        got = client.post("/verify", json={"code": sandbox.code(1)})
        assert got.json() == {"token": "ada"}


def test_dependencies_guard_all_but_callbacks(shop: Shop) -> None:
    def refuse() -> None:
        raise fastapi.HTTPException(403)

    receive = callback(api_key=signing.KEY, url=signing.URL, replay=seconder.callback.Memory())
    app = shop.app(callback=receive(shop.events.append), dependencies=[fastapi.Depends(refuse)])
    with TestClient(app) as client:
        shop.hold(client, "ada", 1)
        for path in ("/sms", "/call", "/verify", "/approval", "/approval/4711"):
            assert client.post(path, json={"code": "1234567"}).status_code == 403
        params = signing.parameters()
        head = signing.headers(params)
        assert client.post("/callback", content=signing.body(params)).status_code == 401
        got = client.post("/callback", content=signing.body(params), headers=head)
        assert got.status_code == 200 and shop.events[0].uuid == params["uuid"]
        assert client.get("/callback").status_code == 401


def test_the_endpoints_are_described(shop: Shop) -> None:
    receive = callback(api_key=signing.KEY, url=signing.URL, replay=seconder.callback.Memory())
    paths = shop.app(callback=receive(shop.events.append)).openapi()["paths"]
    assert {path: [*methods] for path, methods in paths.items() if path not in ("/me", "/own")} == {
        "/sms": ["post"],
        "/call": ["post"],
        "/verify": ["post"],
        "/approval": ["post"],
        "/approval/{uuid}": ["post"],
        "/callback": ["get", "post"],
    }
    for path in ("/sms", "/verify", "/approval/{uuid}"):
        described = paths[path]["post"]
        assert {"200", "400", "401", "429", "503"} <= set(described["responses"]), path
        assert described["summary"] and described["tags"] == ["second factor"]


def test_errors_of_other_endpoints(remote: RemoteService) -> None:
    app = fastapi.FastAPI()
    add_error_handlers(app)

    @app.get("/")
    async def home(opened: Annotated[Any, fastapi.Depends(service)]) -> None:
        await opened.request_sms(1)

    with remote.open(repeats="none") as opened, serving(app, opened) as client:
        remote.status, remote.headers = 429, {"Retry-After": "27"}
        remote.body = {"message": "The key is wrong", "error_code": "too_many_wrong_keys"}
        got = client.get("/")
        assert reason(got) == (503, "unavailable") and got.headers["Retry-After"] == "27"
        assert got.json()["detail"]["message"] == "That cannot be checked at the moment."
        remote.body = {"message": "Too many requests", "error_code": "60003"}
        got = client.get("/")
        assert reason(got) == (429, "rate_limited") and got.headers["Retry-After"] == "27"
        remote.status, remote.headers, remote.body = 503, {}, "<html>down</html>"
        assert reason(client.get("/")) == (503, "unavailable")


def test_the_lifespan_opens_and_closes_the_service() -> None:
    settings = {"SECOND_URL": "sandbox:", "SECOND_APPLICATION_NAME": "Shop", "SECOND_THREADS": 2}
    app = fastapi.FastAPI(lifespan=lifespan(settings, "SECOND_"))
    seen: list[Any] = []

    @app.get("/")
    async def home(opened: Annotated[Any, fastapi.Depends(service)]) -> str:
        seen.append(opened)
        return str((await opened.app_details()).name)

    with pytest.raises(RuntimeError, match=r"seconder\.contrib\.fastapi\.lifespan"):
        TestClient(app).get("/")
    with TestClient(app) as client:
        assert client.get("/").json() == "Shop"
    assert "closed" in repr(seen[0])
    with pytest.raises(seconder.InvalidArgument) as caught:
        lifespan({"URL": "sandbox:", "TREADS": 2})
    assert str(caught.value) == "TREADS is not a setting: did you mean THREADS?"


PROGRAM = '''
import fastapi, seconder, uvicorn
from seconder.contrib.fastapi import SecondFactor, lifespan

class Login:
    user_id = 1

def login(request: fastapi.Request) -> Login | None:
    return Login() if request.cookies.get("login") == "ada" else None

def done(login: Login, request: fastapi.Request, response: fastapi.Response) -> None:
    response.set_cookie("session", "in")

inner = lifespan({"URL": "sandbox:?accept=1234567"})

import contextlib
@contextlib.asynccontextmanager
async def opened(app):
    async with inner(app):
        await app.state.seconder.create_user("ada@example.com", "555-010-0123", 1)
        yield

app = fastapi.FastAPI(lifespan=opened)
app.include_router(SecondFactor(login).router(done), prefix="/second")
'''


def test_a_real_server(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PROGRAM)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-m", "uvicorn", "shop:app", "--fd", str(listener.fileno())]
        server = subprocess.Popen(
            [*command, "--log-level", "warning"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(seconder.__file__).parents[1])},
            pass_fds=[listener.fileno()],
        )
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/second"
        try:
            assert _post(f"{url}/sms", {})[0] == 401
            assert _post(f"{url}/sms", {}, cookie="login=ada")[:2] == (
                200,
                {"sent_to": "+1-XXX-XXX-XX23", "resend_after": 0},
            )
            assert _post(f"{url}/verify", {"code": "7654321"}, cookie="login=ada")[0] == 401
            status, body, cookie = _post(f"{url}/verify", {"code": "1234567"}, cookie="login=ada")
            assert (status, body) == (200, {"done": True}) and str(cookie).startswith("session=in")
        finally:
            server.terminate()
            server.wait(20)


def _post(url: str, body: Any, cookie: str = "") -> tuple[int, Any, str | None]:
    """The listener is open before the server runs, so the first request waits for it."""
    headers = {"Content-Type": "application/json", "Cookie": cookie}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as got:
            return got.status, json.load(got), got.headers["Set-Cookie"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), None

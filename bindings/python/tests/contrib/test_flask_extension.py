"""The Flask extension: its configuration, the held login, the responses to errors, the commands."""

from __future__ import annotations

import gc
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import flask
import pytest
from flask.testing import FlaskClient

import seconder
from conftest import RemoteService
from seconder.contrib.flask import Seconder, fresh_factor_required, second_factor_required
from seconder.testing import Sandbox


def make(**settings: Any) -> tuple[flask.Flask, Seconder]:
    app = flask.Flask("example")
    app.config.update(SECRET_KEY="a secret of the tests", SECONDER_URL="sandbox:", **settings)
    second = Seconder(app)

    @app.post("/password")
    def password() -> str:
        flask.session["planted"] = "by an attacker"
        user_id = flask.request.form.get("user", type=int)
        second.hold("ada", user_id, data={"next": "/home"}, keep=["kept"])  # type: ignore[arg-type]
        return ""

    @app.post("/code")
    def code() -> str:
        login = second.verify(flask.request.form["code"])
        flask.session["user"] = login.account
        return str(login.data["next"])

    @app.get("/session")
    def session() -> dict[str, Any]:
        return dict(flask.session)

    @app.post("/plant")
    def plant() -> str:
        flask.session.update(planted="by an attacker", kept="a basket")
        return ""

    @app.get("/home")
    @second_factor_required
    def home() -> str:
        return "home"

    @app.get("/transfer")
    @second_factor_required(max_age=300)
    async def transfer() -> str:
        return "done"

    @app.post("/confirm")
    def confirm() -> str:
        second.confirm(flask.request.form["code"], "ada", 1)
        return ""

    @app.get("/password")
    def password_page() -> str:
        return ""

    @app.get("/code")
    def code_page() -> str:
        return ""

    return app, second


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[FlaskClient]:
    app, second = make()
    with second.override(sandbox.service, app):
        yield app.test_client()


def code(sandbox: Sandbox, user_id: int = 1) -> str:
    sandbox.service.request_sms(user_id, force=True)
    found = sandbox.code(user_id)
    assert found is not None
    return found


def test_the_configuration_is_that_of_open(tmp_path: Path) -> None:
    app = flask.Flask("example")
    app.config.update(SECONDER_URL=f"sqlite:{tmp_path}/test.db", SECONDER_APPLICATION_NAME="Shop")
    second = Seconder()
    second.init_app(app)
    assert app.extensions["seconder"] is second
    assert not (tmp_path / "test.db").exists()
    with app.app_context():
        assert second.service.app_details().name == "Shop"
        assert second.service is second.service
        first = second.service
        second.close()
        with pytest.raises(seconder.InvalidArgument):
            first.admin.app_stats()
        assert second.service.admin.app_stats().total_users == 0
        second.close()


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"SECONDER_URL": None}, "SECONDER_URL"),
        ({"SECONDER_HOLD_SECOND": 3}, "SECONDER_HOLD_SECOND"),
        ({"SECONDER_DELIVER": "deliver"}, "SECONDER_DELIVER"),
        ({"SECONDER_USER_IP": 5}, "SECONDER_USER_IP"),
        ({"SECONDER_PASSWORD_VIEW": 5}, "SECONDER_PASSWORD_VIEW"),
        ({"SECONDER_CODE_VIEW": b"code"}, "SECONDER_CODE_VIEW"),
        ({"SECONDER_CODE_VIEW": ""}, "SECONDER_CODE_VIEW"),
        ({"SECONDER_USER_ATTRIBUTE": 5}, "SECONDER_USER_ATTRIBUTE"),
        ({"SECONDER_USER_ATTRIBUTE": "a b"}, "SECONDER_USER_ATTRIBUTE"),
    ],
    ids=str,
)
def test_a_wrong_configuration_is_rejected_at_the_start(settings: dict[str, Any], key: str) -> None:
    rejects(settings, key)


def test_a_dotted_path_is_imported_when_it_is_needed() -> None:
    """Its module may import the application that is set up with it."""
    app, extension = make(SECONDER_DELIVER="there.is.none", SECONDER_USER_IP="there.is.none")
    with app.test_request_context():
        for use, key in (
            (lambda: extension.service, "SECONDER_DELIVER"),
            (lambda: extension.user_ip, "SECONDER_USER_IP"),
        ):
            with pytest.raises(seconder.InvalidArgument, match="No module named") as caught:
                use()
            assert caught.value.parameter == key


@pytest.mark.parametrize("seconds", ["600", math.inf, math.nan, -5, 0, 0.5, True, 1e300, []])
def test_a_wrong_time_limit_is_rejected_at_the_start(seconds: object) -> None:
    rejects({"SECONDER_HOLD_SECONDS": seconds}, "SECONDER_HOLD_SECONDS")


def rejects(settings: dict[str, Any], key: str) -> None:
    app = flask.Flask("example")
    app.config.update({"SECONDER_URL": "sandbox:", **settings})
    with pytest.raises(seconder.InvalidArgument) as caught:
        Seconder(app)
    assert caught.value.parameter == key


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("code_pag", "there is no endpoint 'code_pag': did you mean 'code_page'?"),
        (".code_page", "there is no endpoint '.code_page': did you mean 'code_page'?"),
        ("nothing", "there is no endpoint 'nothing'"),
        ("static", "the URL of the endpoint 'static' needs arguments"),
    ],
)
@pytest.mark.parametrize("key", ["SECONDER_PASSWORD_VIEW", "SECONDER_CODE_VIEW"])
def test_the_first_request_finds_that_a_view_is_missing(key: str, view: str, said: str) -> None:
    app, _ = make(PROPAGATE_EXCEPTIONS=True, **{key: view})
    for _ in range(2):
        with pytest.raises(seconder.InvalidArgument) as caught:
            app.test_client().get("/session")
        assert (str(caught.value), caught.value.parameter) == (f"{key}: {said}", key)
    checked = app.test_cli_runner().invoke(args=["seconder", "check"])
    assert (checked.exit_code, checked.output) == (1, f"Error: {key}: {said}\n")


def test_a_view_may_be_added_after_the_extension() -> None:
    app, _ = make(SECONDER_CODE_VIEW="pages.code", SECONDER_PASSWORD_VIEW="pages.password")
    pages = flask.Blueprint("pages", __name__, url_prefix="/pages")
    pages.add_url_rule("/code", "code", lambda: "")
    pages.add_url_rule("/<name>", "password", lambda name: "", defaults={"name": "password"})
    app.register_blueprint(pages)
    client = app.test_client()
    assert client.get("/home").location == "/pages/password"


def test_a_setting_of_none_is_its_default() -> None:
    app, second = make(SECONDER_HOLD_SECONDS=None, SECONDER_USER_ATTRIBUTE=None)
    assert app.config["SECONDER_HOLD_SECONDS"] == 600
    with app.test_request_context():
        second.hold("ada", 1)
        assert second.held is not None


def test_each_application_has_a_service_of_its_own() -> None:
    second = Seconder()
    apps = [flask.Flask("one"), flask.Flask("two")]
    names = []
    for app in apps:
        app.config.update(SECONDER_URL="sandbox:", SECONDER_APPLICATION_NAME=app.name)
        second.init_app(app)
    for app in apps:
        with app.app_context():
            names.append(second.service.app_details().name)
    assert names == ["one", "two"]


def test_a_service_is_closed_with_its_application() -> None:
    app = flask.Flask("example")
    app.config.update(SECONDER_URL="sandbox:")
    with app.app_context():
        service = Seconder(app).service
    app.extensions.clear()
    del app
    gc.collect()
    with pytest.raises(seconder.InvalidArgument):
        service.app_details()


def test_a_held_login_lets_no_one_in(client: FlaskClient, sandbox: Sandbox) -> None:
    client.post("/plant")
    client.post("/password", data={"user": 1})
    held = client.get("/session").json
    assert held is not None and set(held) == {"_seconder_held", "kept"}
    assert client.get("/home").status_code == 401
    wrong = client.post("/code", data={"code": "0000000"})
    assert wrong.status_code == 401 and client.get("/home").status_code == 401
    typed = code(sandbox)
    done = client.post("/code", data={"code": f"{typed[:3]} - {typed[3:]}"})
    assert (done.status_code, done.text) == (200, "/home")
    session = client.get("/session").json
    assert session is not None and set(session) == {"_seconder_passed", "user"}
    assert client.get("/home").text == "home" and client.get("/transfer").text == "done"
    # The login is over: its code opens nothing else.
    assert client.post("/code", data={"code": code(sandbox)}).status_code == 401


def test_the_user_of_a_held_login_is_the_applications(
    client: FlaskClient, sandbox: Sandbox
) -> None:
    eve = sandbox.service.create_user("eve@example.com", "555-010-0199", 1).user_id
    client.post("/password", data={"user": 1})
    typed = code(sandbox, eve)
    got = client.post(
        f"/code?user_id={eve}", data={"code": typed, "user_id": eve, "user": eve, "account": "eve"}
    )
    assert got.status_code == 401 and client.get("/home").status_code == 401


@pytest.mark.parametrize("user", ["", "0"])
def test_an_account_without_a_second_factor_is_not_held(client: FlaskClient, user: str) -> None:
    assert client.post("/password", data={"user": user}).status_code == 500
    assert client.post("/code", data={"code": "1234567"}).status_code == 401


@pytest.mark.parametrize("by_header", [False, True])
def test_the_calls_have_the_visitors_address(
    sandbox: Sandbox,
    addresses: tuple[str, str, str | None, str],
    by_header: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, header, default, proxied = addresses
    own: dict[str, Any] = {"SECONDER_USER_IP": lambda request: request.headers["X-Real-Ip"]}
    app, second = make(**(own if by_header else {}))
    client = app.test_client()
    options: dict[str, Any] = {
        "environ_base": {"REMOTE_ADDR": connection},
        "headers": {"X-Real-Ip": header},
    }
    with second.override(sandbox.service, app):
        client.post("/password", data={"user": 1}, **options)
        client.post("/code", data={"code": code(sandbox)}, **options)
        assert client.get("/home").text == "home"
        client.post("/confirm", data={"code": code(sandbox)}, **options)
    wanted = proxied if by_header else default
    checked = sandbox.service.admin.audit(call="verify").entries
    assert [each.user_ip for each in checked] == [wanted] * 2
    warned = [each for each in caplog.records if "SECONDER_USER_IP" in each.getMessage()]
    assert len(warned) == (0 if wanted else 1)
    with app.app_context():
        assert second.user_ip is None


def test_a_proxy_in_front_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    app, second = make()
    base = {"REMOTE_ADDR": "9.9.9.9"}
    with app.test_request_context(environ_base=base, headers={"X-Forwarded-For": "8.8.8.8"}):
        assert second.user_ip == "9.9.9.9"
    assert "Set SECONDER_USER_IP" in caplog.text


def test_what_changes_factors_needs_a_fresh_one(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, second = make()

    @app.get("/recovery")
    @fresh_factor_required
    def recovery() -> str:
        return "codes"

    client = app.test_client()
    with second.override(sandbox.service, app):
        client.post("/password", data={"user": 1})
        assert client.get("/recovery").status_code == 401
        client.post("/code", data={"code": code(sandbox)})
        assert client.get("/recovery").text == "codes"
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 301)
        assert client.get("/recovery").status_code == 401
        assert client.get("/home").text == "home"


def test_a_held_login_expires(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    app, second = make(SECONDER_HOLD_SECONDS=60, SECONDER_PASSWORD_VIEW="password_page")
    client = app.test_client()
    with second.override(sandbox.service, app):
        client.post("/password", data={"user": 1})
        typed, now = code(sandbox), time.time()
        monkeypatch.setattr(time, "time", lambda: now + 61)
        late = client.post("/code", data={"code": typed})
        assert (late.status_code, late.location) == (303, "/password")
        assert client.get("/session").json == {}


def test_a_second_factor_can_be_too_long_ago(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = {"SECONDER_PASSWORD_VIEW": "password_page", "SECONDER_CODE_VIEW": "code_page"}
    app, second = make(**views)
    client = app.test_client()
    with second.override(sandbox.service, app):
        assert client.get("/transfer").location == "/password"
        client.post("/password", data={"user": 1})
        assert client.get("/transfer").location == "/code"
        client.post("/code", data={"code": code(sandbox)})
        now = time.time()
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda: now + 301)
            assert client.get("/home").status_code == 200
            assert client.get("/transfer").location == "/code"
            client.post("/confirm", data={"code": code(sandbox)})
            assert client.get("/transfer").text == "done"
            session = client.get("/session").json
            assert session is not None and session["user"] == "ada"


def test_a_session_on_the_server_gets_another_id(client: FlaskClient, sandbox: Sandbox) -> None:
    renewed = []

    class Interface(flask.sessions.SecureCookieSessionInterface):
        def regenerate(self, session: Any) -> None:
            """As Flask-Session's."""
            renewed.append(dict(session))

    client.application.session_interface = Interface()
    client.post("/password", data={"user": 1})
    client.post("/code", data={"code": code(sandbox)})
    assert renewed == [{}, {}]


@pytest.mark.parametrize(
    "limit, text",
    [
        ("wrong_codes", "Too many attempts."),
        ("number_day", "A code cannot be sent at the moment."),
        ("country_day", "A code cannot be sent at the moment."),
        ("key_rate", "That is not possible at the moment."),
        ("snooze", "That is not possible at the moment."),
        (None, "Too many attempts."),
    ],
)
def test_a_limit_says_what_is_true_and_one_of_the_application_is_logged(
    remote: RemoteService, caplog: pytest.LogCaptureFixture, limit: str | None, text: str
) -> None:
    app, second = make()
    client = app.test_client()
    remote.status, remote.headers = 503, {"Retry-After": "27"}
    remote.body = {"message": "Too many", "error_code": "60003", "limit": limit}
    with remote.open(repeats="none") as service, second.override(service, app):
        client.post("/password", data={"user": 1})
        limited = client.post("/code", data={"code": "1234567"})
    assert limited.status_code == 429 and f"{text} Try again later." in limited.text
    logged = [record.getMessage() for record in caplog.records if record.name == "seconder.contrib"]
    logged = [message for message in logged if message.startswith("the limit ")]
    assert [f"limit {limit}" in message for message in logged] == (
        [True] if limit in ("country_day", "key_rate") else []
    )


@pytest.mark.parametrize(
    "code, level, logged",
    [
        ("too_many_wrong_keys", "ERROR", "the API key of the application is wrong"),
        (None, "WARNING", "the service is busy"),
    ],
)
def test_a_service_that_decides_nothing_blames_no_user(
    remote: RemoteService, caplog: pytest.LogCaptureFixture, code: str | None, level: str, logged: str
) -> None:
    app, second = make()
    client = app.test_client()
    remote.status, remote.headers = 503, {"Retry-After": "27"}
    remote.body = {"message": "Wait", **({"error_code": code} if code else {})}
    with remote.open(repeats="none") as service, second.override(service, app):
        client.post("/password", data={"user": 1})
        answer = client.post("/code", data={"code": "1234567"})
    assert answer.status_code == 503 and answer.headers["Retry-After"] == "27"
    assert "That cannot be checked at the moment." in answer.text
    found = [each for each in caplog.records if logged in each.getMessage()]
    assert [each.levelname for each in found] == [level]


@pytest.mark.parametrize("own", [False, True])
def test_limits_and_failures_have_their_status(remote: RemoteService, own: bool) -> None:
    app, second = make()
    if own:
        app.register_error_handler(429, lambda error: (f"wait {error.retry_after}", 429))
        app.register_error_handler(503, lambda error: ("down", 503))
    client = app.test_client()
    remote.status, remote.headers = 429, {"Retry-After": "27"}
    remote.body = {"message": "Too many requests", "success": "false", "error_code": "60003"}
    with remote.open(repeats="none") as service, second.override(service, app):
        client.post("/password", data={"user": 1})
        limited = client.post("/code", data={"code": "1234567"})
        assert (limited.status_code, limited.headers.get("Retry-After")) == (
            429,
            None if own else "27",
        )
        assert not own or limited.text == "wait 27"
        remote.status, remote.headers, remote.body = 503, {}, "<html>down</html>"
        down = client.post("/code", data={"code": "1234567"})
        assert down.status_code == 503 and (not own or down.text == "down")
        # The key is wrong: for the operator, and no one is let in.
        remote.status, remote.body = 401, {"message": "Invalid API key", "success": "false"}
        assert client.post("/code", data={"code": "1234567"}).status_code == 500
        assert client.get("/home").status_code == 401


def test_an_approval_completes_the_login_of_its_user_once(sandbox: Sandbox) -> None:
    app, second = make()
    used = seconder.callback.Memory()
    service = sandbox.service
    device = service.register_device(1, "android")
    proof: dict[str, Any] = {"device_id": device.device_id, "device_secret": device.secret}

    @app.post("/ask")
    def ask() -> dict[str, Any]:
        created = second.request_approval("Log in?")
        return {"uuid": created.uuid, "number": created.number}

    @app.post("/poll")
    def poll() -> str:
        approval, login = second.check_approval(used)
        return f"{approval.status.value} {login and login.account}"

    client = app.test_client()
    with second.override(service, app):
        assert client.post("/ask").status_code == 401
        client.post("/password", data={"user": 1})
        assert client.post("/poll").status_code == 500
        asked = client.post("/ask").json
        assert asked is not None
        assert client.post("/poll").text == "pending None"
        service.respond_to_approval(response="approve", **asked, **proof)
        cookie = client.get_cookie("session")
        assert client.post("/poll").text == "approved ada" and client.get("/home").text == "home"
        # The browser sends the old session again.
        assert cookie is not None
        client.set_cookie("session", cookie.value)
        assert client.post("/poll").text == "approved None"
        assert client.get("/home").status_code == 401


def test_a_request_for_an_approval_ends_before_a_login_that_is_held_longer(
    sandbox: Sandbox,
) -> None:
    app, second = make(SECONDER_HOLD_SECONDS=3600)

    @app.post("/ask")
    def ask() -> str:
        return second.request_approval("Log in?").uuid

    client = app.test_client()
    with second.override(sandbox.service, app):
        client.post("/password", data={"user": 1})
        uuid = client.post("/ask").text
    sandbox.advance(299)
    assert sandbox.service.check_approval(uuid).status == "pending"
    sandbox.advance(2)
    assert sandbox.service.check_approval(uuid).status == "expired"


def test_the_commands(sandbox: Sandbox) -> None:
    app, second = make()
    runner = app.test_cli_runner()
    with second.override(sandbox.service, app):
        checked = runner.invoke(args=["seconder", "check"])
        assert (checked.exit_code, checked.output) == (
            0,
            "The service accepts the application 'Sandbox', which has 2 users.\n",
        )
        shown = runner.invoke(args=["seconder", "factors", "1"])
        assert shown.exit_code == 0
        assert re.search("^phone_number: XXX-XXX-0123$", shown.output, re.MULTILINE)
        missing = runner.invoke(args=["seconder", "factors", "99"])
        assert missing.exit_code == 1 and missing.output.startswith("Error: ")
        ran = runner.invoke(args=["seconder", "run-jobs", "--budget", "9"])
        assert (ran.exit_code, ran.output) == (0, "Sent: 0, to be sent again: 0, failed: 0\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("time.sleep", Mock(side_effect=[None, KeyboardInterrupt]))
            ended = runner.invoke(args=["seconder", "run-jobs", "--every", "5"])
        assert ended.exit_code == 1 and "Sent" not in ended.output
    broken, _ = make(SECONDER_TIMEOUT=3)
    failed = broken.test_cli_runner().invoke(args=["seconder", "check"])
    assert failed.exit_code == 1 and "timeout" in failed.output

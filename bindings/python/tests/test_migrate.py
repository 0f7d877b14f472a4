"""The promises of docs/migrate.md: the old service's client, unmodified, with `seconder serve`."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from authy.api import AuthyApiClient, resources  # type: ignore[import-untyped]
from conftest import holder

import seconder

ROOT = Path(__file__).parents[3]
PROGRAM = Path(os.environ.get("SECONDER_PROGRAM", ROOT / "target" / "debug" / "seconder"))
NAMES = ["--names", "authy", "--push-path", "onetouch"]


@dataclass
class Old:
    """`seconder serve` with the old service's names, and an application with the old client."""

    folder: Path
    callback_url: str
    callbacks: Queue[tuple[dict[str, str], bytes]]
    client: Any = None
    key: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1000, 10_000)))

    def user(self) -> int:
        user = self.client.users.create("ada@example.com", f"555-010-{next(self.numbers)}", 1)
        assert user.ok() and not user.errors()
        assert isinstance(user.id, int)
        return user.id

    def code(self) -> str:
        latest = max((self.folder / "seconder.spool").iterdir()).read_text()
        return next(line[6:] for line in latest.splitlines() if line.startswith("Code: "))

    def run(self, *command: str, stdin: str = "") -> str:
        done = subprocess.run(
            [PROGRAM, *command, *NAMES],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def respond(self, user: int, uuid: str, response: str) -> None:
        device = self.run("user", "register-device", "--user", str(user), "--type", "ios").split()
        number, secret = device[1], device[3]
        command = ["approval", "respond", "--device", number, "--uuid", uuid]
        self.run(*command, "--response", response, stdin=secret)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Old]:
    assert PROGRAM.exists(), f"{PROGRAM} is not built: cargo build -p seconder-server"
    folder = tmp_path_factory.mktemp("migrate")
    taken: Queue[tuple[dict[str, str], bytes]] = Queue()
    with callback_server(taken) as url, pytest.MonkeyPatch.context() as patch:
        old = Old(folder, url, taken)
        # The command `approval respond` posts the callback, to the URL that the server stored in
        # the database.
        command = [str(PROGRAM), "serve", "--log-format=human", "--listen", "127.0.0.1:0"]
        command += ["--self-signed", *NAMES]
        with subprocess.Popen(
            [*command, "--callback-url", url, "--application-name", "Example"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stderr is not None
            lines = iter(server.stderr.readline, "")
            ready = next((line for line in lines if "listening on " in line), "")
            assert ready, "the server did not start"
            old.key = old.run("key").strip()
            patch.setenv("REQUESTS_CA_BUNDLE", str(folder / "seconder-certificate.pem"))
            old.client = AuthyApiClient(old.key, ready.split("listening on ")[1].strip())
            yield old
            server.terminate()
            server.communicate(timeout=20)


class callback_server:
    """The application's endpoint; it records the callbacks."""

    def __init__(self, taken: Queue[tuple[dict[str, str], bytes]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                taken.put((dict(self.headers.items()), body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/callback"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def rejected(response: Any, status: int, code: str) -> None:
    content = response.content
    assert not response.ok() and response.response.status_code == status, content
    assert content["error_code"] == code and content["success"] in (False, "false")


def test_users(old: Old) -> None:
    user = old.user()
    again = old.client.users.status(user)
    assert again.ok() and again["status"]["authy_id"] == user
    assert again["status"]["phone_number"].startswith("XXX-XXX-")
    assert again["status"]["confirmed"] is False
    bad = old.client.users.create("nobody", "x", 1)
    rejected(bad, 400, "60027")
    assert "email" in bad.errors() and bad.id is None
    assert old.client.users.delete(user).ok()
    rejected(old.client.users.status(user), 404, "60026")


def test_codes_by_sms(old: Old) -> None:
    user = old.user()
    sms = old.client.users.request_sms(user)
    assert sms.ok() and not sms.ignored() and sms["cellphone"].startswith("+1-XXX-XXX-XX")
    code = old.code()
    unchecked = old.client.tokens.verify(user, code, {"force": "false"})
    assert unchecked.response.status_code == 200 and not unchecked.ok(), "200, and nobody is in"
    right = old.client.tokens.verify(user, code)
    assert right.ok() and right["device"]["os_type"] == "sms" and right["success"] == "true"
    rejected(old.client.tokens.verify(user, code), 401, "60019")
    wrong = old.client.tokens.verify(user, "0000000" if code != "0000000" else "1111111")
    rejected(wrong, 401, "60020")
    assert wrong.errors()["token"] == "is invalid"
    # The wait begins with the fourth wrong code in a row, is 2 s at first, and becomes longer.
    guesses = (old.client.tokens.verify(user, "1234567") for _ in range(9))
    limited = next(each for each in guesses if each.response.status_code != 401)
    rejected(limited, 503, "60003")
    assert int(limited.response.headers["Retry-After"]) >= 1
    assert old.client.users.status(user)["status"]["confirmed"] is True


def test_an_sms_to_a_user_with_an_app_is_ignored(old: Old) -> None:
    user = old.user()
    old.run("user", "register-device", "--user", str(user), "--type", "android")
    sms = old.client.users.request_sms(user)
    assert sms.ok() and not sms.ignored(), "this device shows no codes"
    enrolled = old.client.users.generate_qr(user, size=200, label="Ada")
    assert old.client.tokens.verify(user, seconder.totp.code(enrolled["uri"])).ok()
    sms = old.client.users.request_sms(user)
    assert sms.ok() and sms.ignored() and sms["device"] == "android"
    forced = old.client.users.request_call(user, {"force": True})
    assert forced.ok() and not forced.ignored()


def test_codes_of_an_authenticator_app(old: Old) -> None:
    user = old.user()
    enrolled = old.client.users.generate_qr(user, size=200, label="Ada")
    assert enrolled.ok() and enrolled["label"] == "Ada"
    assert enrolled["qr_code"].startswith("data:image/")
    assert old.client.tokens.verify(user, seconder.totp.code(enrolled["uri"])).ok()


def test_numbers_without_a_user(old: Old) -> None:
    number = f"555-010-{next(old.numbers)}"
    started = old.client.phones.verification_start(number, 1, via="sms")
    assert started.ok() and started["success"] is True
    code = old.code()
    assert len(code) == 4, "the old client asks for four digits"
    wrong = old.client.phones.verification_check(number, 1, f"{(int(code) + 1) % 10_000:04}")
    rejected(wrong, 401, "60022")
    unknown = old.client.phones.verification_check("555-010-0001", 1, "1234")
    rejected(unknown, 404, "60023")
    other = f"555-010-{next(old.numbers)}"
    old.client.phones.verification_start(other, 1, via="call", locale="en", code_length=6)
    assert old.client.phones.verification_check(other, 1, old.code()).ok()
    assert old.client.phones.info("7400123456", 44)["type"] == "cellphone"


@pytest.mark.parametrize(("response", "status"), [("approve", "approved"), ("deny", "denied")])
def test_push_and_its_callback(old: Old, response: str, status: str) -> None:
    user = old.user()
    push = old.client.one_touch
    request = push.send_request(
        user,
        "Log in?",
        details={"City": "Zürich / Genève", "a*b~c d": "e&f=g"},
        hidden_details={"cart": {"id": "17"}, "empty": ""},
        logos=[{"res": "default", "url": "https://app.example/logo.png?x=1"}],
    )
    uuid = request.get_uuid()
    assert request.ok() and uuid
    pending = push.get_approval_status(uuid)
    assert pending["approval_request"]["status"] == "pending"
    old.respond(user, uuid, response)
    approval = push.get_approval_status(uuid)
    assert approval["approval_request"]["status"] == status
    headers, body = old.callbacks.get(timeout=10)
    params = json.loads(body)
    assert (params["uuid"], params["status"], params["authy_id"]) == (uuid, status, user)
    signature, nonce = headers["X-Authy-Signature"], headers["X-Authy-Signature-Nonce"]

    def is_valid(params: dict[str, Any]) -> Any:
        return push.validate_one_touch_signature(signature, nonce, "POST", old.callback_url, params)

    assert is_valid(params) is True
    assert is_valid({**params, "status": "pending"}) is False


def test_a_push_with_only_a_message(old: Old) -> None:
    user = old.user()
    assert old.client.one_touch.send_request(user, "Log in?", seconds_to_expire=60).ok()
    rejected(old.client.one_touch.get_approval_status("4711"), 404, "60049")


def test_the_application(old: Old) -> None:
    assert old.client.apps.fetch()["app"]["name"] == "Example"
    months = old.client.stats.fetch()["stats"]
    assert len(months) == 12 and months[-1]["api_calls_count"] > 0


def test_a_wrong_key_is_rejected(old: Old) -> None:
    stranger = AuthyApiClient("another-key", old.client.api_uri)
    rejected(stranger.tokens.verify(1, "1234567"), 401, "60001")
    assert not stranger.apps.fetch().ok()


def test_what_differs(old: Old) -> None:
    """The table of that name, as far as no other test of this file has it."""
    user = old.user()
    assert old.client.users.request_sms(user).ok()
    limited = old.client.users.request_sms(user)
    rejected(limited, 503, "60003")
    assert 1 <= int(limited.response.headers["Retry-After"]) <= 30
    assert old.client.users.request_call(user).ok(), "each channel has its own cool-down"
    push = old.client.one_touch
    requests = [push.send_request(user, "Log in?") for _ in range(6)]
    assert "no device" in requests[0]["message"]
    approvals = [push.get_approval_status(request.get_uuid()) for request in requests]
    statuses = [approval["approval_request"]["status"] for approval in approvals]
    assert statuses == ["expired"] + 5 * ["pending"]
    rejected(old.client.users.registration_status("ada"), 404, "60002")
    assert AuthyApiClient(old.key, old.client.api_uri + "/").apps.fetch().ok()


def test_both_libraries_on_one_server(old: Old) -> None:
    """An application can migrate one call at a time."""
    with seconder.open(
        old.client.api_uri,
        api_key=old.key,
        names=seconder.Names("authy", push_path="onetouch"),
        client=seconder.ClientOptions(ca_file=old.folder / "seconder-certificate.pem"),
    ) as new:
        user = old.user()
        assert new.user_status(user).user_id == user
        assert old.client.users.request_sms(user).ok()
        assert new.verify(user, old.code())
        enrolled = new.enrol_authenticator(user)
        assert old.client.tokens.verify(user, seconder.totp.code(enrolled.uri)).ok()
        uuid = old.client.one_touch.send_request(user, "Log in?").get_uuid()
        old.respond(user, uuid, "approve")
        assert new.check_approval(uuid).approved_by(user)
        headers, body = old.callbacks.get(timeout=10)
        names = seconder.Names("authy", push_path="onetouch")
        event = seconder.callback.verify(
            api_key=old.key,
            url=old.callback_url,
            method="POST",
            body=body,
            signature=headers[names.signature_header],
            nonce=headers[names.nonce_header],
            names=names,
            fresh=300,
        )
        assert event.approved_by(user) and event.uuid == uuid
        assert new.delete_user(user)
        rejected(old.client.users.status(user), 404, "60026")


# The document.


def rows() -> list[tuple[str, str]]:
    document = (ROOT / "docs" / "migrate.md").read_text()
    text = document.split("### Call by call")[1].split("###")[0]
    cells = (line.split("|") for line in text.splitlines() if line.startswith("| `"))
    return [(row[1].strip(), row[2].strip()) for row in cells]


def test_every_call_of_the_old_client_has_a_row() -> None:
    documented = {match for old, _ in rows() for match in re.findall(r"`(\w+\.\w+)\(", old)}
    attributes = {
        "users": resources.Users,
        "tokens": resources.Tokens,
        "apps": resources.Apps,
        "stats": resources.StatsResource,
        "phones": resources.Phones,
        "one_touch": resources.OneTouch,
    }
    existing = {
        f"{attribute}.{name}"
        for attribute, kind in attributes.items()
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_") and name != "clean_logos"
    }
    assert documented == existing


def test_every_call_in_a_row_exists() -> None:
    replacements = [new for _, new in rows()]
    assert len(replacements) > 15
    for new in replacements:
        for name, arguments in re.findall(r"`(\w+)\(([^)]*)\)", new):
            given = [each.strip() for each in arguments.split(",") if each.strip()]
            positional = [each for each in given if "=" not in each]
            by_name = {each.split("=")[0]: None for each in given if "=" in each}
            signature = inspect.signature(getattr(holder(name), name))
            signature.bind(None, *positional, **by_name)
        for name in re.findall(r"seconder\.(\w+)", new):
            assert hasattr(seconder, name), name


def test_flaws_of_the_old_client_are_fixed(remote: Any) -> None:
    """In each pair, the old client lets somebody in or sends what it must not, and the new one
    raises."""
    client = AuthyApiClient("key", remote.url)
    remote.body = {"success": "false", "errors": {"token": "is valid"}}
    remote.body = json.dumps(remote.body, separators=(",", ":"))
    assert client.tokens.verify(1, "1234567").ok()
    assert client.tokens.verify.__func__.__defaults__ == ({"force": "true"},)
    with remote.open() as service:
        with pytest.raises(seconder.InvalidResponse):
            service.verify(1, "1234567")
        remote.body = {"approval_request": {"status": "denied", "uuid": "3f05"}, "success": True}
        assert client.one_touch.get_approval_status("3f05").status() is True
        assert not service.check_approval("3f05")
        client.one_touch.get_approval_status("../../../protected/json/app/details")
        assert remote.seen[-1][1] == "/protected/json/app/details"
        with pytest.raises(seconder.InvalidArgument):
            service.check_approval("../../../protected/json/app/details")
        for typed in ["١٢٣٤٥٦", "²³⁴⁵⁶⁷"]:
            client.tokens.verify(1, typed)
            with pytest.raises(seconder.InvalidArgument):
                service.verify(1, typed)
        client.tokens.verify(1, 1234567)
        with pytest.raises(seconder.InvalidArgument):
            service.verify(1, 1234567)


def test_only_the_old_client_sends_its_key_to_another_host(remote: Any) -> None:
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["X-Authy-API-Key"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as stranger:
        threading.Thread(target=stranger.handle_request, daemon=True).start()
        remote.status, remote.body = 302, {}
        remote.headers["Location"] = f"http://localhost:{stranger.server_port}/"
        AuthyApiClient("the key", remote.url).apps.fetch()
    assert seen == ["the key"], "localhost is another host than 127.0.0.1"
    with remote.open() as service, pytest.raises(seconder.SecondFactorError):
        service.app_details()

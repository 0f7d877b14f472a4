"""The example applications let in only users with a valid second factor.

The tests use the test client of each framework."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from contrib import signing
from contrib.conftest import EXAMPLES, running
from contrib.visitors import (
    CHANGES,
    HttpVisitor,
    Site,
    User,
    Visitor,
    next_number,
    otpauth,
    replace,
    shown_number,
    sign_up,
    sms_to,
    start_approval,
    start_enrolment,
)

import seconder


def test_a_password_alone_lets_nobody_in(site: Site) -> None:
    visitor = site.after_password()
    assert set(visitor.session()) - {"csrf"} == visitor.PENDING
    assert not visitor.is_in() and visitor.get("/").location == "/login"
    visitor.get("/second")
    for path in CHANGES:
        assert visitor.post(path, code="1234567").location == "/login"
    assert not visitor.is_in()


def test_a_failed_login_does_not_reveal_whether_the_name_exists(site: Site) -> None:
    visitor = site.kind(site.app)
    visitor.get("/login")
    texts = []
    for name, password in [(site.user.name, "wrong"), ("nobody", "pass word"), ("", "")]:
        page = visitor.post("/login", name=name, password=password)
        texts.append(re.sub(r'value="[^"]*"|autofocus', "", page.text))
        assert page.status == 401
        assert visitor.get("/second").location == "/login"
    assert len(set(texts)) == 1


def test_the_second_step_needs_the_password(site: Site) -> None:
    visitor = site.kind(site.app)
    visitor.get("/login")
    for path in ("/", "/second", "/second/code", "/second/push", "/second/push/status"):
        assert visitor.get(path).location == "/login"
    for path in ("/second/sms", "/second/code", "/second/push", "/second/push/finish"):
        assert visitor.post(path, code="1234567").location == "/login"


def test_a_code_by_sms_lets_in_once(site: Site) -> None:
    visitor = site.after_password()
    before = visitor.cookie()
    assert visitor.post("/second/sms").location == "/second/code"
    assert "XXX-XX" in visitor.get("/second/code").text
    assert visitor.post("/second/sms").status == 429
    code = site.sms()
    assert visitor.post("/second/code", code="12 345x").status == 422
    assert visitor.post("/second/code", code=f" {code[:3]}-{code[3:]} ").location == "/"
    assert visitor.is_in()
    assert set(visitor.session()) - {"csrf"} == visitor.LOGGED_IN
    assert site.user.name in visitor.get("/").text and code not in str(visitor.session())
    assert visitor.cookie() != before
    other = site.after_password()
    page = other.post("/second/code", code=code)
    assert page.status == 401 and "used already" in page.text and not other.is_in()


def test_guessing_is_slowed_down(site: Site) -> None:
    for _ in range(5):
        visitor = site.after_password()
        visitor.post("/second/sms")
        code = site.sms()
        wrong = f"{(int(code) + 1) % 10**7:07}"
        page = visitor.post("/second/code", code=wrong)
        assert page.status == 401 and "is wrong" in page.text and 'role="alert"' in page.text
        began = time.monotonic()
        for _ in range(3):
            assert "is wrong" in visitor.post("/second/code", code=wrong).text
        page = visitor.post("/second/code", code=code)
        if time.monotonic() - began < 2:
            break
        # The wait is 2 s, and a busy machine has spent it: another user tries.
        site.user = site.add_user()
    assert page.status == 429 and "Try again in" in page.text and not visitor.is_in()


def test_an_authenticator_app_is_set_up_and_used(site: Site) -> None:
    visitor = site.logged_in()
    uri = otpauth(start_enrolment(visitor))
    assert visitor.post("/authenticator/confirm", code="12").status == 422
    assert "Set up an authenticator" in visitor.get("/").text
    now = time.time()
    assert visitor.post("/authenticator/confirm", code=seconder.totp.code(uri, now)).location == "/"
    assert "Set up a new authenticator" in visitor.get("/").text

    other = site.after_password()
    assert "Use my authenticator app" in other.get("/second").text
    assert other.post("/second/code", code=seconder.totp.code(uri, now)).status == 401
    assert other.post("/second/code", code=seconder.totp.code(uri, now + 30)).location == "/"
    assert other.is_in()


def test_an_approval_lets_in_once(site: Site) -> None:
    site.logged_in().post("/device")
    visitor = site.after_password()
    uuid, number = start_approval(site, visitor)
    page = visitor.post("/second/push/finish")
    assert page.status == 200 and "not responded yet" in page.text
    assert shown_number(page.text) == number
    assert not visitor.is_in()
    visitor.get("/demo/phone")
    page = visitor.post("/demo/phone", uuid=uuid, answer="approve", number=f" {number}")
    assert page.location == "/demo/phone"
    assert json.loads(visitor.get("/second/push/status").text) == {"status": "approved"}
    copied, token = visitor.cookie(), visitor.token
    assert visitor.post("/second/push/finish").location == "/"
    assert visitor.is_in() and set(visitor.session()) - {"csrf"} == visitor.LOGGED_IN
    visitor.set_cookie(copied)
    visitor.token = token
    assert visitor.post("/second/push/finish").location != "/" and not visitor.is_in()


def test_a_second_wrong_number_denies_the_login(site: Site) -> None:
    site.logged_in().post("/device")
    visitor = site.after_password()
    uuid, number = start_approval(site, visitor)
    wrong = f"{(int(number) + 1) % 100:02}"
    said_of = [("", "shows"), ("1234", "shows"), (wrong, "once more"), (wrong, "wrong twice")]
    for typed, said in said_of:
        page = visitor.post("/demo/phone", uuid=uuid, answer="approve", number=typed)
        assert page.status == 422 and said in page.text
    page = visitor.post("/second/push/finish")
    assert page.status == 401 and "did not approve" in page.text and not visitor.is_in()


def test_a_denied_approval_lets_nobody_in(site: Site) -> None:
    site.logged_in().post("/device")
    visitor = site.after_password()
    uuid, _ = start_approval(site, visitor)
    visitor.post("/demo/phone", uuid=uuid, answer="deny")
    page = visitor.post("/second/push/finish")
    assert page.status == 401 and "did not approve" in page.text and not visitor.is_in()


def test_the_approval_of_another_user_lets_nobody_in(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.logged_in().post("/device")
    uuid, number = start_approval(site, site.after_password())
    site.app.phone.answer(uuid, yes=True, number=number)
    assert site.app.service().check_approval(uuid).status == "approved"
    confused = seconder.results.ApprovalCreated(uuid=uuid)
    replace(site, monkeypatch, create_approval=lambda *args, **options: confused)
    visitor = site.after_password(site.add_user())
    assert visitor.post("/second/push").location == "/second/push"
    visitor.get("/second/push")
    assert visitor.post("/second/push/finish").status == 401 and not visitor.is_in()


def test_the_second_step_expires(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = site.after_password()
    visitor.post("/second/sms")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 601)
    assert visitor.post("/second/code", code=site.sms()).location == "/login"
    monkeypatch.undo()
    assert not visitor.is_in()


def test_forms_of_other_sites_are_rejected(site: Site) -> None:
    visitor = site.logged_in()
    paths = ["/login", "/second/sms", "/second/code", "/second/push", "/second/push/finish"]
    paths += [*CHANGES, "/browsers/forget", "/logout", "/demo/phone"]
    paths += ["/signup", "/signup/code", "/signup/again"]
    for token in (None, ("csrf", "forgéd"), ("csrfmiddlewaretoken", "x" * 64)):
        visitor.token = token
        for path in paths:
            sent = {**({token[0]: token[1]} if token else {}), "code": "1234567"}
            assert visitor.send("POST", path, sent).status == 403, path
    assert visitor.is_in()
    assert visitor.post("/logout").location == "/login" and not visitor.is_in()


def test_a_visitor_signs_up_with_a_number_that_a_code_proves(site: Site) -> None:
    cellphone = f"555-010-{next_number()}"
    visitor, page, fields = sign_up(site, cellphone)
    assert page.location == "/signup/code"
    assert set(visitor.session()) - {"csrf"} == {"signup"}
    visitor.get("/signup/code")
    code = sms_to(site, cellphone)
    page = visitor.post("/signup/code", code=f"{(int(code) + 1) % 10**7:07}")
    assert page.status == 401 and "is wrong" in page.text
    assert visitor.post("/signup/code", code="12").status == 422
    assert site.app.accounts.get(fields["name"]) is None, "nobody is enrolled yet"
    copied, token = visitor.cookie(), visitor.token
    assert visitor.post("/signup/code", code=code).location == "/login"
    assert not visitor.is_in(), "the account is there, and nobody is logged in"
    visitor.set_cookie(copied)
    visitor.token = token
    assert visitor.post("/signup/code", code=code).location == "/signup", "a ticket is used once"
    account = site.app.accounts.get(fields["name"])
    assert account.user_id > site.user.user_id and account.device is None
    site.after_password(User(account.name, account.user_id))


def test_a_stranger_who_types_a_users_number_gets_nothing_of_that_user(site: Site) -> None:
    """Neither the id, nor an account with it, nor a factor for it."""
    victim, number = site.user, site.user.name.removeprefix("user")
    accounts, service = site.app.accounts, site.app.service()
    before = service.user_status(victim.user_id)
    visitor, page, fields = sign_up(site, f"555.010.{number}")
    assert page.location == "/signup/code", "it does not show that the number is known"
    visitor.get("/signup/code")
    # The code went to the victim, and guesses are limited.
    code = sms_to(site, f"555-010-{number}")
    wrong = f"{(int(code) + 1) % 10**7:07}"
    while "is wrong" in (page := visitor.post("/signup/code", code=wrong)).text:
        pass
    assert "Try again in" in page.text
    for path in CHANGES:
        assert visitor.post(path, code="1234567").location == "/login"
    assert visitor.get("/").location == "/login"
    assert accounts.get(fields["name"]) is None
    assert accounts.get(victim.name).user_id == victim.user_id
    assert service.user_status(victim.user_id) == before
    label = service.enrol_authenticator(victim.user_id).label
    assert label == f"{victim.name}@example.com", "no e-mail address was added"


def test_whoever_holds_the_number_of_an_account_gets_no_second_one(site: Site) -> None:
    """Such as the next owner of a number that a carrier gave away again."""
    number = site.user.name.removeprefix("user")
    visitor, _, fields = sign_up(site, f"555-010-{number}")
    visitor.get("/signup/code")
    page = visitor.post("/signup/code", code=sms_to(site, f"555-010-{number}"))
    assert page.status == 409 and "belongs to an account already" in page.text
    assert site.app.accounts.get(fields["name"]) is None


def test_a_sign_up_is_rejected_before_a_message_is_sent(site: Site) -> None:
    _, page, _ = sign_up(site, f"555-010-{next_number()}", name=site.user.name.upper())
    assert page.status == 409 and "name is taken" in page.text
    _, page, _ = sign_up(site, "12")
    assert page.status == 422 and "phone number" in page.text
    _, page, _ = sign_up(site, f"555-010-{next_number()}", name=" ")
    assert page.status == 422 and "type a name" in page.text


def test_two_accounts_never_share_an_id(site: Site) -> None:
    """The column of the table is unique, even if the service returns an id twice."""
    number = site.user.name.removeprefix("user")
    other = site.app.SignUp("other", "pass word", "other@example.com", f"555-010-{number}")
    with pytest.raises(sqlite3.IntegrityError, match=r"accounts\.user_id"):
        site.app.accounts.add(other)
    assert site.app.accounts.get("other") is None


def test_of_two_sign_ups_with_one_name_one_succeeds(site: Site) -> None:
    numbers = [f"555-010-{next_number()}" for _ in range(2)]
    name = f"twin{next_number()}"
    visitors = [sign_up(site, number, name)[0] for number in numbers]
    pages = []
    for visitor, number in zip(visitors, numbers, strict=True):
        visitor.get("/signup/code")
        pages.append(visitor.post("/signup/code", code=sms_to(site, number)))
    assert pages[0].location == "/login" and "name is taken" in pages[1].text
    # The second number is not left behind in the service.
    late = f"late{next_number()}"
    user = site.app.service().create_user(f"{late}@example.com", numbers[1], 1, new_only=True)
    assert user.created


def test_the_size_of_a_form_is_limited(site: Site) -> None:
    visitor = site.after_password()
    assert visitor.post("/second/code", code="1" * 2**22).status in (400, 413)


def test_every_page_has_the_security_headers(site: Site) -> None:
    visitor = site.kind(site.app)
    for path in ("/login", "/", "/demo/phone", "/nowhere"):
        headers = {name.lower(): value for name, value in visitor.get(path).headers.items()}
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"
        assert "default-src 'none'" in headers["content-security-policy"]
    visitor.get("/login")
    page = visitor.post("/login", name=site.user.name, password="pass word")
    assert re.search(r"session.*httponly.*samesite=lax", page.cookies, re.IGNORECASE)


COOKIE_IS_SECURE = {
    "flask_app": "app.config['SESSION_COOKIE_SECURE']",
    "django_app": "settings.SESSION_COOKIE_SECURE and settings.CSRF_COOKIE_SECURE",
    "fastapi_app": "app.user_middleware[0].kwargs['https_only']",
}


@pytest.mark.parametrize("name", COOKIE_IS_SECURE)
def test_behind_https_cookies_are_secure(name: str, tmp_path: Path) -> None:
    program = f"from {name} import *; print(bool({COOKIE_IS_SECURE[name]}), SECURE, BROWSER)"
    for url, secure in [
        ("https://app.example", "True True __Host-browser"),
        ("http://127.0.0.1:9", "False False browser"),
    ]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={"EXAMPLE_URL": url, "PYTHONPATH": str(EXAMPLES)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout.strip() == secure, done.stderr


def test_the_callback_is_accepted_once(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    params = signing.parameters(svc_id=site.user.user_id)
    key, url = site.app.service().admin.api_key(), site.app.CALLBACK_URL
    head = signing.headers(params, "GET", key=key, url=url)
    client: Any = site.kind(site.app).client  # type: ignore[attr-defined]
    path = f"/seconder/callback?{signing.pairs(params)}"
    statuses = [client.get(path, headers=head).status_code for _ in range(2)]
    assert statuses == [200, 401]
    assert f"approval {params['uuid']}: approved by user {site.user.user_id}" in caplog.text


@pytest.mark.parametrize("name", COOKIE_IS_SECURE)
def test_the_application_receives_the_response_from_the_phone(name: str, tmp_path: Path) -> None:
    with running(name, tmp_path) as site:
        visitor = HttpVisitor(site.url)
        visitor.to_second_step()
        visitor.post("/second/sms")
        codes = re.findall(r"is (\d{7})\b", visitor.get("/demo/phone").text)
        assert "Welcome, Ada." in visitor.post("/second/code", code=codes[0]).text
        visitor.post("/device")
        visitor.post("/logout")
        visitor.to_second_step()
        assert visitor.post("/second/push").location.endswith("/second/push")
        number = shown_number(visitor.get("/second/push").text)
        uuids = re.findall(r'name="uuid" value="([^"]+)"', visitor.get("/demo/phone").text)
        visitor.post("/demo/phone", uuid=uuids[0], answer="approve", number=number)
        assert f"approval {uuids[0]}: approved" in site.log.read_text(), "there was no callback"
        assert "Welcome, Ada." in visitor.post("/second/push/finish").text


def test_one_visitor_causes_few_messages_to_any_numbers(site: Site) -> None:
    visitor = site.kind(site.app)

    def sign_up_once() -> int:
        visitor.get("/signup")
        name = f"new{next_number()}"
        fields = {"name": name, "password": "pass word", "email": f"{name}@example.com"}
        return visitor.post("/signup", **fields, cellphone=f"555-010-{next_number()}").status

    statuses = [sign_up_once() for _ in range(11)]
    assert {status // 100 for status in statuses[:10]} == {3} and statuses[10] == 429
    other = site.after_password()
    assert other.post("/second/sms").location == "/second/code"


def test_a_copied_cookie_does_not_survive_the_logout(site: Site) -> None:
    visitor = site.logged_in()
    copied = visitor.cookie()
    visitor.post("/logout")
    assert not visitor.is_in()
    visitor.set_cookie(copied)
    assert not visitor.is_in()


def test_a_copied_step_does_not_survive_the_logout(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = site.logged_in()
    code = recovery_code(visitor)
    with monkeypatch.context() as patch:
        patch.setattr(site.app, "fresh", lambda given: False)
        assert visitor.post("/device").location == "/second"
    copied = visitor.cookie()
    assert visitor.get("/second").status == 200
    visitor.post("/logout")
    visitor.set_cookie(copied)
    assert visitor.get("/second").location == "/login"
    visitor.get("/login")
    assert visitor.post("/second/code", code=code).location == "/login"
    assert not visitor.is_in()


def test_a_sign_up_ends_the_session(site: Site) -> None:
    visitor = site.logged_in()
    copied = visitor.cookie()
    visitor.get("/signup")
    fields = {"name": f"new{next_number()}", "password": "pass word", "email": "new@example.com"}
    page = visitor.post("/signup", cellphone=f"555-010-{next_number()}", **fields)
    assert page.location == "/signup/code" and not visitor.is_in()
    visitor.set_cookie(copied)
    assert not visitor.is_in()


@pytest.mark.parametrize(
    "path", ["/device", "/recovery", "/remove", "/authenticator/confirm", "/browsers/forget"]
)
def test_a_change_of_what_protects_the_account_ends_other_sessions(site: Site, path: str) -> None:
    visitor, now = site.logged_in(), time.time()
    fields = {}
    if path == "/remove":
        visitor.post("/device")
        fields["way"] = re.findall(r'name="way" value="([^"]+)"', visitor.get("/").text)[0]
    elif path == "/authenticator/confirm":
        fields["code"] = seconder.totp.code(otpauth(start_enrolment(visitor)), now)
    account = site.app.accounts.get(site.user.name)
    other = site.app.accounts.begin_session(account)
    of_another = site.app.accounts.begin_session(site.app.accounts.get(site.add_user().name))
    visitor.get("/")
    assert visitor.post(path, **fields).status in (200, 302, 303)
    assert visitor.is_in() and site.app.accounts.in_session(other) is None
    assert site.app.accounts.in_session(of_another) is not None


def test_an_old_session_does_not_change_factors(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = site.logged_in()
    code = recovery_code(visitor)
    with monkeypatch.context() as patch:
        patch.setattr(site.app, "fresh", lambda given: False)
        for path in CHANGES:
            assert visitor.post(path).location == "/second"
            assert visitor.is_in()
    visitor.get("/second")
    assert visitor.post("/second/code", code=code).location == "/"
    assert visitor.is_in() and otpauth(start_enrolment(visitor))


def test_a_session_ends_on_the_server_when_the_factor_is_proven_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = site.logged_in()
    code, copied = recovery_code(visitor), visitor.cookie()
    with monkeypatch.context() as patch:
        patch.setattr(site.app, "fresh", lambda given: False)
        visitor.post("/recovery")
    visitor.get("/second")
    assert visitor.post("/second/code", code=code).location == "/"
    assert visitor.is_in()
    visitor.set_cookie(copied)
    assert not visitor.is_in()


def recovery_code(visitor: Visitor) -> str:
    visitor.get("/")
    return str(re.findall(r"\b\d{4}(?: \d{4})+\b", visitor.post("/recovery").text)[0])

"""The pages of the example applications: what stays in a form, which status they have, and that
they are the same in every framework and without JavaScript."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape
from types import ModuleType
from typing import Any

import pytest
from contrib.visitors import (
    DjangoVisitor,
    FastapiVisitor,
    FlaskVisitor,
    Page,
    Site,
    Visitor,
    failing,
    next_number,
    otpauth,
    replace,
    sign_up,
    sms_to,
    start_enrolment,
)

import seconder

FORM = {"name": 'ad"a<b>', "password": "a secret", "email": "e@example.com", "cellphone": "12"}


def value(page: Page, name: str) -> str | None:
    """Returns what the page fills in for a field."""
    [field] = re.findall(rf'<input id="{name}"[^>]*>', page.text)
    found = re.search(r'value="([^"]*)"', field)
    return unescape(found[1]) if found else None


def test_a_wrong_password_keeps_the_name(site: Site) -> None:
    visitor = site.kind(site.app)
    assert value(visitor.get("/login"), "name") is None
    page = visitor.post("/login", name=FORM["name"], password=FORM["password"])
    assert page.status == 401 and 'role="alert"' in page.text
    assert value(page, "name") == FORM["name"] and value(page, "password") is None
    assert "<title>Error: " in page.text


def test_a_rejected_sign_up_keeps_what_was_typed_but_the_password(site: Site) -> None:
    visitor = site.kind(site.app)
    visitor.get("/signup")
    page = visitor.post("/signup", **FORM)
    assert page.status == 422 and "mobile phone number" in page.text
    for name in ("name", "email", "cellphone"):
        assert value(page, name) == FORM[name]
    assert FORM["password"] not in page.text
    invalid = re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', page.text)
    assert invalid == ["cellphone"]
    for name, wrong in [("name", " "), ("password", ""), ("email", "nobody")]:
        page = visitor.post("/signup", **{**FORM, name: wrong})
        assert page.status == 422
        assert re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', page.text) == [name]


def test_no_page_shows_a_code_that_was_typed(site: Site) -> None:
    visitor = site.logged_in()
    start_enrolment(visitor)
    assert "9876543" not in visitor.post("/authenticator/confirm", code="9876543").text
    other = site.after_password()
    assert "9876543" not in other.post("/second/code", code="9876543").text


def waits(page: Page) -> list[int | None]:
    """Returns for each button after how many seconds it can be pressed, if it says so."""
    buttons = re.findall(r"<button[^>]*>\s*[\w ]+?\s*</button>", page.text)
    found = [re.search(r'data-wait="(\d+)"', button) for button in buttons]
    return [seconds and int(seconds[1]) for seconds in found]


def limited(page: Page) -> int:
    """The page says after how many seconds to try again, as its header does. Without JavaScript its
    buttons can be pressed."""
    headers = {name.lower(): value for name, value in page.headers.items()}
    seconds = int(headers["retry-after"])
    assert page.status == 429 and seconds > 0
    assert f"Try again in {seconds} s." in page.text
    assert f'data-wait="{seconds}"' in page.text and "/static/wait.js" in page.text
    assert " disabled" not in page.text
    return seconds


def until_limited(send: Callable[[], Page]) -> Page:
    """Has codes sent until the service refuses, which is at once unless the machine is busy."""
    while (page := send()).status != 429:
        pass
    return page


def test_sending_again_too_soon_says_how_long_to_wait(site: Site) -> None:
    visitor = site.after_password()
    visitor.post("/second/sms")
    page = until_limited(lambda: visitor.post("/second/sms"))
    limited(page)
    assert "code was sent already" in page.text
    # Only the button that sends waits, and the code that was sent before is good.
    assert [wait is not None for wait in waits(page)] == [False, True]
    assert "XXX-XX" in page.text
    assert visitor.post("/second/code", code=site.sms()).location == "/"


def test_the_wait_for_another_code_shows_as_soon_as_one_was_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    visitor = site.after_password()
    page = visitor.get("/second/code")
    assert waits(page) == [None, None] and "wait.js" not in page.text
    visitor.post("/second/sms")
    signing_up, _, _ = sign_up(site, f"555-010-{next_number()}")
    for browser, path in [(visitor, "/second/code"), (signing_up, "/signup/code")]:
        page = browser.get(path)
        assert page.status == 200 and waits(page) == [None, 30]
        assert "/static/wait.js" in page.text and " disabled" not in page.text
        assert 'role="alert"' not in page.text
        # A wrong code does not hide it, and it gets less.
        monkeypatch.setattr(time, "time", lambda: now + 20.2)
        page = browser.post(path, code="1234567")
        assert page.status == 401 and waits(page) == [None, 10]
        monkeypatch.setattr(time, "time", lambda: now + 30)
        page = browser.get(path)
        assert waits(page) == [None, None] and "wait.js" not in page.text
        monkeypatch.setattr(time, "time", lambda: now)


def test_sending_again_begins_another_wait(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = site.after_password()
    signing_up, _, _ = sign_up(site, f"555-010-{next_number()}")
    signing_up.get("/signup/code")
    for after, shown in [(1000, [None, 1000]), (0, [None, None]), (None, [None, None])]:
        now = time.time()
        sent = seconder.results.CodeRequested(cellphone="+1-XXX-XXX-XX23", resend_after=after)
        started = seconder.results.PhoneVerificationStarted(resend_after=after)
        with monkeypatch.context() as patched:
            replace(
                site,
                patched,
                request_sms=lambda *args, _sent=sent, **options: _sent,
                start_phone_verification=lambda *args, _started=started, **options: _started,
            )
            patched.setattr(time, "time", lambda _now=now: _now)
            assert visitor.post("/second/sms").location == "/second/code"
            assert waits(visitor.get("/second/code")) == shown
            assert signing_up.post("/signup/again").location == "/signup/code"
            assert waits(signing_up.get("/signup/code")) == shown


def test_the_seconds_are_those_of_the_service(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = site.after_password()
    for after, header, text in [
        (26.2, "27", "Try again in 27 s."),
        (130.0, "130", "Try again in 3 minutes."),
        (None, None, "Please try again later."),
    ]:
        error = seconder.RateLimited("wait", code="60003", retry_after=after)
        replace(site, monkeypatch, request_sms=failing(error))
        page = visitor.post("/second/sms")
        headers = {name.lower(): value for name, value in page.headers.items()}
        assert page.status == 429 and headers.get("retry-after") == header
        assert text in page.text and ("data-wait" in page.text) == (header is not None)


def test_a_second_password_uses_the_code_that_was_sent(site: Site) -> None:
    assert site.after_password().post("/second/sms").location == "/second/code"
    again = site.after_password()
    page = again.post("/second/sms")
    assert 'name="code"' in page.text and "sent already" in page.text
    assert again.post("/second/code", code=site.sms()).location == "/"


@pytest.mark.parametrize("limit", ["sends", "number_10_minutes", "application_day", None])
def test_a_page_does_not_say_that_a_code_was_sent_if_none_was(
    site: Site, monkeypatch: pytest.MonkeyPatch, limit: str | None
) -> None:
    visitor = site.after_password()
    of_operator = limit == "application_day"
    error = seconder.RateLimited(
        "wait", code="60003", retry_after=4.0, limit=limit, is_operator_limit=of_operator
    )
    names = "request_sms start_phone_verification"
    replace(site, monkeypatch, **dict.fromkeys(names.split(), failing(error)))
    new = site.kind(site.app)
    new.get("/signup")
    for page in (visitor.post("/second/sms"), new.post("/signup", **FORM)):
        assert limited(page) == 4
        assert "We cannot send a code at the moment." in page.text
        assert "sent already" not in page.text and "Too many attempts" not in page.text


@pytest.mark.parametrize(
    "code, limit, status, text",
    [
        ("too_many_wrong_keys", None, 503, "That cannot be checked at the moment."),
        (None, None, 503, "That cannot be checked at the moment."),
        ("60003", "snooze", 429, "That is not possible at the moment."),
        ("60003", "key_rate", 429, "That is not possible at the moment."),
        ("60003", "address_wrong_hour", 429, "Too many attempts."),
        ("60003", None, 429, "Too many attempts."),
    ],
)
def test_a_page_blames_only_those_who_tried_too_often(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: str | None,
    limit: str | None,
    status: int,
    text: str,
) -> None:
    visitor = site.after_password()
    ours = limit == "key_rate"
    error = seconder.RateLimited(
        "wait", code=code, retry_after=4.0, limit=limit, is_operator_limit=ours
    )
    replace(site, monkeypatch, verify=failing(error))
    page = visitor.post("/second/code", code="1234567")
    assert page.status == status and text in page.text and 'data-wait="4"' in page.text
    assert ("an operator has to act" in caplog.text) == (ours or code == "too_many_wrong_keys")


def test_every_limit_says_how_long_to_wait(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    logged_in, pending = site.logged_in(), site.after_password()
    start_enrolment(logged_in)
    logged_in.post("/device")
    logged_in.get("/")
    signing_up, _, _ = sign_up(site, f"555-010-{next_number()}")
    signing_up.get("/signup/code")
    new = site.kind(site.app)
    new.get("/signup")
    wait = failing(seconder.RateLimited("wait", code="60003", retry_after=4.0))
    names = "verify create_approval start_phone_verification check_phone_verification"
    names += " confirm_authenticator"
    replace(site, monkeypatch, **dict.fromkeys(names.split(), wait))
    pages = [
        pending.post("/second/code", code="1234567"),
        pending.post("/second/push"),
        logged_in.post("/authenticator/confirm", code="123456"),
        signing_up.post("/signup/code", code="1234567"),
        signing_up.post("/signup/again"),
        new.post("/signup", **FORM),
    ]
    assert [limited(page) for page in pages] == [4] * len(pages)
    assert value(pages[-1], "name") == FORM["name"]


def test_a_sign_up_can_have_its_code_sent_again(site: Site) -> None:
    cellphone = f"555-010-{next_number()}"
    visitor, _, _ = sign_up(site, cellphone)
    assert cellphone in visitor.get("/signup/code").text
    assert cellphone in until_limited(lambda: visitor.post("/signup/again")).text
    # Another visitor, who typed the same number, is limited too.
    limited(until_limited(lambda: sign_up(site, cellphone)[1]))


def test_a_new_account_logs_in_with_its_name_filled_in(site: Site) -> None:
    cellphone = f"555-010-{next_number()}"
    visitor, _, fields = sign_up(site, cellphone)
    visitor.get("/signup/code")
    assert visitor.post("/signup/code", code=sms_to(site, cellphone)).location == "/login"
    page = visitor.get("/login")
    assert "account is ready" in page.text and value(page, "name") == fields["name"]


def test_a_service_that_is_unavailable_is_no_wrong_code(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged_in = site.logged_in()
    start_enrolment(logged_in)
    uuid = site.app.service().create_approval(site.user.user_id, "Really?").uuid
    down = failing(seconder.Unavailable("nobody there"))
    names = "request_sms verify create_approval check_approval enrol_authenticator register_device"
    names += " start_phone_verification check_phone_verification open_approvals"
    names += " confirm_authenticator create_recovery_codes forget"
    signing_up, _, _ = sign_up(site, f"555-010-{next_number()}")
    signing_up.get("/signup/code")
    pushing = site.after_password()
    replace(
        site,
        monkeypatch,
        create_approval=lambda *args, **options: seconder.results.ApprovalCreated(uuid=uuid),
    )
    assert pushing.post("/second/push").location == "/second/push"
    pushing.get("/second/push")
    monkeypatch.undo()
    logged_in.post("/device")
    logged_in.get("/")
    pending = site.after_password()
    replace(site, monkeypatch, **dict.fromkeys(names.split(), down))
    pages = [pending.post(path, code="1234567") for path in PENDING]
    pages += [logged_in.post(path, code="1234567") for path in LOGGED_IN]
    pages += [signing_up.post(path, code="1234567") for path in SIGNING_UP]
    pages += [pushing.post("/second/push/finish"), pushing.get("/second/push/status")]
    pages += [pending.get("/demo/phone")]
    visitor, page, _ = sign_up(site, f"555-010-{next_number()}")
    for page in [*pages, page]:
        assert page.status == 503 and "not possible at the moment" in page.text
        assert 'role="alert"' in page.text
    assert not any(each.is_in() for each in (pending, signing_up, pushing, visitor))


PENDING = ["/second/sms", "/second/code", "/second/push"]
LOGGED_IN = ["/authenticator/confirm", "/authenticator", "/device", "/recovery", "/browsers/forget"]
SIGNING_UP = ["/signup/again", "/signup/code"]


def test_a_mistyped_code_shows_the_same_key_again(site: Site) -> None:
    visitor = site.logged_in()
    assert visitor.get("/authenticator").location == "/"
    shown = start_enrolment(visitor)
    uri = otpauth(shown)
    groups = re.findall(r"<span>(\w+)</span>", shown)
    assert len(groups) == 8 and {len(group) for group in groups} == {4}
    assert "secret=" + "".join(groups) in uri
    assert uri not in str(visitor.session()) and groups[0] not in str(visitor.session())
    for code, status in [("12 34x", 422), ("1234567", 401)]:
        page = visitor.post("/authenticator/confirm", code=code)
        assert page.status == status and otpauth(page.text) == uri
        assert re.findall(r"<span>(\w+)</span>", page.text) == groups
    assert otpauth(visitor.get("/authenticator").text) == uri
    right = seconder.totp.code(uri, time.time())
    assert visitor.post("/authenticator/confirm", code=right).location == "/"
    assert visitor.get("/authenticator").location == "/", "it is not shown any longer"


def test_a_key_is_shown_for_a_limited_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = site.logged_in()
    start_enrolment(visitor)
    now = time.time()
    # Otherwise a code would be asked for first.
    monkeypatch.setattr(site.app, "fresh", lambda given: True)
    monkeypatch.setattr(time, "time", lambda: now + 601)
    assert visitor.get("/authenticator").location == "/"
    assert visitor.post("/authenticator/confirm", code="12").location == "/"


def every_page(site: Site) -> list[Page]:
    visitor, taken, _ = sign_up(site, "555-010-0123", name=site.user.name)
    pages = [taken, visitor.get("/login"), visitor.get("/signup")]
    visitor, _, _ = sign_up(site, f"555-010-{next_number()}")
    pages.append(visitor.get("/signup/code"))
    visitor = site.logged_in()
    visitor.post("/authenticator")
    visitor.post("/device")
    pages += [visitor.get("/authenticator"), visitor.post("/recovery")]
    pages += [visitor.get("/"), visitor.get("/demo/phone")]
    visitor = site.after_password()
    visitor.post("/second/push")
    paths = ("/second", "/second/code", "/second/push", "/demo/phone")
    pages += [visitor.get(path) for path in paths]
    return [*pages, until_limited(lambda: visitor.post("/second/sms"))]


def test_no_page_needs_what_its_policy_forbids(site: Site) -> None:
    for page in every_page(site):
        headers = {name.lower(): value for name, value in page.headers.items()}
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        if page.location:
            continue
        assert '<html lang="en">' in page.text and page.text.count("<h1>") == 1
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page.text)
        for script in re.findall(r"<script(.*?)</script>", page.text, re.DOTALL):
            assert re.fullmatch(r' src="/static/\w+\.js">', script)
        for field in re.findall(r'<input id="(\w+)"', page.text):
            assert f'<label for="{field}">' in page.text


def shape(page: Page) -> tuple[int, str]:
    """The status of a page, and its text without what differs between visitors."""
    differing = r'name="csrf\w*" value="[^"]*"|user\d+|data:image[^"]*|otpauth:[^"]*'
    text = re.sub(differing, "", page.text)
    text = re.sub(r"<code.*?</code>|\d+", "", text, flags=re.DOTALL)
    kept = [line.strip() for line in text.splitlines()]
    return page.status, "\n".join(line for line in kept if line)


def test_the_applications_have_the_same_pages(
    flask_app: ModuleType, django_app: ModuleType, fastapi_app: ModuleType
) -> None:
    kinds: list[tuple[type[Visitor], ModuleType]] = [
        (FlaskVisitor, flask_app),
        (DjangoVisitor, django_app),
        (FastapiVisitor, fastapi_app),
    ]
    shapes = [
        # The phone shows all that other tests have left, and redirects have a status of their own.
        [
            shape(page) if not page.location else page.location
            for page in every_page(Site(*kind))
            if "Demo phone" not in page.text
        ]
        for kind in kinds
    ]
    assert shapes[0] == shapes[1] == shapes[2]

"""Changes that users of the example applications make to their own second factor, and the browsers
in which they are not asked for it."""

from __future__ import annotations

import re
import time

import pytest
from contrib.visitors import (
    CHANGES,
    Page,
    Site,
    User,
    Visitor,
    otpauth,
    replace,
    start_approval,
    start_enrolment,
)

import seconder

BOX = '<input id="remember" name="remember" type="checkbox" value="yes"'


def add_app(visitor: Visitor, at: float) -> str:
    """Sets up an authenticator app, and returns its URI."""
    uri = otpauth(start_enrolment(visitor))
    code = seconder.totp.code(uri, at)
    assert visitor.post("/authenticator/confirm", code=code).location == "/"
    return uri


def removable(visitor: Visitor) -> list[str]:
    """Returns the factors that the page has buttons to remove."""
    return re.findall(r'name="way" value="([^"]+)"', visitor.get("/").text)


def factors(site: Site) -> seconder.results.Factors:
    found = site.app.service().user_status(site.user.user_id).factors
    assert isinstance(found, seconder.results.Factors)
    return found


def test_a_phone_is_invited_where_phones_reach_the_service(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = site.logged_in()
    link, code = "https://login.example/-/approver/#ABCDEFGHJK", "ABCDE-FGHJK"
    invited = seconder.results.DeviceInvited(600, link, code, "data:image/svg+xml;base64,AA==")
    replace(site, monkeypatch, invite_device=lambda user_id: invited)
    page = visitor.post("/device")
    assert page.status == 200 and code in page.text
    assert f'href="{link}"' in page.text and f'src="{invited.qr_code}"' in page.text
    assert code not in str(visitor.session()) and factors(site).devices == ()


def test_a_code_by_sms_does_not_confirm_an_authenticator_app(site: Site) -> None:
    site.app.accounts.add_device(site.app.accounts.get(site.user.name))
    visitor = site.after_password()
    uuid, number = start_approval(site, visitor)
    visitor.post("/demo/phone", uuid=uuid, answer="approve", number=number)
    assert visitor.post("/second/push/finish").location == "/" and visitor.is_in()
    other = site.after_password()
    assert other.post("/second/sms").location == "/second/code"
    start_enrolment(visitor)
    code = site.sms()
    page = visitor.post("/authenticator/confirm", code=code)
    assert page.status == 401 and "is wrong" in page.text
    assert [app.confirmed for app in factors(site).authenticators] == [False]
    assert "Not confirmed yet" in visitor.get("/").text
    assert other.post("/second/code", code=code).location == "/", "the code was not used up"


def test_a_code_of_the_earlier_app_does_not_confirm_a_new_one(site: Site) -> None:
    visitor, now = site.logged_in(), time.time()
    earlier = add_app(visitor, now)
    uri = otpauth(start_enrolment(visitor))
    page = visitor.post("/authenticator/confirm", code=seconder.totp.code(earlier, now + 30))
    assert page.status == 401 and otpauth(page.text) == uri
    assert [app.confirmed for app in factors(site).authenticators] == [True, False]
    assert visitor.post("/authenticator/confirm", code=seconder.totp.code(uri, now)).location == "/"
    assert [app.confirmed for app in factors(site).authenticators] == [True]
    other = site.after_password()
    assert other.post("/second/code", code=seconder.totp.code(earlier, now + 30)).status == 401
    assert other.post("/second/code", code=seconder.totp.code(uri, now + 30)).location == "/"


def test_an_app_that_was_confirmed_in_another_window_is_no_error(site: Site) -> None:
    visitor = site.logged_in()
    uri = otpauth(start_enrolment(visitor))
    code = seconder.totp.code(uri, time.time())
    site.app.service().confirm_authenticator(site.user.user_id, code)
    assert visitor.post("/authenticator/confirm", code=code).location == "/"
    assert visitor.get("/authenticator").location == "/", "the key is not shown any longer"


def test_the_page_lists_the_factors_and_removes_them(site: Site) -> None:
    visitor = site.logged_in()
    text = visitor.get("/").text
    assert f"XXX-XXX-{site.user.name.removeprefix('user')}" in text and "0 left" in text
    assert removable(visitor) == []
    uri = add_app(visitor, time.time())
    visitor.post("/device")
    start_enrolment(visitor)
    confirmed, pending, device = removable(visitor)
    text = visitor.get("/").text
    assert text.count("Since ") == 2 and text.count("Not confirmed yet") == 1
    assert "Android phone" in text
    assert visitor.post("/remove", way=pending).location == "/"
    assert visitor.get("/authenticator").location == "/", "its key is not shown any longer"
    assert removable(visitor) == [confirmed, device]
    visitor.post("/remove", way=confirmed)
    visitor.post("/remove", way=device)
    assert removable(visitor) == [] and factors(site).sms
    assert site.app.accounts.get(site.user.name).device is None
    # The removed factor can no longer be used to log in.
    other = site.after_password()
    text = other.get("/second").text
    assert "Ask my phone" not in text and "authenticator app" not in text
    code = seconder.totp.code(uri, time.time() + 30)
    assert other.post("/second/code", code=code).status == 401
    # A second press of a button is no error.
    assert visitor.post("/remove", way=device).location == "/"


def test_the_factor_of_another_user_cannot_be_removed(site: Site) -> None:
    victim = site.logged_in()
    add_app(victim, time.time())
    victim.post("/device")
    listed = removable(victim)
    site.user = site.add_user()
    thief = site.logged_in()
    for way in [*listed, "app x", "device x", "", "device 99999"]:
        assert thief.post("/remove", way=way).location == "/"
    assert removable(victim) == listed


def test_the_last_way_to_log_in_is_not_removed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a number to which no code can be sent."""
    visitor = site.logged_in()
    visitor.post("/device")
    add_app(visitor, time.time())
    visitor.post("/recovery")
    app, device = removable(visitor)
    real = site.app.service()

    def status(user_id: int) -> seconder.results.UserStatus:
        found = real.user_status(user_id).factors
        shown = seconder.results.Factors(
            authenticators=found.authenticators,
            devices=found.devices,
            recovery_codes=found.recovery_codes,
        )
        return seconder.results.UserStatus(user_id=user_id, factors=shown)

    replace(site, monkeypatch, user_status=status)
    text = site.after_password().get("/second").text
    assert "Text me a code" not in text and "Ask my phone" in text
    assert visitor.post("/remove", way=app).location == "/"
    page = visitor.post("/remove", way=device)
    assert page.status == 409 and "only way to log in" in page.text
    assert removable(visitor) == [device]


def test_recovery_codes_are_shown_once_and_let_in_once(site: Site) -> None:
    visitor = site.logged_in()
    assert "recovery code" not in site.after_password().get("/second").text
    page = visitor.post("/recovery")
    codes = re.findall(r"<code>(\d{4} \d{4} \d{4})</code>", page.text)
    headers = {name.lower(): value for name, value in page.headers.items()}
    assert page.status == 200 and len(set(codes)) == 10
    assert headers["cache-control"] == "no-store"
    text = visitor.get("/").text
    assert "10 left" in text and not any(code in text for code in codes)
    assert codes[0] not in str(visitor.session())
    assert visitor.send("GET", "/recovery", None).status in (404, 405)
    other = site.after_password()
    assert "Use a recovery code" in other.get("/second").text
    assert other.post("/second/code", code=codes[0]).location == "/" and other.is_in()
    assert "9 left" in other.get("/").text
    assert site.after_password().post("/second/code", code=codes[0]).status == 401
    visitor.post("/recovery")
    again = site.after_password()
    again.get("/second/code")
    assert again.post("/second/code", code=codes[1]).status == 401, "new ones take their place"


def remembered(site: Site, visitor: Visitor | None = None) -> Visitor:
    """A visitor who has logged in, had the browser remembered, and logged out."""
    visitor = visitor or site.after_password()
    visitor.post("/second/sms")
    page = visitor.post("/second/code", code=site.sms(), remember="yes")
    assert page.location == "/" and cookie(page)
    visitor.get("/")
    visitor.post("/logout")
    return visitor


def cookie(page: Page) -> str:
    """The cookie of a remembered browser that a page sets, without the other cookies."""
    others = r"Set-Cookie:|\b(?:session|sessionid|csrftoken)="
    found = re.search(rf"(?:__Host-)?browser=.*?(?=$|{others})", page.cookies, re.DOTALL)
    return found[0] if found else ""


def password(visitor: Visitor, user: User) -> str:
    """Types the password, and returns where that leads."""
    visitor.get("/login")
    return visitor.post("/login", name=user.name, password="pass word").location


def test_no_browser_is_remembered_by_default(site: Site) -> None:
    visitor = site.after_password()
    assert f"{BOX}>" in visitor.get("/second/code").text
    visitor.post("/second/sms")
    page = visitor.post("/second/code", code="12", remember="yes")
    assert f"{BOX} checked>" in page.text and not cookie(page), "a wrong code remembers nothing"
    page = visitor.post("/second/code", code=site.sms())
    assert page.location == "/" and not cookie(page)
    visitor.get("/")
    visitor.post("/logout")
    assert password(visitor, site.user) == "/second"


def test_a_remembered_browser_needs_the_password_alone(site: Site) -> None:
    visitor = site.after_password()
    visitor.post("/second/sms")
    page = visitor.post("/second/code", code=site.sms(), remember="yes")
    set_cookie = cookie(page).lower()
    for attribute in ("httponly", "samesite=lax", "path=/", "expires="):
        assert attribute in set_cookie
    assert "domain" not in set_cookie and "secure" not in set_cookie, "the tests speak HTTP"
    visitor.get("/")
    visitor.post("/logout")
    assert visitor.get("/").location == "/login", "the cookie takes no password's place"
    visitor.get("/login")
    wrong = visitor.post("/login", name=site.user.name, password="wrong")
    assert wrong.status == 401 and not visitor.is_in()
    assert password(visitor, site.user) == "/" and visitor.is_in()
    assert "You will be asked for a code" in visitor.get("/").text


def test_a_remembered_browser_changes_nothing_without_a_code(site: Site) -> None:
    visitor, now = site.logged_in(), time.time()
    visitor.post("/device")
    uri = add_app(visitor, now)
    before = factors(site)
    ways = removable(visitor)
    visitor.get("/")
    visitor.post("/logout")
    other = site.after_password()
    page = other.post("/second/code", code=seconder.totp.code(uri, now + 30), remember="yes")
    assert page.location == "/" and "You will be asked for a code" not in other.get("/").text
    other.post("/logout")
    for path in CHANGES:
        assert password(other, site.user) == "/"
        other.get("/")
        page = other.post(path, way=ways[0], code="123456")
        assert page.location == "/second", path
        assert other.is_in(), "the user is still logged in"
    assert other.get("/authenticator").location == "/second"
    assert factors(site) == before
    # The second factor opens them.
    uuid, number = start_approval(site, other)
    other.post("/demo/phone", uuid=uuid, answer="approve", number=number)
    other.get("/second/push")
    assert other.post("/second/push/finish").location == "/"
    assert "You will be asked for a code" not in other.get("/").text
    assert other.post("/remove", way=ways[0]).location == "/"
    assert removable(other) == ways[1:]


def test_the_cookie_of_another_user_is_of_no_use(site: Site) -> None:
    visitor = remembered(site)
    other = site.add_user()
    assert password(visitor, other) == "/second" and not visitor.is_in()
    assert password(visitor, site.user) == "/", "nor does that end it for the right one"


def test_a_browser_is_not_recognised_after_it_is_forgotten(site: Site) -> None:
    visitor = remembered(site)
    assert password(visitor, site.user) == "/"
    visitor.get("/")
    # This is the one change that needs no code.
    assert visitor.post("/browsers/forget").location == "/" and visitor.is_in()
    visitor.post("/logout")
    assert password(visitor, site.user) == "/second"


def test_another_app_in_place_of_the_first_ends_it_too(site: Site) -> None:
    visitor, now = site.logged_in(), time.time()
    first = add_app(visitor, now)
    browser = site.after_password()
    page = browser.post("/second/code", code=seconder.totp.code(first, now + 30), remember="yes")
    assert page.location == "/"
    browser.get("/")
    browser.post("/logout")
    start_enrolment(visitor)
    assert password(browser, site.user) == "/", "the new app is not confirmed yet"
    add_app(visitor, now)
    browser.get("/")
    browser.post("/logout")
    assert password(browser, site.user) == "/second"


def test_over_https_the_cookie_is_for_this_host_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As the application sets them for such an URL, which another test checks.
    monkeypatch.setattr(site.app, "SECURE", True)
    monkeypatch.setattr(site.app, "BROWSER", "__Host-browser")
    visitor = site.after_password()
    visitor.post("/second/sms")
    set_cookie = cookie(visitor.post("/second/code", code=site.sms(), remember="yes")).lower()
    assert set_cookie.startswith("__host-browser=")
    assert "secure" in set_cookie and "path=/;" in set_cookie + ";" and "domain" not in set_cookie

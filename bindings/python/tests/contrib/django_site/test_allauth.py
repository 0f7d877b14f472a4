"""django-allauth with the adapter: its real pages, from the password to the code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.account.authentication import get_authentication_records
from allauth.account.models import EmailAddress
from allauth.core import context as allauth_context
from allauth.mfa import signals
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.cache import cache
from django.test import Client

import seconder
from contrib.django_site.conftest import Person
from seconder.contrib.django import accounts, service
from seconder.contrib.django.allauth.adapter import MARK, SeconderMFAAdapter
from seconder.testing import Sandbox

LOGIN, CODE, HOME = "/accounts/login/", "/accounts/2fa/authenticate/", "/home/"
ACTIVATE, DEACTIVATE = "/accounts/2fa/totp/activate/", "/accounts/2fa/totp/deactivate/"


@pytest.fixture(autouse=True)
def no_counts() -> None:
    """allauth counts tries in the cache."""
    cache.clear()


def password(person: Person, client: Client | None = None) -> Any:
    fields = {"login": person.user.username, "password": "password"}
    return (client or person.client).post(LOGIN, fields)


def activate(ada: Person, sandbox: Sandbox) -> None:
    """Adds an app, on allauth's page."""
    password(ada)
    ada.client.post(CODE, {"code": ada.code()})
    reauthenticate(ada)
    page = ada.client.get(ACTIVATE)
    code = seconder.totp.code(uri(page), at=sandbox.now.timestamp())
    done = ada.client.post(ACTIVATE, {"code": code})
    assert done.status_code == 302, done.content.decode()
    # The app shows the next code.
    sandbox.advance(30)


def uri(page: Any) -> str:
    found: str = page.context["totp_url"]
    return found


def reauthenticate(ada: Person) -> None:
    done = ada.client.post("/accounts/2fa/reauthenticate/", {"code": ada.code()})
    assert done["Location"] == HOME


def test_a_code_by_sms_follows_the_password(ada: Person, sandbox: Sandbox) -> None:
    assert password(ada)["Location"] == CODE
    assert ada.client.get("/secret/")["Location"].startswith(LOGIN)
    page = ada.client.get(CODE)
    assert "Text me a code" in page.content.decode()
    sandbox.advance(31)
    page = ada.client.post(CODE, {"code": "", "send": "sms"})
    assert page.status_code == 200 and page.context["user"].is_anonymous
    assert "The code goes to +1-XXX-XXX-XX" in " ".join(map(str, page.context["messages"]))
    page = ada.client.post(CODE, {"code": "0000000"})
    assert page.context["form"].errors == {"code": ["Incorrect code."]}
    done = ada.client.post(CODE, {"code": sandbox.code(ada.user_id)})
    assert done["Location"] == HOME
    records = get_authentication_records(done.wsgi_request, ada.user)
    assert [each["method"] for each in records] == ["password", "mfa"]
    # The other adapters see it.
    assert ada.client.get("/secret/").content == b"secret"
    assert ada.client.get("/transfer/").status_code == 200
    # A phone alone is no app in allauth's table.
    assert not Authenticator.objects.exists()


@pytest.mark.parametrize("typed", [None, "right"])
def test_a_login_that_waits_ends_with_its_password(
    ada: Person, sandbox: Sandbox, typed: str | None
) -> None:
    password(ada)
    ada.user.set_password("another")
    ada.user.save()
    page = ada.client.post(CODE, {"code": ada.code()}) if typed else ada.client.get(CODE)
    assert page["Location"] == LOGIN
    # The right code is of no use either.
    assert ada.client.post(CODE, {"code": sandbox.code(ada.user_id) if typed else ada.code()})["Location"] == LOGIN
    assert ada.client.get("/secret/")["Location"].startswith(LOGIN)
    fields = {"login": "ada", "password": "another"}
    assert ada.client.post(LOGIN, fields)["Location"] == CODE
    assert ada.client.post(CODE, {"code": ada.code()})["Location"] == HOME


def test_a_second_password_uses_the_code_that_was_sent(ada: Person, sandbox: Sandbox) -> None:
    sandbox.advance(31)
    for _ in range(2):
        assert password(ada)["Location"] == CODE
        page = ada.client.post(CODE, {"code": "", "send": "sms"})
        assert page.status_code == 200 and b'name="code"' in page.content
    assert ada.client.post(CODE, {"code": sandbox.code(ada.user_id)})["Location"] == HOME


def test_an_account_without_an_enrolment_logs_in_as_before(bob: Person) -> None:
    assert password(bob)["Location"] == HOME
    assert bob.client.get("/secret/").status_code == 302


def test_an_app_is_activated_and_used(ada: Person, sandbox: Sandbox) -> None:
    added, used = [], []

    def note_added(**rest: Any) -> None:
        added.append(rest["authenticator"].type)

    def note_used(**rest: Any) -> None:
        used.append(rest["authenticator"].type)

    signals.authenticator_added.connect(note_added)
    signals.authenticator_used.connect(note_used)
    activate(ada, sandbox)
    row = Authenticator.objects.get(type="totp")
    assert row.data == {"secret": MARK}
    client = Client()
    password(ada, client)
    app = sandbox.authenticator_code(ada.user_id)
    assert client.post(CODE, {"code": f"{app[:3]} {app[3:]}"})["Location"] == HOME
    row.refresh_from_db()
    # In the login, again before the change, and in the second login.
    assert row.last_used_at is not None and used == ["totp"] * 3
    # A code works once.
    client = Client()
    password(ada, client)
    assert client.post(CODE, {"code": app}).status_code == 200


def test_the_key_stays_the_same_after_a_mistyped_code(ada: Person, sandbox: Sandbox) -> None:
    password(ada)
    ada.client.post(CODE, {"code": ada.code()})
    reauthenticate(ada)
    shown = uri(ada.client.get(ACTIVATE))
    assert shown.startswith("otpauth://totp/Sandbox:ada%40example.com")
    page = ada.client.post(ACTIVATE, {"code": "000000"})
    assert page.context["form"].errors == {"code": ["Incorrect code."]} and uri(page) == shown
    # A code by SMS does not show that the app was scanned.
    page = ada.client.post(ACTIVATE, {"code": ada.code()})
    assert page.status_code == 200 and not Authenticator.objects.exists()
    secret = seconder.totp.code(shown, at=sandbox.now.timestamp())
    assert ada.client.post(ACTIVATE, {"code": secret}).status_code == 302
    assert not [key for key in ada.client.session.keys() if "uri" in key]


@pytest.mark.django_db(transaction=True)
def test_an_app_is_deactivated_at_the_service_too(ada: Person, sandbox: Sandbox) -> None:
    activate(ada, sandbox)
    with sandbox.failing("timeout"):
        assert ada.client.post(DEACTIVATE).status_code == 503
    assert Authenticator.objects.filter(type="totp").exists()
    assert ada.client.post(DEACTIVATE).status_code == 302
    assert not Authenticator.objects.exists()
    found = accounts.enrolment(ada.user)
    assert found is not None
    listed = accounts.factors(found)
    assert listed is not None and listed.authenticators == ()
    # The phone is left.
    client = Client()
    assert password(ada, client)["Location"] == CODE


def test_a_deleted_account_needs_no_service(ada: Person, sandbox: Sandbox) -> None:
    activate(ada, sandbox)
    with sandbox.failing("timeout"):
        ada.user.delete()
    assert not Authenticator.objects.exists()


def test_allauth_itself_accepts_nothing_for_an_app_of_the_service(
    ada: Person, sandbox: Sandbox
) -> None:
    """For example, where a form of allauth is used instead of ours."""
    activate(ada, sandbox)
    row = Authenticator.objects.get(type="totp")
    for code in ("000000", sandbox.authenticator_code(ada.user_id)):
        with pytest.raises(ValueError):
            row.wrap().validate_code(code)


def test_recovery_codes_of_both_are_accepted(ada: Person, sandbox: Sandbox) -> None:
    activate(ada, sandbox)
    own = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()[0]
    for code in (own, service().create_recovery_codes(ada.user_id).codes[0]):
        for location in (HOME, None):
            client = Client()
            password(ada, client)
            assert client.post(CODE, {"code": code}).headers.get("Location") == location


def test_an_app_of_allauth_keeps_working(bob: Person) -> None:
    secret = generate_totp_secret()
    totp, key = TOTP.activate(bob.user, secret).instance, f"otpauth://totp/x?secret={secret}"
    assert password(bob)["Location"] == CODE
    assert "Text me a code" not in bob.client.get(CODE).content.decode()
    assert bob.client.post(CODE, {"code": "", "send": "sms"}).status_code == 200
    assert bob.client.post(CODE, {"code": seconder.totp.code(key)})["Location"] == HOME
    cache.clear()
    bob.enrol()
    client = Client()
    password(bob, client)
    assert client.post(CODE, {"code": seconder.totp.code(key)})["Location"] == HOME
    assert totp.pk == Authenticator.objects.get().pk


def test_the_limits_have_allauths_message(ada: Person, sandbox: Sandbox, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = False
    ada.code()
    password(ada)
    for _ in range(4):
        ada.client.post(CODE, {"code": "0000000"})
    page = ada.client.post(CODE, {"code": "0000000"})
    errors = page.context["form"].errors["code"]
    assert errors == ["Too many failed login attempts. Try again later."]
    sandbox.advance(31)
    ada.client.post(CODE, {"code": "", "send": "sms"})
    page = ada.client.post(CODE, {"code": "", "send": "sms"})
    assert "Try again in 30 seconds." in str(page.context["form"].non_field_errors())


@pytest.mark.parametrize("fault", ["timeout", "lost", "unauthorized", "invalid_response"])
def test_no_fault_lets_anyone_in(ada: Person, sandbox: Sandbox, fault: Any) -> None:
    code = ada.code()
    password(ada)
    with sandbox.failing(fault):
        page = ada.client.post(CODE, {"code": code})
        assert "cannot be checked now" in str(page.context["form"].errors)
        page = ada.client.post(CODE, {"code": "", "send": "sms"})
        assert "cannot be checked now" in str(page.context["form"].errors)
    assert ada.client.get("/secret/").status_code == 302


def test_a_change_of_the_account_asks_again(ada: Person, sandbox: Sandbox) -> None:
    activate(ada, sandbox)
    client = Client()
    password(ada, client)
    client.post(CODE, {"code": sandbox.authenticator_code(ada.user_id)})
    url = "/accounts/2fa/reauthenticate/"
    page = client.get(url, {"next": ACTIVATE})
    assert "Text me a code" in page.content.decode()
    sandbox.advance(31)
    assert client.post(url, {"code": "", "send": "sms", "next": HOME}).status_code == 200
    assert client.post(url, {"code": "0000000", "next": HOME}).status_code == 200
    done = client.post(url, {"code": sandbox.code(ada.user_id), "next": HOME})
    assert done["Location"] == HOME


def test_the_pages_of_allauth_can_be_shown(ada: Person, sandbox: Sandbox) -> None:
    activate(ada, sandbox)
    page = ada.client.get("/accounts/2fa/").content.decode()
    assert re.search("app is active", page)
    EmailAddress.objects.create(user=ada.user, email="ada@example.com", verified=True)
    assert SeconderMFAAdapter().is_mfa_enabled(ada.user)


def test_an_app_goes_with_the_enrolment(ada: Person, sandbox: Sandbox) -> None:
    activate(ada, sandbox)
    accounts.remove(ada.user)
    assert not Authenticator.objects.exists()
    assert password(ada, Client())["Location"] == HOME


@pytest.mark.parametrize("factor", ["phone", "app"])
def test_a_session_does_not_outlive_the_enrolment(
    ada: Person, sandbox: Sandbox, factor: str
) -> None:
    if factor == "app":
        activate(ada, sandbox)
        ada.client.logout()
        password(ada)
        ada.client.post(CODE, {"code": sandbox.authenticator_code(ada.user_id)})
    else:
        password(ada)
        ada.client.post(CODE, {"code": ada.code()})
    assert ada.client.get("/secret/").content == b"secret"
    assert ada.client.get("/transfer/").status_code == 200
    accounts.remove(ada.user)
    assert ada.client.get("/home/").status_code == 200
    assert ada.client.get("/secret/").status_code == 302
    # Nor does it count for the next one.
    ada.enrol()
    for page in ("/secret/", "/transfer/"):
        assert ada.client.get(page).status_code == 302


def test_a_session_does_not_outlive_an_app_of_allauth(bob: Person) -> None:
    secret = generate_totp_secret()
    totp = TOTP.activate(bob.user, secret).instance
    password(bob)
    code = seconder.totp.code(f"otpauth://totp/x?secret={secret}")
    assert bob.client.post(CODE, {"code": code})["Location"] == HOME
    assert bob.client.get("/secret/").content == b"secret"
    totp.delete()
    assert bob.client.get("/secret/").status_code == 302


def test_an_app_without_an_enrolment_accepts_nothing(ada: Person, sandbox: Sandbox) -> None:
    """As after a restored backup."""
    activate(ada, sandbox)
    codes = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
    accounts.remove(ada.user)
    Authenticator.objects.create(user=ada.user, type="totp", data={"secret": MARK})
    client = Client()
    assert password(ada, client)["Location"] == CODE
    for code in ("000000", "letters", codes[0]):
        page = client.post(CODE, {"code": code})
        assert page.context["form"].errors == {"code": ["Incorrect code."]}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["timeout", "rate_limited", "unauthorized", "invalid_response"])
def test_the_page_of_the_app_says_that_the_service_is_down(
    ada: Person, sandbox: Sandbox, fault: Any
) -> None:
    password(ada)
    ada.client.post(CODE, {"code": ada.code()})
    reauthenticate(ada)
    with sandbox.failing(fault, retry_after=7):
        pages = [ada.client.get(ACTIVATE), ada.client.post(ACTIVATE, {"code": "000000"})]
    Authenticator.objects.create(user=ada.user, type="totp", data={"secret": MARK})
    with sandbox.failing(fault, retry_after=7):
        pages.append(ada.client.post(DEACTIVATE))
    for page in pages:
        limited = (page.status_code, page.headers.get("Retry-After")) == (429, "7")
        assert limited if fault == "rate_limited" else page.status_code == 503
        assert "again" in page.content.decode()
    assert Authenticator.objects.exists()
    row = Authenticator.objects.get()
    with allauth_context.request_context(None), sandbox.failing("timeout"):
        with pytest.raises(seconder.Unavailable):
            row.delete()


def test_an_account_without_a_password_is_asked_for_a_code_again(
    ada: Person, sandbox: Sandbox
) -> None:
    ada.user.set_unusable_password()
    ada.user.save()
    ada.log_in()
    asked = ada.client.get(ACTIVATE)
    assert asked["Location"].startswith("/accounts/2fa/reauthenticate/?next=")
    url = "/accounts/2fa/reauthenticate/"
    assert ada.client.post(url, {"code": "0000000"}).status_code == 200
    assert ada.client.get(ACTIVATE).status_code == 302
    assert ada.client.post(url, {"code": ada.code(), "next": HOME})["Location"] == HOME
    assert ada.client.get(ACTIVATE).status_code == 200


def test_the_password_alone_changes_no_factor(ada: Person) -> None:
    """Of an enrolled account, in a session that has passed both factors before."""
    password(ada)
    ada.client.post(CODE, {"code": ada.code()})
    by_code = "/accounts/2fa/reauthenticate/"
    assert ada.client.get(ACTIVATE)["Location"].startswith(f"{by_code}?next=")
    done = ada.client.post("/accounts/reauthenticate/", {"password": "password"})
    assert done["Location"] == by_code
    assert ada.client.get(ACTIVATE).status_code == 302
    reauthenticate(ada)
    assert ada.client.get(ACTIVATE).status_code == 200


def test_an_account_without_an_enrolment_is_asked_for_the_password(bob: Person) -> None:
    password(bob)
    assert bob.client.get(ACTIVATE)["Location"].startswith("/accounts/reauthenticate/?next=")

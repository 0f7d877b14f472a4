"""The admin, and the commands of manage.py."""

from __future__ import annotations

import io
import time
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command, load_command_class
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

import seconder
from contrib.django_site.conftest import Person
from seconder.contrib.django import accounts, service
from seconder.contrib.django.models import Decision, Enrolment
from seconder.testing import Sandbox

LIST = "/admin/seconder/enrolment/"
DECISIONS = "/admin/seconder/decision/"


def act(person: Person, action: str) -> Any:
    chosen = list(Enrolment.objects.values_list("pk", flat=True))
    return person.client.post(LIST, {"action": action, "_selected_action": chosen}, follow=True)


def add_factors(ada: Person, sandbox: Sandbox) -> None:
    service().enrol_authenticator(ada.user_id)
    accounts.confirm_authenticator(ada.user, sandbox.authenticator_code(ada.user_id))
    sandbox.add_device(ada.user_id)


def test_the_admin_shows_the_factors(ada: Person, sandbox: Sandbox) -> None:
    add_factors(ada, sandbox)
    ada.log_in_fully()
    url = f"{LIST}{Enrolment.objects.get().pk}/change/"
    page = ada.client.get(url).content.decode()
    assert "codes by SMS" in page and "confirmed" in page and "recovery codes left: 0" in page
    with sandbox.failing("timeout"):
        assert "not known" in ada.client.get(url).content.decode()
    assert ada.client.get(f"{LIST}add/").status_code == 403
    assert ada.client.get(LIST, {"q": "ad"}).status_code == 200


def test_the_admin_removes_factors_and_logs_it(ada: Person, sandbox: Sandbox) -> None:
    add_factors(ada, sandbox)
    ada.log_in_fully()
    with sandbox.failing("timeout"):
        act(ada, "remove_authenticators")
    assert not LogEntry.objects.exists()
    assert "1 was removed." in act(ada, "remove_authenticators").content.decode()
    act(ada, "remove_devices")
    found = accounts.enrolment(ada.user)
    assert found is not None
    listed = accounts.factors(found)
    assert listed is not None and listed.authenticators == () and listed.devices == ()
    logged = LogEntry.objects.order_by("pk").values_list("user_id", "change_message")
    assert list(logged) == [
        (ada.user.pk, "Removed 1 authenticator apps at the service."),
        (ada.user.pk, "Removed 1 devices at the service."),
    ]


PASSWORD = {"username": "ada", "password": "password"}


def test_the_admin_asks_enrolled_accounts_for_a_code(ada: Person, bob: Person) -> None:
    ada.log_in()
    page = ada.client.get("/admin/auth/")
    assert page["Location"] == "/admin/login/?next=/admin/auth/"
    page = ada.client.get(page["Location"])
    assert page["Location"] == "/accounts/2fa/reauthenticate/?next=/admin/auth/"
    for url in ("/admin/", LIST, "/admin/password_change/"):
        assert ada.client.get(url).status_code == 302
    assert ada.client.post(page["Location"], {"code": "0000000"}).status_code == 200
    assert ada.client.get("/admin/").status_code == 302
    assert ada.client.post(page["Location"], {"code": ada.code()})["Location"] == "/admin/auth/"
    assert ada.client.get("/admin/auth/").status_code == 200
    # Nothing is asked of accounts without a second factor.
    bob.user.is_staff = True
    bob.user.save()
    bob.log_in()
    assert bob.client.get("/admin/").status_code == 200


def test_the_password_alone_makes_no_session_at_the_admins_login_page(
    ada: Person, bob: Person
) -> None:
    url = "/admin/login/?next=/admin/auth/"
    to_allauth = "/accounts/login/?next=/admin/auth/"
    assert ada.client.get(url)["Location"] == to_allauth
    assert ada.client.post(url, PASSWORD)["Location"] == to_allauth
    in_form = ada.client.post("/admin/login/", {**PASSWORD, "next": "/admin/auth/"})
    assert in_form["Location"] == to_allauth
    assert ada.client.get("/admin/login/")["Location"] == "/accounts/login/?next=/admin/"
    for opened in ("/member/", "/accounts/email/"):
        assert ada.client.get(opened)["Location"].startswith("/accounts/login/"), opened
    page = ada.client.post(to_allauth, {"login": "ada", "password": "password"})
    assert ada.client.get("/member/").status_code == 302
    page = ada.client.post(page["Location"], {"code": ada.code()})
    assert page["Location"] == "/admin/auth/"
    assert ada.client.get("/admin/auth/").status_code == 200
    assert ada.client.get("/member/").status_code == 200
    assert ada.client.post(url, PASSWORD)["Location"] == "/admin/"
    # Nor does the page change the account of a session.
    bob.log_in()
    assert bob.client.post(url, PASSWORD).status_code == 403
    assert bob.client.session["_auth_user_id"] == str(bob.user.pk)


def test_an_account_that_owes_a_code_can_log_out(ada: Person) -> None:
    ada.log_in()
    assert ada.client.get("/admin/").status_code == 302
    assert ada.client.post("/admin/logout/").status_code == 200
    assert ada.client.get("/member/").status_code == 302


def test_without_allauth_the_admin_leads_to_the_page_for_a_code(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seconder.contrib.django._admin_login.ALLAUTH", "not.installed")
    ada.client.post("/admin/login/?next=/admin/auth/", PASSWORD)
    # As at Django's other login pages.
    assert ada.client.get("/member/").status_code == 200
    assert ada.client.get("/secret/").status_code == 302
    assert ada.client.get("/admin/").status_code == 302
    url = ada.client.get("/admin/login/?next=/admin/auth/")["Location"]
    assert url == "/second-factor/?next=/admin/auth/"
    ada.client.post(url, {"code": ada.code()})
    assert ada.client.get("/admin/").status_code == 200


def test_removing_needs_the_permission(ada: Person, bob: Person, sandbox: Sandbox) -> None:
    add_factors(ada, sandbox)
    bob.user.is_staff = True
    bob.user.save()
    bob.user.user_permissions.add(Permission.objects.get(codename="view_enrolment"))
    bob.log_in()
    assert bob.client.get(LIST).status_code == 200
    act(bob, "remove_authenticators")
    found = accounts.enrolment(ada.user)
    assert found is not None
    listed = accounts.factors(found)
    assert listed is not None and len(listed.authenticators) == 1
    assert bob.client.get(DECISIONS).status_code == 403


def test_decisions_are_shown_and_not_changed(ada: Person) -> None:
    accounts.verify(ada.user, ada.code())
    ada.log_in_fully()
    page = ada.client.get(DECISIONS)
    assert page.status_code == 200 and "whether a code is right" in page.content.decode()
    one = f"{DECISIONS}{Decision.objects.earliest('pk').pk}"
    assert ada.client.get(f"{one}/change/").status_code == 200
    assert ada.client.post(f"{one}/change/", {"verdict": "rejected"}).status_code == 403
    assert ada.client.post(f"{one}/delete/", {"post": "yes"}).status_code == 403
    ada.client.post(
        DECISIONS, {"action": "delete_selected", "_selected_action": [1, 2], "post": "yes"}
    )
    assert Decision.objects.filter(verdict="accepted").count() == 2


def run(command: str, *arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out, **options)
    return out.getvalue()


def test_seconder_check_says_what_is_wrong(sandbox: Sandbox, db: None) -> None:
    assert run("seconder_check") == "The service of Sandbox can be reached, 0 users.\n"
    faults: list[tuple[Any, str]] = [
        ("timeout", "cannot be reached"),
        ("unauthorized", "API_KEY"),
        ("invalid_response", "InvalidResponse"),
    ]
    for fault, text in faults:
        with sandbox.failing(fault), pytest.raises(CommandError, match=text):
            run("seconder_check")
    with override_settings(SECONDER={"URI": "sandbox:"}):
        with pytest.raises(CommandError, match="'URI'.* nearest name is 'URL'"):
            run("seconder_check")


def test_seconder_check_lists_and_repairs_what_an_enrolment_left(
    ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = service().create_user("eve@example.com", "555-010-0177", 1, new_only=True).user_id
    used = service().create_user("eve@example.com", "555-010-0178", 1, new_only=True).user_id
    service().request_sms(used)
    service().verify(used, ada.sandbox.code(used))
    Enrolment.objects.create(account=bob.user, user_id=999)
    text = run("seconder_check", "--repair", "--no-input")
    assert f"The user {orphan} (+1-XXX-XXX-XX77, " in text and "but is new" in text
    assert "'bob' has the id 999, which the service does not have" in text
    assert f"The user {ada.user_id}" not in text
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 3601)
    assert "its number cannot be enrolled" in run("seconder_check")
    assert service().admin.app_stats().total_users == 3
    questions: list[str] = []

    def answer(question: str) -> str:
        questions.append(question)
        return "n" if len(questions) == 1 else "y"

    monkeypatch.setattr("builtins.input", answer)
    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("seconder_check", "--repair")
    assert service().admin.app_stats().total_users == 3
    text = run("seconder_check", "--repair")
    assert questions == [f"Delete the users {orphan} at the service? [y/N] "] * 2
    assert f"The user {orphan} was deleted." in text
    assert f"The user {used} (" in text and "has used a code" in text
    assert service().admin.app_stats().total_users == 2
    assert service().create_user("eve@example.com", "555-010-0177", 1, new_only=True).created


def test_seconder_check_deletes_no_users_of_others(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = service()
    users = [own.create_user("e@example.com", f"555-010-018{n}", 1).user_id for n in range(4)]
    own.machines.set_login(users[0], "eve")
    own.enrol_authenticator(users[1])
    own.register_device(users[2], "ios")
    own.create_recovery_codes(users[3])
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 3601)
    text = run("seconder_check", "--repair", "--no-input")
    assert "has the login name 'eve'" in text
    assert text.count("has an app, a phone or recovery codes") == 3 and "deleted" not in text
    assert own.admin.app_stats().total_users == 5


def test_seconder_factors_lists_and_removes(ada: Person, bob: Person, sandbox: Sandbox) -> None:
    add_factors(ada, sandbox)
    assert "- codes by SMS" in run("seconder_factors", "ada")
    text = run("seconder_factors", "ada", "--remove-authenticators", "--remove-devices")
    assert "Apps removed: 1\nDevices removed: 1\n" in text and "- authenticator" not in text
    for name, message in (("bob", "has no second factor"), ("eve", "no account 'eve'")):
        with pytest.raises(CommandError, match=message):
            run("seconder_factors", name)
    with sandbox.failing("timeout"), pytest.raises(CommandError, match="Timeout"):
        run("seconder_factors", "ada")


def test_seconder_link_and_unlink(ada: Person, bob: Person, sandbox: Sandbox) -> None:
    other = service().create_user("bob@example.com", "555-010-0177", 1).user_id
    for name, user_id, message in (
        ("ada", other, "has a second factor already"),
        ("bob", ada.user_id, "belongs to another account"),
        ("bob", 999, "Rejected|UserNotFound"),
    ):
        with pytest.raises(CommandError, match=message):
            run("seconder_link", name, str(user_id))
    assert "XXX-XXX-0177" in run("seconder_link", "bob", str(other))
    run("seconder_unlink", "bob", "--keep-user")
    assert accounts.enrolment(bob.user) is None
    assert service().user_status(other).user_id == other
    with sandbox.failing("timeout"), pytest.raises(CommandError, match="Timeout"):
        run("seconder_unlink", "ada")
    assert "has no second factor" in run("seconder_unlink", "ada")
    assert service().admin.app_stats().total_users == 1


def test_seconder_prune_removes_old_decisions(ada: Person) -> None:
    accounts.verify(ada.user, ada.code())
    Decision.objects.filter(asked="code").update(at=timezone.now() - timedelta(days=91))
    assert run("seconder_prune") == "Decisions removed: 1\n"
    assert run("seconder_prune", "--days=0") == "Decisions removed: 1\n"
    for days in (-1, 10**9):
        with pytest.raises(CommandError):
            run("seconder_prune", days=days)


@pytest.mark.seconder(run_deliver=True)
def test_seconder_run_jobs_sends_again(
    sandbox: Sandbox, settings: Settings, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[seconder.outcomes.Outcome | None] = [
        seconder.Retry(),
        None,
        seconder.Retry(),
        None,
    ]
    settings.SECONDER = {"URL": "sqlite:app.db", "DELIVER": lambda message: outcomes.pop(0)}
    user = service().create_user("ada@example.com", "555-010-0123", 1).user_id
    service().request_sms(user)
    assert run("seconder_run_jobs") == "Sent: 0, to be sent again: 0, failed: 0\n"
    sandbox.advance(60)
    assert run("seconder_run_jobs", "--budget=9") == "Sent: 1, to be sent again: 0, failed: 0\n"
    service().request_sms(user)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        sandbox.advance(60)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        call_command("seconder_run_jobs", "--every=5", stdout=out)
    assert out.getvalue() == "Sent: 1, to be sent again: 0, failed: 0\n" and slept == [5.0] * 3
    for wrong in ("--every=0", "--budget=-1"):
        with pytest.raises(CommandError):
            run("seconder_run_jobs", wrong)


@pytest.mark.parametrize("name", ["check", "factors", "link", "unlink", "prune", "run_jobs"])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command_class("seconder.contrib.django", f"seconder_{name}")
    command.print_help("manage.py", f"seconder_{name}")
    text = " ".join(capsys.readouterr().out.split())
    assert command.help.split()[0] in text and command.help.endswith(".")


def test_an_enrolment_is_removed_with_its_user_alone(
    ada: Person, bob: Person, sandbox: Sandbox
) -> None:
    bob.user.is_staff = True
    bob.user.save()
    bob.user.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_enrolment", "change_enrolment"])
    )
    bob.log_in()
    act(bob, "remove_enrolments")
    ada.log_in_fully()
    url = f"{LIST}{Enrolment.objects.get().pk}/"
    assert "delete" not in ada.client.get(f"{url}change/").content.decode()
    assert ada.client.post(f"{url}delete/", {"post": "yes"}).status_code == 403
    act(ada, "delete_selected")
    with sandbox.failing("timeout"):
        act(ada, "remove_enrolments")
    assert Enrolment.objects.count() == 1 and not LogEntry.objects.exists()
    act(ada, "remove_enrolments")
    assert not Enrolment.objects.exists() and service().admin.app_stats().total_users == 0
    (entry,) = LogEntry.objects.all()
    assert entry.is_deletion() and entry.object_repr == f"ada ({ada.user_id})"


def test_a_deleted_account_is_deleted_at_the_service(
    ada: Person,
    bob: Person,
    sandbox: Sandbox,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Any,
) -> None:
    bob.enrol()
    with sandbox.failing("timeout"):
        with django_capture_on_commit_callbacks(execute=True):
            User.objects.filter(pk=bob.user.pk).delete()
    assert f"run seconder_unlink --user-id={bob.user_id}" in caplog.text
    with pytest.raises(CommandError, match="belongs to the account ada"):
        run("seconder_unlink", user_id=ada.user_id)
    for _ in range(2):
        assert "has no user" in run("seconder_unlink", f"--user-id={bob.user_id}")
    assert service().admin.app_stats().total_users == 1
    ada.log_in_fully()
    with django_capture_on_commit_callbacks(execute=True):
        page = ada.client.post(f"/admin/auth/user/{ada.user.pk}/delete/", {"post": "yes"})
    assert page.status_code == 302 and not Enrolment.objects.exists()
    assert service().admin.app_stats().total_users == 0

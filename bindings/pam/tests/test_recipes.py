"""The recipes of docs/pam.md for clients that ask once, and the configuration that it shows."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import recipes
from machine import PASSWORD, Machine
from service import Service
from terminal import Terminal

pytestmark = pytest.mark.private


@pytest.fixture(scope="module", autouse=True)
def dorothy(machine: Machine) -> int:
    return machine.add_user("dorothy")


def enter(service: str, *typed: str) -> Terminal:
    """Logs in where each question is answered by the next of these."""
    login = Terminal("pamtester", service, "dorothy", "authenticate", "acct_mgmt")
    for text in typed:
        login.expect(": $")
        login.type(text)
    login.wait()
    return login


def test_the_configuration(machine: Machine, service: Service) -> None:
    path = recipes.apply("/etc/seconder/pam.conf")
    text = path.read_text()
    assert "unix:/run/seconder/seconder.sock" in text
    assert "service_user = seconder\n" in text
    text = text.replace("/run/seconder/seconder.sock", str(service.socket))
    path.write_text(text.replace("service_user = seconder", "service_user = root"))
    users = recipes.apply("/etc/seconder/users")
    dorothy = service.add_user()
    users.write_text(re.sub(r"ada = \d+", f"dorothy = {dorothy.number}", users.read_text()))
    machine.only_the_module("code")
    with enter("code", dorothy.code()) as login:
        assert login.status == 0, login.shown


@pytest.mark.parametrize("stack", ["/etc/pam.d/one-field", "/etc/pam.d/radiusd"])
def test_password_and_code_in_one_field(machine: Machine, service: Service, stack: str) -> None:
    dorothy = service.add_user()
    machine.map_users({"dorothy": dorothy.number})
    name = recipes.apply(stack).name
    with enter(name, PASSWORD + dorothy.wrong()) as login:
        assert login.status == 1
        assert "user" not in login.shown
    with enter(name, "guess" + dorothy.code()) as login:
        assert login.status == 1
    with enter(name, PASSWORD + dorothy.code()) as login:
        assert login.status == 0, login.shown


@pytest.mark.parametrize("stack", ["/etc/pam.d/one-field", "/etc/pam.d/radiusd"])
def test_one_field_of_an_excepted_user(machine: Machine, service: Service, stack: str) -> None:
    name = recipes.apply(stack).name
    machine.map_users({})
    for keys in ({"except": "dorothy"}, {"unenrolled": "ignore"}):
        machine.configure(**service.keys, **keys)
        # RADIUS responds to every question with the same text.
        with Terminal("pamtester", name, "dorothy", "authenticate", "acct_mgmt") as login:
            answer_all(login, PASSWORD)
            assert login.wait() == 0, login.shown
        for typed in ("guess", "", "123456", PASSWORD + "123456"):
            with Terminal("pamtester", name, "dorothy", "authenticate", "acct_mgmt") as login:
                answer_all(login, typed)
                assert login.wait() == 1, login.shown


def answer_all(login: Terminal, text: str) -> None:
    """Types the same in response to each question."""
    while True:
        try:
            login.expect("[Pp]assword[^\n]*: $", patience=4)
        except AssertionError:
            return
        login.type(text)


@pytest.mark.parametrize("stack", ["/etc/pam.d/one-field", "/etc/pam.d/radiusd"])
def test_one_field_starts_no_approval(machine: Machine, service: Service, stack: str) -> None:
    """Nobody who lacks the password reaches the phone."""
    dorothy = service.add_user()
    machine.map_users({"dorothy": dorothy.number})
    service.add_device(dorothy.number)
    name = recipes.apply(stack).name
    for typed in ("1", "push", "guess1", ""):
        with Terminal("pamtester", name, "dorothy", "authenticate", "acct_mgmt") as login:
            login.expect(": $")
            login.type(typed)
            end = time.monotonic() + 10
            while login.status is None and time.monotonic() < end:
                login.silent_for(0.2)
                login._reap(1)
                if login.status is None and login.shown.rstrip(" ").endswith(":"):
                    login.type(typed)
            assert login.status == 1, login.shown
            assert "Approve" not in login.shown


def test_a_screen_locker_that_runs_as_its_user(machine: Machine, dorothy: int) -> None:
    recipes.apply("/etc/pam.d/locker")
    text = recipes.recipes()["/etc/pam.d/locker"]
    assert "pam_seconder" not in text
    with Terminal("pamtester", "locker", "dorothy", "authenticate", user=dorothy) as login:
        login.expect("Password: ")
        login.type(PASSWORD)
        assert login.wait() == 0, login.shown


def test_openvpn(machine: Machine, service: Service) -> None:
    """OpenVPN's plug-in recognises the questions by their beginnings."""
    dorothy = service.add_user()
    machine.map_users({"dorothy": dorothy.number})
    recipes.apply("/etc/pam.d/openvpn")
    with Terminal("pamtester", "openvpn", "dorothy", "authenticate", "acct_mgmt") as login:
        login.expect("^Password: $")
        login.type(PASSWORD)
        login.expect("\nCode: $")
        login.type(dorothy.code())
        assert login.wait() == 0, login.shown
    with enter("openvpn", PASSWORD, dorothy.wrong()) as login:
        assert login.status == 1
    with enter("openvpn", "guess") as login:
        assert login.status == 1


def test_the_table_of_decisions_is_that_of_the_manual() -> None:
    page = (recipes.PAGE.parents[1] / "man" / "pam_seconder.8").read_text()
    manual = dict(re.findall(r"^\.It Dv (PAM_\w+) Ta (.*)$", page, re.MULTILINE))
    rows = re.findall(r"^\| [^|]+ \| `(PAM_\w+)` \| ([^|]+) \|$", recipes.PAGE.read_text(), re.M)
    assert {name: text.replace(" `ignore`", "") for name, text in rows} == manual


def test_the_recipes_are_known() -> None:
    """A recipe that is new to the page needs a test."""
    tested = {
        title
        for file in Path(__file__).parent.glob("test_*.py")
        for title in recipes.recipes()
        if f'"{title}"' in file.read_text()
    }
    assert tested == set(recipes.recipes())

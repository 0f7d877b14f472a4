"""The recipes of docs/pam.md for clients that ask once, and the configuration that it shows."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import recipes
from machine import PASSWORD, SERVICE_USER, Machine
from service import PROGRAM, Service, User
from terminal import PATIENCE, Terminal

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
            login.expect("[Pp]assword[^\n]*: $")
        except AssertionError:
            return
        login.type(text)


@pytest.mark.parametrize("stack", ["/etc/pam.d/one-field", "/etc/pam.d/radiusd"])
def test_one_field_starts_no_approval(machine: Machine, service: Service, stack: str) -> None:
    """Without the password, the phone cannot be reached."""
    dorothy = service.add_user()
    machine.map_users({"dorothy": dorothy.number})
    service.add_device(dorothy.number)
    name = recipes.apply(stack).name
    for typed in ("1", "push", "guess1", ""):
        with Terminal("pamtester", name, "dorothy", "authenticate", "acct_mgmt") as login:
            login.expect(": $")
            login.type(typed)
            end = time.monotonic() + PATIENCE
            while login.status is None and time.monotonic() < end:
                login.silent_for(0.2)
                login._reap(1)
                if login.status is None and login.shown.rstrip(" ").endswith(":"):
                    login.type(typed)
            assert login.status == 1, login.shown
            assert "approve" not in login.shown


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


def test_users_enrol_themselves_by_the_line_of_the_page(machine: Machine, dorothy: int) -> None:
    """On the socket of the units, where the user of the service listens. Then the user runs the first
    example of seconder-login(8)."""
    found = re.search(r"She then runs `([^`]+)` in her own account", recipes.PAGE.read_text())
    assert found
    folder, program = Path("/run/seconder"), Path("/usr/local/sbin/seconder")
    folder.mkdir(mode=0o755)
    os.chown(folder, SERVICE_USER, SERVICE_USER)
    login_program = program.with_name("seconder-login")
    shutil.copy(PROGRAM, program)
    shutil.copy(Path(PROGRAM).with_name("seconder-login"), login_program)
    serve = [str(program), "serve", "--unix=/run/seconder/seconder.sock", "--unix-mode=0666"]
    create = [str(program), "user", "create", "--login=dorothy", "--email=dorothy@example.com"]
    create += ["--country-code=1", "--cellphone=555-010-0199"]
    database = f"--database=sqlite:{folder}/seconder.db"
    options: dict[str, Any] = {"user": SERVICE_USER, "group": SERVICE_USER, "extra_groups": [], "cwd": "/"}
    rules = ["--allow=root=login", "--allow=any=own-account"]
    with subprocess.Popen([*serve, *rules, database], stderr=subprocess.DEVNULL, **options) as service:
        try:
            end = time.monotonic() + PATIENCE
            while not (folder / "seconder.sock").exists() and time.monotonic() < end:
                time.sleep(0.05)
            subprocess.run([*create, database], check=True, stdout=subprocess.DEVNULL, **options)
            environment = {"PATH": "/usr/local/sbin:/usr/bin:/bin"}
            with Terminal("sh", "-c", found[1], user=dorothy, env=environment) as enrolment:
                key = enrolment.expect(r"\skey ([A-Z2-7 ]+)")[1].replace(" ", "").strip()
                app = User(1, base64.b32decode(key + "=" * (-len(key) % 8)))
                enrolment.expect("shows now: $")
                enrolment.type(app.code())
                enrolment.expect("Press Enter")
                enrolment.type("")
                assert enrolment.wait() == 0, enrolment.shown
            page = (recipes.PAGE.parents[1] / "man" / "seconder-login.8.in").read_text()
            example = re.search(r"^seconder-login -- .*$", page, re.M)
            assert example
            machine.configure(
                url="unix:/run/seconder/seconder.sock", service_user="seconder", users="directory"
            )
            script = example[0].replace("exec restricted-program", "echo let in")
            with Terminal("sh", "-c", script, user=dorothy, env=environment) as login:
                login.expect("Code[^\n]*: $")
                login.type(app.code())
                login.expect("let in")
        finally:
            service.terminate()
    shutil.rmtree(folder)
    program.unlink()
    login_program.unlink()


def test_the_recipes_are_known() -> None:
    """A recipe that is new to the page needs a test."""
    tested = {
        title
        for file in Path(__file__).parent.glob("test_*.py")
        for title in recipes.recipes()
        if f'"{title}"' in file.read_text()
    }
    assert tested == set(recipes.recipes())

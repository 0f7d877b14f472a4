"""Logins by code, through pamtester."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from machine import PRIVATE, Machine
from service import Service
from terminal import Terminal

CODE = "(?i)code[^\n]*: ?"
"""The question."""


def pamtester(machine: Machine, user: str = "ada", service: str = "code", **more: str) -> Terminal:
    items = [f"-I{name}={value}" for name, value in more.items()]
    return Terminal(
        "pamtester", *items, service, user, "authenticate", env=machine.environment
    )


def test_a_right_code_lets_in(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.only_the_module("code", "method=code")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.code())
        login.expect("successfully authenticated")
        assert login.wait() == 0
    if PRIVATE:
        (line,) = machine.logged()
        # LOG_AUTHPRIV | LOG_NOTICE
        assert line.startswith("<85>")
        assert "pam_seconder(code:auth): login of ada by code: accepted" in line


def test_a_service_may_be_asked_over_https(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.configure(**service.network_keys)
    machine.only_the_module("code", "method=code")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.wrong())
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 0, login.shown


def test_a_wrong_code_may_be_tried_again(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.only_the_module("code", "method=code tries=3")
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(ada.wrong())
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 0
    machine.logged()
    machine.only_the_module("code", "method=code tries=2")
    with pamtester(machine) as login:
        for _ in range(2):
            login.expect(CODE)
            login.type(ada.wrong())
        login.expect("Authentication failure")
        assert login.wait() == 1
    if PRIVATE:
        assert len(machine.logged()) == 1


def test_a_code_is_accepted_once(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.only_the_module("code", "method=code tries=1")
    code = ada.code()
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(code)
        assert login.wait() == 0
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(code)
        assert login.wait() == 1


def test_two_logins_at_once_with_one_code(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.only_the_module("code", "method=code tries=1")
    code = ada.code()
    with pamtester(machine) as one, pamtester(machine) as other:
        for login in (one, other):
            login.expect(CODE)
        for login in (one, other):
            login.type(code)
        assert sorted([one.wait(), other.wait()]) == [0, 1]


def test_a_user_who_guessed_waits(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.only_the_module("code", "method=code tries=10")
    with pamtester(machine) as login, pamtester(machine) as other:
        other.expect(CODE)
        # On a busy machine, the first waits may be over before the next code. They become longer.
        for _ in range(9):
            login.expect(CODE)
            login.type(ada.wrong())
            found = login.expect(r"code is wrong|[Tt]ry again in \d+ s|[Ww]ait \d+ s")
            if "wrong" not in found[0]:
                break
        assert "wrong" not in found[0]
        # A right code is not looked at now.
        other.type(ada.code())
        other.expect(r"\d+ s")


def test_a_user_whom_nobody_mapped_is_rejected(machine: Machine, service: Service) -> None:
    machine.map_users({"bob": 1})
    machine.only_the_module("code", "method=code")
    with pamtester(machine) as login:
        login.expect("User not known")
        assert login.wait() == 1
    machine.stack(
        "code",
        "auth required pam_seconder.so unenrolled=ignore",
        "auth required pam_permit.so",
        "account required pam_permit.so",
    )
    with pamtester(machine) as login:
        assert login.wait() == 0
    # Alone, a module that ignores lets no user in.
    machine.only_the_module("code", "unenrolled=ignore")
    with pamtester(machine) as login:
        assert login.wait() == 1


def test_nobody_can_respond(machine: Machine, service: Service) -> None:
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    machine.only_the_module("code", "method=code")
    machine.logged()
    done = subprocess.run(
        ["pamtester", "code", "ada", "authenticate"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=60,
        env={**os.environ, **machine.environment},
    )
    assert done.returncode == 1, done
    if PRIVATE:
        (line,) = machine.logged()
        assert "ada" in line and "terminal" in line


def test_setcred_and_account_succeed(machine: Machine, service: Service) -> None:
    machine.stack("code", "auth required pam_seconder.so", "account required pam_seconder.so")
    for operation in ("setcred", "acct_mgmt"):
        with Terminal("pamtester", "code", "root", operation, env=machine.environment) as run:
            assert run.wait() == 0, run.shown
    # There is nothing for sessions and passwords.
    machine.stack("code", "session required pam_seconder.so")
    with Terminal("pamtester", "code", "root", "open_session", env=machine.environment) as run:
        assert run.wait() == 1, run.shown


def test_by_libpam_wrapper(machine: Machine, service: Service, tmp_path: Path) -> None:
    """The module together with pam_matrix, whose password comes from a file."""
    ada = service.add_user()
    machine.map_users({"ada": ada.number})
    (tmp_path / "passwords").write_text("ada:secret:wrapped\n")
    stacks = tmp_path / "pam.d"
    stacks.mkdir()
    matrix = next(Path("/usr/lib").glob("*/pam_wrapper/pam_matrix.so"))
    module = machine.module.replace("pam_seconder.so", os.environ["SECONDER_MODULE"], 1)
    if not PRIVATE:
        module = machine.module
    (stacks / "wrapped").write_text(
        f"auth required {matrix} passdb={tmp_path}/passwords\n"
        f"auth required {module} method=code\n"
    )
    environment = {
        "LD_PRELOAD": "libpam_wrapper.so",
        "PAM_WRAPPER": "1",
        "PAM_WRAPPER_SERVICE_DIR": str(stacks),
    }
    with Terminal("pamtester", "wrapped", "ada", "authenticate", env=environment) as login:
        login.expect("Password: ")
        login.type("secret")
        login.expect(CODE)
        login.type(ada.code())
        assert login.wait() == 0, login.shown

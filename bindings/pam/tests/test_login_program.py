"""The program seconder-login on a terminal, and for FreeRADIUS, as docs/pam.md has it."""

from __future__ import annotations

import os
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import recipes
from machine import Machine
from service import PROGRAM, Service, User
from terminal import PATIENCE, Terminal

CODE = "Code[^\n]*: $"
LOGIN = str(Path(PROGRAM).with_name("seconder-login"))


@pytest.fixture
def ada(machine: Machine, service: Service) -> User:
    user = service.add_user()
    machine.map_users({"ada": user.number})
    return user


def in_shell(machine: Machine, script: str) -> Terminal:
    """Runs a script in which `login` stands for the program."""
    return Terminal("sh", "-c", script.replace("login", f"{LOGIN} --conf {machine.etc}/pam.conf", 1))


def shows_what_is_typed(terminal: Terminal) -> bool:
    return bool(termios.tcgetattr(terminal._fd)[3] & termios.ECHO)


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def foreground(terminal: Terminal) -> int:
    """The process that runs the program."""
    children = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text().split()
    return int(children[0])


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_leave_the_terminal_as_it_was(machine: Machine, ada: User, end: signal.Signals) -> None:
    with in_shell(machine, "login ada; echo status $?; read typed; echo typed $typed") as login:
        login.expect(CODE)
        assert not shows_what_is_typed(login)
        # Ctrl-C is never switched off.
        assert termios.tcgetattr(login._fd)[3] & termios.ISIG
        os.kill(foreground(login), end)
        login.expect(f"status {128 + end}")
        assert shows_what_is_typed(login)
        login.type("next")
        login.expect("typed next")


@pytest.mark.parametrize(("key", "status"), [("^C", 130), ("^\\", 131)])
def test_keys_end_the_program(machine: Machine, ada: User, key: str, status: int) -> None:
    script = "trap : INT QUIT; login ada; echo status $?; sleep 1"
    with in_shell(machine, script) as login:
        login.expect(CODE)
        login.press(key)
        login.expect(f"status {status}")
        assert shows_what_is_typed(login)


@pytest.mark.parametrize("part", ["", "^D", "VEOL", "raw"])
def test_a_part_of_a_line_holds_no_signals_back(machine: Machine, ada: User, part: str) -> None:
    """It is there without the rest, for which the program must not wait alone."""
    for end in ("^C", signal.SIGTERM):
        script = "trap : INT; login ada; echo status $?; read typed; echo typed $typed"
        with in_shell(machine, script) as login:
            login.expect(CODE)
            modes = termios.tcgetattr(login._fd)
            if part == "VEOL":
                modes[6][termios.VEOL] = b"2"
            elif part == "raw":
                modes[3] &= ~termios.ICANON
            termios.tcsetattr(login._fd, termios.TCSANOW, modes)
            login.type("12", end="")
            if part == "^D":
                login.press(part)
            assert login.silent_for(0.3)
            if isinstance(end, str):
                login.press(end)
                login.expect("status 130")
            else:
                os.kill(foreground(login), end)
                login.expect("status 143")
            assert shows_what_is_typed(login)


def test_the_rest_of_a_line_belongs_to_it(machine: Machine, ada: User) -> None:
    with in_shell(machine, "login ada; echo status $?") as login:
        login.expect(CODE)
        code = ada.code()
        login.type(code[:2], end="\x04")
        assert login.silent_for(0.3)
        login.type(code[2:])
        login.expect("status 0")


def test_signals_during_a_check_of_the_configuration(machine: Machine, ada: User) -> None:
    script = f"{PROGRAM} check-pam --conf {machine.etc}/pam.conf --login ada; echo status $?; sleep 1"
    with Terminal("sh", "-c", script) as check:
        check.expect(CODE)
        assert not shows_what_is_typed(check)
        os.kill(foreground(check), signal.SIGTERM)
        check.expect(f"status {128 + signal.SIGTERM}")
        assert shows_what_is_typed(check)


def test_an_ignored_signal_is_still_ignored(machine: Machine, ada: User) -> None:
    with in_shell(machine, "trap '' HUP; login ada; echo status $?") as login:
        login.expect(CODE)
        os.kill(foreground(login), signal.SIGHUP)
        login.expect(CODE)
        login.type(ada.code())
        login.expect("status 0")


def test_ctrl_z_stops_the_program_and_shows_what_is_typed(machine: Machine, ada: User) -> None:
    with in_shell(machine, "set -m; login ada; echo stopped; read typed; fg; echo status $?") as login:
        login.expect(CODE)
        login.press("^Z")
        login.expect("stopped")
        assert shows_what_is_typed(login)
        login.type("")
        login.expect(CODE)
        assert until(lambda: not shows_what_is_typed(login))
        login.type(ada.code())
        login.expect("status 0")


def test_what_is_typed_too_long_does_not_reach_the_next_program(machine: Machine, ada: User) -> None:
    with in_shell(machine, "login ada; echo status $?; read typed; echo typed $typed") as login:
        login.expect(CODE)
        login.type("1" * 512 + "touch_me")
        login.expect("status 5")
        login.type("next")
        login.expect("typed next")


def as_rlm_exec(machine: Machine, name: str, password: str) -> int:
    """Runs the wrapper of docs/pam.md with the environment that FreeRADIUS gives it."""
    wrapper = machine.folder / "radius-seconder"
    text = recipes.recipes()["/usr/local/sbin/radius-seconder"]
    text = text.replace("seconder-login ", f"{LOGIN} --conf {machine.etc}/pam.conf ")
    wrapper.write_text(text)
    wrapper.chmod(0o755)
    environment = {
        "USER_NAME": f'"{name}"',
        "USER_PASSWORD": f'"{password}"',
        "NAS_IP_ADDRESS": "192.0.2.1",
    }
    done = subprocess.run(
        [wrapper],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        start_new_session=True,
        timeout=60,
    )
    # Output would become attributes of the reply.
    assert done.stdout == b""
    return done.returncode


def test_rlm_exec(machine: Machine, service: Service, ada: User) -> None:
    settings = recipes.recipes()["/etc/freeradius/3.0/mods-available/seconder"]
    assert 'program = "/usr/local/sbin/radius-seconder"' in settings
    assert as_rlm_exec(machine, "ada", ada.wrong()) == 1
    assert as_rlm_exec(machine, "ada", ada.code()) == 0
    assert as_rlm_exec(machine, "eve", "123456") == 7
    for name in ("--help", "-h", "--version", "-V", "-hank", "$(id)", "a b", "", 'a\\"b', "a\\\\"):
        assert as_rlm_exec(machine, name, "123456") == 1, name
    for password in ("", "push", "1", 'a\\"b', "a\\nb", "%s"):
        assert as_rlm_exec(machine, "ada", password) not in (0, 3, 4, 8, 9), password
    # Only an account of this machine can be excepted.
    machine.configure(**service.keys, **{"except": "root"})
    assert as_rlm_exec(machine, "root", "123456") == 10


def test_rlm_exec_of_a_locked_user(machine: Machine, ada: User) -> None:
    statuses: list[int] = []
    # On a busy machine, the first waits may be over before the next code. They become longer.
    while 6 not in statuses and len(statuses) < 10:
        statuses.append(as_rlm_exec(machine, "ada", ada.wrong()))
    assert statuses[0] == 1 and statuses[-1] == 6 and set(statuses) == {1, 6}
